// SPDX-License-Identifier: GPL-2.0
/*
 * Mapping: what is mapped at an address of the current mm, and whether it is
 * still the same.
 */
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/init.h>
#include <linux/limits.h>
#include <linux/magic.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/sched/signal.h>
#include <linux/siphash.h>
#include <linux/userfaultfd_k.h>

#include "arch/arch.h"
#include "compat.h"
#include "limits.h"
#include "mapping.h"

static siphash_key_t origin_hash_key __ro_after_init;

void __init sfu_mapping_init(void)
{
	get_random_bytes(&origin_hash_key, sizeof(origin_hash_key));
}

/* Neighbouring mappings of the same file that are visited on each side. */
#define MAX_NEIGHBOURS	16

/*
 * Returns a pointer that identifies @file while it is mapped. Device, inode
 * number and generation are not unique: snapshots of a file system share them,
 * and some file systems have no generations. So use the address of the inode.
 * If it is not a regular file, each open file may map something else (all
 * anonymous inode files share one inode), so use the address of the open file.
 */
static const void *identity_of(const struct file *file)
{
	const struct inode *inode = file_inode(file);

	if (S_ISREG(inode->i_mode) &&
	    inode->i_sb->s_magic != ANON_INODE_FS_MAGIC)
		return inode;
	return file;
}

/* A keyed hash, so that nobody can construct a file with the same hash. */
static u64 hash_file(const struct inode *inode, const void *identity)
{
	/* The vDSO. No file system has device 0, so no file has this hash. */
	if (!inode)
		return siphash_4u64(0, 0, 0, 0, &origin_hash_key);
	return siphash_4u64(inode->i_sb->s_dev, inode->i_ino,
			    inode->i_generation, (unsigned long)identity,
			    &origin_hash_key);
}

/* Returns the hash of @file, which @hashed caches. */
static u64 hash_again(const struct file *file, struct sfu_hashed *hashed)
{
	const void *identity = identity_of(file);

	if (hashed->of != identity) {
		hashed->of = identity;
		hashed->hash = hash_file(file_inode(file), identity);
	}
	return hashed->hash;
}

/*
 * Combine file hash and offset in one word, because every section has two
 * origins.
 */
static struct sfu_origin make_origin(u64 file, u64 offset)
{
	return (struct sfu_origin) {
		.hash = file + offset ?: 1,	/* 0 is anonymous memory */
	};
}

struct sfu_origin sfu_mapping_origin(const struct file *file, u64 offset)
{
	struct sfu_hashed hashed = {};

	return make_origin(file ? hash_again(file, &hashed) :
				  hash_file(NULL, NULL), offset);
}

/* Special mappings have vm_ops; anonymous memory at that address has none. */
static bool is_vdso(const struct vm_area_struct *vma)
{
	return !vma->vm_file && vma->vm_ops &&
	       vma->vm_start == sfu_arch_vdso(vma->vm_mm);
}

/*
 * Returns the origin of @start, if it is in @vma or in a mapping of the same
 * file that is contiguous with @vma.
 */
static struct sfu_origin origin_of(const struct vm_area_struct *vma, u64 start,
				   struct sfu_hashed *hashed)
{
	const u64 offset = start - vma->vm_start;

	if (vma->vm_file)
		return make_origin(hash_again(vma->vm_file, hashed), offset +
				   ((u64)vma->vm_pgoff << PAGE_SHIFT));
	if (is_vdso(vma))
		return sfu_mapping_origin(NULL, offset);
	return (struct sfu_origin) {};
}

/*
 * Returns whether the contents of @vma change only if its protection does: who handles
 * page faults could give it any. A private mapping of /dev/zero has no operations, but a
 * file; drivers can have such mappings, too.
 */
static bool is_final(struct vm_area_struct *vma)
{
	return !vma->vm_file && !vma->vm_ops && !(vma->vm_flags & (VM_WRITE | VM_SHARED)) &&
	       !userfaultfd_armed(vma);
}

static bool has_origin(const struct vm_area_struct *vma,
		       const struct sfu_range *range, struct sfu_hashed *hashed)
{
	return vma && origin_of(vma, range->start, hashed).hash ==
			      range->origin.hash;
}

/* Decrease *@budget by one mapping. Returns false if it was 0. */
static bool spend_mapping(u32 *budget)
{
	if (!*budget)
		return false;
	--*budget;
	return true;
}

int sfu_mappings_lock_of(struct sfu_mappings *mappings, struct mm_struct *mm)
{
	*mappings = (struct sfu_mappings) {
		.mm = mm,
		.left = SFU_MAX_HELD_MAPPINGS,
	};
	return mmap_read_lock_killable(mappings->mm) ? -EINTR : 0;
}

int sfu_mappings_lock(struct sfu_mappings *mappings)
{
	return sfu_mappings_lock_of(mappings, current->mm);
}

