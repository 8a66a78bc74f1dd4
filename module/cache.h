/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Cache: rules by the instruction pointer of the frame they are for, so that a
 * walk through code that has been seen before need not look at sections.
 *
 * Nothing here knows a kernel, locks, or how long a rule holds. An entry holds
 * in the epoch that it is marked with; in another one its owner is asked first.
 */
#ifndef SFU_CACHE_H
#define SFU_CACHE_H

#include "env.h"
#include "sframe.h"
#include "step.h"

#define SFU_CACHE_WAYS	4

/*
 * Bits of an entry's rule.flags: what sfu_cache_follow() can do by itself. The
 * CFA is above the stack pointer or frame pointer by a multiple of the word
 * size, and the return address below it.
 */
#define SFU_RULE_SIMPLE		0x10
#define SFU_RULE_CFA_FP		0x20	/* above the frame pointer */
#define SFU_RULE_LOADS_FP	0x40	/* the caller's is at the CFA + fp_offset */

/**
 * struct sfu_cache_entry
 *
 * @key: see sfu_cache_key(); 0 is a free entry.
 * @epoch: in which it is known to hold.
 * @owner: of whoever fills the cache.
 * @rule: for that frame.
 */
struct sfu_cache_entry {
	u64 key;
	u32 epoch;
	u32 owner;
	struct sfu_rule rule;
};

/**
 * struct sfu_cache
 *
 * @shift: 64 minus the binary logarithm of the number of sets.
 * @next: the way that is replaced next in a set that is full.
 * @entry: sets of SFU_CACHE_WAYS entries.
 */
struct sfu_cache {
	u8 shift;
	u8 next;
	struct sfu_cache_entry *entry;
};

static inline u32 sfu_cache_nr_entries(const struct sfu_cache *cache)
{
	return (u32)(1ULL << (64 - cache->shift)) * SFU_CACHE_WAYS;
}

/* User addresses leave the highest bit free: an exact address has it set. */
#define SFU_CACHE_EXACT	(1ULL << 63)

/* What the rule of @frame is found by: its address, and what that means. */
static inline u64 sfu_cache_key(const struct sfu_frame *frame)
{
	return frame->exact ? frame->ip | SFU_CACHE_EXACT : frame->ip;
}

/* The entry for @key, or NULL. */
struct sfu_cache_entry *sfu_cache_find(const struct sfu_cache *cache, u64 key);

/*
 * Remember @rule for @key. Returns whether another entry had to go for it that
 * holds in @epoch.
 */
bool sfu_cache_insert(struct sfu_cache *cache, u64 key, u32 epoch, u32 owner,
		      const struct sfu_rule *rule);

/*
 * Step from @frame to its callers as long as it is behind a call and there is a
 * simple rule for it in @epoch, at most @max times, and note their addresses in
 * @ip. Reads @stack without sleeping. Returns the number of steps; @frame is
 * the last frame reached.
 *
 * The last address noted may be none of user space. If others write to the
 * cache meanwhile, anything may have been noted, but nothing else has happened.
 */
u32 sfu_cache_follow(const struct sfu_cache *cache, u32 epoch,
		     struct sfu_frame *frame, const struct sfu_stack *stack,
		     u64 *ip, u32 max);

#endif /* SFU_CACHE_H */
