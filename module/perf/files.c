// SPDX-License-Identifier: GPL-2.0
/*
 * Files: the files that sampled code is mapped from, by build ID.
 *
 * A file gets a number when it is met first; files with the same build ID share
 * one. Numbers stay until the table is freed. When it is full, files are refused.
 *
 * The build ID of an inode is cached, as reading it from the page cache takes
 * thousands of instructions. The inode is not pinned: what is cached is valid for an
 * inode at the same address with the same numbers, size and time of change.
 *
 * Lock order: mmap lock > files->lock. No user memory is accessed under either.
 */
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/refcount.h>
#include <linux/sched.h>
#include <linux/sframe_unwind.h>
#include <linux/siphash.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/vmalloc.h>

#include "compat.h"
#include "file/elf.h"
#include "file/file_read.h"
#include "files.h"
#include "limits.h"
#include "payer.h"
#include "shared_pages.h"

/* Inodes with the same hash that are cached. */
#define WAYS		4

/* Mappings that are looked at before the mmap lock is released. */
#define MAX_MAPPINGS	8

/* Numbers of files are below SFU_MAX_FILES; these are not files. */
#define NO_FILE(why)	(0x80000000U | (why))
#define IS_FILE(number)	((number) < SFU_MAX_FILES)

static_assert(SFRAME_UNWIND_MAX_BUILD_ID == SFU_ELF_MAX_BUILD_ID);
static_assert(SFU_MAX_FILES <= 1U << (63 - SFRAME_UNWIND_PLACE_FILE_SHIFT));

/**
 * struct version - what tells an inode, and its contents at one time
 *
 * @inode: compared, never dereferenced.
 */
struct version {
	const struct inode *inode;
	u64 ino;
	u64 size;
	u64 ctime_sec;
	u32 ctime_nsec;
	u32 generation;
	u64 dev;
};

/**
 * struct known - a file whose build ID was looked for
 *
 * @version: its inode.
 * @number: of the file, or NO_FILE().
 */
struct known {
	struct version version;
	u32 number;
};

/**
 * struct sfu_files
 *
 * @refs: the sampler's, and those of threads that use it.
 * @payer: holds a reference.
 * @file: the table, which the reader has mapped.
 * @max: number of its elements.
 * @mask: for the two hash tables below.
 * @index: number plus one of the files, by build ID; 0 is none. Has at least twice
 *	@max elements.
 * @known: sets of WAYS inodes.
 * @victim: decides which one of a set is replaced.
 * @key: of the hash functions.
 * @nr: number of files.
 */
struct sfu_files {
	refcount_t refs;
	struct sfu_payer *payer;
	struct sframe_unwind_file *file;
	u32 max;
	u32 mask;
	siphash_key_t key;
	spinlock_t lock;		/* all members below */
	u32 *index;
	struct known *known;
	u32 victim;
	u32 nr;
};

/**
 * struct mapped - part of the address space that is mapped in one piece
 *
 * @start, @end: addresses.
 * @offset: offset in the file of @start.
 * @file: holds a reference, if the file is still to be read; or NULL.
 * @version: of @file, when it was mapped there.
 * @number: of the file, or NO_FILE().
 */
struct mapped {
	u64 start;
	u64 end;
	u64 offset;
	struct file *file;
	struct version version;
	u32 number;
};

/**
 * struct locating - state of sfu_files_locate()
 *
 * @last: index of the one that was found last.
 */
struct locating {
	struct sfu_files *files;
	u32 nr;
	u32 last;
	struct mapped mapped[MAX_MAPPINGS];
};

static u32 table_pages(u32 max)
{
	return DIV_ROUND_UP(max * sizeof(struct sframe_unwind_file), PAGE_SIZE);
}

static u32 hash_size(u32 max)
{
	return roundup_pow_of_two(2 * max);
}

