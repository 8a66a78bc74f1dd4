/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Words: copy, fill and compare the short arrays of stacks.
 */
#ifndef SFU_WORDS_H
#define SFU_WORDS_H

#include <linux/compiler.h>
#include <linux/sframe_unwind.h>
#include <linux/string.h>
#include <linux/types.h>

/* From this number of words on, string instructions are worth their start. */
#define SFU_MANY_WORDS	64

/*
 * Copy @nr words, most often as few as a stack has frames. Returns the address
 * behind the copy.
 */
static inline u64 *sfu_copy_words(u64 *to, const u64 *from, u32 nr)
{
	u64 *const end = to + nr;

	if (nr >= SFU_MANY_WORDS) {
		memcpy(to, from, nr * sizeof(*to));
		return end;
	}
	/* Volatile, so that the compiler does not call memcpy() instead. */
	for (; nr >= 4; nr -= 4, to += 4, from += 4) {
		WRITE_ONCE(to[0], from[0]);
		WRITE_ONCE(to[1], from[1]);
		WRITE_ONCE(to[2], from[2]);
		WRITE_ONCE(to[3], from[3]);
	}
	for (; nr; nr--, to++, from++)
		WRITE_ONCE(*to, *from);
	return end;
}

/* Bytes that an array needs behind the last one that sfu_fill_bytes() sets. */
#define SFU_FILL_BEHIND	7

/* Set @nr bytes to @byte; up to SFU_FILL_BEHIND bytes behind them may be set, too. */
static inline void sfu_fill_bytes(u8 *to, u8 byte, u32 nr)
{
	const u64 word = byte * 0x0101010101010101ULL;
	u32 i;

	if (nr >= SFU_MANY_WORDS * sizeof(word)) {
		memset(to, byte, nr);
		return;
	}
	/* So that the compiler does not call memset() instead. */
	for (i = 0; i < nr; i += sizeof(word))
		WRITE_ONCE(*(u64 *)(to + i), word);
}

/*
 * Returns whether @nr bytes are all @byte. Reads up to SFU_FILL_BEHIND bytes behind
 * them, whose values do not matter.
 */
static inline bool sfu_are_bytes(const u8 *bytes, u8 byte, u32 nr)
{
	const u64 all = byte * 0x0101010101010101ULL;
	u64 word;

	for (; nr >= sizeof(word); nr -= sizeof(word), bytes += sizeof(word)) {
		memcpy(&word, bytes, sizeof(word));
		if (word != all)
			return false;
	}
	if (!nr)
		return true;
	memcpy(&word, bytes, sizeof(word));
	/* The bytes behind are the high ones. */
	return !((word ^ all) << 8 * (sizeof(word) - nr));
}

#endif /* SFU_WORDS_H */
