/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Entry of an .eh_frame in memory: a CIE or FDE with a length of 32 bits.
 */
#ifndef SFRAME_UNWIND_JIT_ENTRY_H
#define SFRAME_UNWIND_JIT_ENTRY_H

#include "convert/cfi/reader.h"

/* Size of an entry's length, and of what tells CIE from FDE. */
#define WORD 4

static inline uint32_t word_at(const unsigned char *at)
{
	uint32_t word;

	memcpy(&word, at, sizeof(word));
	return word;
}

/* What is behind the first two words of the entry at @at. */
static inline struct reader entry_contents(const unsigned char *at)
{
	return (struct reader){
		.at = at + 2 * WORD,
		.end = at + WORD + word_at(at),
	};
}

#endif /* SFRAME_UNWIND_JIT_ENTRY_H */