void sfu_mappings_unlock(struct sfu_mappings *mappings)
{
	mmap_read_unlock(mappings->mm);
}

/* Set @last to the mapping at @address. Returns 0, -EFAULT or -E2BIG. */
static int go_to_mapping(struct sfu_mappings *mappings,
			 struct sfu_mapping *last, u64 address)
{
	struct vm_area_struct *vma = last->vma;

	if (vma && address >= vma->vm_start && address < vma->vm_end)
		return 0;
	if (!spend_mapping(&mappings->left))
		return -E2BIG;
	vma = vma_lookup(mappings->mm, address);
	last->vma = vma;
	if (!vma)
		return -EFAULT;
	last->base = origin_of(vma, vma->vm_start, &mappings->hashed).hash;
	return 0;
}

/* Returns the origin of @address, which must be in @mapping. */
static struct sfu_origin origin_in(const struct sfu_mapping *mapping,
				   u64 address)
{
	if (!mapping->base)
		return (struct sfu_origin) {};
	return make_origin(mapping->base, address - mapping->vma->vm_start);
}

/* Returns the origin at @distance bytes after a byte with @origin. */
static struct sfu_origin origin_behind(struct sfu_origin origin, u64 distance)
{
	return origin.hash ? make_origin(origin.hash, distance) : origin;
}

int sfu_mappings_find(struct sfu_mappings *mappings, enum sfu_mapped what,
		      u64 start, u64 end, struct sfu_origin *origin,
		      u64 *same_end, u64 *at)
{
	static const vm_flags_t flags[] = {
		[SFU_MAPPED_BYTES] = VM_READ,
		[SFU_MAPPED_TEXT] = VM_EXEC,
		[SFU_MAPPED_RANGE] = 0,
		[SFU_MAPPED_FINAL] = VM_EXEC,
	};
	struct sfu_mapping *last = &mappings->last[what != SFU_MAPPED_BYTES];
	struct sfu_origin found;
	bool same = true;
	int err;

	for (*at = start; *at < end; *at = last->vma->vm_end) {
		err = go_to_mapping(mappings, last, *at);
		if (err)
			return err;
		if ((last->vma->vm_flags & flags[what]) != flags[what])
			return -EACCES;
		if (what == SFU_MAPPED_FINAL && !is_final(last->vma))
			return -EACCES;
		found = origin_in(last, *at);
		if (*at == start)
			*origin = found;
		else if (found.hash != origin_behind(*origin, *at - start).hash)
			same = false;
		if (same)
			*same_end = last->vma->vm_end;
	}
	return 0;
}

/* As sfu_mapping_check(), with the mmap lock held. */
static int check_ranges(struct mm_struct *mm, const struct sfu_range *text,
			bool final, u64 pc,
			const struct sfu_range *bytes, u32 *budget, u64 *start,
			u64 *end)
{
	u32 left = SFU_MAX_HELD_MAPPINGS;
	struct sfu_hashed hashed = {};
	struct vm_area_struct *vma;
	u64 at = bytes->start;

	if (!spend_mapping(budget))
		return -ETIME;
	vma = vma_lookup(mm, pc);
	if (!has_origin(vma, text, &hashed) ||
	    (final && !is_final(vma)))
		return -ESTALE;
	*start = max_t(u64, text->start, vma->vm_start);
	*end = min_t(u64, text->end, vma->vm_end);
	while (at < bytes->end) {
		if (!spend_mapping(&left))
			return -ESTALE;
		if (!spend_mapping(budget))
			return -ETIME;
		vma = vma_lookup(mm, at);
		if (!has_origin(vma, bytes, &hashed))
			return -ESTALE;
		at = vma->vm_end;
	}
	return 0;
}

int sfu_mapping_check(const struct sfu_range *text, bool final, u64 pc,
		      const struct sfu_range *bytes, u32 *budget, u64 *start,
		      u64 *end)
{
	struct mm_struct *mm = current->mm;
	int err;

	if (mmap_read_lock_killable(mm))
		return -EINTR;
	err = check_ranges(mm, text, final, pc, bytes, budget, start, end);
	mmap_read_unlock(mm);
	return err;
}

/* Returns whether @vma is mapped executable. @vma may be NULL. */
static bool is_executable(const struct vm_area_struct *vma)
{
	return vma && vma->vm_flags & VM_EXEC;
}

int sfu_mapping_find_executable(u64 pc, u32 *budget, u64 *start, u64 *end)
{
	struct mm_struct *mm = current->mm;
	const struct vm_area_struct *vma;
	int err = -EACCES;

	if (!spend_mapping(budget))
		return -ETIME;
	if (mmap_read_lock_killable(mm))
		return -EINTR;
	vma = vma_lookup(mm, pc);
	/*
	 * @pc may be an address minus 1, and the code begin at the mapping's
	 * start.
	 */
	if (!is_executable(vma))
		vma = vma_lookup(mm, pc + 1);
	if (is_executable(vma)) {
		*start = vma->vm_start;
		*end = vma->vm_end;
		err = 0;
	}
	mmap_read_unlock(mm);
	return err;
}

