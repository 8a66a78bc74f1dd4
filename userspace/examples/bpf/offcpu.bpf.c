// SPDX-License-Identifier: GPL-2.0
/*
 * Off-CPU time by stacks: when a thread of the target leaves a CPU, its stack is requested.
 * It arrives when the thread returns to user space, after it has waited.
 */
#include <linux/bpf.h>
#include <linux/types.h>
#include <bpf/bpf_helpers.h>
#include <linux/sframe_unwind_bpf.h>

#include "stacks.h"

char LICENSE[] SEC("license") = "GPL";

const volatile int target;	/* process; 0: all */
__u64 lost;			/* stacks for which there was no room */

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} ring SEC(".maps");

/* When a thread left its CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 10240);
	__type(key, __u32);
	__type(value, __u64);
} left SEC(".maps");

/* The current thread is the one that leaves. */
SEC("tp_btf/sched_switch")
int leave(void *ctx)
{
	__u64 now = bpf_ktime_get_ns(), id = bpf_get_current_pid_tgid();
	__u32 tid = id;

	if (target && id >> 32 != (__u32)target)
		return 0;
	if (sframe_unwind_request(0) > 0)
		bpf_map_update_elem(&left, &tid, &now, BPF_ANY);
	return 0;
}

/* cookie, pid, tid, stop, at_once, nr, first, ips, nr_ips */
SEC("tp_btf/stack")
int stack(__u64 *ctx)
{
	__u32 tid = ctx[2], nr = ctx[8];
	struct waited *waited;
	__u64 *since;

	since = bpf_map_lookup_elem(&left, &tid);
	if (!since || nr > MAX_IPS)
		return 0;
	waited = bpf_ringbuf_reserve(&ring, sizeof(*waited), 0);
	if (!waited) {
		__sync_fetch_and_add(&lost, 1);
		return 0;
	}
	waited->nanoseconds = bpf_ktime_get_ns() - *since;
	waited->pid = ctx[1];
	waited->tid = tid;
	waited->stop = ctx[3];
	waited->nr_ips = nr;
	bpf_probe_read_kernel(waited->ips, nr * sizeof(waited->ips[0]), (void *)ctx[7]);
	bpf_map_delete_elem(&left, &tid);
	bpf_ringbuf_submit(waited, 0);
	return 0;
}