u64 sfu_files_bytes(u32 max)
{
	return sizeof(struct sfu_files) + (u64)table_pages(max) * PAGE_SIZE +
	       hash_size(max) * (u64)(sizeof(u32) + sizeof(struct known));
}

static struct version version_of(const struct inode *inode)
{
	const struct timespec64 ctime = inode_get_ctime(inode);

	return (struct version) {
		.inode = inode,
		.ino = inode->i_ino,
		.size = i_size_read(inode),
		.ctime_sec = ctime.tv_sec,
		.ctime_nsec = ctime.tv_nsec,
		.generation = inode->i_generation,
		.dev = inode->i_sb->s_dev,
	};
}

static struct known *known_set(const struct sfu_files *files,
			       const struct inode *inode)
{
	const u32 set = siphash_1u64((unsigned long)inode, &files->key);

	return &files->known[set & files->mask & ~(WAYS - 1)];
}

/* Returns the cached number for @version, or NO_FILE(UNREADABLE). */
static u32 find_known(struct sfu_files *files, const struct version *version)
{
	struct known *known = known_set(files, version->inode);
	u32 i, number = NO_FILE(SFRAME_UNWIND_PLACE_UNREADABLE);

	spin_lock(&files->lock);
	for (i = 0; i < WAYS; i++) {
		if (known[i].version.inode == version->inode &&
		    !memcmp(&known[i].version, version, sizeof(*version))) {
			number = known[i].number;
			break;
		}
	}
	spin_unlock(&files->lock);
	return number;
}

/* Cache @number for @version. */
static void add_known(struct sfu_files *files, const struct version *version,
		      u32 number)
{
	struct known *known = known_set(files, version->inode);
	u32 i;

	lockdep_assert_held(&files->lock);
	for (i = 0; i < WAYS; i++) {
		/* Also an earlier version of the same inode. */
		if (!known[i].version.inode ||
		    known[i].version.inode == version->inode)
			break;
	}
	if (i == WAYS)
		i = files->victim++ % WAYS;
	known[i].version = *version;
	known[i].number = number;
}

/* Returns the number of the file with the build ID of @elf, or NO_FILE(). */
static u32 find_or_add_file(struct sfu_files *files, const struct sfu_elf *elf)
{
	u32 at = siphash(elf->build_id, elf->build_id_size, &files->key);
	struct sframe_unwind_file *file;

	lockdep_assert_held(&files->lock);
	/* There are free elements always. */
	for (; files->index[at & files->mask]; at++) {
		file = &files->file[files->index[at & files->mask] - 1];
		if (file->build_id_size == elf->build_id_size &&
		    !memcmp(file->build_id, elf->build_id, elf->build_id_size))
			return file - files->file;
	}
	if (files->nr == files->max)
		return NO_FILE(SFRAME_UNWIND_PLACE_FULL);
	file = &files->file[files->nr];
	memcpy(file->build_id, elf->build_id, elf->build_id_size);
	/* Pairs with the reader's acquire: the build ID is there. */
	smp_store_release(&file->build_id_size, elf->build_id_size);
	files->index[at & files->mask] = ++files->nr;
	return files->nr - 1;
}

struct file_reader {
	struct sfu_elf_reader reader;
	struct file *file;
};

static int read_file(const struct sfu_elf_reader *reader, u64 offset, void *to,
		     u32 size)
{
	return sfu_file_read(container_of(reader, struct file_reader,
					  reader)->file, offset, to, size);
}

/* Find the number of mapped->file, by reading its build ID. */
static noinline_for_stack void read_build_id(struct sfu_files *files,
					     struct mapped *mapped)
{
	const struct file_reader reader = {
		.reader.read = read_file,
		.file = mapped->file,
	};
	struct sfu_elf elf __uninitialized;
	int err;

