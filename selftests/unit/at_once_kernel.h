/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Replaces kernel headers, module/mm/space.h and module/walk/uretprobe.h for
 * module/walk/at_once.c: one thread, whose stack and code are the test's own memory, and
 * whose rules are in a cache only.
 */
#ifndef AT_ONCE_KERNEL_H
#define AT_ONCE_KERNEL_H

#define SFU_SPACE_H
#define SFU_URETPROBE_H

#include <linux/types.h>

#include "decode/cache.h"

struct mm_struct {
	int unused;
};

struct task_struct {
	struct mm_struct *mm;
};

struct pt_regs {
	u64 reg[SFU_NR_REGS];
	u64 ip;
};

struct sfu_rules {
	struct sfu_cache cache;
};

struct sfu_space {
	struct sfu_rules rules;
};

extern struct task_struct *const current;
extern struct sfu_space the_space;

typedef unsigned int gfp_t;
#define __aligned(n)	__attribute__((aligned(n)))

#define min(a, b)	((a) < (b) ? (a) : (b))
#define in_nmi()	false

#define sfu_arch_ip(regs)		((regs)->ip)
#define sfu_arch_is_supported(regs)	true
#define sfu_arch_is_loaded(mm)		((mm) != NULL)
#define sfu_uretprobe_may_be(address)	((void)(address), false)

#define sfu_space_peek()			(&the_space)
#define sfu_space_note_walk(space)		((void)(space))
#define sfu_space_removals(space)		(space)
#define sfu_space_attach_generation(space)	((void)(space), 0)
#define sfu_removals_read(space, sum, slot)	((void)(space), *(sum) = *(slot) = 0, true)

/* The only epochs. */
static const struct sfu_epochs the_epochs = { 1, 1 };

#define sfu_rules_is_current(rules, mm, generation, removals, to)	\
	((void)(rules), (void)(mm), (void)(generation), (void)(removals), *(to) = the_epochs, true)
#define sfu_rules_peek(rules, epochs, key, rule)	sfu_cache_peek(&(rules)->cache, epochs, key, rule)
#define sfu_rules_find_now(rules, epochs, mm, key, rows, rule)	\
	((void)(rules), (void)(mm), (void)(key), (void)(rows), (void)(rule), false)

struct sfu_followed sfu_rules_follow(struct sfu_rules *rules, struct sfu_epochs epochs,
				     struct sfu_frame *frame, u64 *ip, u32 max);

#endif /* AT_ONCE_KERNEL_H */
