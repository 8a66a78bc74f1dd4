/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Sections: those of a space, without overlaps, to be found by address, by
 * where they lie, and by id.
 *
 * The space's lock protects them. Spaces made by fork share the trees' nodes
 * until one of them changes its own.
 */
#ifndef SFU_SECTIONS_H
#define SFU_SECTIONS_H

#include <linux/types.h>

#include "tree.h"

struct sfu_section;

/**
 * struct sfu_sections
 *
 * @tree: the same sections in each order.
 * @nr: sections.
 * @nr_registered: of these, registered.
 * @nr_nothing: of these, code that has been found to have none.
 */
struct sfu_sections {
	struct sfu_tree tree[SFU_NR_ORDERS];
	u32 nr;
	u32 nr_registered;
	u32 nr_nothing;
};

void sfu_sections_init(struct sfu_sections *sections);

/* Have @to, which is empty, be the same as @from. */
void sfu_sections_share(struct sfu_sections *to, struct sfu_sections *from);

/* Remove all. May sleep, and takes as long as there are sections. */
void sfu_sections_clear(struct sfu_sections *sections);

/*
 * The same for @sections that nobody else can find, without taking long: many are
 * left to a worker. May sleep.
 */
void sfu_sections_discard(struct sfu_sections *sections);

/* The section that covers @pc, or NULL. No reference is taken. */
struct sfu_section *sfu_sections_find(const struct sfu_sections *sections,
				      u64 pc);

/* The first section that starts at or above @address, or NULL. */
struct sfu_section *sfu_sections_find_from(const struct sfu_sections *sections,
					   u64 address);

/*
 * The addresses around @pc that no section covers: [*start, *end). Returns false
 * if one covers @pc.
 */
bool sfu_sections_find_gap(const struct sfu_sections *sections, u64 pc,
			   u64 *start, u64 *end);

/* The section numbered @id, or NULL. */
struct sfu_section *sfu_sections_find_id(const struct sfu_sections *sections,
					 u64 id);

/* The first registered section whose bytes are at @address, or NULL. */
struct sfu_section *
sfu_sections_find_bytes(const struct sfu_sections *sections, u64 address);

/*
 * Add @section, with a reference of its own, or remove it and put that. May
 * sleep. Return 0; -EEXIST, with *@other, if @section overlaps that one; -EINVAL
 * if it covers nothing; -ENOSPC if there are too many; -ENOMEM; -ENOENT if what is
 * to be removed is not there.
 */
int sfu_sections_add(struct sfu_sections *sections, struct sfu_section *section,
		     struct sfu_section **other);
int sfu_sections_remove(struct sfu_sections *sections,
			struct sfu_section *section);

/*
 * Make the workers for sfu_sections_discard(). Returns 0 or -ENOMEM. They end when
 * they have freed all that was left to them, which stopping waits for.
 */
int sfu_sections_start_workers(void);
void sfu_sections_stop_workers(void);

#endif /* SFU_SECTIONS_H */
