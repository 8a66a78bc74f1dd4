/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Lookup: find the section for an address of the current mm, with the state that a walk
 * keeps between addresses. What finds rules in sections is in lookup.h.
 */
#ifndef SFU_LOOKUP_SECTION_H
#define SFU_LOOKUP_SECTION_H

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
 * @below_failed: discovery below a section has failed for the frame, a function table
 *	has no function for it, or code could not be compared (see file/noted.h), which may be
 *	temporary: that there is no rule must not be cached.
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
 * Check that @pc is in executable memory, unless this walk knows that already.
 * May sleep, takes the mmap lock. Returns 0, -EACCES, -ETIME or -EINTR.
 */
int sfu_lookup_check_code(struct sfu_lookup *lookup, u64 pc);

/* Takes over the reference to @section, which may be NULL. */
static inline void sfu_lookup_set_below(struct sfu_lookup *lookup,
					struct sfu_section *section)
{
	if (lookup->below)
		sfu_section_put(lookup->below);
	lookup->below = section;
}

/*
 * Begin the lookups for another frame: in the cache, and of up to two
 * addresses.
 */
static inline void sfu_lookup_begin_frame(struct sfu_lookup *lookup)
{
	lookup->below_failed = false;
	sfu_lookup_set_below(lookup, NULL);
}

/* --- for lookup.c */

/* Drop the section, if there is one. */
static inline void sfu_lookup_drop(struct sfu_checked *checked)
{
	if (checked->section)
		sfu_section_put(checked->section);
	checked->section = NULL;
}

/* Returns whether @checked is a section whose mappings were checked for @pc. */
static inline bool sfu_lookup_is_for(const struct sfu_checked *checked, u64 pc)
{
	return checked->section && pc >= checked->start && pc < checked->end;
}

/* Do not use @section any more, unless it is found and checked again. */
void sfu_lookup_forget(struct sfu_lookup *lookup,
		       const struct sfu_section *section);

/*
 * Discover a section for @pc, see sfu_discover(). Does not consider the section
 * of the file itself, if the file is the one that @bad is mapped from. @above:
 * see sfu_discover(). Returns what that returns, or -ESTALE if the caller has to
 * try again.
 */
int sfu_lookup_discover(struct sfu_lookup *lookup, u64 pc,
			const struct sfu_range *bad, u64 above,
			struct sfu_section **section);

/*
 * Check that checked->section, which must cover @pc, is what discovery would
 * find now, and that its mappings have not changed. Takes the mmap lock, so the
 * caller must not hold the bytes of a section. Returns 0 with the addresses
 * around @pc for which this is true; -ESTALE; -ETIME if the budget is
 * exhausted; or -EINTR.
 */
int sfu_lookup_check(struct sfu_lookup *lookup, u64 pc,
		     struct sfu_checked *checked);

/*
 * Set lookup->used, which is not the section for @pc, to an earlier one that is,
 * with its bytes held. Returns false if there is none, with lookup->used.section
 * NULL.
 */
bool sfu_lookup_use_earlier(struct sfu_lookup *lookup, u64 pc);

/*
 * Set lookup->used, whose section is NULL, to the section for @pc, which is not known to
 * have been checked in this epoch; its bytes are held. Returns 0, or an error of
 * sfu_discover() or sfu_lookup_check().
 */
int sfu_lookup_find_anew(struct sfu_lookup *lookup, u64 pc);

#endif /* SFU_LOOKUP_SECTION_H */
