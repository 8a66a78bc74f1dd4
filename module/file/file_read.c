// SPDX-License-Identifier: GPL-2.0
/*
 * File read: bytes of files that others have mapped, without waiting for them.
 *
 * A walk runs in a thread that knows nothing of it, and that whoever provides the
 * file may be waiting for: a fanotify daemon that is asked for permission, or
 * the server of a network file system. So a walk takes what is in the page
 * cache. The rest is read by a work queue, page by page, by the functions that
 * page faults use: no event is raised, and no permission is asked for. The thread
 * has the file mapped already.
 *
 * Readings under way hold their file, and the module, which is why rmmod is
 * refused meanwhile. The few instructions of a work function behind its
 * module_put() are waited for by destroy_workqueue().
 *
 * A server that does not answer stalls SFU_MAX_READINGS_OF_ONE of our threads.
 * FUSE servers are processes of ordinary users, which may choose never to
 * answer: their files are taken from the page cache or not at all.
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
 * struct reading - pages of a file that are being read, or have been
 *
 * @work: reads them.
 * @file: with a reference; NULL if it is over.
 * @inode: of the file. When it is over, compared only.
 * @user: whose process it is for.
 * @memcg: that is charged, with a reference, or NULL.
 * @first: page.
 * @last: page.
 * @until: in jiffies; after a failure the file is not read again before.
 *
 * All but @work are protected by the lock. Nobody changes @file, @memcg and the
 * pages while it is being read.
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

static struct reading readings[SFU_MAX_READINGS];
static DEFINE_SPINLOCK(readings_lock);
static struct workqueue_struct *readings_queue;

/* shmem has no function that page faults of others use. */
static bool is_shmem(const struct file *file)
{
	return file_inode(file)->i_sb->s_magic == TMPFS_MAGIC &&
	       !file->f_mapping->a_ops->read_folio;
}

/* Is @file served by a process that anybody may run? */
static bool is_served_by_users(const struct file *file)
{
	const char *type = file_inode(file)->i_sb->s_type->name;

	return !strcmp(type, "fuse") || !strcmp(type, "fuseblk");
}

bool sfu_file_can_read(const struct file *file)
{
	const struct inode *inode = file_inode(file);

	/*
	 * secretmem has pages which are not for us, and no read_iter. hugetlbfs
	 * counts its pages in another way, and DAX has none.
	 */
	return S_ISREG(inode->i_mode) && (file->f_mode & FMODE_READ) &&
	       file->f_op->read_iter && !file->f_op->read && !IS_DAX(inode) &&
	       inode->i_sb->s_magic != HUGETLBFS_MAGIC &&
	       (file->f_mapping->a_ops->read_folio || is_shmem(file));
}

/* Is there nothing at page @index of @file, neither here nor swapped out? */
static bool is_hole(const struct file *file, pgoff_t index)
{
	return is_shmem(file) && !xa_load(&file->f_mapping->i_pages, index);
}

/* Copy what is inside one page. See sfu_file_read(). */
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
 * The reading of @inode, or one that is over, for it. Returns NULL, with an
 * error in *@err, if the file is not to be read now.
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

/* Have pages of @file read. Returns -EINPROGRESS, or -EIO if they are not. */
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
		/* The next walk goes on from there. */
		reading->last = min(last, first + SFU_MAX_READING_PAGES - 1);
		/* Whoever requests stacks has one. */
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

/* Have page @index of @file in the page cache. May wait. */
static int read_page(struct file *file, pgoff_t index)
{
	struct address_space *mapping = file->f_mapping;
	struct folio *folio;
	struct page *page;

	/* It may have become shorter. */
	if ((loff_t)index << PAGE_SHIFT >= i_size_read(file_inode(file)))
		return 0;
	if (is_shmem(file)) {
		if (is_hole(file, index))
			return 0;
		page = shmem_read_mapping_page(mapping, index);
		if (IS_ERR(page))
			return PTR_ERR(page);
		put_page(page);
		return 0;
	}
	folio = read_mapping_folio(mapping, index, file);
	if (IS_ERR(folio))
		return PTR_ERR(folio);
	folio_put(folio);
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
	/* That one's cgroup has no memory says nothing of the file. */
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

	/* As many at a time as there can be: stalled ones are in nobody's way. */
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
