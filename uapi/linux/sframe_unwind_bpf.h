/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Whole user stacks for BPF programs, by the module sframe_unwind: functions of the
 * kernel that programs call (kfuncs). To be included after vmlinux.h, or linux/types.h.
 *
 * Which programs can call them depends on the kernel:
 *
 *	6.12		fentry, fexit, tp_btf; kprobe, uprobe, tracepoint, perf_event
 *	7.2 and newer	these and raw_tracepoint
 *	6.1		fentry, fexit, tp_btf
 *
 * The module must have been built with BTF, which SFRAME_UNWIND_FEATURE_BPF tells;
 * functions that are not there are 0 here, and the verifier removes what depends on that.
 * To load such a program needs CAP_BPF and CAP_PERFMON. It observes any process.
 *
 * A program may call them in any context, and with any lock held, also in NMIs, and at
 * functions and events of the module itself; but for the last one, they wait for nothing.
 * The functions themselves cannot be traced. Within another call of them, in the same
 * context of the CPU, and at an event of the module, they fail, which is counted.
 *
 * Programs that call them hold a reference to the module: it can be removed when the
 * last one is unloaded, and no request is pending.
 */
#ifndef _UAPI_LINUX_SFRAME_UNWIND_BPF_H
#define _UAPI_LINUX_SFRAME_UNWIND_BPF_H

#ifdef __bpf__

#define __sframe_unwind_kfunc __attribute__((section(".ksyms"), weak))

/**
 * sframe_unwind_request() - request the stack of the current thread
 *
 * @flags: 0.
 *
 * The stack is unwound when the thread is about to return to user space, where page
 * faults are possible. Then the trace event sframe_unwind:stack occurs in it, to which a
 * program can be attached as tp_btf/stack, raw_tp/stack, or tracepoint/sframe_unwind/stack:
 * sframe_unwind_events(4) describes its fields, and so do the arguments of the first two:
 *
 *	(u64 cookie, pid_t pid, pid_t tid, u32 stop, bool at_once, u32 nr, u32 first,
 *	 const u64 *ips, u32 nr_ips)
 *
 * A stack of more than 224 frames is several events. A stack that gets lost is the event
 * sframe_unwind:lost.
 *
 * As long as nobody traces sframe_unwind:stack, there are no requests. 1024 of them may
 * be pending at a time, those of all programs together, and 256 of threads of one user: of
 * one real UID of the kernel, so that somebody with subordinate UIDs has 256 for each.
 *
 * Return: the cookie of the stack, more than 0. Each request for the thread has the
 * same one until the stack is unwound, but for those in NMIs; there is one event for
 * them. One that is made while that occurs has the same cookie, and one more event. Or
 * * -EINVAL: @flags is not 0, or the thread has no user stack: it is a kernel thread, an
 *   I/O worker, or exiting.
 * * -ENOTCONN: nobody traces sframe_unwind:stack.
 * * -EBUSY: within another call, or at an event of the module.
 * * -ENOMEM: too many requests are pending.
 * * -EAGAIN: it cannot be requested at this moment: within a request of this CPU, or while
 *   another CPU requests the stack of this thread; after a few requests while the stack
 *   is being delivered; or because less time has passed since the thread's last stack than
 *   that took, and this is no system call that has begun since; or the thread is killed.
 */
long long sframe_unwind_request(unsigned long long flags) __sframe_unwind_kfunc;

/**
 * sframe_unwind_get_stack() - get the stack of the current thread at once
 *
 * @buf: out: the addresses, 8 bytes each, the innermost first. Behind them is one more
 *	word: why the stack ends, SFRAME_UNWIND_STOP_COMPLETE or SFRAME_UNWIND_STOP_DEPTH.
 *	Undefined on error. Aligned to 8 bytes.
 * @buf__sz: bytes at @buf, a multiple of 8, at least 16. A stack that needs more is cut,
 *	with SFRAME_UNWIND_STOP_DEPTH.
 * @flags: 0.
 *
 * That is possible if the rules of all frames are in the rule cache of the process, as they
 * are when a stack with these frames has been unwound before, and all stack words are in
 * memory. Outside of NMIs a few rules that are not in that cache are taken from sections, if
 * these are in the memory of the kernel. So a program gets what it can in this way, and
 * requests the other stacks.
 *
 * Return: the number of addresses. Or
 * * -EINVAL: @flags or @buf__sz; or the thread has no user stack, as above.
 * * -EBUSY: within another call.
 * * -EAGAIN: it cannot be unwound at once, as for frames whose sections the kernel does not
 *   have in memory; in an NMI also if that has interrupted the kernel. Nor can a stack of
 *   more than 511 frames, also with room for more, unless @buf__sz cuts it before.
 */
long long sframe_unwind_get_stack(void *buf, unsigned int buf__sz,
				  unsigned long long flags) __sframe_unwind_kfunc;

/**
 * sframe_unwind_get_stack_faultable() - unwind the stack of the current thread now
 *
 * @buf, @buf__sz, @flags: as above. Any SFRAME_UNWIND_STOP_* may be behind the addresses.
 *
 * Only for programs of uprobes that may sleep (uprobe.s, uretprobe.s), and only since
 * Linux 6.12. Others that may sleep are called with locks of the kernel held. Kernels before
 * 7.0 also run programs of uprobes at kprobes, by kprobe.multi or a tail call: there it fails.
 *
 * It waits for the pages of the stack and of its rules. The process chooses what is mapped
 * there: pages of userfaultfd, FUSE or a network may take as long as somebody likes.
 *
 * Return: the number of addresses; or -EINVAL as above, or -ENOMEM; or -EAGAIN where the
 * caller must not sleep, or a kernel before 7.0 without CONFIG_PREEMPT_COUNT cannot tell.
 */
long long sframe_unwind_get_stack_faultable(void *buf, unsigned int buf__sz,
					    unsigned long long flags) __sframe_unwind_kfunc;

#endif /* __bpf__ */

#endif /* _UAPI_LINUX_SFRAME_UNWIND_BPF_H */
