/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Rules: the rule cache of a space, and what makes it never stale.
 *
 * An entry of the cache belongs to an owner: a section in use, and the addresses
 * around for which its mappings have been checked. An epoch is a time in which
 * no mapping of the mm has changed, no section has gone, and nothing has been
 * attached or detached: a check made in an epoch stays valid until the epoch ends.
 * In a new one, an entry is asked for its owner, which may have gone, and an owner
 * for its mappings, once.
 *
 * Kernels that tell whether mappings have changed have epochs as long as that;
 * on others, each walk begins one.
 */
#ifndef SFU_RULES_H
#define SFU_RULES_H

#include <linux/spinlock.h>
#include <linux/types.h>

struct mm_struct;
struct sfu_frame;
struct sfu_rule;
struct sfu_rules_table;
struct sfu_section;

/**
 * struct sfu_rules
 *
 * Members marked with (*) are also read without the lock: they are written by
 * WRITE_ONCE() alone.
 *
 * @lock: of all members, and of what is in @table but for sfu_cache_follow(). Nests
 *	inside all other locks.
 * @table: cache and owners, NULL before the first rule; read by RCU.
 * @mm_sequence: (*) the mm's, at the start of the epoch.
 * @generation: (*) of what is attached, likewise.
 * @epoch: (*) grows; not 0.
 * @next_owner: number of the next owner.
 * @misses: rules that had to go for others, since the table was made.
 * @over: no table is made any more.
 */
struct sfu_rules {
	raw_spinlock_t lock;
	struct sfu_rules_table __rcu *table;
	u64 mm_sequence;
	u64 generation;
	u32 epoch;
	u32 next_owner;
	u32 misses;
	bool over;
};

/**
 * struct sfu_checked - a section, and addresses for which it is right
 */
struct sfu_checked {
	struct sfu_section *section;
	u64 start;
	u64 end;
};

/* What became of a rule that was looked for. */
enum sfu_rules_result {
	SFU_RULES_MISS,
	SFU_RULES_HIT,
	SFU_RULES_UNCHECKED,	/* there is one, if its section is checked again */
};

void sfu_rules_init(struct sfu_rules *rules);

/*
 * Free what it takes, for good. Walks may be under way, and find nothing any
 * more. May be called again. May sleep.
 */
void sfu_rules_exit(struct sfu_rules *rules);

/*
 * Free what it takes for now: memory is short. Takes no lock that anybody holds
 * while allocating. Returns the number of pages.
 */
unsigned long sfu_rules_shrink(struct sfu_rules *rules);

/*
 * Begin a walk in @mm, the current one, with @generation of what is attached.
 * Returns the epoch it is in.
 */
u32 sfu_rules_begin(struct sfu_rules *rules, struct mm_struct *mm,
		    u64 generation);

/*
 * The rule for the frame with @key. With SFU_RULES_UNCHECKED *@section is what
 * sfu_rules_set_checked() is to be called for, with a reference.
 */
enum sfu_rules_result sfu_rules_find(struct sfu_rules *rules, u32 epoch,
				     u64 key, struct sfu_rule *rule,
				     struct sfu_section **section);

/*
 * Is it known which section is the one for @pc in @epoch, and has been checked?
 * Then sets @checked, with a reference to the section. If not, there may be one
 * all the same, and @checked is as it was.
 */
bool sfu_rules_find_checked(struct sfu_rules *rules, u32 epoch, u64 pc,
			    struct sfu_checked *checked);

/*
 * Have addresses around @pc been checked for checked->section, which covers it,
 * in @epoch? Then sets the other members of @checked.
 */
bool sfu_rules_is_checked(struct sfu_rules *rules, u32 epoch, u64 pc,
			  struct sfu_checked *checked);

/* They have been now. May sleep. */
void sfu_rules_set_checked(struct sfu_rules *rules, u32 epoch, u64 pc,
			   const struct sfu_checked *checked);

/*
 * Remember @rule, which is of @section, for the frame with @key, if the section
 * has been set checked. May sleep.
 */
void sfu_rules_insert(struct sfu_rules *rules, u32 epoch, u64 key,
		      const struct sfu_rule *rule,
		      const struct sfu_section *section);

/*
 * @section is not to be used any more: no walk that begins after this uses a
 * rule of it. May sleep, if it is the last reference.
 */
void sfu_rules_forget(struct sfu_rules *rules, struct sfu_section *section);

/* As sfu_cache_follow(). */
u32 sfu_rules_follow(struct sfu_rules *rules, u32 epoch,
		     struct sfu_frame *frame, u64 *ip, u32 max);

#endif /* SFU_RULES_H */
