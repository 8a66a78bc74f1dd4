// SPDX-License-Identifier: GPL-2.0
/*
 * BPF programs of each type, which get stacks of the target in each way, check and count
 * them. loading.c loads those that a test is about.
 */
#include <linux/bpf.h>
#include <linux/types.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <linux/sframe_unwind_bpf.h>

#include "stacks.h"

#define __NR_getpgid	121
#define EBUSY		16
#define STOP_DEPTH	2

char LICENSE[] SEC("license") = "GPL";

/* Set before the programs are loaded. */
int target;			/* process whose events count */
int task;			/* DO_* */
__u64 ask_start, ask_end;	/* the code of the innermost function */
__u64 down_start, down_end;	/* of those that lead to it */

__u64 events;			/* calls of a program in the target */
__u64 accepted;			/* requests that have returned a cookie */
__u64 refused[NR_ERRORS];	/* those that have not, by errno */
__u64 credited, lost;		/* accepted ones whose stack has arrived, is lost */
__u64 stacks;			/* that have arrived */
__u64 again, unknown;		/* of these, with the cookie of the last one, an unknown one */
__u64 last_cookie;		/* of what has arrived */
__u64 at_once;			/* stacks of get_stack */
__u64 not_now[NR_ERRORS];	/* errors of get_stack */
__u64 bad;			/* stacks that are not the target's */
__u64 elsewhere;		/* stacks that begin elsewhere */
__u64 nested, not_refused;	/* calls where they must be refused; those that were not */
__u64 in_walk;			/* calls within a walk */
__u64 waiting[NR_SLOTS];	/* accepted requests by their cookies' low bits */

static void count(__u64 *counter)
{
	__sync_fetch_and_add(counter, 1);
}

static int in_target(void)
{
	return bpf_get_current_pid_tgid() >> 32 == (__u32)target;
}

static void count_error(__u64 *errors, __s64 ret)
{
	__u64 error = -ret;

	/* So that also older verifiers see the limit. */
	barrier_var(error);
	count(&errors[error & (NR_ERRORS - 1)]);
}

/* Check the frames behind the innermost one, if that is where events are wanted. */
static void check(const __u64 *ips)
{
	int i;

	if (ips[0] < ask_start || ips[0] >= ask_end) {
		count(&elsewhere);
		return;
	}
	for (i = 1; i < FRAMES; i++) {
		if (ips[i] <= down_start || ips[i] >= down_end) {
			count(&bad);
			return;
		}
	}
}

static void request(void)
{
	__s64 cookie = sframe_unwind_request(0);

	if (cookie <= 0) {
		count_error(refused, cookie);
		return;
	}
	count(&accepted);
	count(&waiting[cookie & (NR_SLOTS - 1)]);
}

static void get_stack(void)
{
	__u64 ips[FRAMES + 1] = {};
	__s64 nr = sframe_unwind_get_stack(ips, sizeof(ips), 0);

	if (nr < 0) {
		count_error(not_now, nr);
		request();
		return;
	}
	count(&at_once);
	if (nr != FRAMES || ips[FRAMES] != STOP_DEPTH)
		count(&bad);
	check(ips);
}

static int on_event(void)
{
	if (!in_target())
		return 0;
	count(&events);
	if (task == DO_GET_STACK)
		get_stack();
	else
		request();
	return 0;
}

SEC("perf_event")
int at_perf_event(void *ctx)
{
	return on_event();
}

SEC("tracepoint/syscalls/sys_enter_getpgid")
int at_tracepoint(void *ctx)
{
	return on_event();
}

SEC("kprobe/__x64_sys_getpgid")
int at_kprobe(void *ctx)
{
	return on_event();
}

SEC("uprobe")
int at_uprobe(void *ctx)
{
	return on_event();
}

SEC("fentry/__x64_sys_getpgid")
int at_fentry(void *ctx)
{
	return on_event();
}

SEC("tp_btf/sys_enter")
int at_tp_btf(__u64 *ctx)
{
	return ctx[1] == __NR_getpgid ? on_event() : 0;
}

SEC("raw_tp/sys_enter")
int at_raw_tp(struct bpf_raw_tracepoint_args *ctx)
{
	return ctx->args[1] == __NR_getpgid ? on_event() : 0;
}

SEC("tp_btf/nmi_handler")
int at_nmi(void *ctx)
{
	return on_event();
}

SEC("uprobe.s")
int at_uprobe_faultable(void *ctx)
{
	__u64 ips[FRAMES + 1] = {};
	__s64 nr;

	if (!in_target())
		return 0;
	count(&events);
	nr = sframe_unwind_get_stack_faultable(ips, sizeof(ips), 0);
	if (nr < 0) {
		count_error(not_now, nr);
		return 0;
	}
	count(&at_once);
	if (nr != FRAMES || ips[FRAMES] != STOP_DEPTH)
		count(&bad);
	check(ips);
	return 0;
}

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} called SEC(".maps");

