// SPDX-License-Identifier: GPL-2.0
/*
 * Mapping: what lies at an address of the current mm, and whether it is still
 * the same.
 */
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/init.h>
#include <linux/limits.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/sched/signal.h>
#include <linux/siphash.h>

#include "arch_x86.h"
#include "compat.h"
#include "mapping.h"

static siphash_key_t key __ro_after_init;

void __init sfu_mapping_init(void)
{
	get_random_bytes(&key, sizeof(key));
}

/* Mappings of one kind that are looked at to either side of an address. */
#define MAX_NEIGHBOURS	16

/* A keyed hash, which nobody can find a second file for. */
static u64 hash_file(const struct inode *inode)
{
	/* No file system has device 0, so that no file is taken for the vDSO. */
	if (!inode)
		return siphash_3u64(0, 0, 0, &key);
	return siphash_3u64(inode->i_sb->s_dev, inode->i_ino,
			    inode->i_generation, &key);
}

/* Is smaller than what it is made of, and every section has two. */
static struct sfu_origin make_origin(u64 file, u64 offset)
{
	return (struct sfu_origin) {
		.hash = file + offset ?: 1,	/* 0 is anonymous memory */
	};
}

struct sfu_origin sfu_mapping_origin(const struct inode *inode, u64 offset)
{
	return make_origin(hash_file(inode), offset);
}

/* Special mappings have operations of their own, anonymous memory has none. */
static bool is_vdso(const struct vm_area_struct *vma)
{
	return !vma->vm_file && vma->vm_ops &&
	       vma->vm_start == sfu_arch_vdso(vma->vm_mm);
}

/* The origin that @start has if it and @vma belong to one mapping of a file. */
static struct sfu_origin origin_of(const struct vm_area_struct *vma, u64 start)
{
	const u64 offset = start - vma->vm_start;

	if (vma->vm_file)
		return sfu_mapping_origin(file_inode(vma->vm_file), offset +
					  ((u64)vma->vm_pgoff << PAGE_SHIFT));
	if (is_vdso(vma))
		return sfu_mapping_origin(NULL, offset);
	return (struct sfu_origin) {};
}

static bool has_origin(const struct vm_area_struct *vma,
		       const struct sfu_range *range)
{
	return vma &&
	       origin_of(vma, range->start).hash == range->origin.hash;
}

int sfu_mappings_lock(struct sfu_mappings *mappings)
{
	*mappings = (struct sfu_mappings) { .mm = current->mm };
	return mmap_read_lock_killable(mappings->mm) ? -EINTR : 0;
}

void sfu_mappings_unlock(struct sfu_mappings *mappings)
{
	mmap_read_unlock(mappings->mm);
}

/* Have @last be the mapping at @address. Returns whether there is one. */
static bool go_to(struct sfu_mappings *mappings, struct sfu_mapping *last,
		  u64 address)
{
	const struct vm_area_struct *vma = last->vma;

	if (vma && address >= vma->vm_start && address < vma->vm_end)
		return true;
	vma = vma_lookup(mappings->mm, address);
	last->vma = vma;
	if (!vma)
		return false;
	last->base = origin_of(vma, vma->vm_start).hash;
	return true;
}

int sfu_mappings_find(struct sfu_mappings *mappings, enum sfu_mapped what,
		      u64 start, u64 end, struct sfu_origin *origin, u64 *at)
{
	const vm_flags_t flag = what == SFU_MAPPED_TEXT ? VM_EXEC : VM_READ;
	struct sfu_mapping *last = &mappings->last[what];

	for (*at = start; *at < end; *at = last->vma->vm_end) {
		if (!go_to(mappings, last, *at))
			return -EFAULT;
		if (!(last->vma->vm_flags & flag))
			return -EACCES;
		if (*at == start)
			*origin = last->base ?
				  make_origin(last->base,
					      start - last->vma->vm_start) :
				  (struct sfu_origin) {};
	}
	return 0;
}

int sfu_mapping_check(const struct sfu_range *text, u64 pc,
		      const struct sfu_range *bytes, u64 *start, u64 *end)
{
	struct mm_struct *mm = current->mm;
	struct vm_area_struct *vma;
	int err = 0;
	u64 at;

	if (mmap_read_lock_killable(mm))
		return -EINTR;
	vma = vma_lookup(mm, pc);
	if (has_origin(vma, text)) {
		*start = max_t(u64, text->start, vma->vm_start);
		*end = min_t(u64, text->end, vma->vm_end);
	} else {
		err = -ESTALE;
	}
	for (at = bytes->start; !err && at < bytes->end; at = vma->vm_end) {
		vma = vma_lookup(mm, at);
		if (!has_origin(vma, bytes))
			err = -ESTALE;
	}
	mmap_read_unlock(mm);
	return err;
}

/* Is @vma, which may be NULL, code where @origin says, counted from @start? */
static bool is_same_code(const struct vm_area_struct *vma, u64 start,
			 struct sfu_origin origin)
{
	return vma && vma->vm_flags & VM_EXEC &&
	       origin_of(vma, start).hash == origin.hash;
}

static int find_code(struct mm_struct *mm, u64 pc, struct sfu_code *code)
{
	struct vm_area_struct *vma = vma_lookup(mm, pc), *next;
	const u64 from = vma ? vma->vm_start : 0;
	struct sfu_origin origin;
	u32 i;

	if (!vma || !(vma->vm_flags & VM_EXEC) ||
	    !(vma->vm_file || is_vdso(vma)))
		return -ENOENT;
	origin = origin_of(vma, from);
	code->start = from;
	code->end = vma->vm_end;
	/* mprotect() cuts mappings into pieces. */
	for (i = 0; i < MAX_NEIGHBOURS; i++) {
		next = vma_lookup(mm, code->end);
		if (!is_same_code(next, from, origin))
			break;
		code->end = next->vm_end;
	}
	for (i = 0; i < MAX_NEIGHBOURS; i++) {
		next = vma_lookup(mm, code->start - 1);
		if (!is_same_code(next, from, origin))
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

int sfu_mapping_find_code(u64 pc, struct sfu_code *code)
{
	struct mm_struct *mm = current->mm;
	int err;

	if (mmap_read_lock_killable(mm))
		return -EINTR;
	err = find_code(mm, pc, code);
	mmap_read_unlock(mm);
	return err;
}

/* Does @vma show bytes below @end that its file does not have any more? */
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

int sfu_mapping_why_unreadable(u64 start, u64 end)
{
	struct mm_struct *mm = current->mm;
	struct vm_area_struct *vma;
	int err = -EAGAIN;
	u64 at;

	if (fatal_signal_pending(current) || mmap_read_lock_killable(mm))
		return -EINTR;
	for (at = start; at < end; at = vma->vm_end) {
		vma = vma_lookup(mm, at);
		if (!vma || !(vma->vm_flags & VM_READ) || is_cut(vma, end)) {
			err = -EINVAL;
			break;
		}
	}
	mmap_read_unlock(mm);
	return err;
}

const char *sfu_mapping_file_name(const struct sfu_range *range, char *buffer)
{
	struct mm_struct *mm = current->mm;
	struct vm_area_struct *vma;
	struct file *file = NULL;
	const char *name;

	if (mmap_read_lock_killable(mm))
		return "";
	vma = vma_lookup(mm, range->start);
	if (vma && vma->vm_file && has_origin(vma, range))
		file = get_file(vma->vm_file);
	mmap_read_unlock(mm);
	if (!file)
		return "";
	name = file_path(file, buffer, PATH_MAX);
	fput(file);
	return IS_ERR(name) ? "" : name;
}
