/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Rules table: the memory of a rule cache, for the files that implement mm/rules.h.
 */
#ifndef SFU_RULES_TABLE_H
#define SFU_RULES_TABLE_H

#include <linux/mm.h>
#include <linux/rcupdate.h>

#include "decode/cache.h"
#include "section.h"

/* log2 of the number of sets in the largest table. */
#define SFU_RULES_MAX_SET_BITS	12

/* Owners that a lookup tries without a hint for the page. */
#define SFU_RULES_RECENT	16

/**
 * struct sfu_rules_owner - a section with rules in the cache
 *
 * @section: holds a reference; or NULL.
 * @start: start of the address range for which the section was checked.
 * @end: end of that range, exclusive.
 * @epoch: epoch in which it was checked.
 * @number: identifies the owner in cache entries; the low bits are its index in
 *	the table; 0 if unused. Also read without the lock.
 */
struct sfu_rules_owner {
	struct sfu_section *section;
	u64 start;
	u64 end;
	u32 epoch;
	u32 number;
};

/**
 * struct sfu_rules_table
 *
 * @rcu: to free the table.
 * @set_bits: log2 of the number of sets, of owners, and of elements of @page.
 * @cache: the rules.
 * @page: hint: number of the owner that was last checked for a page of code;
 *	indexed by the low bits of the page number.
 * @recent: indices of the owners that were checked first in an epoch, in rotation.
 * @nr_recent: number of indices that have been stored in @recent.
 * @owner: the owners; indexed by a hash of the section's id.
 */
struct sfu_rules_table {
	struct rcu_head rcu;
	u8 set_bits;
	struct sfu_cache cache;
	u32 *page;
	u16 recent[SFU_RULES_RECENT];
	u32 nr_recent;
	struct sfu_rules_owner owner[];
};

static inline u32 sfu_rules_nr_owners(const struct sfu_rules_table *table)
{
	return table->cache.nr_sets;
}

/* Returns whether @table, with so many @misses, is to be replaced by a larger one. */
static inline bool sfu_rules_is_small(const struct sfu_rules_table *table, u32 misses)
{
	return table->set_bits < SFU_RULES_MAX_SET_BITS &&
	       misses > sfu_rules_nr_owners(table);
}

/*
 * Returns the owner with @number, or NULL if it is not one any more. Without the lock,
 * nothing of it may be used.
 */
static inline struct sfu_rules_owner *
sfu_rules_owner_numbered(struct sfu_rules_table *table, u32 number)
{
	struct sfu_rules_owner *owner =
		&table->owner[number & (sfu_rules_nr_owners(table) - 1)];

	/* Unused owners have number 0. */
	return number && READ_ONCE(owner->number) == number ? owner : NULL;
}

/* Returns whether @owner, which may be NULL, was checked for @pc in @epoch. */
static inline bool sfu_rules_owns(const struct sfu_rules_owner *owner, u32 epoch,
				  u64 pc)
{
	return owner && owner->epoch == epoch &&
	       pc - owner->start < owner->end - owner->start;
}

/* Returns the epoch that rules of @section are marked with. */
static inline u32 sfu_rules_epoch_of(const struct sfu_section *section,
				     struct sfu_epochs epochs)
{
	return section->is_table ? epochs.of_tables : epochs.of_sections;
}

/* Returns whether rules of @section may be cached in @epochs. */
static inline bool sfu_rules_may_cache(const struct sfu_section *section,
				       struct sfu_epochs epochs)
{
	return !section->is_table || epochs.of_tables != epochs.of_sections;
}

/*
 * Returns whether the rule in @entry is valid in @epochs, of a walk. Its owner, @owner,
 * was checked for its address in epochs.of_sections. If so, marks it valid.
 * @tables_since: see struct sfu_rules.
 */
static inline bool sfu_rules_renew(struct sfu_rules_table *table,
				   const struct sfu_rules_owner *owner,
				   struct sfu_cache_entry *entry,
				   struct sfu_epochs epochs, u32 tables_since)
{
	const u32 epoch = sfu_rules_epoch_of(owner->section, epochs);

	if (entry->epoch == epoch)
		return sfu_rules_may_cache(owner->section, epochs);
	/* The code has to be compared again, see file/noted.h. */
	if (owner->section->is_final)
		return false;
	/* No function was removed since the first of these epochs. */
	if (owner->section->is_table &&
	    (!sfu_rules_may_cache(owner->section, epochs) ||
	     entry->epoch < tables_since || entry->epoch > epoch))
		return false;
	sfu_cache_renew(&table->cache, entry, epoch);
	return true;
}

/* Returns the hint for the page of @pc. */
static inline u32 *sfu_rules_page_of(struct sfu_rules_table *table, u64 pc)
{
	return &table->page[pc >> PAGE_SHIFT & (sfu_rules_nr_owners(table) - 1)];
}

#endif /* SFU_RULES_TABLE_H */
