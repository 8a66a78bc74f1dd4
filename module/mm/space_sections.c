// SPDX-License-Identifier: GPL-2.0
/*
 * Space sections: add, remove and find sections of a space, under its lock.
 */
#include <linux/errno.h>
#include <linux/lockdep.h>
#include <linux/rwsem.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>

#include "decode/functions.h"
#include "limits.h"
#include "message.h"
#include "netlink/netlink.h"
#include "removals.h"
#include "rules.h"
#include "section.h"
#include "sections.h"
#include "space.h"
#include "trace/trace.h"

u32 sfu_space_nr_registered(struct sfu_space *space)
{
	u32 nr;

	if (!space)
		return 0;
	down_read(&space->lock);
	nr = space->sections.nr_registered;
	up_read(&space->lock);
	return nr;
}

u32 sfu_space_nr_sections(struct sfu_space *space)
{
	u32 nr;

	if (!space)
		return 0;
	down_read(&space->lock);
	nr = space->sections.nr - space->sections.nr_nothing;
	up_read(&space->lock);
	return nr;
}

/*
 * Make room for one more function table. Returns 0; -ENOMEM; or -ENOSPC if there are too
 * many.
 */
static int make_room_for_table(struct sfu_space *space)
{
	struct sfu_removals *removals = space->removals;

	lockdep_assert_held_write(&space->lock);
	if (removals)
		return sfu_removals_has_room(removals) ? 0 : -ENOSPC;
	removals = sfu_removals_create(GFP_KERNEL_ACCOUNT);
	if (!removals)
		return -ENOMEM;
	/* Pairs with the acquire in sfu_space_removals(). */
	smp_store_release(&space->removals, removals);
	return 0;
}

struct sfu_trace_section sfu_space_traced(const struct sfu_space *space,
					  struct sfu_section *section)
{
	return (struct sfu_trace_section) {
		.space = space->id,
		.id = section->id,
		.text_start = section->text.start,
		.text_size = section->text.end - section->text.start,
		.sframe_start = sfu_section_address(section),
		.sframe_size = section->size,
	};
}

/* Tell that @section was added. The space's lock is held: its events are in order. */
static noinline void tell_add(struct sfu_space *space, struct sfu_section *section)
{
	const struct sfu_trace_section traced = sfu_space_traced(space, section);
	const enum sfu_added source = section->is_table ? SFU_ADDED_TABLE :
							  section->source;

	if (section->source == SFU_NOTHING)
		return;
	if (sfu_trace_adds())
		sfu_trace_add_now(&traced, source, 1);
	sfu_netlink_add(&traced, source, 1);
}

static noinline void tell_remove(struct sfu_space *space, struct sfu_section *section,
				 enum sfu_removed reason)
{
	const struct sfu_trace_section traced = sfu_space_traced(space, section);

	if (section->source == SFU_NOTHING)
		return;
	if (sfu_trace_removes())
		sfu_trace_remove_now(&traced, reason, 1);
	sfu_netlink_remove(&traced, reason, 1);
}

/* Add @section, with the counter of its removals if it is a function table. */
static int add_section(struct sfu_space *space, struct sfu_section *section,
		       struct sfu_section **other)
{
	int err;

	lockdep_assert_held_write(&space->lock);
	if (!section->is_table)
		return sfu_sections_add(&space->sections, section, other);
	/* What it overlaps may be stale, and be the one too many. */
	*other = sfu_sections_find_overlap(&space->sections, section);
	if (*other)
		return -EEXIST;
	err = make_room_for_table(space) ?:
	      sfu_sections_add(&space->sections, section, other);
	if (!err)
		sfu_removals_add(space->removals, section->id,
				 section->address + SFU_FUNCTIONS_REMOVED);
	return err;
}

int sfu_space_add(struct sfu_space *space, struct sfu_section *section,
		  struct sfu_section **other, struct sfu_message *message)
{
	int err;

	down_write(&space->lock);
	if (space->gone)
		err = -ENOMEM;
	else
		err = add_section(space, section, other);
	if (!err && (sfu_trace_adds() || sfu_netlink_hears(SFU_GROUP_SECTIONS)))
		tell_add(space, section);
	switch (err) {
	case -EEXIST:
		sfu_section_get(*other);
		sfu_message_fail(message, err,
				 "text 0x%llx-0x%llx overlaps 0x%llx-0x%llx, registered as %llu",
				 section->text.start, section->text.end,
				 (*other)->text.start, (*other)->text.end,
				 (*other)->id);
		break;
	case -ENOSPC:
		if (section->is_table && !sfu_removals_has_room(space->removals))
			sfu_message_fail(message, err,
					 "the address space has %u tables already",
					 SFU_MAX_TABLES);
		else
			sfu_message_fail(message, err,
					 "the address space has %u sections already",
					 SFU_MAX_SECTIONS);
		break;
	case -ENOMEM:
		sfu_message_fail(message, err,
				 space->gone ? "the marker page was unmapped" :
					       "no memory");
		break;
	}
	up_write(&space->lock);
	return err;
}

void sfu_space_share(struct sfu_space *child, struct sfu_space *parent)
{
	down_read(&parent->lock);
	if (parent->removals) {
		child->removals = sfu_removals_create(GFP_KERNEL_ACCOUNT |
						      __GFP_NOFAIL);
		sfu_removals_copy(child->removals, parent->removals);
	}
	sfu_sections_share(&child->sections, &parent->sections);
	sfu_trace_add_many(child->id, SFU_ADDED_FORK,
			   child->sections.nr - child->sections.nr_nothing);
	sfu_netlink_add_many(child->id, SFU_ADDED_FORK,
			     child->sections.nr - child->sections.nr_nothing);
	up_read(&parent->lock);
}

