/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Directory: by blocks of a section's code, where in its FDE index to look.
 *
 * Made of a section that is asked again and again. It only tells where to look
 * first: the index itself has the last word, and may have changed since.
 */
#ifndef SFU_DIRECTORY_H
#define SFU_DIRECTORY_H

#include "sframe.h"

/**
 * struct sfu_directory
 *
 * @start: of the code.
 * @shift: binary logarithm of a block's size.
 * @nr: blocks.
 * @first: for each block, and one behind the last, how many functions start at
 *	or below its first byte.
 */
struct sfu_directory {
	u64 start;
	u8 shift;
	u32 nr;
	u32 first[];
};

/* An index of fewer entries is searched as quickly without one. */
#define SFU_DIRECTORY_MIN_FDES	64

/* The largest directory has so many blocks. */
#define SFU_DIRECTORY_MAX_NR	16384

/*
 * The blocks for a table with @num_fdes functions in @size bytes of code, one or
 * two in each: sets shift and nr, so that the size of the whole is known.
 */
void sfu_directory_plan(struct sfu_directory *directory, u32 num_fdes,
			u64 start, u64 size);

static inline size_t sfu_directory_size(const struct sfu_directory *plan)
{
	return sizeof(*plan) + (plan->nr + 1ULL) * sizeof(plan->first[0]);
}

/*
 * Fill what has been planned from the index of @table. Returns 0; -EFAULT;
 * -EINVAL if the index is not in order; -EINTR if the thread is being killed.
 */
int sfu_directory_fill(struct sfu_directory *directory,
		       const struct sfu_table *table);

/* Where to look for @pc in the index of @table. */
static inline struct sfu_fde_range
sfu_directory_find(const struct sfu_directory *directory, u64 pc)
{
	u64 block = (pc - directory->start) >> directory->shift;

	if (block >= directory->nr)
		return (struct sfu_fde_range) {};
	block = array_index_nospec(block, directory->nr);
	return (struct sfu_fde_range) {
		.low = directory->first[block],
		.high = directory->first[block + 1],
	};
}

#endif /* SFU_DIRECTORY_H */
