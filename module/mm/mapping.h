/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Mapping: what lies at an address of the current mm, and whether it is still
 * the same. All of it takes the mmap lock, or wants it taken, and may sleep.
 */
#ifndef SFU_MAPPING_H
#define SFU_MAPPING_H

#include <linux/mm_types.h>
#include <linux/types.h>

struct file;

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
 * struct sfu_hashed - the file whose hash was made last
 *
 * Most mappings in a row are of one file, and a hash costs more than the rest.
 *
 * @of: inode or file.
 * @hash: of it.
 */
struct sfu_hashed {
	const void *of;
	u64 hash;
};

/**
 * struct sfu_mappings - those of the current mm, locked, to look at many
 *
 * @mm: the current one.
 * @left: mappings that may be looked at yet before the lock is to be given up.
 * @hashed: the last file.
 * @last: what was looked at last.
 * @last.vma: or NULL.
 * @last.base: origin of its first byte.
 */
struct sfu_mappings {
	struct mm_struct *mm;
	u32 left;
	struct sfu_hashed hashed;
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
 * @start and where what is of that origin ends, *@same_end; -EFAULT with a hole,
 * -EACCES without the permission, or -E2BIG when as many mappings have been
 * looked at as may be, all with *@at.
 */
int sfu_mappings_find(struct sfu_mappings *mappings, enum sfu_mapped what,
		      u64 start, u64 end, struct sfu_origin *origin,
		      u64 *same_end, u64 *at);

/*
 * The origin of what is at @offset of @file, which somebody has mapped, or, with
 * NULL, of the vDSO.
 */
struct sfu_origin sfu_mapping_origin(const struct file *file, u64 offset);

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
 * Find the code around @pc. Takes mappings that are looked at off *@budget.
 * Returns 0 with @code, whose file is to be put by fput() if there is one;
 * -ENOENT if @pc is not in executable memory from a file, and then code->start
 * and code->end are those of the executable memory that it is in, or both 0;
 * -ETIME if the budget does not suffice, or -EINTR.
 */
int sfu_mapping_find_code(u64 pc, u32 *budget, struct sfu_code *code);

/**
 * struct sfu_range - addresses, and the origin that the first one had
 */
struct sfu_range {
	u64 start;
	u64 end;
	struct sfu_origin origin;
};

/*
 * Is what is mapped at @pc, in @text, and in all of @bytes what it was? Takes
 * mappings that are looked at off *@budget. Returns 0 with the part of @text
 * around @pc, [*start, *end), for which that is so; -ESTALE, also if there are
 * more than SFU_MAX_HELD_MAPPINGS; -ETIME if the budget does not suffice; or
 * -EINTR.
 */
int sfu_mapping_check(const struct sfu_range *text, u64 pc,
		      const struct sfu_range *bytes, u32 *budget, u64 *start,
		      u64 *end);

/*
 * Is @pc, or the address behind it, in memory that is mapped executable? Takes
 * mappings that are looked at off *@budget. Returns 0 with that memory,
 * [*start, *end); -EACCES, -ETIME or -EINTR.
 */
int sfu_mapping_find_executable(u64 pc, u32 *budget, u64 *start, u64 *end);

/*
 * The bytes in [start, end) could not be read. Will they ever be? Not if they
 * are not mapped readable, or lie behind the end of their file. Otherwise
 * memory was short. Takes mappings that are looked at off *@budget. Returns
 * -EINVAL, -EAGAIN, -ETIME or -EINTR.
 */
int sfu_mapping_why_unreadable(u64 start, u64 end, u32 *budget);

/*
 * The name of the file that @range is mapped from, in @buffer of PATH_MAX
 * bytes. Returns a string in it, empty for anything but a file that is mapped
 * there as it was.
 */
const char *sfu_mapping_file_name(const struct sfu_range *range, char *buffer);

void sfu_mapping_init(void);

#endif /* SFU_MAPPING_H */
