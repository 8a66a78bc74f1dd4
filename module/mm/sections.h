/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Sections: the set of sections of a space. Their texts do not overlap. They
 * can be found by text address, by the address of their bytes, and by id.
 *
 * The space's lock protects the set. After fork, parent and child share tree
 * nodes, which are copied on write.
 */
#ifndef SFU_SECTIONS_H
#define SFU_SECTIONS_H

#include <linux/types.h>

#include "tree.h"

struct sfu_section;

/**
 * struct sfu_sections
 *
 * @tree: one tree for each order, all with the same sections.
 * @nr: number of sections, including negative entries.
 * @nr_registered: number of registered ones among them.
 * @nr_nothing: number of negative entries (SFU_NOTHING) among them.
 */
struct sfu_sections {
	struct sfu_tree tree[SFU_NR_ORDERS];
	u32 nr;
	u32 nr_registered;
	u32 nr_nothing;
};

void sfu_sections_init(struct sfu_sections *sections);

/*
 * Make the empty set @to a copy of @from that shares its nodes. See
 * sfu_tree_share().
 */
void sfu_sections_share(struct sfu_sections *to, struct sfu_sections *from);

/* Remove all sections. May sleep; takes time proportional to their number. */
void sfu_sections_clear(struct sfu_sections *sections);

/*
 * Remove all sections from a set that no other thread can access. Leaves large
 * sets to a worker, so that it returns soon. May sleep.
 */
void sfu_sections_discard(struct sfu_sections *sections);

/* Returns the section that covers @pc, or NULL. Takes no reference. */
struct sfu_section *sfu_sections_find(const struct sfu_sections *sections,
				      u64 pc);

/* Returns the first section whose text starts at or above @address, or NULL. */
struct sfu_section *sfu_sections_find_from(const struct sfu_sections *sections,
					   u64 address);

/*
 * Get the range [*start, *end) around @pc that no section covers. Returns false
 * if a section covers @pc.
 */
bool sfu_sections_find_gap(const struct sfu_sections *sections, u64 pc,
			   u64 *start, u64 *end);

/* Returns the section with @id, or NULL. */
struct sfu_section *sfu_sections_find_id(const struct sfu_sections *sections,
					 u64 id);

/*
 * Returns the first registered section whose bytes start at @address, or NULL.
 */
struct sfu_section *
sfu_sections_find_bytes(const struct sfu_sections *sections, u64 address);

/* Returns a section whose text overlaps that of @section, or NULL. */
struct sfu_section *
sfu_sections_find_overlap(const struct sfu_sections *sections,
			  const struct sfu_section *section);

/*
 * Add @section, taking a reference to it. May sleep. Returns 0; -EEXIST with
 * *@other if the text of @section overlaps that of *@other; -EINVAL if its text
 * is empty; -ENOSPC if there are too many sections; or -ENOMEM.
 */
int sfu_sections_add(struct sfu_sections *sections, struct sfu_section *section,
		     struct sfu_section **other);

/*
 * Remove @section, dropping the reference that sfu_sections_add() took. May
 * sleep. Returns 0; -ENOENT if it is not in the set; or -ENOMEM.
 */
int sfu_sections_remove(struct sfu_sections *sections,
			struct sfu_section *section);

/*
 * Create and destroy the workqueue of sfu_sections_discard(). Starting returns
 * 0 or -ENOMEM. Stopping waits until all discarded sections are freed.
 */
int sfu_sections_start_workers(void);
void sfu_sections_stop_workers(void);

#endif /* SFU_SECTIONS_H */
