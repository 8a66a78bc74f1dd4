// SPDX-License-Identifier: GPL-2.0
/*
 * Lookup: find the rule for an address of the current mm.
 */
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/sched.h>

#include "decode/cache.h"
#include "discover.h"
#include "discover_current.h"
#include "limits.h"
#include "lookup.h"
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

static void forget_checked(struct sfu_checked *checked)
{
	if (checked->section)
		sfu_section_put(checked->section);
	checked->section = NULL;
}

/* Do not use @section any more, unless it is found and checked again. */
static void forget_section(struct sfu_lookup *lookup,
			   const struct sfu_section *section)
{
	u32 i;

	if (lookup->used.section == section)
		forget_checked(&lookup->used);
	for (i = 0; i < nr_earlier(lookup); i++) {
		if (lookup->earlier[i].section == section)
			forget_checked(&lookup->earlier[i]);
	}
}

void sfu_lookup_end(struct sfu_lookup *lookup)
{
	u32 i;

	forget_checked(&lookup->used);
	for (i = 0; i < nr_earlier(lookup); i++)
		forget_checked(&lookup->earlier[i]);
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

/*
 * Discover a section for @pc, see sfu_discover(). Does not consider the section
 * of the file itself, if the file is the one that @bad is mapped from. @above:
 * see sfu_discover(). Returns what that returns, or -ESTALE if the caller has to
 * try again.
 */
static int discover_section(struct sfu_lookup *lookup, u64 pc,
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

/*
 * Check that checked->section, which must cover @pc, is what discovery would
 * find now, and that its mappings have not changed. Takes the mmap lock, so the
 * caller must not hold the bytes of a section. Returns 0 with the addresses
 * around @pc for which this is true; -ESTALE; -ETIME if the budget is
 * exhausted; or -EINTR.
 */
static int check_section(struct sfu_lookup *lookup, u64 pc,
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
 * none; -ESTALE if it had to be removed; or an error of check_section(). With
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
	err = check_section(lookup, pc, &checked);
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
		forget_section(lookup, section);
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

/* As find_section(), if no section is known to have been checked for @pc. */
static noinline int find_and_check_section(struct sfu_lookup *lookup, u64 pc)
{
	struct sfu_section *section;
	int err, tries;

	for (tries = 0; tries < MAX_LOOKUP_TRIES; tries++) {
		struct sfu_range bad = {};

		err = use_known(lookup, pc, &bad);
		if (err == -ENOENT || err == -ESTALE) {
			err = discover_section(lookup, pc, &bad, 0, &section);
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

static inline bool is_checked_for(const struct sfu_checked *checked, u64 pc)
{
	return checked->section && pc >= checked->start && pc < checked->end;
}

/* Keep the section in use for later addresses. */
static void set_section_aside(struct sfu_lookup *lookup)
{
	const u32 nr = lookup->nr_earlier++;
	struct sfu_checked *earlier = &lookup->earlier[nr % SFU_LOOKUP_EARLIER];

	if (nr >= SFU_LOOKUP_EARLIER)
		forget_checked(earlier);
	*earlier = lookup->used;
	lookup->used.section = NULL;
}

/*
 * Set lookup->used, which is not the section for @pc, to an earlier one that is,
 * with its bytes held. Returns false if there is none, with lookup->used.section
 * NULL.
 */
static noinline bool use_earlier(struct sfu_lookup *lookup, u64 pc)
{
	u32 i;

	for (i = 0; i < nr_earlier(lookup); i++) {
		if (!is_checked_for(&lookup->earlier[i], pc))
			continue;
		swap(lookup->earlier[i], lookup->used);
		if (sfu_section_hold(lookup->used.section))
			return true;
		forget_checked(&lookup->used);
	}
	if (lookup->used.section)
		set_section_aside(lookup);
	return false;
}

/*
 * Set lookup->used to the section for @pc, with its mappings checked in this
 * epoch, and its bytes held. The caller must release the bytes before it waits
 * for user memory, as the client that attached them is charged until then.
 * Returns 0; or an error of sfu_discover() or check_section(), with
 * lookup->used.section NULL.
 */
static __always_inline int find_section(struct sfu_lookup *lookup, u64 pc)
{
	if (is_checked_for(&lookup->used, pc)) {
		if (sfu_section_hold(lookup->used.section))
			return 0;
		forget_checked(&lookup->used);
	} else if (lookup->used.section && use_earlier(lookup, pc)) {
		return 0;
	}
	if (lookup->space &&
	    sfu_rules_find_checked(&lookup->space->rules,
				   lookup->epochs.of_sections, pc,
				   &lookup->used)) {
		if (sfu_section_hold(lookup->used.section))
			return 0;
		forget_checked(&lookup->used);
	}
	return find_and_check_section(lookup, pc);
}

/* Remove the section in use, which is corrupt or can never be read again. */
static void remove_bad_section(struct sfu_lookup *lookup, u64 pc,
			       const struct sfu_defect *defect)
{
	const bool registered = lookup->used.section->source == SFU_REGISTERED;
	const struct sfu_range bad = lookup->used.section->text;
	struct sfu_section *other;

	sfu_remove_bad(lookup->space, lookup->used.section, pc, defect);
	forget_section(lookup, lookup->used.section);
	if (registered)
		return;
	/*
	 * Discover something else for the code, so that the next walk does not
	 * find it.
	 */
	discover_section(lookup, pc, &bad, 0, &other);
	if (other) {
		sfu_section_release(other);
		sfu_section_put(other);
	}
}

static noinline int find_rule_in_used(struct sfu_lookup *lookup, u64 pc,
				      struct sfu_match *match)
{
	struct sfu_defect defect = {};
	int err;

	*match = (struct sfu_match) {};
	err = sfu_section_find_rule(lookup->used.section, pc, &lookup->budget,
				    match, &defect);
	sfu_section_release(lookup->used.section);
	if (err == -EINVAL)
		remove_bad_section(lookup, pc, &defect);
	return err;
}

/*
 * Find the rule for @pc in @section, which was discovered below the one in use. It is
 * used for this address only, so that the one above stays the first for all others.
 * Takes over the reference and the hold. Returns as sfu_lookup_rule().
 */
static int find_rule_in_below(struct sfu_lookup *lookup, u64 pc,
			      struct sfu_section *section,
			      struct sfu_match *match)
{
	const struct sfu_checked checked = {
		.section = section,
		.start = pc,
		.end = pc + 1,
	};
	struct sfu_defect defect = {};
	int err;

	err = sfu_section_find_rule(section, pc, &lookup->budget, match,
				    &defect);
	sfu_section_release(section);
	if (sfu_discover_is_current(lookup->space, sfu_found_of(section)))
		sfu_rules_set_checked(&lookup->space->rules,
				      lookup->epochs.of_sections, pc, &checked);
	sfu_lookup_begin_frame(lookup);
	lookup->below = section;
	return err == -EINVAL ? -ENOENT : err;
}

/* Nothing was discovered below the section in use, because of @err. */
static int fail_below(struct sfu_lookup *lookup, int err)
{
	lookup->below_failed = true;
	return err == -EINTR || err == -EINPROGRESS || err == -ETIME ?
		       err : -ENOENT;
}

/* Returns whether the section in use is one that was attached to addresses. */
static bool is_range_used(const struct sfu_lookup *lookup)
{
	const struct sfu_found *found = sfu_found_of(lookup->used.section);

	return found && found->range;
}

/*
 * The section in use has no rule for @pc: look for one in what discovery finds below
 * it: for the file, if it is a registered one, and then in what is attached to the
 * address. As each address takes a discovery, a walk does only a few; the rule cache
 * keeps what they find. Returns as sfu_lookup_rule().
 */
static noinline int find_rule_below(struct sfu_lookup *lookup, u64 pc,
				    struct sfu_match *match)
{
	struct sfu_section *const above = lookup->used.section;
	const struct sfu_range bad = {};
	struct sfu_section *section;
	int err;

	if (!lookup->below_left)
		return fail_below(lookup, -ENOENT);
	lookup->below_left--;
	if (above->source == SFU_REGISTERED) {
		err = discover_section(lookup, pc, &bad, above->id, &section);
		if (!section)
			return fail_below(lookup, err);
		err = find_rule_in_below(lookup, pc, section, match);
		if (err != -ENOENT || match->rule.flags & SFU_RULE_SIGNAL ||
		    sfu_found_of(section)->range)
			return err;
	}
	err = sfu_discover_range(lookup->space, pc, above,
				 &lookup->budget.mappings, &section);
	if (section)
		return find_rule_in_below(lookup, pc, section, match);
	return err == -ENOENT ? err : fail_below(lookup, err);
}

/* Returns whether find_rule_below() may find a rule for @pc. */
static bool has_below(const struct sfu_lookup *lookup, u64 pc)
{
	const struct sfu_attach_view *view = &lookup->space->attached;

	if (lookup->used.section->source == SFU_REGISTERED)
		return true;
	return !is_range_used(lookup) &&
	       sfu_attach_view_find_overlap(view, pc, pc + 1);
}

int sfu_lookup_rule(struct sfu_lookup *lookup, u64 pc, struct sfu_match *match)
{
	int err = find_section(lookup, pc);

	if (err) {
		*match = (struct sfu_match) {};
		return err;
	}
	/* Needs no release on success: it handles only bytes in user memory. */
	if (sfu_section_find_rule_quickly(lookup->used.section, pc,
					  &lookup->budget, match))
		return 0;
	err = find_rule_in_used(lookup, pc, match);
	if (err != -ENOENT || !lookup->used.section ||
	    match->rule.flags & SFU_RULE_SIGNAL)
		return err;
	/* A function may be published there at any time. */
	if (lookup->used.section->is_table)
		lookup->below_failed = true;
	else if (has_below(lookup, pc))
		err = find_rule_below(lookup, pc, match);
	return err;
}

int sfu_lookup_layout(struct sfu_lookup *lookup, u64 pc,
		      struct sfu_layout *layout)
{
	int err = find_section(lookup, pc);

	if (err)
		return err;
	err = sfu_section_find_layout(lookup->used.section, pc, layout);
	sfu_section_release(lookup->used.section);
	return err;
}

/*
 * Check @section for @pc, so that its cached rules become valid in this epoch.
 * If it is stale, the find_section() that follows detects that, too, and
 * removes it.
 */
static int check_section_again(struct sfu_lookup *lookup,
			       struct sfu_section *section, u64 pc)
{
	struct sfu_checked checked = { .section = section };
	int err;

	if (!sfu_section_covers(section, pc))
		return -ENOENT;
	err = check_section(lookup, pc, &checked);
	if (err == -ESTALE)
		forget_section(lookup, section);
	return err;
}

bool sfu_lookup_cached(struct sfu_lookup *lookup, u64 key,
		       struct sfu_rule *rule)
{
	const u64 pc = sfu_cache_pc(key);
	enum sfu_rules_result result;
	struct sfu_section *section;
	int err;

	if (!lookup->space)
		return false;
	result = sfu_rules_find(&lookup->space->rules, lookup->epochs, key, rule,
				&section);
	if (result != SFU_RULES_UNCHECKED)
		return result == SFU_RULES_HIT;
	err = check_section_again(lookup, section, pc);
	sfu_section_put(section);
	if (err)
		return false;
	result = sfu_rules_find(&lookup->space->rules, lookup->epochs, key, rule,
				&section);
	/* Another walk may have replaced the entry, or the note of this check. */
	if (result == SFU_RULES_UNCHECKED)
		sfu_section_put(section);
	return result == SFU_RULES_HIT;
}

void sfu_lookup_remember(struct sfu_lookup *lookup, u64 key,
			 const struct sfu_rule *rule)
{
	sfu_rules_insert(&lookup->space->rules, lookup->epochs, key, rule,
			 lookup->below ?: lookup->used.section);
}
