/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Lookup: find the rule for an address of the current mm.
 */
#ifndef SFU_LOOKUP_H
#define SFU_LOOKUP_H

#include "lookup_section.h"

/*
 * Find the rule for @pc. Removes a section that is corrupt, that can never be
 * read again, or whose mappings have changed, and tells the listeners. May
 * sleep, takes the mmap lock. Returns 0; -ENOENT if no section has a rule
 * (match->rule.flags is SFU_RULE_SIGNAL for a signal frame without rows);
 * -EINVAL if the section was removed as corrupt or unreadable; -EINPROGRESS if
 * the file has to be read first; or -EAGAIN, -ETIME or -EINTR, see
 * sfu_section_find_rule().
 */
int sfu_lookup_rule(struct sfu_lookup *lookup, u64 pc, struct sfu_match *match);

/*
 * Find where the function at @pc has saved registers. May sleep, takes the mmap
 * lock. Returns 0, -ENOENT if no section tells, or another error of
 * sfu_lookup_rule().
 */
int sfu_lookup_layout(struct sfu_lookup *lookup, u64 pc,
		      struct sfu_layout *layout);

/*
 * Find the rule for the frame with @key in the rule cache, after checking its
 * section if necessary. May sleep, takes the mmap lock. Returns whether there
 * is one; with SFU_RULE_NONE in its flags, it is a negative entry.
 */
bool sfu_lookup_cached(struct sfu_lookup *lookup, u64 key,
		       struct sfu_rule *rule);

/*
 * Returns whether what is behind the function that sfu_lookup_rule() has found may change
 * without notice: it is in a function table.
 */
static inline bool sfu_lookup_is_in_table(const struct sfu_lookup *lookup)
{
	return lookup->used.section && lookup->used.section->is_table;
}

/* Returns whether the section that sfu_lookup_rule() used last covers @pc. */
static inline bool sfu_lookup_is_in(const struct sfu_lookup *lookup, u64 pc)
{
	return lookup->used.section &&
	       sfu_section_covers(lookup->used.section, pc);
}

/*
 * Returns whether sfu_lookup_rule(), which has found no rule for @pc, has found that
 * there is no section for that code of a file.
 */
static inline bool sfu_lookup_found_nothing(const struct sfu_lookup *lookup, u64 pc)
{
	const struct sfu_section *section = lookup->below ?: lookup->used.section;

	return section && section->source == SFU_NOTHING &&
	       sfu_section_covers(section, pc);
}

/*
 * Returns whether sfu_lookup_rule(), which has found no rule for @pc, has found that the
 * code was generated, and no section describes it, or only one of other code that was there
 * before. There may be one soon if sections are attached to generated code of this process
 * with UNCHANGED: then returns sfu_attach_view_final_period(). Else returns 0.
 */
u64 sfu_lookup_found_generated(const struct sfu_lookup *lookup, u64 pc);

/*
 * Returns the id of the section that sfu_lookup_rule() used last, also if it
 * returned -ENOENT; 0 if it used none.
 */
static inline u64 sfu_lookup_section_id(const struct sfu_lookup *lookup)
{
	return lookup->used.section ? lookup->used.section->id : 0;
}

/*
 * Insert into the rule cache what sfu_lookup_rule() has just found; or, with
 * SFU_RULE_NONE, that the section has no rule for the address. May sleep.
 */
void sfu_lookup_remember(struct sfu_lookup *lookup, u64 key,
			 const struct sfu_rule *rule);

#endif /* SFU_LOOKUP_H */
