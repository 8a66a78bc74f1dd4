/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Removals: whether functions were removed from the function tables of a space.
 *
 * Each table has a counter of removals in user memory. Rules that were found in tables
 * are valid for walks that read the same sum of the counters, see mm/rules.h.
 */
#ifndef SFU_REMOVALS_H
#define SFU_REMOVALS_H

#include <linux/compiler.h>
#include <linux/gfp.h>
#include <linux/types.h>

#include "limits.h"

/**
 * struct sfu_removals - the function tables of a space
 *
 * Written under the lock of the space, only with WRITE_ONCE(), and read without it.
 *
 * @rcu: to free it.
 * @nr: slots from the first one on that have been used.
 * @slot: the tables.
 * @slot.id: id of the section; 0 if the slot is free.
 * @slot.counter: user address of its counter.
 */
struct sfu_removals {
	struct rcu_head rcu;
	u32 nr;
	struct {
		u64 id;
		u64 counter;
	} slot[SFU_MAX_TABLES];
};

/* Returns an empty one, or NULL if out of memory. */
struct sfu_removals *sfu_removals_create(gfp_t gfp);

/* Free @removals, which may be NULL, after an RCU grace period. */
void sfu_removals_free(struct sfu_removals *removals);

/*
 * Add the table with @id, whose counter is at @counter. The caller has checked that
 * sfu_removals_has_room().
 */
void sfu_removals_add(struct sfu_removals *removals, u64 id, u64 counter);
void sfu_removals_remove(struct sfu_removals *removals, u64 id);
bool sfu_removals_has_room(const struct sfu_removals *removals);

/* Make @to, which is empty, a copy of @from, for a child. */
void sfu_removals_copy(struct sfu_removals *to, const struct sfu_removals *from);

/* Returns the id in slot number @i, less than SFU_MAX_TABLES; 0 if it is free. */
static inline u64 sfu_removals_id(const struct sfu_removals *removals, u32 i)
{
	return READ_ONCE(removals->slot[i].id);
}

/* For sfu_removals_read(). */
bool sfu_removals_sum(const struct sfu_removals *removals, u64 *sum, u32 *slot);

/*
 * Read the sum of all counters, to begin a walk in the current mm: the walk's reads of
 * the tables must come after that. Returns false, with *@slot the number of its slot, if
 * one cannot be read, or only after a page fault: a walk that needs no table shall not
 * wait for one. @removals is NULL if there are no tables. Any context.
 */
static __always_inline bool sfu_removals_read(const struct sfu_removals *removals,
					      u64 *sum, u32 *slot)
{
	*sum = 0;
	return !removals || sfu_removals_sum(removals, sum, slot);
}

#endif /* SFU_REMOVALS_H */
