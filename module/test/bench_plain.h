/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Plain: what the module is compared with, an unwinder that does the same with
 * what a kernel has at hand: a maple tree of sections, SRCU, and a fresh look at
 * the table in user memory for each frame, value by value.
 */
#ifndef SFU_BENCH_PLAIN_H
#define SFU_BENCH_PLAIN_H

#include <linux/types.h>

struct pt_regs;
struct sfu_bench_plain;
struct sfu_rule;

/*
 * Sections in user memory, of @nr structures sframe_unwind_register at the user
 * address @sections. Returns an ERR_PTR() of -EFAULT, -EINVAL or -ENOMEM.
 */
struct sfu_bench_plain *sfu_bench_plain_create(u64 sections, u32 nr);

/* @plain may be NULL. */
void sfu_bench_plain_free(struct sfu_bench_plain *plain);

/* The rule for @pc. May sleep. Returns 0, -ENOENT, -EFAULT or -EINVAL. */
int sfu_bench_plain_find(struct sfu_bench_plain *plain, u64 pc,
			 struct sfu_rule *rule);

/*
 * Walk the current thread's stack from @regs. May sleep. Returns the number of
 * addresses in @ip, at most @max.
 */
u32 sfu_bench_plain_walk(struct sfu_bench_plain *plain,
			 const struct pt_regs *regs, u64 *ip, u32 max);

#endif /* SFU_BENCH_PLAIN_H */
