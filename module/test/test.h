/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Test: ioctls of /dev/sframe_unwind_test, in addition to those of
 * /dev/sframe_unwind. The tests and the bench include this header, too. The
 * device is provided by a separate module, sframe_unwind_test, built with
 * SFU_TEST=1, so that sframe_unwind is the same with and without it.
 */
#ifndef SFU_TEST_H
#define SFU_TEST_H

#include <linux/sframe_unwind.h>
#include <linux/types.h>

#define SFU_TEST_DEVICE		"/dev/sframe_unwind_test"

/**
 * struct sfu_test_timer_spec - start or stop the timer or probe of an open file
 *
 * @size: sizeof(struct sfu_test_timer_spec).
 * @max_depth: of its requests.
 * @period: period of the timer in nanoseconds; 0 stops timer or probe. To start
 *	a probe, any value but 0.
 * @ticks: out, on stop: number of times it fired in threads of this process.
 * @refused: out, on stop: number of those ticks whose request failed.
 * @tracepoint: NUL-terminated name of a tracepoint of the kernel, whose probe
 *	makes the requests; empty for a timer. ENOENT if there is no such
 *	tracepoint.
 *
 * The timer fires on the CPU that started it, and requests the stack of the
 * interrupted thread if that is of this process. user_data of the request is
 * the interrupted instruction pointer if that is in user mode, else 0. The
 * probe requests the stack of the current thread if that is of this process,
 * also in interrupts. user_data is 0.
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

/**
 * struct sfu_test_nmi_spec - take a sample in each NMI
 *
 * @size: sizeof(struct sfu_test_nmi_spec).
 * @event: id of an event of the file, which must not be removed meanwhile; 0 ends it.
 *	EBUSY if another file does so.
 * @nmis: out: number of NMIs in which its handler was called since it began.
 * @in_user: out: number of those that interrupted user mode.
 * @ip: if it is not 0, the handler gets what it gets at a precise event: a copy of the
 *	registers, with this instruction pointer, which is in user mode.
 * @watermark, @wakeup_events: out, when it begins: of the module's perf event.
 */
struct sfu_test_nmi_spec {
	__u32 size;
	__u32 event;
	__u64 nmis;
	__u64 in_user;
	__u64 ip;
	__u32 watermark;
	__u32 wakeup_events;
};

#define SFU_TEST_IOC_NMI	_IO(SFRAME_UNWIND_IOC_MAGIC, 0x12)

/* What to measure: parts of the module, and the kernel's stack walkers. */
enum sfu_bench_what {
	SFU_BENCH_WALK,			/* sfu_walk_user() */
	SFU_BENCH_WALK_FALLBACK,	/* sfu_walk_user(), with fallback */
	SFU_BENCH_WALK_UNWIND_USER,	/* unwind_user() of the kernel */
	SFU_BENCH_WALK_PERF,		/* perf_callchain_user() */
	SFU_BENCH_WALK_PLAIN,		/* by sfu_bench_plain_find() */
	SFU_BENCH_LOOKUP,		/* sfu_lookup_rule() */
	SFU_BENCH_LOOKUP_PLAIN,		/* sfu_bench_plain_find() */
	SFU_BENCH_SAMPLE,		/* the module's handler of a perf event */
	SFU_BENCH_SAMPLE_PERF,		/* perf's own handler */
	SFU_BENCH_NR
};

/**
 * struct sfu_bench_spec - measure an operation
 *
 * @size: sizeof(struct sfu_bench_spec).
 * @what: enum sfu_bench_what. Walks unwind the stack of the calling thread, as
 *	it is at the system call.
 * @repeat: number of repetitions, 1 to 65536.
 * @max_depth: maximum number of frames of walks, 1 to SFU_MAX_DEPTH.
 * @address: the address to look up; for SFU_BENCH_SAMPLE: the id of an event of the
 *	file; for SFU_BENCH_SAMPLE_PERF: the file descriptor of a perf event.
 * @sections: for *_PLAIN: address of an array of struct sframe_unwind_register:
 *	the sections to use.
 * @nr_sections: number of entries in that array.
 * @nr: out: number of frames that the last walk found.
 * @ips: address of an array of @max_depth addresses, for these frames; or 0.
 * @cycles: out: minimum over all repetitions of the time stamp counter's
 *	difference, less the cost of reading the counter.
 * @rule: out: for lookups: the rule found, as struct sfu_rule.
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
