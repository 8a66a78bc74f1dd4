/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Bench: what the module's parts cost, and the kernel's own stack walkers on the
 * same stack.
 */
#ifndef SFU_BENCH_H
#define SFU_BENCH_H

struct sfu_bench_spec;

/*
 * Returns 0; -EINVAL for something in @spec; -ENOENT from a lookup;
 * -EOPNOTSUPP for a walker that this kernel has not; -EFAULT; -ENOMEM.
 */
int sfu_bench_run(struct sfu_bench_spec *spec);

#endif /* SFU_BENCH_H */
