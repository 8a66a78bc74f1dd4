/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Lookup: find the rule for an address of the current mm, with the state that a
 * walk keeps between addresses.
 */
#ifndef SFU_LOOKUP_H
#define SFU_LOOKUP_H

#include <linux/types.h>

#include "mm/rules.h"
#include "mm/section.h"

struct sfu_space;

/* Sections that a lookup keeps besides the one used last. */
#define SFU_LOOKUP_EARLIER	3U

/**
 * struct sfu_lookup - state of the lookups of one walk
 *
 * @space: the current mm's space, holds a reference; or NULL.
 * @used: the section used last, holds a reference, or NULL; and the addresses
 *	for which its mappings have been checked.
 * @earlier: sections used before that, as @used. Stacks go to and fro between a
 *	few files.
 * @nr_earlier: number of sections that have been stored in @earlier, in rotation.
 * @below: the section for the frame that was discovered below another one, which
 *	has no rule for it; holds a reference; or NULL.
 * @below_failed: discovery below a section has failed for the frame, or a function
 *	table has no function for it, which may be temporary: that there is no rule must
 *	not be cached.
 * @below_left: discoveries below sections that the walk may still do.
 * @epochs: epochs of the space's rules, see mm/rules.h.
 * @budget: the work that the walk may still do.
 * @nothing: executable memory for which discovery has failed in this walk.
 * @nothing.err: the error.
 * @code: the executable mapping that sfu_lookup_check_code() found last.
 */
struct sfu_lookup {
	struct sfu_space *space;
	struct sfu_checked used;
	struct sfu_checked earlier[SFU_LOOKUP_EARLIER];
	u32 nr_earlier;
	struct sfu_section *below;
	bool below_failed;
	u32 below_left;
	struct sfu_epochs epochs;
	struct sfu_budget budget;
	struct {
		u64 start;
		u64 end;
		int err;
	} nothing;
	struct {
		u64 start;
		u64 end;
	} code;
};

void sfu_lookup_begin(struct sfu_lookup *lookup);
void sfu_lookup_end(struct sfu_lookup *lookup);

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
 * Returns the id of the section that sfu_lookup_rule() used last, also if it
 * returned -ENOENT; 0 if it used none.
 */
static inline u64 sfu_lookup_section_id(const struct sfu_lookup *lookup)
{
	return lookup->used.section ? lookup->used.section->id : 0;
}

/*
 * Check that @pc is in executable memory, unless this walk knows that already.
 * May sleep, takes the mmap lock. Returns 0, -EACCES, -ETIME or -EINTR.
 */
int sfu_lookup_check_code(struct sfu_lookup *lookup, u64 pc);

/*
 * Begin the lookups for another frame: in the cache, and of up to two
 * addresses.
 */
static inline void sfu_lookup_begin_frame(struct sfu_lookup *lookup)
{
	lookup->below_failed = false;
	if (!lookup->below)
		return;
	sfu_section_put(lookup->below);
	lookup->below = NULL;
}

/*
 * Insert into the rule cache what sfu_lookup_rule() has just found; or, with
 * SFU_RULE_NONE, that the section has no rule for the address. May sleep.
 */
void sfu_lookup_remember(struct sfu_lookup *lookup, u64 key,
			 const struct sfu_rule *rule);

#endif /* SFU_LOOKUP_H */
