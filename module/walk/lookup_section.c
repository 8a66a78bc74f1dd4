// SPDX-License-Identifier: GPL-2.0
/*
 * Lookup: find the section for an address of the current mm.
 */
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/sched.h>

#include "discover.h"
#include "discover_current.h"
#include "limits.h"
#include "lookup_section.h"
#include "mm/space.h"
#include "remove.h"

/*
 * Read the counters of removals again, after that in @slot could not be read: without
 * those that can never be read again, which would make it fail for ever.
 */
static noinline bool read_removals_again(struct sfu_lookup *lookup, u64 *removals,
					 u32 slot)
{
	struct sfu_space *space = lookup->space;

	while (sfu_remove_unreadable_table(space, slot, &lookup->budget.mappings)) {
		if (sfu_removals_read(sfu_space_removals(space), removals, &slot))
			return true;
	}
	return false;
}

static void begin_lookup_epoch(struct sfu_lookup *lookup)
{
	struct sfu_space *space = lookup->space;
	u64 removals;
	bool known;
	u32 slot;

	if (!space)
		return;
	known = sfu_removals_read(sfu_space_removals(space), &removals, &slot) ||
		read_removals_again(lookup, &removals, slot);
	lookup->epochs = sfu_rules_begin(&space->rules, current->mm,
					 sfu_space_attach_generation(space),
					 known ? &removals : NULL);
}

void sfu_lookup_begin(struct sfu_lookup *lookup)
{
	/* The other members are not used before they are set. */
	lookup->space = sfu_space_get();
	lookup->used.section = NULL;
	lookup->nr_earlier = 0;
	lookup->below = NULL;
	lookup->below_left = SFU_MAX_WALK_BELOW;
	lookup->budget.rows = SFU_MAX_WALK_ROWS;
	lookup->budget.mappings = SFU_MAX_WALK_MAPPINGS;
	lookup->nothing.end = 0;
	lookup->code.end = 0;
	if (lookup->space)
		sfu_space_note_walk(lookup->space);
	begin_lookup_epoch(lookup);
}

static u32 nr_earlier(const struct sfu_lookup *lookup)
{
	return min(lookup->nr_earlier, SFU_LOOKUP_EARLIER);
}

void sfu_lookup_forget(struct sfu_lookup *lookup,
		       const struct sfu_section *section)
{
	u32 i;

	if (lookup->used.section == section)
		sfu_lookup_drop(&lookup->used);
	for (i = 0; i < nr_earlier(lookup); i++) {
		if (lookup->earlier[i].section == section)
			sfu_lookup_drop(&lookup->earlier[i]);
	}
}

void sfu_lookup_end(struct sfu_lookup *lookup)
{
	u32 i;

	sfu_lookup_drop(&lookup->used);
	for (i = 0; i < nr_earlier(lookup); i++)
		sfu_lookup_drop(&lookup->earlier[i]);
	sfu_lookup_begin_frame(lookup);
	sfu_space_put(lookup->space);
}

/*
 * Report that the section of the file itself is malformed. @section was found
 * and added to the space instead. Releases @section and drops the reference:
 * finding the file name can take long, and the mappings may have changed
 * afterwards.
 */
static void tell_of_defect(struct sfu_lookup *lookup, u64 pc,
			   const struct sfu_defect *defect,
			   struct sfu_section *section)
{
	sfu_section_release(section);
	sfu_remove_tell_malformed(lookup->space, section, pc, defect);
	sfu_section_put(section);
}

int sfu_lookup_discover(struct sfu_lookup *lookup, u64 pc,
			const struct sfu_range *bad, u64 above,
			struct sfu_section **section)
{
	struct sfu_defect defect;
	u64 start, end;
	int err;

	*section = NULL;
	/* Do not repeat a discovery that has failed in this walk. */
	if (pc >= lookup->nothing.start && pc < lookup->nothing.end)
		return lookup->nothing.err;
	/* Begin the epoch before the mappings are visited. */
	if (!lookup->space) {
		lookup->space = sfu_space_observe();
		begin_lookup_epoch(lookup);
	}
	if (!lookup->space)
		return -ENOENT;
	err = sfu_discover(lookup->space, pc, bad, above,
			   &lookup->budget.mappings, &start, &end, section,
			   &defect);
	/* Below a registered section, every address would report it again. */
	if (*section && defect.kind && !above) {
		tell_of_defect(lookup, pc, &defect, *section);
		*section = NULL;
		return -ESTALE;
	}
	if (!*section && start < end) {
		lookup->nothing.start = start;
		lookup->nothing.end = end;
		lookup->nothing.err = err;
	}
	return err;
}

int sfu_lookup_check_code(struct sfu_lookup *lookup, u64 pc)
{
	if (lookup->used.section &&
	    pc >= lookup->used.start && pc < lookup->used.end)
		return 0;
	if (pc >= lookup->nothing.start && pc < lookup->nothing.end)
		return 0;
	if (pc >= lookup->code.start && pc < lookup->code.end)
		return 0;
	return sfu_mapping_find_executable(pc, &lookup->budget.mappings,
					   &lookup->code.start,
					   &lookup->code.end);
}

