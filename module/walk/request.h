/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Request: one ask for a stack, from the call until its thread returns to
 * user space.
 */
#ifndef SFU_REQUEST_H
#define SFU_REQUEST_H

#include <linux/types.h>

struct sfu_consumer;
struct sfu_pool;

/**
 * struct sfu_request_spec - what is asked for
 */
struct sfu_request_spec {
	u64 user_data;
	u32 max_depth;		/* 1 to SFU_MAX_DEPTH */
	bool fallback;
	bool interrupt;
};

/*
 * Ask for the stack of thread @tid, numbered as the current process sees it, 0
 * for the current thread; of a process that the current one may watch.
 * sfu_consumer_prepare() has been called. May sleep. Returns 0 with the walk's
 * cookie, -ESRCH, -EPERM, -EAGAIN, -ENOMEM or -EOPNOTSUPP; see
 * SFRAME_UNWIND_IOC_REQUEST.
 */
int sfu_request_submit(struct sfu_consumer *consumer, pid_t tid,
		       const struct sfu_request_spec *spec, u64 *cookie);

/*
 * Ask for the stack of the current thread with a request of @pool. Any context
 * but NMI: also from tracepoints and with any lock of the kernel held, see
 * lock.h; nothing is waited for but the locks of this module. The caller keeps
 * @consumer and @pool and has called sfu_consumer_prepare(). Returns 0 with the
 * walk's cookie; -ENOMEM if the pool is empty, -EAGAIN with too many pending or
 * late, if the thread's last walk has but ended, or while another request is
 * just being made, of the same thread or by this CPU, -ESRCH in a thread that
 * exits, -EOPNOTSUPP in one that never runs in user space.
 */
int sfu_request_submit_current(struct sfu_consumer *consumer,
			       struct sfu_pool *pool,
			       const struct sfu_request_spec *spec, u64 *cookie);

int sfu_request_init(void);
void sfu_request_exit(void);

#endif /* SFU_REQUEST_H */
