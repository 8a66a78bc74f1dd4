/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Cache: rules by the instruction pointer of the frame they are for, so that a
 * walk through code that has been seen before need not look at sections.
 *
 * Nothing here knows a kernel, or how long a rule holds. An entry holds in the
 * epoch that it is marked with; in another one its owner is asked first.
 *
 * Whoever has a cache has a lock for all functions but sfu_cache_follow(), which
 * goes without. It reads each value once, uses what it has read then, and may
 * find one entry's key beside another one's rule. What it does with that is
 * harmless, and forgotten when it sees by the sequence that something was written
 * meanwhile.
 */
#ifndef SFU_CACHE_H
#define SFU_CACHE_H

#include "../env.h"
#include "sframe.h"
#include "step.h"

#define SFU_CACHE_WAYS	4

/*
 * A rule in one word, so that it is read as a whole. It can tell of rules by which
 * the return address is right below the CFA, and that above the stack pointer
 * or frame pointer by a multiple of the word size:
 *
 * bits 0 to 31		distance of the CFA from that register
 * bit 0		that is the frame pointer; in SFU_BRIEF_COMPLEX, which has
 *			no distance, this says that it is another rule
 * bits 48 to 63	distance of the caller's frame pointer from the CFA; 0 if
 *			it is still in its register
 */
#define SFU_BRIEF_FP		0x1
#define SFU_BRIEF_COMPLEX	0x1
#define SFU_BRIEF_FP_SHIFT	48

/* Of rule.flags: there is none, the frame was looked for in vain. */
#define SFU_RULE_NONE		0x80

/**
 * struct sfu_cache_entry
 *
 * Members marked with (*) are also read without a lock: they are written by
 * WRITE_ONCE() alone.
 *
 * @key: (*) see sfu_cache_key(); 0 is a free entry.
 * @brief: (*) SFU_BRIEF_*, of @rule.
 * @epoch: (*) in which it is known to hold.
 * @owner: of whoever fills the cache.
 * @rule: for that frame.
 * @caller: (*) where the entry is that the frame's caller had last, in bytes from
 *	the first one. Just where to look first: any entry is right, and whoever
 *	walks writes here, without a lock. Nobody writes what is no entry's place
 *	in this cache, so that it need not be checked.
 */
struct sfu_cache_entry {
	u64 key;
	u64 brief;
	u32 epoch;
	u32 owner;
	struct sfu_rule rule;
	u32 caller;
};

/**
 * struct sfu_cache
 *
 * @nr_sets: a power of two.
 * @victim: chooses the way that is replaced in a set that is full.
 * @innermost: as an entry's @caller, for the first frame of a walk.
 * @sequence: odd while entries are being written, and changed by that.
 * @entry: sets of SFU_CACHE_WAYS entries.
 */
struct sfu_cache {
	u32 nr_sets;
	u32 victim;
	u32 innermost;
	u32 sequence;
	struct sfu_cache_entry *entry;
};

/* What 2^@set_bits sets need. */
static inline size_t sfu_cache_bytes(u8 set_bits)
{
	return (sizeof(struct sfu_cache_entry) * SFU_CACHE_WAYS) << set_bits;
}

/* @memory, of sfu_cache_bytes(), is all zeroes; @set_bits is 16 at most. */
static inline void sfu_cache_init(struct sfu_cache *cache, u8 set_bits,
				  void *memory)
{
	*cache = (struct sfu_cache) {
		.nr_sets = 1U << set_bits,
		.entry = memory,
	};
}

/* User addresses leave the highest bit free: an exact address has it set. */
#define SFU_CACHE_EXACT	0x8000000000000000ULL

/* What the rule of @frame is found by: its address, and what that means. */
static inline u64 sfu_cache_key(const struct sfu_frame *frame)
{
	return frame->exact ? frame->ip | SFU_CACHE_EXACT : frame->ip;
}

/* The address that the rule for @key is looked up by. */
static inline u64 sfu_cache_pc(u64 key)
{
	return key & SFU_CACHE_EXACT ? key & ~SFU_CACHE_EXACT : key - 1;
}

/* The entry for @key, or NULL. */
struct sfu_cache_entry *sfu_cache_find(const struct sfu_cache *cache, u64 key);

/*
 * Remember @rule for @key. Returns whether another entry had to go for it.
 */
bool sfu_cache_insert(struct sfu_cache *cache, u64 key, u32 epoch, u32 owner,
		      const struct sfu_rule *rule);

/* @entry holds in @epoch, too. */
void sfu_cache_renew(struct sfu_cache *cache, struct sfu_cache_entry *entry,
		     u32 epoch);

/* Forget all rules. */
void sfu_cache_clear(struct sfu_cache *cache);

/*
 * Step from @frame to its callers as long as there is a rule that is not complex
 * for it in @epoch, at most @max times, which is not 0, and note their addresses in
 * @ip. Reads @stack without sleeping. Returns the number of steps; @frame is
 * the last frame reached.
 *
 * The last address noted may be none of user space. If others change the cache
 * meanwhile, it returns 0, and what is in @ip means nothing. May be called without
 * a lock, but the memory must stay.
 */
u32 sfu_cache_follow(struct sfu_cache *cache, u32 epoch,
		     struct sfu_frame *frame, const struct sfu_stack *stack,
		     u64 *ip, u32 max);

#endif /* SFU_CACHE_H */