	if (!sfu_file_can_read(mapped->file))
		return;
	err = sfu_elf_read(&elf, &reader.reader);
	/* An error of the reader is temporary. */
	if (err && err != -EINVAL && err != -EOPNOTSUPP)
		return;
	spin_lock(&files->lock);
	if (err || !elf.build_id_size)
		mapped->number = NO_FILE(SFRAME_UNWIND_PLACE_NO_BUILD_ID);
	else
		mapped->number = find_or_add_file(files, &elf);
	add_known(files, &mapped->version, mapped->number);
	spin_unlock(&files->lock);
}

/* Returns the index of the mapping with @address, or MAX_MAPPINGS if there is none. */
static u32 find_mapping(struct locating *locating, u64 address)
{
	const struct mapped *mapped = &locating->mapped[locating->last];
	u32 i;

	if (locating->nr && address - mapped->start < mapped->end - mapped->start)
		return locating->last;
	for (i = 0; i < locating->nr; i++) {
		mapped = &locating->mapped[i];
		if (address - mapped->start < mapped->end - mapped->start) {
			locating->last = i;
			return i;
		}
	}
	return MAX_MAPPINGS;
}

/* Add the mapping with @address. Returns its index, or MAX_MAPPINGS if there is no room. */
static u32 add_mapping(struct locating *locating, u64 address)
{
	struct mapped *mapped = &locating->mapped[locating->nr];
	const struct vm_area_struct *vma;

	if (locating->nr == MAX_MAPPINGS)
		return MAX_MAPPINGS;
	vma = vma_lookup(current->mm, address);
	*mapped = (struct mapped) {
		.start = vma ? vma->vm_start : address,
		.end = vma ? vma->vm_end : address + 1,
		.number = NO_FILE(SFRAME_UNWIND_PLACE_NO_FILE),
	};
	if (vma && vma->vm_file) {
		mapped->offset = (u64)vma->vm_pgoff << PAGE_SHIFT;
		mapped->version = version_of(file_inode(vma->vm_file));
		mapped->number = find_known(locating->files, &mapped->version);
		if (mapped->number == NO_FILE(SFRAME_UNWIND_PLACE_UNREADABLE))
			mapped->file = get_file(vma->vm_file);
	}
	locating->last = locating->nr;
	return locating->nr++;
}

/* Read the files that are not known. */
static void read_files(struct locating *locating)
{
	struct mapped *mapped = locating->mapped;
	u32 i;

	for (i = 0; i < locating->nr; i++, mapped++) {
		if (!mapped->file)
			continue;
		/* Another one may be of the same file. */
		mapped->number = find_known(locating->files, &mapped->version);
		if (mapped->number == NO_FILE(SFRAME_UNWIND_PLACE_UNREADABLE))
			read_build_id(locating->files, mapped);
		fput(mapped->file);
	}
}

/* @ip may be any number: the thread's own is what a signal handler or a tracer set. */
static u64 unplaced(u32 why, u64 ip)
{
	return (u64)why << SFRAME_UNWIND_PLACE_WHY_SHIFT |
	       (ip & ((1ULL << SFRAME_UNWIND_PLACE_WHY_SHIFT) - 1));
}

static u64 place_of(const struct mapped *mapped, u64 ip)
{
	const u64 offset = ip - mapped->start + mapped->offset;

	if (!IS_FILE(mapped->number))
		return unplaced((u8)mapped->number, ip);
	if (offset >> SFRAME_UNWIND_PLACE_FILE_SHIFT)
		return unplaced(SFRAME_UNWIND_PLACE_UNREADABLE, ip);
	return SFRAME_UNWIND_PLACE_FILE |
	       (u64)mapped->number << SFRAME_UNWIND_PLACE_FILE_SHIFT | offset;
}

/* A return address may be behind its mapping: look for the call before it. */
static u64 address_of(u64 ip, u8 how)
{
	return how == SFRAME_UNWIND_FRAME_REGS ||
	       how == SFRAME_UNWIND_FRAME_SIGNAL ? ip : ip - 1;
}

/*
 * Locate the first frames of @nr, as far as MAX_MAPPINGS suffice. Returns how many
 * they were.
 */
