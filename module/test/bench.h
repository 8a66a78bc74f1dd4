/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Bench: what the module's parts cost, and the kernel's own stack walkers on the
 * same stack. Only in a module built with SFU_BENCH=1; shared with the bench in
 * selftests/bench, which includes it.
 */
#ifndef SFU_BENCH_H
#define SFU_BENCH_H

#include <linux/types.h>

enum sfu_bench_what {
	SFU_BENCH_WALK,			/* sfu_walk_user() */
	SFU_BENCH_WALK_FALLBACK,	/* the same, with frame pointers */
	SFU_BENCH_WALK_UNWIND_USER,	/* the kernel's for deferred stacks */
	SFU_BENCH_WALK_PERF,		/* perf_callchain_user() */
	SFU_BENCH_WALK_PLAIN,		/* by sfu_bench_plain_find() */
	SFU_BENCH_LOOKUP,		/* sfu_lookup_rule() */
	SFU_BENCH_LOOKUP_PLAIN,		/* sfu_bench_plain_find() */
	SFU_BENCH_NR
};

/**
 * struct sfu_bench_spec - do something several times
 *
 * @size: sizeof(struct sfu_bench_spec).
 * @what: enum sfu_bench_what, on the stack of the calling thread, as it is at
 *	the system call.
 * @repeat: times to do it, 1 to 65536.
 * @max_depth: of walks, 1 to SFU_MAX_DEPTH.
 * @address: of lookups.
 * @sections: for the plain ones: address of an array of struct
 *	sframe_unwind_register, the sections that they know.
 * @nr_sections: entries in it.
 * @nr: out: frames that the last walk found.
 * @ips: 0, or address of an array of @max_depth addresses for these frames.
 * @cycles: out: the time stamp counter's difference, the least of all times;
 *	what reading the counter costs is taken off.
 * @rule: out, of lookups: what was found, as struct sfu_rule.
 */
struct sfu_bench_spec {
	__u32 size;
	__u32 what;
	__u32 repeat;
	__u32 max_depth;
	__u64 address;
	__u64 sections;
	__u32 nr_sections;
	__u32 nr;
	__u64 ips;
	__u64 cycles;
	__u8 rule[16];
};

#define SFU_BENCH_IOC_RUN	_IO(SFRAME_UNWIND_IOC_MAGIC, 0x11)

#ifdef __KERNEL__

/*
 * Returns 0; -EINVAL for something in @spec; -ENOENT from a lookup;
 * -EOPNOTSUPP for a walker that this kernel has not; -EFAULT; -ENOMEM.
 */
int sfu_bench_run(struct sfu_bench_spec *spec);

#endif /* __KERNEL__ */

#endif /* SFU_BENCH_H */
