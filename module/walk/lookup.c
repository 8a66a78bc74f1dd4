// SPDX-License-Identifier: GPL-2.0
/*
 * Lookup: find the rule for an address of the current mm.
 */
#include <linux/errno.h>

#include "decode/cache.h"
#include "discover.h"
#include "discover_current.h"
#include "file/attach_table.h"
#include "file/noted.h"
#include "lookup.h"
#include "mm/space.h"
#include "remove.h"

/*
 * Set lookup->used to the section for @pc, with its mappings checked in this
 * epoch, and its bytes held. The caller must release the bytes before it waits
 * for user memory, as the client that attached them is charged until then.
 * Returns 0; or an error of sfu_discover() or sfu_lookup_check(), with
 * lookup->used.section NULL.
 */
static __always_inline int find_section(struct sfu_lookup *lookup, u64 pc)
{
	if (sfu_lookup_is_for(&lookup->used, pc)) {
		if (sfu_section_hold(lookup->used.section))
			return 0;
		sfu_lookup_drop(&lookup->used);
	} else if (lookup->used.section && sfu_lookup_use_earlier(lookup, pc)) {
		return 0;
	}
	if (lookup->space &&
	    sfu_rules_find_checked(&lookup->space->rules,
				   lookup->epochs.of_sections, pc,
				   &lookup->used)) {
		if (sfu_section_hold(lookup->used.section))
			return 0;
		sfu_lookup_drop(&lookup->used);
	}
	return sfu_lookup_find_anew(lookup, pc);
}

/* Remove the section in use, which is corrupt or can never be read again. */
static void remove_bad_section(struct sfu_lookup *lookup, u64 pc,
			       const struct sfu_defect *defect)
{
	const bool registered = lookup->used.section->source == SFU_REGISTERED;
	const struct sfu_range bad = lookup->used.section->text;
	struct sfu_section *other;

	sfu_remove_bad(lookup->space, lookup->used.section, pc, defect);
	sfu_lookup_forget(lookup, lookup->used.section);
	if (registered)
		return;
	/*
	 * Discover something else for the code, so that the next walk does not
	 * find it.
	 */
	sfu_lookup_discover(lookup, pc, &bad, 0, &other);
	if (other) {
		sfu_section_release(other);
		sfu_section_put(other);
	}
}

/*
 * Compare the function at @pc with the one that was noted for @section, which is_final and
 * whose bytes are held. Releases them. Returns 0; or -ENOENT if there is no rule, because
 * it differs, and then the attachment is ended, or because it cannot be read now.
 */
static noinline int check_noted(struct sfu_lookup *lookup, u64 pc,
				struct sfu_section *section)
{
	struct sfu_noted noted;
	int err;

	sfu_noted_get(sfu_section_image(section), section->address, pc, &noted);
	sfu_section_release(section);
	err = sfu_noted_check(&noted);
	if (err == -ESTALE)
		sfu_attach_view_end_range(&lookup->space->attached, pc,
					  sfu_found_of(section)->range);
	return err ? -ENOENT : 0;
}

/*
 * Find the rule for @pc in @section, whose bytes are held, and release them. Returns as
 * sfu_section_find_rule().
 */
static int find_rule_and_release(struct sfu_lookup *lookup, u64 pc,
				 struct sfu_section *section,
				 struct sfu_match *match,
				 struct sfu_defect *defect)
{
	int err = sfu_section_find_rule(section, pc, &lookup->budget, match,
					defect);

	if (!section->is_final || (err && !(match->rule.flags & SFU_RULE_SIGNAL))) {
		sfu_section_release(section);
		return err;
	}
	if (check_noted(lookup, pc, section)) {
		*match = (struct sfu_match) {};
		lookup->below_failed = true;
		err = -ENOENT;
	}
	return err;
}

static noinline int find_rule_in_used(struct sfu_lookup *lookup, u64 pc,
				      struct sfu_match *match)
{
	struct sfu_defect defect = {};
	int err;

	*match = (struct sfu_match) {};
	err = find_rule_and_release(lookup, pc, lookup->used.section, match,
				    &defect);
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

	err = find_rule_and_release(lookup, pc, section, match, &defect);
	if (sfu_discover_is_current(lookup->space, sfu_found_of(section)))
		sfu_rules_set_checked(&lookup->space->rules,
				      lookup->epochs.of_sections, pc, &checked);
	sfu_lookup_set_below(lookup, section);
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
		err = sfu_lookup_discover(lookup, pc, &bad, above->id, &section);
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

/* Returns whether the section in use, which covers @pc, was found to be of other code. */
static bool is_of_other_code(const struct sfu_lookup *lookup)
{
	return lookup->used.section->is_final && lookup->below_failed;
}

u64 sfu_lookup_found_generated(const struct sfu_lookup *lookup, u64 pc)
{
	if (!lookup->space)
		return 0;
	if (sfu_lookup_is_in(lookup, pc) ?
		    !is_of_other_code(lookup) :
		    /* Files have a section, if only a negative entry. */
		    pc < lookup->nothing.start || pc >= lookup->nothing.end ||
			    lookup->nothing.err != -ENOENT)
		return 0;
	return sfu_attach_view_final_period(&lookup->space->attached);
}

int sfu_lookup_layout(struct sfu_lookup *lookup, u64 pc,
		      struct sfu_layout *layout)
{
	int err = find_section(lookup, pc);

	if (err)
		return err;
	/* A rule for @pc has been used, so its code has been compared if necessary. */
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
	err = sfu_lookup_check(lookup, pc, &checked);
	if (err == -ESTALE)
		sfu_lookup_forget(lookup, section);
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
