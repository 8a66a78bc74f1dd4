/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Cache: a hash table from the address of a frame to its rule, so that a walk
 * through code seen before does not read sections.
 *
 * Independent of the kernel. The cache does not decide how long a rule is valid: an
 * entry is valid in the epoch it is marked with; in another epoch the user of the
 * cache has to revalidate it (see mm/rules.h). At a time there are two epochs, for
 * rules from different sources.
 *
 * The user of a cache serializes all functions by a lock, but sfu_cache_follow()
 * and sfu_cache_peek(), which need none. They read each value once and use the value
 * read. They may combine the key of one entry with the rule of another: that is
 * harmless, and is discarded when @sequence shows that entries were written
 * meanwhile. Nor does sfu_cache_find() need the lock, for a user whom no entry harms.
 */
#ifndef SFU_CACHE_H
#define SFU_CACHE_H

#include "../env.h"
#include "sframe.h"
#include "step.h"

#define SFU_CACHE_WAYS	4

/*
 * A simple rule in one word, so that it can be read atomically. A rule is simple if
 * the return address is the word below the CFA, and the CFA is above the stack
 * pointer or the frame pointer by a multiple of the word size. All other rules are
 * SFU_BRIEF_COMPLEX.
 *
 * bits 0 to 2		flags, SFU_BRIEF_*; none in most rules
 * bits 0 to 31		with the flags 0: offset of the CFA from the stack pointer;
 *			with SFU_BRIEF_FP: from the frame pointer
 * bits 48 to 63	offset from the CFA, negative, at which the caller's frame
 *			pointer is saved; 0 if it is unchanged
 *
 * SFU_BRIEF_EXACT marks the rule of an exact key: sfu_cache_follow() has to detect
 * stack words that look like one.
 */
#define SFU_BRIEF_FP		0x1
#define SFU_BRIEF_EXACT		0x2
#define SFU_BRIEF_COMPLEX	0x4
#define SFU_BRIEF_FLAGS		0x7
#define SFU_BRIEF_FP_SHIFT	48

/* In rule.flags: a negative entry, the section has no rule for the frame. */
#define SFU_RULE_NONE		0x80

/* With that: there is no section at all for the frame, yet. */
#define SFU_RULE_NO_SECTION	0x20

/**
 * struct sfu_epochs - the epochs at a time
 *
 * They share one sequence of numbers, so an entry is valid if it is marked with either.
 *
 * @of_sections: of rules from sections; not 0.
 * @of_tables: of rules from function tables; not 0. If it is equal to @of_sections, no
 *	such rule is valid, and none may be cached.
 */
struct sfu_epochs {
	u32 of_sections;
	u32 of_tables;
};

/**
 * struct sfu_cache_entry
 *
 * Members marked with (*) are also read without a lock, so they are written only
 * with WRITE_ONCE().
 *
 * @key: (*) see sfu_cache_key(); 0 marks a free entry.
 * @brief: (*) @rule as SFU_BRIEF_*, for @key.
 * @epoch: (*) the epoch in which @rule is known to be valid.
 * @owner: (*) a value of the cache's user.
 * @rule: (*) the rule for the frame with @key.
 * @caller: (*) hint: byte offset in the array of the entry that was last used for
 *	the caller of this frame. May be the offset of any entry: the key is
 *	compared. Walks write it without a lock. Only offsets of entries in this
 *	array are written, so it needs no check.
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
 * @victim: pseudo-random state, selects the entry to replace in a full set.
 * @innermost: like an entry's @caller, for the first frame of a walk.
 * @sequence: sequence count: odd while entries are being written.
 * @entry: @nr_sets sets of SFU_CACHE_WAYS entries.
 */
struct sfu_cache {
	u32 nr_sets;
	u32 victim;
	u32 innermost;
	u32 sequence;
	struct sfu_cache_entry *entry;
};