int sfu_lookup_check(struct sfu_lookup *lookup, u64 pc,
		     struct sfu_checked *checked)
{
	struct sfu_rules *rules = &lookup->space->rules;
	struct sfu_found *found = sfu_found_of(checked->section);
	int err;

	if (found && !sfu_discover_is_current(lookup->space, found))
		return -ESTALE;
	if (sfu_rules_is_checked(rules, lookup->epochs.of_sections, pc, checked))
		return 0;
	err = sfu_section_check(checked->section, pc, &lookup->budget.mappings,
				&checked->start, &checked->end);
	if (!err)
		sfu_rules_set_checked(rules, lookup->epochs.of_sections, pc,
				      checked);
	return err;
}

/* Returns whether the file of @section may contain a well-formed section. */
static bool may_have_own(struct sfu_section *section)
{
	const struct sfu_found *found = sfu_found_of(section);

	return !found || found->has_own;
}

/*
 * Use the section of the space that covers @pc, which may be a negative entry.
 * Returns 0 with lookup->used set, and its bytes held; -ENOENT if there is
 * none; -ESTALE if it had to be removed; or an error of sfu_lookup_check(). With
 * -ESTALE, *@bad is set to the section's text if the section of its file is
 * known to be malformed, so that it is not tried again.
 */
static int use_known(struct sfu_lookup *lookup, u64 pc, struct sfu_range *bad)
{
	struct sfu_section *section = sfu_space_find(lookup->space, pc);
	struct sfu_checked checked = { .section = section };
	int err;

	if (!section)
		return -ENOENT;
	err = sfu_lookup_check(lookup, pc, &checked);
	if (!err && sfu_section_hold(section)) {
		lookup->used = checked;
		return 0;
	}
	/* It was detached meanwhile. */
	if (!err)
		err = -ESTALE;
	if (err == -ESTALE) {
		if (!may_have_own(section))
			*bad = section->text;
		sfu_lookup_forget(lookup, section);
		sfu_remove_stale(lookup->space, section, pc);
	}
	sfu_section_put(section);
	return err;
}

/*
 * Use @section, which this walk has just discovered for @pc, and whose bytes
 * are held. Its mappings were checked by discovery in this epoch. This walk may
 * use it even if other threads attach and detach meanwhile. Takes over the
 * reference and the hold. @is_added: it is in the space, so that other walks
 * may use it.
 */
static void use_found(struct sfu_lookup *lookup, u64 pc,
		      struct sfu_section *section, bool is_added)
{
	const struct sfu_checked checked = {
		.section = section,
		.start = section->text.start,
		.end = section->text.end,
	};

	if (is_added &&
	    sfu_discover_is_current(lookup->space, sfu_found_of(section)))
		sfu_rules_set_checked(&lookup->space->rules,
				      lookup->epochs.of_sections, pc, &checked);
	lookup->used = checked;
}

/*
 * Limits how often a section that is found is removed because its mappings have
 * changed, or because other sections were attached meanwhile: both may happen
 * all the time.
 */
#define MAX_LOOKUP_TRIES	8

int sfu_lookup_find_anew(struct sfu_lookup *lookup, u64 pc)
{
	struct sfu_section *section;
	int err, tries;

	for (tries = 0; tries < MAX_LOOKUP_TRIES; tries++) {
		struct sfu_range bad = {};

		err = use_known(lookup, pc, &bad);
		if (err == -ENOENT || err == -ESTALE) {
			err = sfu_lookup_discover(lookup, pc, &bad, 0, &section);
			if (section) {
				use_found(lookup, pc, section, !err);
				return 0;
			}
		}
		if (err != -ESTALE)
			return err;
	}
	return -ENOENT;
}

/* Keep the section in use for later addresses. */
static void set_section_aside(struct sfu_lookup *lookup)
{
	const u32 nr = lookup->nr_earlier++;
	struct sfu_checked *earlier = &lookup->earlier[nr % SFU_LOOKUP_EARLIER];

	if (nr >= SFU_LOOKUP_EARLIER)
		sfu_lookup_drop(earlier);
	*earlier = lookup->used;
	lookup->used.section = NULL;
}

bool sfu_lookup_use_earlier(struct sfu_lookup *lookup, u64 pc)
{
	u32 i;

	for (i = 0; i < nr_earlier(lookup); i++) {
		if (!sfu_lookup_is_for(&lookup->earlier[i], pc))
			continue;
		swap(lookup->earlier[i], lookup->used);
		if (sfu_section_hold(lookup->used.section))
			return true;
		sfu_lookup_drop(&lookup->used);
	}
	if (lookup->used.section)
		set_section_aside(lookup);
	return false;
}
