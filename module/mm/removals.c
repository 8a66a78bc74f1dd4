// SPDX-License-Identifier: GPL-2.0
/*
 * Removals: whether functions were removed from the function tables of a space.
 */
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include <asm/barrier.h>

#include "removals.h"
#include "user.h"

/*
 * A table adds to the sum its counter, and its id times this number. So the sum with the
 * table differs from that without it, and by more than any number of removals.
 */
#define ID_FACTOR	0x9e3779b97f4a7c15ULL

struct sfu_removals *sfu_removals_create(gfp_t gfp)
{
	return kzalloc(sizeof(struct sfu_removals), gfp);
}

void sfu_removals_free(struct sfu_removals *removals)
{
	if (removals)
		kfree_rcu(removals, rcu);
}

static u32 find_slot(const struct sfu_removals *removals, u64 id)
{
	u32 i;

	for (i = 0; i < SFU_MAX_TABLES; i++) {
		if (removals->slot[i].id == id)
			break;
	}
	return i;
}

bool sfu_removals_has_room(const struct sfu_removals *removals)
{
	return find_slot(removals, 0) < SFU_MAX_TABLES;
}

void sfu_removals_add(struct sfu_removals *removals, u64 id, u64 counter)
{
	const u32 i = find_slot(removals, 0);

	if (i == SFU_MAX_TABLES)
		return;
	WRITE_ONCE(removals->slot[i].counter, counter);
	/* Pairs with the barrier in sfu_removals_sum(). */
	smp_wmb();
	WRITE_ONCE(removals->slot[i].id, id);
	if (removals->nr <= i)
		WRITE_ONCE(removals->nr, i + 1);
}

void sfu_removals_remove(struct sfu_removals *removals, u64 id)
{
	const u32 i = find_slot(removals, id);

	if (i < SFU_MAX_TABLES)
		WRITE_ONCE(removals->slot[i].id, 0);
}

void sfu_removals_copy(struct sfu_removals *to, const struct sfu_removals *from)
{
	to->nr = from->nr;
	memcpy(to->slot, from->slot, sizeof(to->slot));
}

/* Read the counter at @address, unless its page is not there. */
static bool read_counter(u64 address, u64 *counter)
{
	bool failed;

	sfu_faults_disable();
	failed = get_user(*counter, (u64 __user *)u64_to_user_ptr(address));
	sfu_faults_enable();
	return !failed;
}

bool sfu_removals_sum(const struct sfu_removals *removals, u64 *sum, u32 *slot)
{
	const u32 nr = READ_ONCE(removals->nr);
	u64 id, address, counter, total = 0;
	u32 i;

	for (i = 0; i < nr; i++) {
		id = sfu_removals_id(removals, i);
		if (!id)
			continue;
		/* Pairs with the barrier in sfu_removals_add(). */
		smp_rmb();
		address = READ_ONCE(removals->slot[i].counter);
		if (!read_counter(address, &counter)) {
			*slot = i;
			return false;
		}
		total += counter + id * ID_FACTOR;
	}
	/* Pairs with the release of a counter: what it announces is complete. */
	smp_rmb();
	*sum = total;
	return true;
}
