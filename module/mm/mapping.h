/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Mapping: what is mapped at an address of the current mm, and whether it is
 * still the same. The functions here take the mmap lock, or need it to be held,
 * and may sleep.
 */
#ifndef SFU_MAPPING_H
#define SFU_MAPPING_H

#include <linux/mm_types.h>
#include <linux/types.h>

struct file;

/**
 * struct sfu_origin - what is mapped at an address
 *
 * Addresses with the same origin are mapped from the same offset of the same
 * file, or are both anonymous memory. An origin holds no reference to the file,
 * which may be deleted or its file system unmounted.
 *
 * @hash: hash of file and offset; 0 for anonymous memory.
 */
struct sfu_origin {
	u64 hash;
};

/* The purpose of a mapping: the permission it needs. */
enum sfu_mapped {
	SFU_MAPPED_BYTES,	/* readable */
	SFU_MAPPED_TEXT,	/* executable */
	SFU_MAPPED_RANGE,	/* none: code may be written there later */
	/* executable, not writable; private, without a file or userfaultfd */
	SFU_MAPPED_FINAL,
};

/**
 * struct sfu_hashed - the last file hashed, and its hash
 *
 * Successive mappings are mostly of one file, and hashing is the most expensive
 * part of checking a mapping.
 *
 * @of: the file's identity, see identity_of().
 * @hash: its hash.
 */
struct sfu_hashed {
	const void *of;
	u64 hash;
};

/**
 * struct sfu_mappings - the mappings of an mm, with the mmap lock held
 *
 * @mm: the mm, mostly the current one.
 * @left: number of mappings that may still be visited before the lock is
 *	released.
 * @hashed: the last file hashed.
 * @last: the mapping visited last, for bytes and for the other purposes.
 * @last.vma: the mapping, or NULL.
 * @last.base: origin of its first byte.
 */
struct sfu_mappings {
	struct mm_struct *mm;
	u32 left;
	struct sfu_hashed hashed;
	struct sfu_mapping {
		struct vm_area_struct *vma;
		u64 base;
	} last[2];
};

/*
 * Take the mmap lock for reading. No user memory may be accessed until it is
 * released. Returns 0 or -EINTR.
 */
int sfu_mappings_lock(struct sfu_mappings *mappings);

/* As sfu_mappings_lock(), of @mm, which must have users (mmget()). */
int sfu_mappings_lock_of(struct sfu_mappings *mappings, struct mm_struct *mm);

void sfu_mappings_unlock(struct sfu_mappings *mappings);

/*
 * Check that all of [start, end) is mapped with the permission that @what
 * needs. Returns 0 with the origin of @start, and in *@same_end the end of the
 * part that is contiguous in the same file. Fails with *@at set to the first
 * address for which it does: -EFAULT if it is not mapped, -EACCES without the
 * permission, -E2BIG if mappings->left is exhausted.
 */
int sfu_mappings_find(struct sfu_mappings *mappings, enum sfu_mapped what,
		      u64 start, u64 end, struct sfu_origin *origin,
		      u64 *same_end, u64 *at);

/*
 * Returns the origin that a mapping of @offset of @file has. If @file is NULL,
 * it is the vDSO.
 */
struct sfu_origin sfu_mapping_origin(const struct file *file, u64 offset);

/**
 * struct sfu_code - code mapped from a file, or the vDSO
 *
 * @file: holds a reference; NULL for the vDSO.
 * @inode: of @file, or NULL.
 * @image: if @file is NULL, address of the vDSO.
 * @start, @end: address range that is mapped executable, contiguous in the
 *	file.
 * @offset: offset of @start in the file.
 * @is_final: the mapping at the address asked for is as SFU_MAPPED_FINAL says; also
 *	set if there is no file.
 */
struct sfu_code {
	struct file *file;
	const struct inode *inode;
	u64 image;
	u64 start;
	u64 end;
	u64 offset;
	bool is_final;
};

/*
 * Find the code around @pc. Decreases *@budget by the number of mappings
 * visited. Returns 0 with @code, whose file, if any, the caller has to fput();
 * -ENOENT if @pc is not in executable memory mapped from a file, with
 * code->start and code->end set to the executable mapping at @pc, or to 0 if
 * there is none; -ETIME if the budget is exhausted; or -EINTR.
 */
int sfu_mapping_find_code(u64 pc, u32 *budget, struct sfu_code *code);

/**
 * struct sfu_range - an address range, and the origin that its first byte had
 */
struct sfu_range {
	u64 start;
	u64 end;
	struct sfu_origin origin;
};

/*
 * Check that @pc, which must be in @text, and all of @bytes are mapped from
 * where text->origin and bytes->origin say; with @final, that the mapping at @pc is as
 * SFU_MAPPED_FINAL says, too. Decreases *@budget by the number of
 * mappings visited. Returns 0 with [*start, *end), the part of @text around @pc
 * for which this is true; -ESTALE if not, or if @bytes is in more than
 * SFU_MAX_HELD_MAPPINGS mappings; -ETIME if the budget is exhausted; or -EINTR.
 */
int sfu_mapping_check(const struct sfu_range *text, bool final, u64 pc,
		      const struct sfu_range *bytes, u32 *budget, u64 *start,
		      u64 *end);

/*
 * Find the executable mapping of @pc, or else of @pc + 1. Decreases *@budget by
 * 1. Returns 0 with the mapping [*start, *end); -EACCES if there is none;
 * -ETIME if the budget is exhausted; or -EINTR.
 */
int sfu_mapping_find_executable(u64 pc, u32 *budget, u64 *start, u64 *end);

/*
 * Find out why reading [start, end) has failed. Returns -EINVAL if the bytes
 * can never be read, because they are not mapped readable or are past the end
 * of their file; -EAGAIN otherwise, for instance if memory was short; -ETIME if
 * the budget is exhausted; or -EINTR. Decreases *@budget by the number of
 * mappings visited.
 */
int sfu_mapping_why_unreadable(u64 start, u64 end, u32 *budget);

/*
 * Get the name of the file that @range is mapped from. @buffer must have
 * PATH_MAX bytes. Returns a string in it; or "" if it is not a file, or is not
 * mapped there any more.
 */
const char *sfu_mapping_file_name(const struct sfu_range *range, char *buffer);

void sfu_mapping_init(void);

#endif /* SFU_MAPPING_H */
