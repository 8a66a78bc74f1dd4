// SPDX-License-Identifier: GPL-2.0
/*
 * File read: read files that the current process has mapped, without waiting
 * for I/O in its threads.
 *
 * A walk runs in an unsuspecting thread. If it waited for the file, it could
 * deadlock: a fanotify daemon that is asked for permission, or the server of a
 * network file system, may be waiting for that very thread. So a walk only
 * reads the page cache. A workqueue reads the other pages, with the functions
 * that page faults use, which raise no fsnotify event and need no permission:
 * the thread has the file mapped already.
 *
 * A reading in progress holds references to its file and to the module; rmmod
 * is refused meanwhile. destroy_workqueue() waits for the few instructions that
 * follow module_put() in the work function.
 *
 * A server that does not answer blocks at most SFU_MAX_READINGS_OF_ONE workers.
 * FUSE servers are processes of ordinary users, and may choose never to answer:
 * their files are read from the page cache only.
 */
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/jiffies.h>
#include <linux/magic.h>
#include <linux/memcontrol.h>
#include <linux/module.h>
#include <linux/page-flags.h>
#include <linux/pagemap.h>
#include <linux/sched/mm.h>
#include <linux/shmem_fs.h>
#include <linux/spinlock.h>
#include <linux/uaccess.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "env.h"
#include "file_read.h"
#include "limits.h"

/**
 * struct reading - a range of pages that is being read, or was
 *
 * @work: the work item that reads the pages.
 * @file: holds a reference; NULL if the reading has ended.
 * @inode: of the file. Only compared after the reading has ended.
 * @user: user of the process that needs the pages.
 * @memcg: memory cgroup to charge, holds a reference; or NULL.
 * @first: index of the first page.
 * @last: index of the last page.
 * @until: after a failure, the file is not read again before this time
 *	(jiffies).
 *
 * readings_lock protects all members but @work. While the reading is in
 * progress, @file, @memcg, @first and @last do not change.
 */
struct reading {
	struct work_struct work;
	struct file *file;
	const struct inode *inode;
	kuid_t user;
	struct mem_cgroup *memcg;
	pgoff_t first;
	pgoff_t last;
	unsigned long until;
};

/*
 * The cgroup of the observed process is charged for the page cache. No process of it
 * may be killed for that.
 */
#define GFP_IF_THERE_IS	(__GFP_NORETRY | __GFP_NOWARN)

static struct reading readings[SFU_MAX_READINGS];
static DEFINE_SPINLOCK(readings_lock);
static struct workqueue_struct *readings_queue;

/* shmem has no read_folio(), but shmem_read_mapping_page(). */
static bool is_shmem(const struct file *file)
{
	return file_inode(file)->i_sb->s_magic == TMPFS_MAGIC &&
	       !file->f_mapping->a_ops->read_folio;
}

/* Returns whether @file is on FUSE, whose servers are processes of any user. */
static bool is_served_by_users(const struct file *file)
{
	const char *type = file_inode(file)->i_sb->s_type->name;

	return !strcmp(type, "fuse") || !strcmp(type, "fuseblk");
}

bool sfu_file_can_read(const struct file *file)
{
	const struct inode *inode = file_inode(file);

	/*
	 * secretmem has no read_iter, and the kernel must not read its pages.
	 * hugetlbfs uses another page index, and DAX has no page cache.
	 */
	return S_ISREG(inode->i_mode) && (file->f_mode & FMODE_READ) &&
	       file->f_op->read_iter && !file->f_op->read && !IS_DAX(inode) &&
	       inode->i_sb->s_magic != HUGETLBFS_MAGIC &&
	       (file->f_mapping->a_ops->read_folio || is_shmem(file));
}

/*
 * Returns whether page @index of a shmem file is neither in memory nor swapped
 * out.
 */
static bool is_hole(const struct file *file, pgoff_t index)
{
	return is_shmem(file) && !xa_load(&file->f_mapping->i_pages, index);
}

/* As sfu_file_read(), for bytes inside one page; does not start a reading. */
static int read_in_page(const struct file *file, u64 offset, void *to, u32 size)
{
	const pgoff_t index = offset >> PAGE_SHIFT;
	struct folio *folio = filemap_get_folio(file->f_mapping, index);
	struct page *page;
	int err = 0;

	if (IS_ERR_OR_NULL(folio)) {
		if (!is_hole(file, index))
			return -EINPROGRESS;
		if (to)
			memset(to, 0, size);
		return 0;
	}
	page = folio_file_page(folio, index);
	if (!folio_test_uptodate(folio))
		err = -EINPROGRESS;
	else if (PageHWPoison(page))
		err = -EIO;
	else if (to && copy_from_kernel_nofault(to, page_address(page) +
						offset_in_page(offset), size))
		err = -EIO;
	folio_put(folio);
	return err;
}

/*
 * Choose an unused element of readings for @inode. Returns NULL, with *@err set
 * to what sfu_file_read() is to return, if the file is being read already,
 * failed recently, or too many files are being read.
 */
static struct reading *choose_reading(const struct inode *inode, int *err)
{
	struct reading *reading, *chosen = NULL;
	u32 of_one = 0, of_user = 0;