static u32 locate_some(struct locating *locating, const u64 *ip, const u8 *how,
		       u32 nr, u64 *place)
{
	u32 i, done, at;

	locating->nr = 0;
	locating->last = 0;
	if (mmap_read_lock_killable(current->mm)) {
		for (i = 0; i < nr; i++)
			place[i] = unplaced(SFRAME_UNWIND_PLACE_UNREADABLE,
					    ip[i]);
		return nr;
	}
	for (done = 0; done < nr; done++) {
		at = find_mapping(locating, address_of(ip[done], how[done]));
		if (at == MAX_MAPPINGS)
			at = add_mapping(locating, address_of(ip[done], how[done]));
		if (at == MAX_MAPPINGS)
			break;
		place[done] = at;
	}
	mmap_read_unlock(current->mm);
	read_files(locating);
	for (i = 0; i < done; i++)
		place[i] = place_of(&locating->mapped[place[i]], ip[i]);
	return done;
}

void sfu_files_locate(struct sfu_files *files, const u64 *ip, const u8 *how,
		      u32 nr, u64 *place)
{
	struct locating locating __uninitialized;
	u32 i, done;

	locating.files = files;
	for (i = 0; i < nr; i += done) {
		done = locate_some(&locating, ip + i, how + i, nr - i, place + i);
		cond_resched();
	}
}

int sfu_files_map(struct sfu_files *files, struct vm_area_struct *vma)
{
	const u64 size = (u64)table_pages(files->max) * PAGE_SIZE;

	if (!(vma->vm_flags & VM_SHARED) || vma->vm_end - vma->vm_start != size)
		return -EINVAL;
	if (vma->vm_flags & VM_WRITE)
		return -EPERM;
	vm_flags_clear(vma, VM_MAYWRITE);
	return remap_vmalloc_range(vma, files->file, 0);
}

static void destroy_files(struct sfu_files *files)
{
	sfu_shared_pages_free(files->file, table_pages(files->max));
	kvfree(files->index);
	kvfree(files->known);
	kfree(files);
}

static struct sfu_files *alloc_files(u32 max)
{
	const u32 pages = table_pages(max), elements = hash_size(max);
	struct sfu_files *files;

	files = kzalloc(sizeof(*files), GFP_KERNEL_ACCOUNT);
	if (!files)
		return NULL;
	files->max = max;
	files->mask = elements - 1;
	files->index = kvcalloc(elements, sizeof(files->index[0]),
				GFP_KERNEL_ACCOUNT);
	files->known = kvcalloc(max(elements, WAYS), sizeof(files->known[0]),
				GFP_KERNEL_ACCOUNT);
	files->file = sfu_shared_pages_alloc(pages, pages, NUMA_NO_NODE);
	if (files->index && files->known && files->file)
		return files;
	destroy_files(files);
	return NULL;
}

struct sfu_files *sfu_files_create(u32 max, struct sfu_payer *payer)
{
	struct sfu_files *files;

	if (sfu_payer_charge(payer, sfu_files_bytes(max), false))
		return NULL;
	files = alloc_files(max);
	if (!files) {
		sfu_payer_uncharge(payer, sfu_files_bytes(max));
		return NULL;
	}
	refcount_set(&files->refs, 1);
	sfu_payer_get(payer);
	files->payer = payer;
	get_random_bytes(&files->key, sizeof(files->key));
	spin_lock_init(&files->lock);
	return files;
}

void sfu_files_get(struct sfu_files *files)
{
	refcount_inc(&files->refs);
}

void sfu_files_put(struct sfu_files *files)
{
	struct sfu_payer *payer;

	if (!files || !refcount_dec_and_test(&files->refs))
		return;
	payer = files->payer;
	sfu_payer_uncharge(payer, sfu_files_bytes(files->max));
	destroy_files(files);
	sfu_payer_put(payer);
}
