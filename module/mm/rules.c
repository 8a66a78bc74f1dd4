// SPDX-License-Identifier: GPL-2.0
/*
 * Rules: the rule cache of a space, and how stale entries are avoided.
 */
#include <linux/hash.h>
#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "compat.h"
#include "counters.h"
#include "decode/cache.h"
#include "limits.h"
#include "rules.h"
#include "rules_table.h"
#include "section.h"

/*
 * log2 of the sets of the smallest cache, 14 KiB with owners. The largest one, of
 * SFU_RULES_MAX_SET_BITS, has 912 KiB.
 */
#define MIN_SET_BITS	6
#define GROWTH_BITS	2

static long pages_of(const struct sfu_rules_table *table)
{
	return DIV_ROUND_UP((void *)(table->page + sfu_rules_nr_owners(table)) -
			    (void *)table, PAGE_SIZE);
}

static struct sfu_rules_table *create_table(u8 set_bits)
{
	const size_t owners = sizeof(struct sfu_rules_owner) << set_bits;
	const size_t cache = sfu_cache_bytes(set_bits);
	struct sfu_rules_table *table;

	table = kvzalloc(sizeof(*table) + owners + cache +
			 (sizeof(table->page[0]) << set_bits),
			 SFU_GFP_OPTIONAL);
	if (!table)
		return NULL;
	table->set_bits = set_bits;
	sfu_cache_init(&table->cache, set_bits, (void *)table->owner + owners);
	table->page = (void *)table->owner + owners + cache;
	sfu_count(SFU_CACHES);
	sfu_count_many(SFU_CACHE_PAGES, pages_of(table));
	return table;
}

/*
 * Free @table, which is not reachable any more, after an RCU grace period. May
 * sleep.
 */
static void free_table(struct sfu_rules_table *table)
{
	u32 i;

	if (!table)
		return;
	for (i = 0; i < sfu_rules_nr_owners(table); i++) {
		if (table->owner[i].section)
			sfu_section_put(table->owner[i].section);
		if (i % 64 == 0)
			cond_resched();
	}
	sfu_uncount(SFU_CACHES);
	sfu_count_many(SFU_CACHE_PAGES, -pages_of(table));
	kvfree_rcu(table, rcu);
}

void sfu_rules_init(struct sfu_rules *rules)
{
	raw_spin_lock_init(&rules->lock);
	rules->epochs.of_sections = 1;
	rules->epochs.of_tables = 2;
	rules->tables_since = 2;
	rules->last_epoch = 2;
}

static struct sfu_rules_table *table_of(struct sfu_rules *rules)
{
	return rcu_dereference_check(rules->table,
				     lockdep_is_held(&rules->lock));
}

/* Take the table away. It must be freed with free_table(), without the lock. */
static struct sfu_rules_table *take_table(struct sfu_rules *rules)
{
	struct sfu_rules_table *table = table_of(rules);

	lockdep_assert_held(&rules->lock);
	RCU_INIT_POINTER(rules->table, NULL);
	return table;
}

/*
 * Invalidate everything: entries must be revalidated. Returns a table that must be
 * freed, without the lock, or NULL.
 */
static struct sfu_rules_table *begin_rules_epoch(struct sfu_rules *rules)
{
	struct sfu_rules_table *wrapped = NULL;

	lockdep_assert_held(&rules->lock);
	if (rules->last_epoch > U32_MAX - 2) {
		/* Entries of earlier epochs would seem valid: take them away first. */
		rules->last_epoch = 0;
		rules->tables_since = 2;
		wrapped = take_table(rules);
		/* Who has read the new epoch finds no table of an earlier one. */
		smp_wmb();
	}
	WRITE_ONCE(rules->epochs.of_sections, ++rules->last_epoch);
	WRITE_ONCE(rules->epochs.of_tables, ++rules->last_epoch);
	return wrapped;
}

/* As begin_rules_epoch(), but invalidates the rules of function tables only. */
static struct sfu_rules_table *begin_tables_epoch(struct sfu_rules *rules)
{
	struct sfu_rules_table *wrapped = NULL;

	if (rules->last_epoch == U32_MAX)
		wrapped = begin_rules_epoch(rules);
	else
		WRITE_ONCE(rules->epochs.of_tables, ++rules->last_epoch);
	rules->tables_since = rules->epochs.of_tables;
	return wrapped;
}

