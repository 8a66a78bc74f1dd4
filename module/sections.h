/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Sections: the table of a space's sections, by address, without overlaps.
 *
 * Spaces made by fork share one table until one of them changes it. A table
 * with one reference belongs to one space, whose lock protects it; one with
 * more is not changed by anybody.
 */
#ifndef SFU_SECTIONS_H
#define SFU_SECTIONS_H

#include <linux/refcount.h>
#include <linux/types.h>

struct sfu_section;

/**
 * struct sfu_sections - a table of sections
 *
 * @refs: one of each space that uses it.
 * @nr: sections in it.
 * @nr_registered: of these, registered.
 * @nr_nothing: of these, code that has been found to have none.
 * @capacity: sections that @section has room for.
 * @section: ascending by text.start; each entry holds a reference.
 */
struct sfu_sections {
	refcount_t refs;
	u32 nr;
	u32 nr_registered;
	u32 nr_nothing;
	u32 capacity;
	struct sfu_section *section[];
};

/* An empty table is NULL: all functions take it. */

void sfu_sections_get(struct sfu_sections *table);
void sfu_sections_put(struct sfu_sections *table);

/* The section that covers @pc, or NULL. No reference is taken. */
struct sfu_section *sfu_sections_find(const struct sfu_sections *table, u64 pc);

/* The first section that starts at or above @address, or NULL. */
struct sfu_section *sfu_sections_find_from(const struct sfu_sections *table,
					   u64 address);

/*
 * The addresses around @pc, which no section covers, that no section covers:
 * [*start, *end).
 */
void sfu_sections_find_gap(const struct sfu_sections *table, u64 pc, u64 *start,
			   u64 *end);

/* The section numbered @id, or NULL. */
struct sfu_section *sfu_sections_find_id(const struct sfu_sections *table,
					 u64 id);

/*
 * Add @section to, or remove it from, the table at *@table, which is replaced
 * by another if it is shared or full. Add takes a reference of its own, remove
 * puts the table's. May sleep. Return 0; -EEXIST, with *@other, if @section
 * overlaps another; -ENOSPC at SFU_MAX_SECTIONS; -ENOENT; -ENOMEM.
 */
int sfu_sections_add(struct sfu_sections **table, struct sfu_section *section,
		     struct sfu_section **other);
int sfu_sections_remove(struct sfu_sections **table,
			struct sfu_section *section);

/* Likewise for all whose bytes start at @sframe_start. Returns how many. */
int sfu_sections_remove_all(struct sfu_sections **table, u64 sframe_start);

#endif /* SFU_SECTIONS_H */