/* Returns the size in bytes of 2^@set_bits sets. */
static inline size_t sfu_cache_bytes(u8 set_bits)
{
	return (sizeof(struct sfu_cache_entry) * SFU_CACHE_WAYS) << set_bits;
}

/* @memory: sfu_cache_bytes(@set_bits) zeroed bytes. @set_bits: at most 16. */
static inline void sfu_cache_init(struct sfu_cache *cache, u8 set_bits,
				  void *memory)
{
	*cache = (struct sfu_cache) {
		.nr_sets = 1U << set_bits,
		.entry = memory,
	};
}

/* Set in the key of an exact frame. The highest bit is 0 in user addresses. */
#define SFU_CACHE_EXACT	0x8000000000000000ULL

/* Returns the key for @frame: its address, and whether that is exact. */
static inline u64 sfu_cache_key(const struct sfu_frame *frame)
{
	return frame->exact ? frame->ip | SFU_CACHE_EXACT : frame->ip;
}

/* Returns the address to look up for @key, see sfu_frame_pc(). */
static inline u64 sfu_cache_pc(u64 key)
{
	return key & SFU_CACHE_EXACT ? key & ~SFU_CACHE_EXACT : key - 1;
}

/* Add SFU_RULE_KEEPS_FP to the rule in @match, if one row says it of the whole function. */
static inline void sfu_cache_mark_rule(struct sfu_match *match)
{
	if (match->num_rows == 1 && sfu_step_is_fp_rule(&match->rule))
		match->rule.flags |= SFU_RULE_KEEPS_FP;
}

/*
 * Returns the entry for @key, or NULL. Without the lock, it may be for another key when
 * the caller reads it.
 */
struct sfu_cache_entry *sfu_cache_find(const struct sfu_cache *cache, u64 key);

/*
 * Insert @rule for @key, or replace it. Returns whether the entry of another key
 * was evicted.
 */
bool sfu_cache_insert(struct sfu_cache *cache, u64 key, u32 epoch, u32 owner,
		      const struct sfu_rule *rule);

/* Returns whether @epoch, of an entry, is one of @epochs. */
static __always_inline bool sfu_epochs_have(struct sfu_epochs epochs, u32 epoch)
{
	return epoch == epochs.of_sections || epoch == epochs.of_tables;
}

/* Mark @entry valid in @epoch. */
void sfu_cache_renew(struct sfu_cache *cache, struct sfu_cache_entry *entry,
		     u32 epoch);

/*
 * Get the rule for @key if it is valid in @epochs. Needs no lock, but the caller must
 * keep the cache from being freed. Returns whether there is one; false also if
 * entries were written meanwhile.
 */
bool sfu_cache_peek(const struct sfu_cache *cache, struct sfu_epochs epochs,
		    u64 key, struct sfu_rule *rule);

/**
 * struct sfu_followed - result of sfu_cache_follow()
 *
 * @nr: number of steps.
 * @missing: not 0 if the cache has no entry with the key of the last frame reached;
 *	if 0, it may have one.
 * @discarded: not 0 if entries were written meanwhile. There may have been as many steps
 *	as asked for, all in vain.
 */
struct sfu_followed {
	u32 nr;
	u16 missing;
	u16 discarded;
};

/*
 * Step from @frame to its callers as long as the cache has a simple rule that is
 * valid in @epochs, at most @max times (not 0). Stores the callers' addresses in
 * @ip. Does not sleep. Returns the number of steps, with @frame set to the last
 * frame reached; it may have fp_at.
 *
 * The last address stored may be outside of user space. If entries were written
 * meanwhile, there are 0 steps, @frame is unchanged and @ip undefined. Needs no
 * lock, but the caller must keep the cache from being freed.
 */
struct sfu_followed sfu_cache_follow(struct sfu_cache *cache,
				     struct sfu_epochs epochs,
				     struct sfu_frame *frame,
				     const struct sfu_stack *stack, u64 *ip,
				     u32 max);

#endif /* SFU_CACHE_H */
