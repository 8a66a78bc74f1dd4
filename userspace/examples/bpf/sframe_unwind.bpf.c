// SPDX-License-Identifier: GPL-2.0
/*
 * For bpftrace 0.27 and newer: import "sframe_unwind.bpf.c"; then request_stack() requests
 * the stack of the current thread. It returns the stack's cookie, or less than 0, see
 * linux/sframe_unwind_bpf.h.
 */
extern long long sframe_unwind_request(unsigned long long flags)
	__attribute__((section(".ksyms")));

long long request_stack(void)
{
	return sframe_unwind_request(0);
}