void sfu_rules_exit(struct sfu_rules *rules)
{
	struct sfu_rules_table *table, *wrapped;

	raw_spin_lock(&rules->lock);
	rules->over = true;
	wrapped = begin_rules_epoch(rules);
	table = take_table(rules);
	raw_spin_unlock(&rules->lock);
	free_table(wrapped);
	free_table(table);
}

unsigned long sfu_rules_shrink(struct sfu_rules *rules)
{
	struct sfu_rules_table *table;
	unsigned long nr;

	raw_spin_lock(&rules->lock);
	table = take_table(rules);
	raw_spin_unlock(&rules->lock);
	nr = table ? pages_of(table) : 0;
	free_table(table);
	return nr;
}

/*
 * Returns a number for @owner that no entry of the cache refers to, or 0 if there is
 * none.
 */
static u32 new_owner_number(struct sfu_rules *rules,
			    const struct sfu_rules_table *table,
			    const struct sfu_rules_owner *owner)
{
	if (rules->next_owner >> (32 - table->set_bits))
		return 0;
	return rules->next_owner++ << table->set_bits | (owner - table->owner);
}

/*
 * If the current epochs began with @sequence, @generation and @removals, returns true
 * with their numbers in *@epochs.
 */
static bool is_epoch_of(const struct sfu_rules *rules, u64 sequence,
			u64 generation, u64 removals, struct sfu_epochs *epochs)
{
	if (READ_ONCE(rules->mm_sequence) != sequence ||
	    READ_ONCE(rules->generation) != generation ||
	    READ_ONCE(rules->removals) != removals)
		return false;
	/*
	 * Pairs with the barriers in sfu_rules_begin(): the epochs read are those
	 * that began with these values, or later ones; never earlier ones, whose
	 * rules may be stale.
	 */
	smp_rmb();
	epochs->of_sections = READ_ONCE(rules->epochs.of_sections);
	epochs->of_tables = READ_ONCE(rules->epochs.of_tables);
	return true;
}

bool sfu_rules_is_current(const struct sfu_rules *rules,
			  const struct mm_struct *mm, u64 generation,
			  u64 removals, struct sfu_epochs *epochs)
{
	u64 sequence;

	return sfu_mm_sequence(mm, &sequence) &&
	       is_epoch_of(rules, sequence, generation, removals, epochs);
}

struct sfu_epochs sfu_rules_begin(struct sfu_rules *rules, struct mm_struct *mm,
				  u64 generation, const u64 *removals)
{
	struct sfu_rules_table *wrapped = NULL;
	struct sfu_epochs epochs;
	u64 sequence;
	bool known;

	known = sfu_mm_sequence(mm, &sequence);
	if (known && removals &&
	    is_epoch_of(rules, sequence, generation, *removals, &epochs))
		return epochs;
	raw_spin_lock(&rules->lock);
	if (!known || rules->mm_sequence != sequence ||
	    rules->generation != generation) {
		wrapped = begin_rules_epoch(rules);
		/* Pairs with the barrier in is_epoch_of(). */
		smp_wmb();
		WRITE_ONCE(rules->mm_sequence,
			   known ? sequence : SFU_NO_SEQUENCE);
		WRITE_ONCE(rules->generation, generation);
	}
	if (removals && rules->removals != *removals) {
		/* After the last number, both of these invalidate everything. */
		wrapped = begin_tables_epoch(rules) ?: wrapped;
		/* Pairs with the barrier in is_epoch_of(). */
		smp_wmb();
		WRITE_ONCE(rules->removals, *removals);
	}
	epochs = rules->epochs;
	raw_spin_unlock(&rules->lock);
	free_table(wrapped);
	if (!removals)
		epochs.of_tables = epochs.of_sections;
	return epochs;
}

static struct sfu_rules_owner *owner_slot(struct sfu_rules_table *table,
					  const struct sfu_section *section)
{
	return &table->owner[hash_64(section->id, table->set_bits)];
}

