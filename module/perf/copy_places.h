/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copy places: where stacks have been cut, and since when copies of them are made.
 *
 * There will never be a section for some code: that of files which cannot be converted, as
 * those of runtimes that compile to memory files. So copies are made of the stacks of a
 * process that end in the same code for some time only, in which user space should have a
 * section.
 */
#ifndef SFU_COPY_PLACES_H
#define SFU_COPY_PLACES_H

#include <linux/compiler.h>
#include <linux/hash.h>
#include <linux/types.h>

#define SFU_COPY_PLACES_BITS	9

/* Bits of an address that are not told apart. */
#define SFU_COPY_PLACE_SHIFT	16

/**
 * struct sfu_copy_places - by hash; a place replaces another one with the same
 *
 * @of: other bits of the hash, and the second of the first copy. Read and written without
 *	a lock; 0 if there is none.
 */
struct sfu_copy_places {
	u64 of[1 << SFU_COPY_PLACES_BITS];
};

/*
 * Returns whether stacks that end at @ip in @process, any number for that, are still to be
 * copied at the second @now: those of @seconds from the first one. Any context.
 */
static inline bool sfu_copy_places_is_due(struct sfu_copy_places *places, u64 process,
					  u64 ip, u32 now, u32 seconds)
{
	const u64 place = process * GOLDEN_RATIO_64 ^ ip >> SFU_COPY_PLACE_SHIFT;
	const u64 hash = place * GOLDEN_RATIO_64;
	u64 *of = &places->of[hash >> (64 - SFU_COPY_PLACES_BITS)];
	const u64 known = READ_ONCE(*of);

	if (known && known >> 32 == (u32)(hash >> 16))
		return now - (u32)known < seconds;
	WRITE_ONCE(*of, (hash >> 16) << 32 | now);
	return true;
}

#endif /* SFU_COPY_PLACES_H */
