// SPDX-License-Identifier: GPL-2.0
/*
 * Bench: measure parts of the module, and the kernel's stack walkers on the
 * same stack.
 */
#include <linux/kprobes.h>
#include <linux/perf_event.h>
#include <linux/ptrace.h>
#include <linux/sched/task_stack.h>
#include <linux/sframe_unwind.h>
#include <linux/slab.h>
#include <linux/static_call.h>
#include <linux/timex.h>
#include <linux/uaccess.h>
#ifdef CONFIG_UNWIND_USER
#include <linux/unwind_user.h>
#endif

#include "bench.h"
#include "bench_plain.h"
#include "bench_sample.h"
#include "decode/sframe.h"
#include "test.h"
#include "walk/lookup.h"
#include "walk/walk.h"

#define MAX_REPEAT	65536

/**
 * struct bench - one run
 *
 * @spec: what to do.
 * @regs: user registers of the caller.
 * @walk: memory for a walk of the module, and for the addresses of other walks
 *	but perf's.
 * @chain: memory for a walk of perf.
 * @plain: sections for plain walks and lookups.
 * @client: that of the file.
 * @event: whose handler is called.
 * @match: result of a lookup.
 */
struct bench {
	struct sfu_bench_spec *spec;
	struct pt_regs *regs;
	struct sfu_walk *walk;
	struct perf_callchain_entry *chain;
	struct sfu_bench_plain *plain;
	struct sfu_client *client;
	struct sfu_bench_event event;
	struct sfu_match match;
};

/*
 * The kernel's walkers are not exported. They are found by a kprobe, and called
 * by a static call, see compat.c.
 */
#ifdef CONFIG_UNWIND_USER
DEFINE_STATIC_CALL_NULL(sfu_unwind_user, unwind_user);
#endif
DEFINE_STATIC_CALL_NULL(sfu_perf_callchain_user, perf_callchain_user);

static void *find_function(const char *name)
{
	struct kprobe probe = { .symbol_name = name };
	void *address;

	if (register_kprobe(&probe))
		return NULL;
	address = probe.addr;
	unregister_kprobe(&probe);
	return address;
}

static int prepare_unwind_user(struct bench *bench)
{
#ifdef CONFIG_UNWIND_USER
	void *function = find_function("unwind_user");

	if (function) {
		static_call_update(sfu_unwind_user, function);
		return 0;
	}
#endif
	return -EOPNOTSUPP;
}

static int prepare_perf(struct bench *bench)
{
	void *function = find_function("perf_callchain_user");

	if (!function)
		return -EOPNOTSUPP;
	static_call_update(sfu_perf_callchain_user, function);
	return 0;
}

static int prepare_walk(struct bench *bench)
{
	bench->walk->max_depth = bench->spec->max_depth;
	bench->walk->fallback = bench->spec->what == SFU_BENCH_WALK_FALLBACK;
	return 0;
}

static int prepare_plain(struct bench *bench)
{
	bench->plain = sfu_bench_plain_create(bench->spec->sections,
					      bench->spec->nr_sections);
	return PTR_ERR_OR_ZERO(bench->plain);
}

static int prepare_sample(struct bench *bench)
{
	return sfu_bench_event_get(&bench->event, bench->client,
				   bench->spec->address);
}

static int prepare_sample_perf(struct bench *bench)
{
	return sfu_bench_event_get_perf(&bench->event, bench->spec->address);
}

/*
 * Each of these runs the operation once. Returns the cycles it took, or an
 * errno.
 */

static s64 run_walk(struct bench *bench)
{
	const u64 start = get_cycles();

	sfu_walk_user(bench->walk, bench->regs);
	return get_cycles() - start;
}

static s64 run_unwind_user(struct bench *bench)
{
#ifdef CONFIG_UNWIND_USER
	struct unwind_stacktrace trace = {
		.entries = (unsigned long *)bench->walk->ip,
	};
	const u64 start = get_cycles();
	u64 cycles;

	static_call(sfu_unwind_user)(&trace, bench->spec->max_depth);
	cycles = get_cycles() - start;
	bench->walk->nr = trace.nr;
	return cycles;
#else
	return -EOPNOTSUPP;
#endif
}

static s64 run_perf(struct bench *bench)
{
	struct perf_callchain_entry_ctx context = {
		.entry = bench->chain,
		.max_stack = bench->spec->max_depth,
	};
	u64 start, cycles;

	bench->chain->nr = 0;
	start = get_cycles();
	static_call(sfu_perf_callchain_user)(&context, bench->regs);
	cycles = get_cycles() - start;
	bench->walk->nr = bench->chain->nr;
	return cycles;
}