/*
 * Returns whether @vma, which may be NULL, is executable and contiguous in the
 * file with a mapping at @start that has @origin.
 */
static bool is_same_code(const struct vm_area_struct *vma, u64 start,
			 struct sfu_origin origin, struct sfu_hashed *hashed)
{
	return is_executable(vma) &&
	       origin_of(vma, start, hashed).hash == origin.hash;
}

static int find_code(struct mm_struct *mm, u64 pc, u32 *budget,
		     struct sfu_code *code)
{
	struct vm_area_struct *vma = vma_lookup(mm, pc), *next;
	const u64 from = vma ? vma->vm_start : 0;
	struct sfu_hashed hashed = {};
	struct sfu_origin origin;
	u32 i;

	if (!is_executable(vma))
		return -ENOENT;
	code->start = from;
	code->end = vma->vm_end;
	code->is_final = is_final(vma);
	if (!vma->vm_file && !is_vdso(vma))
		return -ENOENT;
	origin = origin_of(vma, from, &hashed);
	/* mprotect() may have split the mapping of the file. */
	for (i = 0; i < MAX_NEIGHBOURS && spend_mapping(budget); i++) {
		next = vma_lookup(mm, code->end);
		if (!is_same_code(next, from, origin, &hashed))
			break;
		code->end = next->vm_end;
	}
	for (i = 0; i < MAX_NEIGHBOURS && spend_mapping(budget); i++) {
		next = vma_lookup(mm, code->start - 1);
		if (!is_same_code(next, from, origin, &hashed))
			break;
		code->start = next->vm_start;
	}
	code->image = vma->vm_file ? 0 : from;
	code->file = vma->vm_file ? get_file(vma->vm_file) : NULL;
	code->inode = vma->vm_file ? file_inode(vma->vm_file) : NULL;
	code->offset = ((u64)vma->vm_pgoff << PAGE_SHIFT) - (from - code->start);
	if (!vma->vm_file)
		code->offset = 0;
	return 0;
}

int sfu_mapping_find_code(u64 pc, u32 *budget, struct sfu_code *code)
{
	struct mm_struct *mm = current->mm;
	int err;

	code->start = 0;
	code->end = 0;
	code->is_final = false;
	if (!spend_mapping(budget))
		return -ETIME;
	if (mmap_read_lock_killable(mm))
		return -EINTR;
	err = find_code(mm, pc, budget, code);
	mmap_read_unlock(mm);
	return err;
}

/*
 * Returns whether @vma maps bytes below @end that are past the end of its file.
 */
static bool is_cut(const struct vm_area_struct *vma, u64 end)
{
	u64 offset;

	if (!vma->vm_file)
		return false;
	offset = ((u64)vma->vm_pgoff << PAGE_SHIFT) +
		 (min_t(u64, end, vma->vm_end) - vma->vm_start);
	return offset > round_up(i_size_read(file_inode(vma->vm_file)),
				 PAGE_SIZE);
}

static int why_unreadable(struct mm_struct *mm, u64 start, u64 end,
			  u32 *budget)
{
	u32 left = SFU_MAX_HELD_MAPPINGS;
	const struct vm_area_struct *vma;
	u64 at;

	/* A section is in at most SFU_MAX_HELD_MAPPINGS mappings. */
	for (at = start; at < end && spend_mapping(&left); at = vma->vm_end) {
		if (!spend_mapping(budget))
			return -ETIME;
		vma = vma_lookup(mm, at);
		if (!vma || !(vma->vm_flags & VM_READ) || is_cut(vma, end))
			return -EINVAL;
	}
	return -EAGAIN;
}

int sfu_mapping_why_unreadable(u64 start, u64 end, u32 *budget)
{
	struct mm_struct *mm = current->mm;
	int err;

	if (fatal_signal_pending(current) || mmap_read_lock_killable(mm))
		return -EINTR;
	err = why_unreadable(mm, start, end, budget);
	mmap_read_unlock(mm);
	return err;
}

const char *sfu_mapping_file_name(const struct sfu_range *range, char *buffer)
{
	struct mm_struct *mm = current->mm;
	struct sfu_hashed hashed = {};
	struct vm_area_struct *vma;
	struct file *file = NULL;
	const char *name;

	if (mmap_read_lock_killable(mm))
		return "";
	vma = vma_lookup(mm, range->start);
	if (vma && vma->vm_file && has_origin(vma, range, &hashed))
		file = get_file(vma->vm_file);
	mmap_read_unlock(mm);
	if (!file)
		return "";
	name = file_path(file, buffer, PATH_MAX);
	fput(file);
	return IS_ERR(name) ? "" : name;
}
