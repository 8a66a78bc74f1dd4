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

/* What to do with the work of an open file, by <linux/sframe_unwind_deferred.h>. */
enum sfu_test_deferred_what {
	SFU_TEST_DEFERRED_INIT,
	SFU_TEST_DEFERRED_CANCEL,
	SFU_TEST_DEFERRED_REQUEST,	/* @nr requests for the calling thread, in @context */
	SFU_TEST_DEFERRED_TIMER,	/* as INTERRUPT, each @period ns on this CPU; 0: stop */
	SFU_TEST_DEFERRED_NMI,		/* one in each NMI, if @nr is not 0 */
	SFU_TEST_DEFERRED_SLEEP,	/* the same, and the call returns when HOLD ends */
	SFU_TEST_DEFERRED_HOLD,		/* if @nr is not 0, callbacks wait until it is */
	SFU_TEST_DEFERRED_REPEAT,	/* the next @nr callbacks request twice each */
	SFU_TEST_DEFERRED_FAULTABLE,	/* unwind the calling thread's stack now */
	SFU_TEST_DEFERRED_READ,
	SFU_TEST_DEFERRED_MANY,		/* @nr requests by each of other works, by turns */
};

/* Works of SFU_TEST_DEFERRED_MANY. */
#define SFU_TEST_NR_MANY	32

enum sfu_test_context {
	SFU_TEST_CONTEXT_TASK,
	SFU_TEST_CONTEXT_ATOMIC,	/* with a spinlock, interrupts off */
	SFU_TEST_CONTEXT_SOFT,		/* with bottom halves disabled */
	SFU_TEST_CONTEXT_INTERRUPT,
	SFU_TEST_CONTEXT_KTHREAD,	/* by another thread, which has no user stack */
	/*
	 * In what in_nmi() takes for an NMI, with interrupts off; and then, before they
	 * are possible again, as in ATOMIC. @cookie is that of the second request.
	 */
	SFU_TEST_CONTEXT_NMI_ATOMIC,
};

#define SFU_TEST_DEFERRED_IPS	16

/**
 * struct sfu_test_deferred - use the work of an open file
 *
 * @size: sizeof(struct sfu_test_deferred).
 * @what, @context: see above.
 * @nr: see above; out: number of frames of the last stack.
 * @period: see above. It and NMIs request the stack of any thread.
 * @ret: out: what the last request, or FAULTABLE, has returned.
 * @stop: out: of the last stack.
 * @cookie: out: of the last request of the ioctl.
 * @called_cookie, @called_tid: out: of the last callback.
 * @requested, @again, @refused: out: number of requests that have returned 0, 1, an
 *	error, since INIT.
 * @called, @empty: out: number of callbacks, and of those without frames.
 * @bad: out: number of callbacks in a context other than that of a task, or of other
 *	faults of them.
 * @accepted, @delivered, @lost, @exited, @pending: out: the module's counts; 0 after
 *	CANCEL.
 * @ips, @how: out: the first frames of the last stack.
 */
struct sfu_test_deferred {
	__u32 size;
	__u32 what;
	__u32 context;
	__u32 nr;
	__u64 period;
	__s32 ret;
	__u32 stop;
	__u64 cookie;
	__u64 called_cookie;
	__u64 called_tid;
	__u64 requested;
	__u64 again;
	__u64 refused;
	__u64 called;
	__u64 empty;
	__u64 bad;
	__u64 accepted;
	__u64 delivered;
	__u64 lost;
	__u64 exited;
	__u64 pending;
	__u64 ips[SFU_TEST_DEFERRED_IPS];
	__u8 how[SFU_TEST_DEFERRED_IPS];
};

#define SFU_TEST_IOC_DEFERRED	_IO(SFRAME_UNWIND_IOC_MAGIC, 0x13)

#endif /* SFU_TEST_H */
