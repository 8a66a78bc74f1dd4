// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Cache: a hash table from the address of a frame to its rule.
 */
#include "../arch/arch.h"
#include "../user.h"
#include "cache.h"
#include "sframe_format.h"

/* Addresses must not have the bit that marks an exact key. */
static_assert(SFU_USER_END <= SFU_CACHE_EXACT, "user addresses are too high");

/* Maximum distance from the CFA of the saved frame pointer in a simple rule. */
#define MAX_FP_DISTANCE	32768

/* sfu_cache_follow() declines frames whose stack pointer is lower than this. */
#define MIN_ADDRESS	(2 * MAX_FP_DISTANCE)

/* Returns the first of the SFU_CACHE_WAYS entries that can be for @key. */
static inline struct sfu_cache_entry *set_of(const struct sfu_cache *cache,
					     u64 key)
{
	/* Multiplicative hash: the high bits depend on all bits of the key. */
	const u32 hash = (key * 0x9e3779b97f4a7c15ULL) >> 40;

	return &cache->entry[(hash & (cache->nr_sets - 1)) * SFU_CACHE_WAYS];
}

/* Returns the entry for @key in @set, or NULL. */
static __always_inline struct sfu_cache_entry *
find_in_set(struct sfu_cache_entry *set, u64 key)
{
	u32 i;

	for (i = 0; i < SFU_CACHE_WAYS; i++) {
		if (READ_ONCE(set[i].key) == key)
			return &set[i];
	}
	return NULL;
}

struct sfu_cache_entry *sfu_cache_find(const struct sfu_cache *cache, u64 key)
{
	return find_in_set(set_of(cache, key), key);
}

/* Returns @rule, for the frame with @key, as SFU_BRIEF_*. */
static u64 brief_of(u64 key, const struct sfu_rule *rule)
{
	u64 brief = (u32)rule->cfa_offset;
	u8 flags = rule->flags;

	/* In an exact frame, the rule depends on the instructions. */
	if (!(key & SFU_CACHE_EXACT))
		flags &= ~SFU_RULE_KEEPS_FP;
	if (flags || rule->ra != (SFU_BASE_CFA | SFU_DEREF) ||
	    rule->ra_offset != -SFU_WORD_SIZE || rule->cfa_offset <= 0 ||
	    rule->cfa_offset % SFU_WORD_SIZE)
		return SFU_BRIEF_COMPLEX;
	if (key & SFU_CACHE_EXACT)
		brief |= SFU_BRIEF_EXACT;
	/* It is not followed to another stack, at lower addresses. */
	if (rule->cfa == SFU_REG_FP || rule->cfa == SFRAME_EXT_REG_FP_SWITCH)
		brief |= SFU_BRIEF_FP;
	else if (rule->cfa != SFU_REG_SP)
		return SFU_BRIEF_COMPLEX;
	if (rule->fp & SFU_SAME)
		return brief;
	if (rule->fp != (SFU_BASE_CFA | SFU_DEREF) || rule->fp_offset >= 0 ||
	    rule->fp_offset < -MAX_FP_DISTANCE)
		return SFU_BRIEF_COMPLEX;
	return brief | (u64)rule->fp_offset << SFU_BRIEF_FP_SHIFT;
}

/*
 * Values written between begin_writing() and end_writing() are discarded by a
 * concurrent sfu_cache_follow(): it reads an odd sequence, or two different ones.
 */
static void begin_writing(struct sfu_cache *cache)
{
	WRITE_ONCE(cache->sequence, cache->sequence + 1);
	/* Pairs with the barrier in is_unchanged(). */
	smp_wmb();
}

static void end_writing(struct sfu_cache *cache)
{
	/* Pairs with the acquire in begin_reading(). */
	smp_wmb();
	WRITE_ONCE(cache->sequence, cache->sequence + 1);
}

static inline u32 begin_reading(const struct sfu_cache *cache)
{
	/* Pairs with the barrier in end_writing(). */
	return smp_load_acquire(&cache->sequence);
}

static inline bool is_unchanged(const struct sfu_cache *cache, u32 sequence)
{
	/* Pairs with the barrier in begin_writing(). */
	smp_rmb();
	return READ_ONCE(cache->sequence) == sequence;
}

/* Part of a rule that can be read and written atomically. */
typedef u64 __attribute__((__may_alias__)) rule_word;

#define RULE_WORDS	(sizeof(struct sfu_rule) / sizeof(rule_word))
static_assert(sizeof(struct sfu_rule) % sizeof(rule_word) == 0, "rule size");

static void read_rule(struct sfu_rule *to, const struct sfu_rule *from)
{
	u32 i;

	for (i = 0; i < RULE_WORDS; i++)
		((rule_word *)to)[i] = READ_ONCE(((const rule_word *)from)[i]);
}

static void write_rule(struct sfu_rule *to, const struct sfu_rule *from)
{
	u32 i;

	for (i = 0; i < RULE_WORDS; i++)
		WRITE_ONCE(((rule_word *)to)[i], ((const rule_word *)from)[i]);
}

