/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Rules: the rule cache of a space, and how stale entries are avoided.
 *
 * Each entry of the cache belongs to an owner: a section, with the address
 * range for which its mappings have been checked. An epoch is a period in which
 * no mapping of the mm changes, no section is removed, and nothing is attached
 * or detached: a check made in an epoch stays valid until the epoch ends. In a
 * new epoch, an entry is valid again when its owner still exists, and the
 * owner's mappings have been checked once.
 *
 * Rules from function tables have an epoch of their own. It ends with the other one, and
 * whenever a walk reads another sum of the counters of removed functions than the walk
 * that has begun it. In the latter case these rules have to be looked up again: entries
 * from earlier epochs are not made valid again. Each rule is looked up after its epoch
 * has begun, so its function was not removed before the counters had the values that the
 * walks in this epoch have read. What was removed since is not in the stacks of these
 * walks: a runtime removes no function that a thread is in, and counts the removal before
 * it reuses the address.
 *
 * On kernels that tell whether mappings have changed, an epoch lasts until they
 * do. On others, each walk begins a new epoch.
 */
#ifndef SFU_RULES_H
#define SFU_RULES_H

#include <linux/spinlock.h>
#include <linux/types.h>

#include "decode/cache.h"

struct mm_struct;
struct sfu_followed;
struct sfu_frame;
struct sfu_rule;
struct sfu_rules_table;
struct sfu_section;

/**
 * struct sfu_rules
 *
 * Members marked with (*) are also read without the lock, so they are written
 * only with WRITE_ONCE().
 *
 * @lock: protects all members, and the contents of @table, except from
 *	sfu_cache_follow(), sfu_cache_peek() and sfu_cache_find(). Nests inside all
 *	other locks.
 * @table: cache and owners; NULL before the first rule; read under RCU.
 * @mm_sequence: (*) sfu_mm_sequence() at the start of the epoch.
 * @generation: (*) generation of the attachments at the start of the epoch.
 * @removals: (*) sum of the counters of removals at the start of epochs.of_tables.
 * @epochs: (*) numbers of the current epochs; they increase until they wrap.
 * @tables_since: the first epochs.of_tables that began with @removals.
 * @last_epoch: the last number used.
 * @next_owner: number of the next owner in @table.
 * @misses: number of rules evicted since the table was created.
 * @over: sfu_rules_exit() was called: no table may be created any more.
 */
struct sfu_rules {
	raw_spinlock_t lock;
	struct sfu_rules_table __rcu *table;
	u64 mm_sequence;
	u64 generation;
	u64 removals;
	struct sfu_epochs epochs;
	u32 tables_since;
	u32 last_epoch;
	u32 next_owner;
	u32 misses;
	bool over;
};

/**
 * struct sfu_checked - a section, and the part of its text that has been checked
 */
struct sfu_checked {
	struct sfu_section *section;
	u64 start;
	u64 end;
};

/* Results of sfu_rules_find(). */
enum sfu_rules_result {
	SFU_RULES_MISS,
	SFU_RULES_HIT,
	SFU_RULES_UNCHECKED,	/* a rule exists, but its section must be checked */
};

void sfu_rules_init(struct sfu_rules *rules);

/*
 * Free the cache for good. Concurrent walks find no rule any more. May be
 * called more than once. May sleep.
 */
void sfu_rules_exit(struct sfu_rules *rules);

/*
 * Free the cache, because memory is short; a later walk creates another one.
 * For the shrinker: takes no lock that is held during allocations. May sleep.
 * Returns the number of pages freed.
 */
unsigned long sfu_rules_shrink(struct sfu_rules *rules);

/*
 * Begin a walk in @mm, which must be the current one. @generation: of the
 * attachments. @removals: of sfu_removals_read(), or NULL if that failed. Begins new
 * epochs if necessary. May sleep. Returns the epochs of the walk.
 */
struct sfu_epochs sfu_rules_begin(struct sfu_rules *rules, struct mm_struct *mm,
				  u64 generation, const u64 *removals);

/*
 * Find the rule for the frame with @key. On SFU_RULES_UNCHECKED, *@section is
 * set, with a reference: the caller may check it, call sfu_rules_set_checked()
 * and try again.
 */
enum sfu_rules_result sfu_rules_find(struct sfu_rules *rules,
				     struct sfu_epochs epochs, u64 key,
				     struct sfu_rule *rule,
				     struct sfu_section **section);

/*
 * Find a section that covers @pc and has been checked in @epoch. Returns true
 * with @checked set, and a reference to the section. If it returns false,
 * @checked is unchanged, and such a section may exist nevertheless.
 */
bool sfu_rules_find_checked(struct sfu_rules *rules, u32 epoch, u64 pc,
			    struct sfu_checked *checked);

/*
 * Returns whether checked->section, which must cover @pc, is known to have been
 * checked for @pc in @epoch. If so, sets the other members of @checked.
 */
bool sfu_rules_is_checked(struct sfu_rules *rules, u32 epoch, u64 pc,
			  struct sfu_checked *checked);

/*
 * Note that @checked, whose range includes @pc, was checked in @epoch. May
 * sleep.
 */
void sfu_rules_set_checked(struct sfu_rules *rules, u32 epoch, u64 pc,
			   const struct sfu_checked *checked);

/*
 * Insert @rule of @section for the frame with @key. Does nothing unless
 * sfu_rules_set_checked() was called for the section in epochs.of_sections. May sleep.
 */
void sfu_rules_insert(struct sfu_rules *rules, struct sfu_epochs epochs, u64 key,
		      const struct sfu_rule *rule,
		      const struct sfu_section *section);

/*
 * Invalidate the rules of @section, which was removed: no walk that begins
 * afterwards uses them. May sleep.
 */
void sfu_rules_forget(struct sfu_rules *rules, struct sfu_section *section);

/*
 * As sfu_rules_begin(), but does not begin new epochs. Takes no lock; any context.
 * Returns whether the current ones are still valid, with their numbers in *@epochs.
 */
bool sfu_rules_is_current(const struct sfu_rules *rules,
			  const struct mm_struct *mm, u64 generation,
			  u64 removals, struct sfu_epochs *epochs);

/* See sfu_cache_peek(). Takes no lock; any context. */
bool sfu_rules_peek(const struct sfu_rules *rules, struct sfu_epochs epochs,
		    u64 key, struct sfu_rule *rule);

/*
 * Find the rule for the frame with @key: in the cache, or else in a section that has
 * been checked for it in epochs.of_sections, and put it into the cache. @mm: the current one.
 * Decreases *@rows by the number of rows read. Returns false if that is not possible at
 * once: a lock is taken, no such section is known, the function is not a common one, or
 * @key is a return address just behind it. Page faults must be disabled. Any context but
 * NMI.
 */
bool sfu_rules_find_now(struct sfu_rules *rules, struct sfu_epochs epochs,
			const struct mm_struct *mm, u64 key, u32 *rows,
			struct sfu_rule *rule);

/*
 * Returns whether there may be a rule for the frame with @key in the cache: one that is
 * valid in @epochs, or that may be after its section was checked. Takes no lock.
 */
bool sfu_rules_may_have(const struct sfu_rules *rules, struct sfu_epochs epochs,
			u64 key);

/*
 * See sfu_cache_follow(). Takes no lock; any context. The caller must be in an RCU
 * read-side critical section.
 */
struct sfu_followed sfu_rules_follow(struct sfu_rules *rules,
				     struct sfu_epochs epochs,
				     struct sfu_frame *frame, u64 *ip, u32 max);

#endif /* SFU_RULES_H */
