/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Test: what /dev/sframe_unwind_test does beside what /dev/sframe_unwind does. Shared
 * with the tests and the bench, which include it. The device is that of a module of
 * its own, sframe_unwind_test, built with SFU_TEST=1, so that sframe_unwind is the
 * same file with and without it.
 */
#ifndef SFU_TEST_H
#define SFU_TEST_H

#include <linux/sframe_unwind.h>
#include <linux/types.h>

#define SFU_TEST_DEVICE		"/dev/sframe_unwind_test"

/**
 * struct sfu_test_timer_spec - start a timer or a probe, one for each open file
 *
 * @size: sizeof(struct sfu_test_timer_spec).
 * @max_depth: of its requests.
 * @period: in nanoseconds; 0 stops it. Of a probe, anything else starts it.
 * @ticks: out, when it is stopped: how often it fired in this process.
 * @refused: out, likewise: how many of those ticks could make no request.
 * @tracepoint: name of one of the kernel's, NUL-terminated, whose probe makes
 *	the requests; empty for a timer. ENOENT if there is none.
 *
 * It fires on the CPU that it was started on and requests the stack of the
 * thread that it interrupts, if that is one of this process. user_data of the
 * request is the interrupted instruction pointer in user mode, else 0. The
 * probe requests the stack of the thread that runs through the tracepoint, if it
 * is one of this process, also where that is in an interrupt. user_data is 0.
 */
struct sfu_test_timer_spec {
	__u32 size;
	__u32 max_depth;
	__u64 period;
	__u64 ticks;
	__u64 refused;
	char tracepoint[32];
};

#define SFU_TEST_IOC_TIMER	_IO(SFRAME_UNWIND_IOC_MAGIC, 0x10)

/* What the module's parts cost, and the kernel's own walkers on the same stack. */
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

#endif /* SFU_TEST_H */
