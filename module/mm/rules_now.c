// SPDX-License-Identifier: GPL-2.0
/*
 * Rules now: find a rule without waiting for anything, in interrupts, too.
 *
 * Elsewhere, the lock of the rules is taken with interrupts on, so this may run in an
 * interrupt of the CPU that holds it. So it is taken here only if it is free, and
 * nothing that may wait is called under it. As long as it is held, each owner keeps its
 * section, and the section its directory and its image.
 */
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/uaccess.h>

#include "compat.h"
#include "decode/cache.h"
#include "rules.h"
#include "rules_table.h"
#include "section.h"

/* Returns an owner that was checked for @pc in @epoch, or NULL. */
static struct sfu_rules_owner *find_owner(struct sfu_rules_table *table,
					  u32 epoch, u64 pc)
{
	struct sfu_rules_owner *owner =
		sfu_rules_owner_numbered(table, *sfu_rules_page_of(table, pc));
	u32 i;

	if (sfu_rules_owns(owner, epoch, pc))
		return owner;
	for (i = 0; i < min(table->nr_recent, SFU_RULES_RECENT); i++) {
		owner = &table->owner[table->recent[i]];
		if (sfu_rules_owns(owner, epoch, pc))
			return owner;
	}
	return NULL;
}

/* Returns whether there is a rule in the cache for @key, with it in *@rule. */
static bool find_cached(const struct sfu_rules *rules,
			struct sfu_rules_table *table, struct sfu_epochs epochs,
			u64 key, struct sfu_rule *rule)
{
	struct sfu_cache_entry *entry = sfu_cache_find(&table->cache, key);
	const struct sfu_rules_owner *owner;

	if (!entry)
		return false;
	owner = sfu_rules_owner_numbered(table, entry->owner);
	if (!sfu_rules_owns(owner, epochs.of_sections, sfu_cache_pc(key)) ||
	    !sfu_rules_renew(table, owner, entry, epochs, rules->tables_since))
		return false;
	*rule = entry->rule;
	return true;
}

/*
 * Returns whether the mappings have not changed since the epoch began, so that the
 * bytes read since then were those of the section.
 */
static bool is_epoch_unchanged(const struct sfu_rules *rules, u32 epoch,
			       const struct mm_struct *mm)
{
	u64 sequence;

	lockdep_assert_held(&rules->lock);
	/* Read the sequence after the bytes. */
	smp_rmb();
	return rules->epochs.of_sections == epoch && sfu_mm_sequence(mm, &sequence) &&
	       sequence == rules->mm_sequence;
}

static bool find_in_section(struct sfu_rules *rules,
			    struct sfu_rules_table *table,
			    struct sfu_epochs epochs,
			    const struct mm_struct *mm, u64 key, u32 *rows,
			    struct sfu_rule *rule)
{
	const u64 pc = sfu_cache_pc(key);
	struct sfu_rules_owner *owner = find_owner(table, epochs.of_sections, pc);
	struct sfu_match match;

	/*
	 * Code is not compared here, see file/noted.h, and no larger table is made, but by the
	 * walk that follows.
	 */
	if (!owner || owner->section->is_final || sfu_rules_is_small(table, rules->misses) ||
	    !sfu_rules_may_cache(owner->section, epochs) ||
	    !sfu_section_peek_rule(owner->section, pc, rows, &match) ||
	    !is_epoch_unchanged(rules, epochs.of_sections, mm))
		return false;
	/* A signal trampoline may follow: only a walk looks for one. */
	if (match.rule.flags & SFU_RULE_SIGNAL || match.end == key)
		return false;
	sfu_cache_mark_rule(&match);
	*rule = match.rule;
	/* If there are too many, a walk makes the table larger. */
	rules->misses += sfu_cache_insert(&table->cache, key,
					  sfu_rules_epoch_of(owner->section,
							     epochs),
					  owner->number, rule);
	return true;
}

bool sfu_rules_find_now(struct sfu_rules *rules, struct sfu_epochs epochs,
			const struct mm_struct *mm, u64 key, u32 *rows,
			struct sfu_rule *rule)
{
	struct sfu_rules_table *table;
	bool found;

	/* Without SMP, the lock may not know that it is taken. */
	if (!IS_ENABLED(CONFIG_SMP) || !raw_spin_trylock(&rules->lock))
		return false;
	table = rcu_dereference_protected(rules->table,
					  lockdep_is_held(&rules->lock));
	found = table && (find_cached(rules, table, epochs, key, rule) ||
			  find_in_section(rules, table, epochs, mm, key, rows,
					  rule));
	raw_spin_unlock(&rules->lock);
	return found;
}
