// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Directory: maps blocks of a section's code to ranges of its FDE index.
 */
#include "directory.h"

/* Index entries that are read in one user-access window. */
#define CHUNK	16

/* Index entries between two calls of sfu_env_relax(); a multiple of CHUNK. */
#define TURN	256

void sfu_directory_plan(struct sfu_directory *directory, u32 num_fdes,
			u64 start, u64 size)
{
	u32 most = num_fdes;

	if (most > SFU_DIRECTORY_MAX_NR)
		most = SFU_DIRECTORY_MAX_NR;
	directory->start = start;
	directory->shift = 0;
	while ((size - 1) >> directory->shift >= most)
		directory->shift++;
	directory->nr = ((size - 1) >> directory->shift) + 1;
}

int sfu_directory_fill(struct sfu_directory *directory,
		       const struct sfu_table *table)
{
	u64 starts[CHUNK], previous = 0;
	u32 i, j, nr, block = 0;
	int err;

	for (i = 0; i < table->num_fdes; i += nr) {
		nr = table->num_fdes - i;
		if (nr > CHUNK)
			nr = CHUNK;
		err = sfu_table_read_starts(table, i, nr, starts);
		if (!err && i % TURN == 0)
			err = sfu_env_relax();
		if (err)
			return err;
		for (j = 0; j < nr; j++) {
			if (starts[j] < previous)
				return -EINVAL;
			previous = starts[j];
			/* All blocks that begin below this function. */
			while (block <= directory->nr &&
			       directory->start +
			       ((u64)block << directory->shift) < previous)
				directory->first[block++] = i + j;
		}
	}
	while (block <= directory->nr)
		directory->first[block++] = table->num_fdes;
	return 0;
}