	lockdep_assert_held(&readings_lock);
	*err = -EINPROGRESS;
	for (reading = readings; reading < readings + SFU_MAX_READINGS;
	     reading++) {
		if (reading->inode == inode) {
			if (reading->file)
				return NULL;
			if (time_before(jiffies, reading->until)) {
				*err = -EIO;
				return NULL;
			}
		}
		if (reading->file) {
			of_one += reading->inode->i_sb == inode->i_sb;
			of_user += uid_eq(reading->user, current_uid());
		} else if (reading->inode == inode || !chosen ||
			   (chosen->inode != inode &&
			    time_before(reading->until, chosen->until))) {
			chosen = reading;
		}
	}
	return of_one < SFU_MAX_READINGS_OF_ONE &&
	       of_user < SFU_MAX_READINGS_OF_USER ? chosen : NULL;
}

/*
 * Start to read pages @first to @last of @file. Returns -EINPROGRESS, also if
 * the caller has to try again to start it; or -EIO if they will not be read.
 */
static int start_reading(struct file *file, pgoff_t first, pgoff_t last)
{
	const struct inode *inode = file_inode(file);
	struct reading *reading;
	int err;

	if (is_served_by_users(file))
		return -EIO;
	spin_lock(&readings_lock);
	reading = choose_reading(inode, &err);
	if (reading) {
		reading->file = get_file(file);
		reading->inode = inode;
		reading->memcg = get_mem_cgroup_from_mm(current->mm);
		reading->first = first;
		reading->user = current_uid();
		/* A later call reads the pages that follow. */
		reading->last = min(last, first + SFU_MAX_READING_PAGES - 1);
		/* Cannot fail: who requested the stack holds a reference. */
		__module_get(THIS_MODULE);
		queue_work(readings_queue, &reading->work);
	}
	spin_unlock(&readings_lock);
	return err;
}

int sfu_file_read(struct file *file, u64 offset, void *to, u32 size)
{
	const u64 file_size = i_size_read(file_inode(file));
	const u64 end = offset + size;
	int err;

	if (offset > file_size || size > file_size - offset)
		return -EFAULT;
	while (offset < end) {
		const u32 part = min_t(u64, end - offset,
				       PAGE_SIZE - offset_in_page(offset));

		err = read_in_page(file, offset, to, part);
		if (err == -EINPROGRESS)
			return start_reading(file, offset >> PAGE_SHIFT,
					     (end - 1) >> PAGE_SHIFT);
		if (!err)
			err = sfu_env_relax();
		if (err)
			return err;
		offset += part;
		if (to)
			to += part;
	}
	return 0;
}

/* Read page @index of a shmem file, unless it is a hole. */
static int read_shmem_page(struct file *file, pgoff_t index)
{
	struct address_space *mapping = file->f_mapping;
	struct page *page;

	if (is_hole(file, index))
		return 0;
	page = shmem_read_mapping_page_gfp(mapping, index,
					   mapping_gfp_mask(mapping) |
						   GFP_IF_THERE_IS);
	if (IS_ERR(page))
		return PTR_ERR(page);
	put_page(page);
	return 0;
}

/*
 * Returns the folio with page @index of @file, with a reference, if there was memory for
 * it; or NULL. It may not have been read yet.
 */
static struct folio *get_folio(struct file *file, pgoff_t index)
{
	struct address_space *mapping = file->f_mapping;
	/* Unlocked, as page faults need it. */
	struct folio *folio =
		__filemap_get_folio(mapping, index, FGP_CREAT | FGP_FOR_MMAP,
				    mapping_gfp_mask(mapping) | GFP_IF_THERE_IS);

	return IS_ERR_OR_NULL(folio) ? NULL : folio;
}

/*
 * Read page @index of @file into the page cache. May wait for I/O. Does not trigger the
 * OOM killer of the memory cgroup, unless the file is truncated meanwhile.
 */
static int read_page(struct file *file, pgoff_t index)
{
	struct folio *folio, *read;

	/* The file may have been truncated. */
	if ((loff_t)index << PAGE_SHIFT >= i_size_read(file_inode(file)))
		return 0;
	if (is_shmem(file))
		return read_shmem_page(file, index);
	folio = get_folio(file, index);
	if (!folio)
		return -ENOMEM;
	/* Allocates nothing, as the folio is there: the reference keeps it. */
	read = read_mapping_folio(file->f_mapping, index, file);
	folio_put(folio);
	if (IS_ERR(read))
		return PTR_ERR(read);
	folio_put(read);
	return 0;
}

static void run_reading(struct work_struct *work)
{
	struct reading *reading = container_of(work, struct reading, work);
	struct mem_cgroup *memcg = reading->memcg, *old;
	struct file *file = reading->file;
	pgoff_t index;
	int err = 0;

	old = set_active_memcg(memcg);
	for (index = reading->first; !err && index <= reading->last; index++) {
		err = read_page(file, index);
		cond_resched();
	}
	set_active_memcg(old);

	spin_lock(&readings_lock);
	/* -ENOMEM is about the memory cgroup, not about the file: no pause. */
	reading->until = jiffies +
			 (err && err != -ENOMEM ? SFU_READING_PAUSE : 0);
	reading->file = NULL;
	spin_unlock(&readings_lock);
	fput(file);
	mem_cgroup_put(memcg);
	module_put(THIS_MODULE);
}

int __init sfu_file_read_init(void)
{
	struct reading *reading;

	/*
	 * One worker for each reading, so that a blocked one delays no other.
	 */
	readings_queue = alloc_workqueue("sframe_unwind", WQ_UNBOUND,
					 SFU_MAX_READINGS);
	if (!readings_queue)
		return -ENOMEM;
	for (reading = readings; reading < readings + SFU_MAX_READINGS;
	     reading++) {
		INIT_WORK(&reading->work, run_reading);
		reading->until = jiffies;
	}
	return 0;
}

void sfu_file_read_exit(void)
{
	destroy_workqueue(readings_queue);
}