/* Calls a program that may sleep, where nothing may. */
SEC("kprobe/__x64_sys_getpgid")
int tail_caller(void *ctx)
{
	if (in_target())
		bpf_tail_call(ctx, &called, 0);
	return 0;
}

/* Attached by the test. */
SEC("fentry")
int at_any(void *ctx)
{
	return 0;
}

/* Calls with arguments that must be refused. */
SEC("fentry/__x64_sys_getpgid")
int bad_arguments(void *ctx)
{
	__u64 ips[2] = {};

	if (!in_target())
		return 0;
	count(&events);
	count_error(refused, sframe_unwind_request(1));
	count_error(not_now, sframe_unwind_get_stack(ips, sizeof(ips), 1));
	count_error(not_now, sframe_unwind_get_stack(ips, 8, 0));
	count_error(not_now, sframe_unwind_get_stack(ips, 12, 0));
	return 0;
}

/* --- receivers of the stacks */

static void arrived(__u64 cookie, __u64 *as)
{
	__u64 nr = __sync_lock_test_and_set(&waiting[cookie & (NR_SLOTS - 1)], 0);

	/* It was requested while the one before was being delivered. */
	if (!nr && cookie == last_cookie)
		count(&again);
	else if (!nr)
		count(&unknown);
	last_cookie = cookie;
	__sync_fetch_and_add(as, nr);
}

static void arrived_with(__u64 cookie, __u32 nr, __u32 first, const __u64 *from)
{
	__u64 ips[FRAMES] = {};

	if (first)
		return;
	count(&stacks);
	arrived(cookie, &credited);
	if (nr >= FRAMES)
		bpf_probe_read_kernel(ips, sizeof(ips), from);
	else if (nr)
		bpf_probe_read_kernel(ips, sizeof(ips[0]), from);
	/* Too few frames are wrong ones. */
	check(ips);
}

/* cookie, pid, tid, stop, at_once, nr, first, ips, nr_ips */
SEC("tp_btf/stack")
int by_tp_btf(__u64 *ctx)
{
	if (ctx[1] == target)
		arrived_with(ctx[0], ctx[5], ctx[6], (const __u64 *)ctx[7]);
	return 0;
}

SEC("raw_tp/stack")
int by_raw_tp(struct bpf_raw_tracepoint_args *ctx)
{
	if (ctx->args[1] == target)
		arrived_with(ctx->args[0], ctx->args[5], ctx->args[6],
			     (const __u64 *)ctx->args[7]);
	return 0;
}

/* As its format file describes it. */
struct stack_event {
	__u64 common;
	__u64 cookie;
	__s32 pid;
	__s32 tid;
	__u32 nr;
	__u32 first;
	__u32 nr_ips;
	__u8 stop;
	__u8 at_once;
	__u16 hole;
	__u32 where;		/* __data_loc of the addresses */
};

SEC("tracepoint/sframe_unwind/stack")
int by_tracepoint(struct stack_event *event)
{
	if (event->pid == target)
		arrived_with(event->cookie, event->nr, event->first,
			     (void *)event + (event->where & 0xffff));
	return 0;
}

/*
 * reason, count, cookie, pid, tid. A stack that an NMI has promised gets lost when the thread
 * is not the current one any more, so this is in another one.
 */
SEC("tp_btf/lost")
int on_lost(__u64 *ctx)
{
	if (waiting[ctx[2] & (NR_SLOTS - 1)])
		arrived(ctx[2], &lost);
	return 0;
}

/* --- programs at what these calls cause themselves */

static int refused_call(__s64 ret)
{
	if (!in_target())
		return 0;
	count(&nested);
	if (ret != -EBUSY)
		count(&not_refused);
	return 0;
}

SEC("tp_btf/request")
int at_request_event(void *ctx)
{
	return refused_call(sframe_unwind_request(0));
}

SEC("tp_btf/stack")
int at_stack_event(void *ctx)
{
	return refused_call(sframe_unwind_request(0));
}

SEC("fentry/sfu_walk_at_once")
int in_get_stack(void *ctx)
{
	__u64 ips[FRAMES + 1] = {};

	return refused_call(sframe_unwind_get_stack(ips, sizeof(ips), 0));
}

/* Some are accepted, and join the walk that is being served. */
SEC("fentry/sfu_walk_user")
int at_walk(void *ctx)
{
	if (in_target()) {
		count(&in_walk);
		request();
	}
	return 0;
}

SEC("fentry/sfu_consumer_deliver")
int at_delivery(void *ctx)
{
	if (in_target()) {
		count(&in_walk);
		request();
	}
	return 0;
}

static long spend_time(__u32 i, void *context)
{
	return 0;
}

/* The last that serves a request. Takes longer than the walk. */
SEC("fentry/module_put")
int at_end_of_work(void *ctx)
{
	if (in_target()) {
		count(&in_walk);
		bpf_loop(2000000, spend_time, NULL, 0);
		request();
	}
	return 0;
}
