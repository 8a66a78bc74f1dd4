/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Plain: a simple unwinder to compare the module with. It uses what the kernel
 * provides: a maple tree of sections, SRCU, and get_user() for each value of
 * the tables, anew for each frame.
 */
#ifndef SFU_BENCH_PLAIN_H
#define SFU_BENCH_PLAIN_H

#include <linux/types.h>

struct pt_regs;
struct sfu_bench_plain;
struct sfu_rule;

/*
 * Create a set of sections in user memory, from @nr structures
 * sframe_unwind_register at the user address @sections. Returns it, or -EFAULT,
 * -EINVAL or -ENOMEM as ERR_PTR().
 */
struct sfu_bench_plain *sfu_bench_plain_create(u64 sections, u32 nr);

/* @plain may be NULL. */
void sfu_bench_plain_free(struct sfu_bench_plain *plain);

/* Find the rule for @pc. May sleep. Returns 0, -ENOENT, -EFAULT or -EINVAL. */
int sfu_bench_plain_find(struct sfu_bench_plain *plain, u64 pc,
			 struct sfu_rule *rule);

/*
 * Unwind the current thread's stack from @regs. May sleep. Returns the number
 * of addresses stored in @ip, at most @max.
 */
u32 sfu_bench_plain_walk(struct sfu_bench_plain *plain,
			 const struct pt_regs *regs, u64 *ip, u32 max);

#endif /* SFU_BENCH_PLAIN_H */
