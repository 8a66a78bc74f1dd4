/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Directory: maps blocks of a section's code to ranges of its FDE index, to shorten
 * the binary search.
 *
 * Built for sections that are looked up often. It is a hint only: the index may
 * have changed since, so the result is checked against the index itself.
 */
#ifndef SFU_DIRECTORY_H
#define SFU_DIRECTORY_H

#include "sframe.h"

/**
 * struct sfu_directory
 *
 * @start: first address of the code.
 * @shift: log2 of the size of a block.
 * @nr: number of blocks.
 * @first: for each block, and for the end of the last one: number of functions
 *	that start at or below the block's first byte.
 */
struct sfu_directory {
	u64 start;
	u8 shift;
	u32 nr;
	u32 first[];
};

/* With fewer FDEs, a directory does not make the search faster. */
#define SFU_DIRECTORY_MIN_FDES	64

/* Maximum number of blocks. */
#define SFU_DIRECTORY_MAX_NR	16384

/*
 * Choose the blocks for a table with @num_fdes functions in @size bytes of code, so
 * that a block has one or two functions on average, or more because of
 * SFU_DIRECTORY_MAX_NR. Sets all members but first, for sfu_directory_size().
 */
void sfu_directory_plan(struct sfu_directory *directory, u32 num_fdes,
			u64 start, u64 size);

static inline size_t sfu_directory_size(const struct sfu_directory *plan)
{
	return sizeof(*plan) + (plan->nr + 1ULL) * sizeof(plan->first[0]);
}

/*
 * Fill a planned @directory from the index of @table. May sleep. Returns 0;
 * -EFAULT; -EINVAL if the index is not sorted; or -EINTR if the thread is being
 * killed.
 */
int sfu_directory_fill(struct sfu_directory *directory,
		       const struct sfu_table *table);

/*
 * Returns the range of the index to search for @pc; an empty range from 0 if @pc
 * is not in the code.
 */
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