enum sfu_rules_result sfu_rules_find(struct sfu_rules *rules,
				     struct sfu_epochs epochs, u64 key,
				     struct sfu_rule *rule,
				     struct sfu_section **section)
{
	enum sfu_rules_result result = SFU_RULES_MISS;
	const u64 pc = sfu_cache_pc(key);
	struct sfu_cache_entry *entry = NULL;
	struct sfu_rules_table *table;
	struct sfu_rules_owner *owner;

	raw_spin_lock(&rules->lock);
	table = table_of(rules);
	if (table)
		entry = sfu_cache_find(&table->cache, key);
	owner = entry ? sfu_rules_owner_numbered(table, entry->owner) : NULL;
	if (sfu_rules_owns(owner, epochs.of_sections, pc)) {
		if (sfu_rules_renew(table, owner, entry, epochs,
				    rules->tables_since)) {
			result = SFU_RULES_HIT;
			*rule = entry->rule;
		}
	} else if (owner) {
		result = SFU_RULES_UNCHECKED;
		*section = owner->section;
		sfu_section_get(*section);
	}
	raw_spin_unlock(&rules->lock);
	return result;
}

bool sfu_rules_find_checked(struct sfu_rules *rules, u32 epoch, u64 pc,
			    struct sfu_checked *checked)
{
	struct sfu_rules_table *table;
	struct sfu_rules_owner *owner = NULL;
	bool is_checked;

	raw_spin_lock(&rules->lock);
	table = table_of(rules);
	if (table)
		owner = sfu_rules_owner_numbered(table, *sfu_rules_page_of(table, pc));
	is_checked = sfu_rules_owns(owner, epoch, pc);
	if (is_checked) {
		checked->section = owner->section;
		checked->start = owner->start;
		checked->end = owner->end;
		sfu_section_get(owner->section);
	}
	raw_spin_unlock(&rules->lock);
	return is_checked;
}

bool sfu_rules_is_checked(struct sfu_rules *rules, u32 epoch, u64 pc,
			  struct sfu_checked *checked)
{
	struct sfu_rules_table *table;
	const struct sfu_rules_owner *owner;
	bool is_checked = false;

	raw_spin_lock(&rules->lock);
	table = table_of(rules);
	owner = table ? owner_slot(table, checked->section) : NULL;
	if (owner && owner->section == checked->section &&
	    owner->epoch == epoch && pc >= owner->start && pc < owner->end) {
		checked->start = owner->start;
		checked->end = owner->end;
		*sfu_rules_page_of(table, pc) = owner->number;
		is_checked = true;
	}
	raw_spin_unlock(&rules->lock);
	return is_checked;
}

/*
 * Create the first table, or a larger one. If out of memory, keep the old one.
 */
static void grow_table(struct sfu_rules *rules)
{
	struct sfu_rules_table *table, *old;
	u8 set_bits = MIN_SET_BITS;

	rcu_read_lock();
	old = rcu_dereference(rules->table);
	if (old)
		set_bits = old->set_bits + GROWTH_BITS;
	rcu_read_unlock();
	table = set_bits <= SFU_RULES_MAX_SET_BITS ? create_table(set_bits) : NULL;

	raw_spin_lock(&rules->lock);
	rules->misses = 0;
	old = table_of(rules);
	if (table && !rules->over && (!old || old->set_bits < set_bits)) {
		rcu_assign_pointer(rules->table, table);
		/* It has no entries yet that refer to a number. */
		rules->next_owner = 1;
		table = old;
	}
	raw_spin_unlock(&rules->lock);
	/* The old table; or the new one, if another thread was faster. */
	free_table(table);
}

/* Note that the section of @owner was checked for @pc. */
static void note_checked(struct sfu_rules_table *table,
			 struct sfu_rules_owner *owner, u32 epoch, u64 pc,
			 const struct sfu_checked *checked)
{
	if (owner->epoch != epoch)
		table->recent[table->nr_recent++ % SFU_RULES_RECENT] =
			owner - table->owner;
	owner->start = checked->start;
	owner->end = checked->end;
	owner->epoch = epoch;
	*sfu_rules_page_of(table, pc) = owner->number;
}

