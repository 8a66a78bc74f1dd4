/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Mapping: what lies at an address of the current mm, and whether it is still
 * the same. All of it takes the mmap lock, or wants it taken, and may sleep.
 */
#ifndef SFU_MAPPING_H
#define SFU_MAPPING_H

#include <linux/mm_types.h>
#include <linux/types.h>

/**
 * struct sfu_origin - where the memory at an address comes from
 *
 * Two addresses with the same origin show the same part of the same file, or
 * are both anonymous memory. It holds no reference to the file, which may be
 * deleted and unmounted meanwhile.
 *
 * @hash: of the file and the offset in it; 0 for anonymous memory.
 */
struct sfu_origin {
	u64 hash;
};

/* What something is mapped for. */
enum sfu_mapped {
	SFU_MAPPED_BYTES,	/* readable */
	SFU_MAPPED_TEXT,	/* executable */
	SFU_NR_MAPPED
};

/**
 * struct sfu_mappings - those of the current mm, locked, to look at many
 *
 * @mm: the current one.
 * @last: what was looked at last.
 * @last.vma: or NULL.
 * @last.base: origin of its first byte.
 */
struct sfu_mappings {
	struct mm_struct *mm;
	struct sfu_mapping {
		const struct vm_area_struct *vma;
		u64 base;
	} last[SFU_NR_MAPPED];
};

/* Takes the mmap lock: no user memory may be touched. Returns 0 or -EINTR. */
int sfu_mappings_lock(struct sfu_mappings *mappings);
void sfu_mappings_unlock(struct sfu_mappings *mappings);

/*
 * Is [start, end) mapped for @what all through? Returns 0 with the origin of
 * @start; -EFAULT with a hole, or -EACCES without the permission, both with *@at.
 */
int sfu_mappings_find(struct sfu_mappings *mappings, enum sfu_mapped what,
		      u64 start, u64 end, struct sfu_origin *origin, u64 *at);

/* The origin of what is at @offset of @inode, or, with NULL, of the vDSO. */
struct sfu_origin sfu_mapping_origin(const struct inode *inode, u64 offset);

/**
 * struct sfu_code - code mapped from a file, or from the vDSO's image
 *
 * @file: with a reference; NULL for the vDSO.
 * @inode: of @file.
 * @image: without @file, address of the vDSO's image.
 * @start, @end: addresses that are mapped executable without a gap, from one
 *	place of the file to the next.
 * @offset: of @start in the file.
 */
struct sfu_code {
	struct file *file;
	const struct inode *inode;
	u64 image;
	u64 start;
	u64 end;
	u64 offset;
};

/*
 * Find the code around @pc. Returns 0 with @code, whose file is to be put by
 * fput() if there is one; -ENOENT if @pc is not in executable memory from a file,
 * or -EINTR.
 */
int sfu_mapping_find_code(u64 pc, struct sfu_code *code);

/**
 * struct sfu_range - addresses, and the origin that the first one had
 */
struct sfu_range {
	u64 start;
	u64 end;
	struct sfu_origin origin;
};

/*
 * Is what is mapped at @pc, in @text, and in all of @bytes what it was? Returns
 * 0 with the part of @text around @pc, [*start, *end), for which that is so;
 * -ESTALE, or -EINTR.
 */
int sfu_mapping_check(const struct sfu_range *text, u64 pc,
		      const struct sfu_range *bytes, u64 *start, u64 *end);

/*
 * The bytes in [start, end) could not be read. Will they ever be? Not if they
 * are not mapped readable, or lie behind the end of their file. Otherwise
 * memory was short. Returns -EINVAL, -EAGAIN or -EINTR.
 */
int sfu_mapping_why_unreadable(u64 start, u64 end);

/*
 * The name of the file that @range is mapped from, in @buffer of PATH_MAX
 * bytes. Returns a string in it, empty for anything but a file that is mapped
 * there as it was.
 */
const char *sfu_mapping_file_name(const struct sfu_range *range, char *buffer);

void sfu_mapping_init(void);

#endif /* SFU_MAPPING_H */
