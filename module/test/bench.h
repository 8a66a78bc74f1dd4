/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Bench: measure parts of the module, and the kernel's stack walkers on the
 * same stack.
 */
#ifndef SFU_BENCH_H
#define SFU_BENCH_H

struct sfu_bench_spec;
struct sfu_client;

/*
 * Returns 0; -EINVAL if @spec is invalid; -ENOENT if a lookup found no rule, or
 * @client has no such event; -EBADF if a file is not that of a perf event;
 * -EOPNOTSUPP if the kernel does not have the walker; -EFAULT; or -ENOMEM.
 */
int sfu_bench_run(struct sfu_client *client, struct sfu_bench_spec *spec);

#endif /* SFU_BENCH_H */