/* Choose the entry to use for @key, in the set that starts at @entry. */
static struct sfu_cache_entry *
choose_entry(struct sfu_cache *cache, struct sfu_cache_entry *entry, u64 key)
{
	u32 i;

	for (i = 0; i < SFU_CACHE_WAYS; i++) {
		if (entry[i].key == key || !entry[i].key)
			return &entry[i];
	}
	/*
	 * Replace a random entry: with a fixed order, a cycle of a few more keys
	 * than fit would evict each entry before it is used again.
	 */
	cache->victim = cache->victim * 1103515245 + 12345;
	return &entry[(cache->victim >> 16) % SFU_CACHE_WAYS];
}

bool sfu_cache_insert(struct sfu_cache *cache, u64 key, u32 epoch, u32 owner,
		      const struct sfu_rule *rule)
{
	struct sfu_cache_entry *entry;
	bool replaces;

	entry = choose_entry(cache, set_of(cache, key), key);
	replaces = entry->key && entry->key != key;
	begin_writing(cache);
	WRITE_ONCE(entry->key, key);
	WRITE_ONCE(entry->brief, brief_of(key, rule));
	WRITE_ONCE(entry->epoch, epoch);
	WRITE_ONCE(entry->caller, 0);
	write_rule(&entry->rule, rule);
	end_writing(cache);
	WRITE_ONCE(entry->owner, owner);
	return replaces;
}

void sfu_cache_renew(struct sfu_cache *cache, struct sfu_cache_entry *entry,
		     u32 epoch)
{
	begin_writing(cache);
	WRITE_ONCE(entry->epoch, epoch);
	end_writing(cache);
}

bool sfu_cache_peek(const struct sfu_cache *cache, struct sfu_epochs epochs,
		    u64 key, struct sfu_rule *rule)
{
	const u32 sequence = begin_reading(cache);
	const struct sfu_cache_entry *entry;

	if (sequence & 1)
		return false;
	entry = sfu_cache_find(cache, key);
	if (!entry || !sfu_epochs_have(epochs, READ_ONCE(entry->epoch)))
		return false;
	read_rule(rule, &entry->rule);
	return is_unchanged(cache, sequence);
}

struct sfu_followed sfu_cache_follow(struct sfu_cache *cache,
				     struct sfu_epochs epochs,
				     struct sfu_frame *frame,
				     const struct sfu_stack *stack, u64 *ip,
				     u32 max)
{
	struct sfu_followed followed = { .missing = 0 };
	u64 *const end = ip + max;
	void *const entries = cache->entry;
	/* Address of the last stack word popped: the stack pointer minus a word. */
	u64 last = frame->sp - SFU_WORD_SIZE;
	u64 key = sfu_cache_key(frame), fp = frame->fp, fp_at = frame->fp_at;
	u32 *caller = &cache->innermost;
	struct sfu_words words;
	s64 i = -(s64)max;
	u32 sequence;

	sequence = begin_reading(cache);
	if (sequence & 1)
		return (struct sfu_followed) { .discarded = 1 };
	if (!frame->fp_known || frame->sp % SFU_WORD_SIZE ||
	    frame->sp < MIN_ADDRESS ||
	    !sfu_words_begin(&words, stack, frame->sp))
		return followed;
	do {
		struct sfu_cache_entry *entry = entries + READ_ONCE(*caller);
		u64 brief, at, word;
		s64 distance;

		/* Only compared, so that a second read would be harmless. */
		if (data_race(entry->key) != key) {
			entry = find_in_set(set_of(cache, key), key);
			if (!entry) {
				followed.missing = 1;
				break;
			}
			WRITE_ONCE(*caller, (void *)entry - entries);
		}
		/*
		 * Likewise. A second read, so that compilers compare the first one in
		 * memory: that is an instruction less for each frame.
		 */
		if (data_race(entry->epoch) != epochs.of_sections &&
		    READ_ONCE(entry->epoch) != epochs.of_tables)
			break;
		caller = &entry->caller;
		brief = READ_ONCE(entry->brief);
		distance = (s32)brief;
		at = last + distance;
		if (brief & SFU_BRIEF_FLAGS) {
			if (brief & (SFU_BRIEF_COMPLEX | SFU_BRIEF_EXACT)) {
				/* Only the first key is not a stack word. */
				if (brief & SFU_BRIEF_COMPLEX || i != -(s64)max)
					break;
				distance -= SFU_BRIEF_EXACT;
				at -= SFU_BRIEF_EXACT;
			}
			if (brief & SFU_BRIEF_FP) {
				if (fp_at)
					sfu_words_get(&words, fp_at, fp, out);
				at = fp + distance - SFU_BRIEF_FP - SFU_WORD_SIZE;
				if (fp % SFU_WORD_SIZE || at <= last)
					break;
			}
		}
		sfu_words_get(&words, at, word, out);
		distance = (s64)brief >> SFU_BRIEF_FP_SHIFT;
		if (distance)
			fp_at = at + SFU_WORD_SIZE + distance;
		key = word;
		last = at;
		end[i] = key;
	} while (++i);
out:
	sfu_words_end(&words);
	if (!is_unchanged(cache, sequence))
		return (struct sfu_followed) { .discarded = 1 };
	sfu_words_count(&words);
	followed.nr = end + i - ip;
	if (!followed.nr)
		return followed;
	/* One by one: compilers clear structures of this size slowly. */
	frame->ip = end[i - 1];
	frame->sp = last + SFU_WORD_SIZE;
	frame->fp = fp;
	frame->fp_at = fp_at;
	frame->exact = false;
	frame->regs = NULL;
	frame->saved = NULL;
	frame->sigcontext = 0;
	return followed;
}
