/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Lookup: from an address of the current mm to its rule, with what one walk
 * remembers from one address to the next.
 */
#ifndef SFU_LOOKUP_H
#define SFU_LOOKUP_H

#include <linux/types.h>

#include "mm/rules.h"
#include "mm/section.h"

struct sfu_space;

/**
 * struct sfu_lookup - belongs to one walk
 *
 * @space: the current mm's, with a reference, or NULL.
 * @used: the section used last, with a reference, or NULL, and the addresses
 *	for which its mappings have been checked.
 * @epoch: of the space's rules.
 * @budget: what may be looked at yet.
 * @nothing: executable memory that there is nothing to be had for in this walk.
 * @nothing.err: why.
 * @code: executable memory.
 */
struct sfu_lookup {
	struct sfu_space *space;
	struct sfu_checked used;
	u32 epoch;
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
 * Find the rule for @pc. A section found corrupt, unreadable for ever, or
 * mapped otherwise than registered is removed, and told of. May sleep, takes
 * the mmap lock. Returns 0; -ENOENT if no section has one (match->rule.flags
 * tells of a signal frame that is not described); -EINVAL if its section was
 * removed as corrupt or unreadable; -EINPROGRESS if its file has to be read
 * first; -EAGAIN, -ETIME, -EINTR as sfu_section_find_rule().
 */
int sfu_lookup_rule(struct sfu_lookup *lookup, u64 pc, struct sfu_match *match);

/*
 * Has the rule cache a rule for the frame with @key? Sections that it is of are
 * checked first. May sleep, takes the mmap lock.
 */
bool sfu_lookup_cached(struct sfu_lookup *lookup, u64 key,
		       struct sfu_rule *rule);

/* Is @pc covered by the section that sfu_lookup_rule() has used last? */
static inline bool sfu_lookup_is_in(const struct sfu_lookup *lookup, u64 pc)
{
	return lookup->used.section &&
	       sfu_section_covers(lookup->used.section, pc);
}

/*
 * Is @pc in memory that is mapped executable? Without a look at it where this
 * walk knows already. May sleep, takes the mmap lock. Returns 0, -EACCES, -ETIME
 * or -EINTR.
 */
int sfu_lookup_check_code(struct sfu_lookup *lookup, u64 pc);

/*
 * Have the rule cache remember what sfu_lookup_rule() has just found, or, with
 * SFU_RULE_NONE, that the section which covers the address has nothing for it.
 */
void sfu_lookup_remember(struct sfu_lookup *lookup, u64 key,
			 const struct sfu_rule *rule);

/*
 * Remove @section from @space, the current mm's, if what is mapped at @pc, in
 * its code, or at its bytes is not what was registered. May sleep, takes the
 * mmap lock. Returns whether it did.
 */
bool sfu_lookup_remove_stale(struct sfu_space *space,
			     struct sfu_section *section, u64 pc);

#endif /* SFU_LOOKUP_H */
