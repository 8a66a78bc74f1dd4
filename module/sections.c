// SPDX-License-Identifier: GPL-2.0
/*
 * Sections: the table of a space's sections, by address, without overlaps.
 */
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "counters.h"
#include "limits.h"
#include "section.h"
#include "sections.h"

/* A table grows by a half, so that adding n sections copies O(n) pointers. */
#define MIN_CAPACITY	8

static struct sfu_sections *create(u32 capacity)
{
	struct sfu_sections *table;

	table = kvmalloc(struct_size(table, section, capacity),
			 GFP_KERNEL_ACCOUNT);
	if (!table)
		return NULL;
	refcount_set(&table->refs, 1);
	table->nr = 0;
	table->nr_registered = 0;
	table->nr_nothing = 0;
	table->capacity = capacity;
	sfu_count(SFU_TABLES);
	return table;
}

void sfu_sections_get(struct sfu_sections *table)
{
	if (table)
		refcount_inc(&table->refs);
}

void sfu_sections_put(struct sfu_sections *table)
{
	u32 i;

	if (!table || !refcount_dec_and_test(&table->refs))
		return;
	for (i = 0; i < table->nr; i++) {
		sfu_section_put(table->section[i]);
		cond_resched();
	}
	sfu_uncount(SFU_TABLES);
	kvfree(table);
}

/* Number of sections that start at or below @pc. */
static u32 count_upto(const struct sfu_sections *table, u64 pc)
{
	u32 low = 0, high = table ? table->nr : 0;

	while (low < high) {
		const u32 mid = low + (high - low) / 2;

		if (table->section[mid]->text.start <= pc)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

struct sfu_section *sfu_sections_find(const struct sfu_sections *table, u64 pc)
{
	const u32 at = count_upto(table, pc);

	if (!at || !sfu_section_covers(table->section[at - 1], pc))
		return NULL;
	return table->section[at - 1];
}

struct sfu_section *sfu_sections_find_from(const struct sfu_sections *table,
					   u64 address)
{
	const u32 at = address ? count_upto(table, address - 1) : 0;

	return table && at < table->nr ? table->section[at] : NULL;
}

void sfu_sections_find_gap(const struct sfu_sections *table, u64 pc, u64 *start,
			   u64 *end)
{
	const u32 at = count_upto(table, pc);

	*start = at ? table->section[at - 1]->text.end : 0;
	*end = table && at < table->nr ? table->section[at]->text.start : ~0ULL;
}

struct sfu_section *sfu_sections_find_id(const struct sfu_sections *table,
					 u64 id)
{
	u32 i;

	for (i = 0; table && i < table->nr; i++) {
		if (table->section[i]->id == id)
			return table->section[i];
	}
	return NULL;
}

/*
 * Make the table at *@table one that can be changed and has room for one
 * section more. Returns 0 or -ENOMEM, and then nothing has changed.
 */
static int make_writable(struct sfu_sections **table)
{
	struct sfu_sections *old = *table, *new;
	u32 i, capacity;

	if (old && refcount_read(&old->refs) == 1 && old->nr < old->capacity)
		return 0;

	capacity = old ? old->nr + old->nr / 2 : 0;
	new = create(max_t(u32, capacity, MIN_CAPACITY));
	if (!new)
		return -ENOMEM;
	if (old) {
		new->nr = old->nr;
		new->nr_registered = old->nr_registered;
		new->nr_nothing = old->nr_nothing;
		for (i = 0; i < old->nr; i++) {
			new->section[i] = old->section[i];
			sfu_section_get(new->section[i]);
		}
	}
	sfu_sections_put(old);
	*table = new;
	return 0;
}

/* Count @section in, with @change 1, or out, with -1. */
static void count(struct sfu_sections *table, const struct sfu_section *section,
		  int change)
{
	table->nr += change;
	if (section->source == SFU_REGISTERED)
		table->nr_registered += change;
	else if (section->source == SFU_NOTHING)
		table->nr_nothing += change;
}

int sfu_sections_add(struct sfu_sections **table, struct sfu_section *section,
		     struct sfu_section **other)
{
	struct sfu_section **slot;
	u32 at, nr = *table ? (*table)->nr : 0;
	int err;

	at = count_upto(*table, section->text.start);
	if (at && (*table)->section[at - 1]->text.end > section->text.start) {
		*other = (*table)->section[at - 1];
		return -EEXIST;
	}
	if (at < nr && (*table)->section[at]->text.start < section->text.end) {
		*other = (*table)->section[at];
		return -EEXIST;
	}
	if (nr >= SFU_MAX_SECTIONS)
		return -ENOSPC;
	err = make_writable(table);
	if (err)
		return err;

	slot = &(*table)->section[at];
	memmove(slot + 1, slot, (nr - at) * sizeof(*slot));
	*slot = section;
	sfu_section_get(section);
	count(*table, section, 1);
	return 0;
}

int sfu_sections_remove(struct sfu_sections **table,
			struct sfu_section *section)
{
	struct sfu_section **slot;
	u32 at;
	int err;

	if (sfu_sections_find(*table, section->text.start) != section)
		return -ENOENT;
	err = make_writable(table);
	if (err)
		return err;

	at = count_upto(*table, section->text.start) - 1;
	slot = &(*table)->section[at];
	count(*table, section, -1);
	memmove(slot, slot + 1, ((*table)->nr - at) * sizeof(*slot));
	sfu_section_put(section);
	return 0;
}

static bool starts_at(const struct sfu_section *section, u64 sframe_start)
{
	return section->source == SFU_REGISTERED &&
	       section->table.bytes.address == sframe_start;
}

int sfu_sections_remove_all(struct sfu_sections **table, u64 sframe_start)
{
	u32 i, kept = 0, nr = *table ? (*table)->nr : 0, found = 0;
	struct sfu_section **section;
	int err;

	for (i = 0; i < nr; i++)
		found += starts_at((*table)->section[i], sframe_start);
	if (!found)
		return -ENOENT;
	err = make_writable(table);
	if (err)
		return err;

	section = (*table)->section;
	for (i = 0; i < nr; i++) {
		if (starts_at(section[i], sframe_start))
			sfu_section_put(section[i]);
		else
			section[kept++] = section[i];
	}
	(*table)->nr = kept;
	(*table)->nr_registered -= found;
	return found;
}
