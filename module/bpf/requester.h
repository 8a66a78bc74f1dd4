/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Requester: requests stacks for BPF programs, which get them by the trace event
 * sframe_unwind:stack, as all who trace that.
 */
#ifndef SFU_REQUESTER_H
#define SFU_REQUESTER_H

#include <linux/types.h>

/*
 * Request the stack of the current thread. Any context, with any lock held; preemption
 * must be disabled. Returns 0 with the cookie of the stack, also if it was requested
 * before; -ENOTCONN if nobody traces sframe_unwind:stack; or an error as of
 * sfu_request_submit_current() or sfu_request_nmi_submit().
 */
int sfu_requester_submit(u64 *cookie);

/* Returns 0 or -ENOMEM. */
int sfu_requester_init(void);
/* Nothing may call sfu_requester_submit() any more. */
void sfu_requester_exit(void);

#endif /* SFU_REQUESTER_H */