void sfu_rules_set_checked(struct sfu_rules *rules, u32 epoch, u64 pc,
			   const struct sfu_checked *checked)
{
	struct sfu_section *section = checked->section, *old = NULL;
	struct sfu_rules_table *table, *full = NULL;
	struct sfu_rules_owner *owner;

	if (!rcu_access_pointer(rules->table))
		grow_table(rules);
	raw_spin_lock(&rules->lock);
	table = table_of(rules);
	/*
	 * If the section was removed during the check, a new epoch has begun.
	 */
	if (table && rules->epochs.of_sections == epoch) {
		owner = owner_slot(table, section);
		if (owner->section != section) {
			old = owner->section;
			sfu_section_get(section);
			owner->section = section;
			WRITE_ONCE(owner->number, 0);
		}
		if (!owner->number)
			WRITE_ONCE(owner->number,
				   new_owner_number(rules, table, owner));
		if (owner->number)
			note_checked(table, owner, epoch, pc, checked);
		else
			full = take_table(rules);
	}
	raw_spin_unlock(&rules->lock);
	free_table(full);
	if (old)
		sfu_section_put(old);
}

void sfu_rules_insert(struct sfu_rules *rules, struct sfu_epochs epochs, u64 key,
		      const struct sfu_rule *rule,
		      const struct sfu_section *section)
{
	struct sfu_rules_table *table;
	const struct sfu_rules_owner *owner;
	bool is_small = false;

	if (!sfu_rules_may_cache(section, epochs))
		return;
	raw_spin_lock(&rules->lock);
	table = table_of(rules);
	owner = table ? owner_slot(table, section) : NULL;
	if (owner && owner->section == section &&
	    owner->epoch == epochs.of_sections) {
		rules->misses += sfu_cache_insert(&table->cache, key,
						  sfu_rules_epoch_of(section,
								     epochs),
						  owner->number, rule);
		is_small = sfu_rules_is_small(table, rules->misses);
	}
	raw_spin_unlock(&rules->lock);
	if (is_small)
		grow_table(rules);
}

void sfu_rules_forget(struct sfu_rules *rules, struct sfu_section *section)
{
	struct sfu_rules_table *table, *wrapped;
	struct sfu_rules_owner *owner;
	bool owns = false;

	raw_spin_lock(&rules->lock);
	table = table_of(rules);
	owner = table ? owner_slot(table, section) : NULL;
	if (owner && owner->section == section) {
		owner->section = NULL;
		WRITE_ONCE(owner->number, 0);
		owner->epoch = 0;
		owns = true;
	}
	/*
	 * Also if @section has no owner, as another thread may be checking it.
	 */
	wrapped = begin_rules_epoch(rules);
	raw_spin_unlock(&rules->lock);
	free_table(wrapped);
	if (owns)
		sfu_section_put(section);
}

bool sfu_rules_peek(const struct sfu_rules *rules, struct sfu_epochs epochs,
		    u64 key, struct sfu_rule *rule)
{
	const struct sfu_rules_table *table;
	bool found = false;

	rcu_read_lock();
	table = rcu_dereference(rules->table);
	if (table)
		found = sfu_cache_peek(&table->cache, epochs, key, rule);
	rcu_read_unlock();
	return found;
}

bool sfu_rules_may_have(const struct sfu_rules *rules, struct sfu_epochs epochs,
			u64 key)
{
	struct sfu_cache_entry *entry = NULL;
	struct sfu_rules_table *table;
	bool may_have;

	rcu_read_lock();
	table = rcu_dereference(rules->table);
	if (table)
		entry = sfu_cache_find(&table->cache, key);
	/* A rule whose section is not an owner any more never becomes valid again. */
	may_have = entry &&
		   (sfu_epochs_have(epochs, READ_ONCE(entry->epoch)) ||
		    sfu_rules_owner_numbered(table, READ_ONCE(entry->owner)));
	rcu_read_unlock();
	return may_have;
}

struct sfu_followed sfu_rules_follow(struct sfu_rules *rules,
				     struct sfu_epochs epochs,
				     struct sfu_frame *frame, u64 *ip, u32 max)
{
	static const struct sfu_stack stack_of_user;
	struct sfu_rules_table *table = rcu_dereference(rules->table);

	if (!table)
		return (struct sfu_followed) { .missing = 1 };
	return sfu_cache_follow(&table->cache, epochs, frame, &stack_of_user,
				ip, max);
}