/* Remove @section for @reason and invalidate its rules. */
static int remove_section(struct sfu_space *space, struct sfu_section *section,
			  enum sfu_removed reason)
{
	int err;

	lockdep_assert_held_write(&space->lock);
	sfu_section_get(section);
	err = sfu_sections_remove(&space->sections, section);
	if (!err && section->is_table)
		sfu_removals_remove(space->removals, section->id);
	if (!err)
		sfu_rules_forget(&space->rules, section);
	if (!err && (sfu_trace_removes() || sfu_netlink_hears(SFU_GROUP_SECTIONS)))
		tell_remove(space, section, reason);
	sfu_section_put(section);
	return err;
}

/*
 * Sections that are removed while the lock is held once: less than 100,000
 * instructions, even if shared nodes have to be copied.
 */
#define MAX_REMOVED_AT_ONCE	4

/* As sfu_space_remove(), but removes at most MAX_REMOVED_AT_ONCE sections. */
static int remove_some_sections(struct sfu_space *space, u64 id,
				u64 sframe_start)
{
	struct sfu_section *section;
	int err, removed = 0;

	down_write(&space->lock);
	do {
		section = id ? sfu_sections_find_id(&space->sections, id) :
			       sfu_sections_find_bytes(&space->sections,
						       sframe_start);
		/* A section that discovery added cannot be unregistered. */
		if (!section || section->source != SFU_REGISTERED)
			err = -ENOENT;
		else
			err = remove_section(space, section,
					     SFU_REMOVED_UNREGISTERED);
		removed += !err;
	} while (!err && !id && removed < MAX_REMOVED_AT_ONCE);
	up_write(&space->lock);
	/*
	 * Report -ENOMEM even if some were removed: the caller has to try
	 * again.
	 */
	return removed && err != -ENOMEM ? removed : err;
}

int sfu_space_remove(struct sfu_space *space, u64 id, u64 sframe_start)
{
	int ret, removed = 0;

	if (!space)
		return -ENOENT;
	for (;;) {
		ret = remove_some_sections(space, id, sframe_start);
		if (ret < 0)
			return ret == -ENOENT && removed ? removed : ret;
		removed += ret;
		if (ret < MAX_REMOVED_AT_ONCE)
			return removed;
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
}

struct sfu_section *sfu_space_find(struct sfu_space *space, u64 pc)
{
	struct sfu_section *section;

	if (!space)
		return NULL;
	down_read(&space->lock);
	section = sfu_sections_find(&space->sections, pc);
	if (section)
		sfu_section_get(section);
	up_read(&space->lock);
	return section;
}

struct sfu_section *sfu_space_find_from(struct sfu_space *space, u64 address)
{
	struct sfu_section *section;

	if (!space)
		return NULL;
	down_read(&space->lock);
	section = sfu_sections_find_from(&space->sections, address);
	if (section)
		sfu_section_get(section);
	up_read(&space->lock);
	return section;
}

struct sfu_section *sfu_space_find_table(struct sfu_space *space, u32 slot)
{
	struct sfu_section *section = NULL;
	u64 id;

	down_read(&space->lock);
	id = space->removals ? sfu_removals_id(space->removals, slot) : 0;
	if (id)
		section = sfu_sections_find_id(&space->sections, id);
	if (section)
		sfu_section_get(section);
	up_read(&space->lock);
	return section;
}

bool sfu_space_find_gap(struct sfu_space *space, u64 pc, u64 *start, u64 *end)
{
	bool is_gap;

	down_read(&space->lock);
	is_gap = sfu_sections_find_gap(&space->sections, pc, start, end);
	up_read(&space->lock);
	return is_gap;
}

bool sfu_space_drop(struct sfu_space *space, struct sfu_section *section,
		    enum sfu_removed reason)
{
	int err;

	down_write(&space->lock);
	err = remove_section(space, section, reason);
	up_write(&space->lock);
	return !err;
}

void sfu_space_forget_found(struct sfu_space *space)
{
	struct sfu_section *section;
	u64 from = 0;

	while (!fatal_signal_pending(current) &&
	       (section = sfu_space_find_from(space, from))) {
		from = section->text.end;
		if (section->source != SFU_REGISTERED)
			sfu_space_drop(space, section, SFU_REMOVED_FORGOTTEN);
		sfu_section_put(section);
		cond_resched();
	}
}

bool sfu_space_shed(struct sfu_space *space)
{
	struct sfu_sections sections;
	bool is_found;

	/* The caller may be an allocation of a thread that holds the lock. */
	if (!down_write_trylock(&space->lock))
		return false;
	is_found = space->sections.nr && !space->sections.nr_registered;
	if (is_found) {
		sections = space->sections;
		sfu_sections_init(&space->sections);
		sfu_trace_remove_many(space->id, SFU_REMOVED_FORGOTTEN,
				      sections.nr - sections.nr_nothing);
		sfu_netlink_remove_many(space->id, SFU_REMOVED_FORGOTTEN,
					sections.nr - sections.nr_nothing);
	}
	up_write(&space->lock);
	if (!is_found)
		return false;
	sfu_sections_discard(&sections);
	sfu_rules_shrink(&space->rules);
	return true;
}
