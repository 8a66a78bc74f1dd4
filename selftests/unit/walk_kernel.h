/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Replaces kernel headers, and those of the module that find rules, for module/walk/walk.c and
 * cut.c: a thread without a space, whose stack is the test's own memory, and whose rules are the
 * test's.
 */
#ifndef WALK_KERNEL_H
#define WALK_KERNEL_H

#define SFU_COUNTERS_H
#define SFU_LOOKUP_H
#define SFU_SPACE_H
#define SFU_URETPROBE_H

#include <linux/types.h>
#include <linux/gfp.h>
#include <linux/minmax.h>

#include "decode/cache.h"

#define __aligned(n)		__attribute__((aligned(n)))
#define BIT(nr)			(1UL << (nr))
#define GENMASK(high, low)	((~0UL >> (63 - (high))) & (~0UL << (low)))
#define min(a, b)		((a) < (b) ? (a) : (b))
#define min3(a, b, c)		min(a, min(b, c))

struct pt_regs {
	u64 reg[SFU_NR_REGS];
	u64 ip;
	bool is_32_bit;
};

#define sfu_arch_ip(regs)		((regs)->ip)
#define sfu_arch_is_supported(regs)	(!(regs)->is_32_bit)

extern bool is_killed;

#define current				NULL
#define fatal_signal_pending(task)	is_killed

#define sfu_count(what)			do { } while (0)
#define sfu_uncount(what)		do { } while (0)

struct sfu_rules {
	int unused;
};

struct sfu_space {
	struct sfu_rules rules;
};

struct sfu_lookup {
	struct sfu_space *space;
	struct sfu_epochs epochs;
	bool below_failed;
};

#define sfu_rules_may_have(rules, epochs, key)	((void)(rules), (void)(key), false)
#define sfu_rules_follow(rules, epochs, frame, ip, max)	\
	((void)(rules), (void)(frame), (struct sfu_followed) { 0 })

#define sfu_lookup_begin(lookup)		(*(lookup) = (struct sfu_lookup) { 0 })
#define sfu_lookup_end(lookup)			((void)(lookup))
#define sfu_lookup_begin_frame(lookup)		((void)(lookup))
#define sfu_lookup_section_id(lookup)		((void)(lookup), 1)
#define sfu_lookup_is_in(lookup, pc)		((void)(lookup), (void)(pc), false)
#define sfu_lookup_is_in_table(lookup)		((void)(lookup), false)
#define sfu_lookup_layout(lookup, pc, layout)	((void)(layout), -ENOENT)
#define sfu_lookup_remember(lookup, key, rule)	((void)(rule))

int sfu_lookup_rule(struct sfu_lookup *lookup, u64 pc, struct sfu_match *match);
bool sfu_lookup_cached(struct sfu_lookup *lookup, u64 key, struct sfu_rule *rule);
int sfu_lookup_check_code(struct sfu_lookup *lookup, u64 pc);
bool sfu_lookup_found_nothing(const struct sfu_lookup *lookup, u64 pc);
u64 sfu_lookup_found_generated(const struct sfu_lookup *lookup, u64 pc);

#define sfu_uprobe_original(ip)			(ip)
#define sfu_uretprobe_original(at, ip)		((void)(at), (ip))

#endif /* WALK_KERNEL_H */