static s64 run_plain(struct bench *bench)
{
	const u64 start = get_cycles();

	bench->walk->nr = sfu_bench_plain_walk(bench->plain, bench->regs,
					       bench->walk->ip,
					       bench->spec->max_depth);
	return get_cycles() - start;
}

static s64 run_lookup(struct bench *bench)
{
	struct sfu_lookup lookup;
	u64 start, cycles;
	int err;

	sfu_lookup_begin(&lookup);
	start = get_cycles();
	err = sfu_lookup_rule(&lookup, bench->spec->address, &bench->match);
	cycles = get_cycles() - start;
	sfu_lookup_end(&lookup);
	return err ?: cycles;
}

static s64 run_lookup_plain(struct bench *bench)
{
	const u64 start = get_cycles();
	int err;

	err = sfu_bench_plain_find(bench->plain, bench->spec->address,
				   &bench->match.rule);
	return err ?: get_cycles() - start;
}

static s64 run_sample(struct bench *bench)
{
	return sfu_bench_event_run(&bench->event, bench->regs);
}

static const struct {
	int (*prepare)(struct bench *bench);
	s64 (*run)(struct bench *bench);
} bench_ops[SFU_BENCH_NR] = {
	[SFU_BENCH_WALK] = { prepare_walk, run_walk },
	[SFU_BENCH_WALK_FALLBACK] = { prepare_walk, run_walk },
	[SFU_BENCH_WALK_UNWIND_USER] = { prepare_unwind_user, run_unwind_user },
	[SFU_BENCH_WALK_PERF] = { prepare_perf, run_perf },
	[SFU_BENCH_WALK_PLAIN] = { prepare_plain, run_plain },
	[SFU_BENCH_LOOKUP] = { prepare_walk, run_lookup },
	[SFU_BENCH_LOOKUP_PLAIN] = { prepare_plain, run_lookup_plain },
	[SFU_BENCH_SAMPLE] = { prepare_sample, run_sample },
	[SFU_BENCH_SAMPLE_PERF] = { prepare_sample_perf, run_sample },
};

/* Returns the cost of reading the time stamp counter. */
static s64 cost_of_nothing(void)
{
	s64 least = S64_MAX;
	int i;

	for (i = 0; i < 64; i++) {
		const u64 start = get_cycles();

		least = min_t(s64, least, get_cycles() - start);
	}
	return least;
}

static int repeat_bench(struct bench *bench)
{
	const s64 nothing = cost_of_nothing();
	struct sfu_bench_spec *spec = bench->spec;
	s64 cycles, least = S64_MAX;
	u32 i;

	for (i = 0; i < spec->repeat; i++) {
		cycles = bench_ops[spec->what].run(bench);
		if (cycles < 0)
			return cycles;
		least = min(least, cycles);
	}
	spec->cycles = least - nothing;
	return 0;
}

/* Copy the result to the caller. */
static int tell_result(struct bench *bench)
{
	struct sfu_bench_spec *spec = bench->spec;
	const void *ips = spec->what == SFU_BENCH_WALK_PERF ?
				  bench->chain->ip : bench->walk->ip;

	BUILD_BUG_ON(sizeof(spec->rule) != sizeof(bench->match.rule));
	memcpy(spec->rule, &bench->match.rule, sizeof(spec->rule));
	spec->nr = bench->walk->nr;
	if (spec->ips && copy_to_user(u64_to_user_ptr(spec->ips), ips,
				      spec->nr * sizeof(u64)))
		return -EFAULT;
	return 0;
}

int sfu_bench_run(struct sfu_client *client, struct sfu_bench_spec *spec)
{
	struct bench bench = {
		.spec = spec,
		.client = client,
		.regs = task_pt_regs(current),
	};
	int err = -ENOMEM;

	if (spec->what >= SFU_BENCH_NR || !spec->repeat ||
	    spec->repeat > MAX_REPEAT || !spec->max_depth ||
	    spec->max_depth > SFU_MAX_DEPTH)
		return -EINVAL;
	bench.walk = kvzalloc(sizeof(*bench.walk), GFP_KERNEL);
	bench.chain = kvzalloc(struct_size(bench.chain, ip, SFU_MAX_DEPTH),
			       GFP_KERNEL);
	if (bench.walk && bench.chain)
		err = bench_ops[spec->what].prepare(&bench);
	if (!err) {
		err = repeat_bench(&bench) ?: tell_result(&bench);
		sfu_bench_plain_free(bench.plain);
		sfu_bench_event_put(&bench.event);
	}
	kvfree(bench.chain);
	kvfree(bench.walk);
	return err;
}
