/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Functions: find the rule for a pc in a function table, which a runtime changes while
 * it is read. Depends on no kernel function but those in env.h and user.h, allocates
 * nothing and takes no lock.
 *
 * linux/sframe_unwind_table.h describes the table, and the order in which its values are
 * written and read. Each value is read once and checked where it is used. A lookup has no
 * loop but that over the rows of one function.
 */
#ifndef SFU_FUNCTIONS_H
#define SFU_FUNCTIONS_H

#include "../env.h"
#include "sframe.h"

/* Offsets in the table; of values in an entry; and sizes. */
#define SFU_FUNCTIONS_USED		0	/* u32 */
#define SFU_FUNCTIONS_REMOVED		8	/* u64 */
#define SFU_FUNCTIONS_ENTRIES		64
#define SFU_FUNCTIONS_START		0	/* u32 */
#define SFU_FUNCTIONS_SIZE		4	/* u32 */
#define SFU_FUNCTIONS_ROWS		8	/* u32 */
#define SFU_FUNCTIONS_ENTRY_SIZE	16
#define SFU_FUNCTIONS_SLOT_SIZE		4	/* of an element of the map */

#define SFU_FUNCTIONS_MAX_TEXT		0x100000000ULL
#define SFU_FUNCTIONS_MAX_BITS		16

/**
 * struct sfu_functions - a function table
 *
 * @bytes: the table.
 * @text: first address of the code.
 * @text_size: bytes of the code.
 * @max: number of entries.
 * @map: offset of the map.
 * @granule_bits: log2 of the bytes of a granule.
 */
struct sfu_functions {
	struct sfu_bytes bytes;
	u64 text;
	u64 text_size;
	u32 max;
	u64 map;
	u8 granule_bits;
};

/* Returns the offset of the map in a table with @max entries. */
static inline u64 sfu_functions_map(u32 max)
{
	return SFU_FUNCTIONS_ENTRIES + (u64)max * SFU_FUNCTIONS_ENTRY_SIZE;
}

/* Returns the offset of the map's end. */
static inline u64 sfu_functions_map_end(u32 max, u64 text_size, u8 granule_bits)
{
	return sfu_functions_map(max) +
	       (((text_size - 1) >> granule_bits) + 1) * SFU_FUNCTIONS_SLOT_SIZE;
}

/*
 * Find the rule for @pc. The parts of the table up to the end of the map must be inside
 * of @functions->bytes. Decreases *@budget by the number of rows read. May sleep.
 * Returns 0; -ENOENT if no function covers @pc, if its entry or rows are malformed, or as
 * sfu_fde_find_rule() does; -EFAULT; -ETIME if the budget is exhausted; or -EINTR.
 */
int sfu_functions_find_rule(const struct sfu_functions *functions, u64 pc,
			    u32 *budget, struct sfu_match *match);

/*
 * As sfu_functions_find_rule(), at a fraction of its cost, for common functions only.
 * Does not sleep if page faults are disabled. Returns whether it succeeded; if not,
 * *@match is undefined, and *@budget unchanged.
 */
bool sfu_functions_find_quickly(const struct sfu_functions *functions, u64 pc,
				u32 *budget, struct sfu_match *match);

#endif /* SFU_FUNCTIONS_H */
