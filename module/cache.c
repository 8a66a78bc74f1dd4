// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Cache: rules by the instruction pointer of the frame they are for.
 */
#include "arch_x86.h"
#include "cache.h"

/* So far from the CFA may a simple rule have the frame pointer. */
#define MAX_FP_DISTANCE	32768

/* A walk that starts lower in memory is none for sfu_cache_follow(). */
#define MIN_ADDRESS	(2 * MAX_FP_DISTANCE)

/* The entries for @key are SFU_CACHE_WAYS from here on. */
static inline struct sfu_cache_entry *set_of(const struct sfu_cache *cache,
					     u64 key)
{
	/* High bits of a product depend on all bits of its factors below. */
	const u32 hash = (key * 0x9e3779b97f4a7c15ULL) >> 40;

	return &cache->entry[(hash & (cache->nr_sets - 1)) * SFU_CACHE_WAYS];
}

/* The entry for @key among those of its set, or NULL. */
static __always_inline struct sfu_cache_entry *
find_in_set(struct sfu_cache_entry *set, u64 key)
{
	u32 i;

	for (i = 0; i < SFU_CACHE_WAYS; i++) {
		if (set[i].key == key)
			return &set[i];
	}
	return NULL;
}

struct sfu_cache_entry *sfu_cache_find(const struct sfu_cache *cache, u64 key)
{
	return find_in_set(set_of(cache, key), key);
}

/* What sfu_cache_follow() is to know of @rule. */
static u8 follow_flags(const struct sfu_rule *rule)
{
	u8 flags = 0;

	if (rule->flags || rule->ra != (SFU_BASE_CFA | SFU_DEREF) ||
	    rule->ra_offset != -SFU_WORD_SIZE || rule->cfa_offset <= 0 ||
	    rule->cfa_offset % SFU_WORD_SIZE)
		return SFU_RULE_COMPLEX;
	if (rule->cfa == SFU_REG_FP)
		flags |= SFU_RULE_CFA_FP;
	else if (rule->cfa != SFU_REG_SP)
		return SFU_RULE_COMPLEX;
	if (rule->fp & SFU_SAME)
		return flags;
	if (rule->fp != (SFU_BASE_CFA | SFU_DEREF) || rule->fp_offset >= 0 ||
	    rule->fp_offset < -MAX_FP_DISTANCE)
		return SFU_RULE_COMPLEX;
	return flags | SFU_RULE_LOADS_FP;
}

/* The place for a new entry of the set that starts at @entry. */
static struct sfu_cache_entry *choose(struct sfu_cache *cache,
				      struct sfu_cache_entry *entry, u64 key)
{
	u32 i;

	for (i = 0; i < SFU_CACHE_WAYS; i++) {
		if (entry[i].key == key || !entry[i].key)
			return &entry[i];
	}
	/* Rotations of a few more than fit must not replace each other all. */
	cache->victim = cache->victim * 1103515245 + 12345;
	return &entry[(cache->victim >> 16) % SFU_CACHE_WAYS];
}

bool sfu_cache_insert(struct sfu_cache *cache, u64 key, u32 epoch, u32 owner,
		      const struct sfu_rule *rule)
{
	struct sfu_cache_entry *entry;
	bool replaces;

	entry = choose(cache, set_of(cache, key), key);
	replaces = entry->key && entry->key != key;
	*entry = (struct sfu_cache_entry) {
		.key = key,
		.epoch = epoch,
		.owner = owner,
		.rule = *rule,
	};
	entry->rule.flags |= follow_flags(rule);
	return replaces;
}

u32 sfu_cache_follow(struct sfu_cache *cache, u32 epoch,
		     struct sfu_frame *frame, const struct sfu_stack *stack,
		     u64 *ip, u32 max)
{
	const u64 limit = sfu_fast_limit(stack);
	const u64 *const end = ip + max, *const begin = ip;
	void *const entries = cache->entry;
	u64 key = sfu_cache_key(frame), sp = frame->sp, fp = frame->fp;
	u32 *caller = &cache->innermost;

	if (!frame->fp_known || sp % SFU_WORD_SIZE || sp < MIN_ADDRESS ||
	    !sfu_fast_begin(stack, sp))
		return 0;
	while (ip < end) {
		struct sfu_cache_entry *entry = entries + READ_ONCE(*caller);
		u64 cfa, saved;
		u8 flags;

		if (entry->key != key) {
			entry = find_in_set(set_of(cache, key), key);
			if (!entry)
				break;
			WRITE_ONCE(*caller, (void *)entry - entries);
		}
		if (entry->epoch != epoch)
			break;
		caller = &entry->caller;
		flags = entry->rule.flags;
		cfa = sp;
		if (flags & (SFU_RULE_COMPLEX | SFU_RULE_CFA_FP)) {
			if (flags & SFU_RULE_COMPLEX || fp % SFU_WORD_SIZE ||
			    fp + entry->rule.cfa_offset <= sp)
				break;
			cfa = fp;
		}
		cfa += entry->rule.cfa_offset;
		/* What is there cannot be read, not even ahead of this. */
		if (cfa > limit)
			cfa = limit;
		sfu_fast_read(stack, cfa - SFU_WORD_SIZE, key, out);
		if (flags & SFU_RULE_LOADS_FP) {
			sfu_fast_read(stack, cfa + entry->rule.fp_offset, saved,
				      out);
			fp = saved;
		}
		*ip++ = key;
		sp = cfa;
		/* None of user space, but what an exact address is found by. */
		if (key & SFU_CACHE_EXACT)
			break;
	}
out:
	sfu_fast_end();
	if (ip > begin)
		*frame = (struct sfu_frame) {
			.ip = ip[-1],
			.sp = sp,
			.fp = fp,
			.fp_known = true,
		};
	return ip - begin;
}
