/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Request: asks for one user stack of a thread, from the call until the thread
 * returns to user space and the stack is delivered.
 */
#ifndef SFU_REQUEST_H
#define SFU_REQUEST_H

#include <linux/types.h>

struct sfu_consumer;
struct sfu_pool;

/**
 * struct sfu_request_spec - arguments of a request, see
 * SFRAME_UNWIND_IOC_REQUEST
 */
struct sfu_request_spec {
	u64 user_data;
	u32 max_depth;		/* 1 to SFU_MAX_DEPTH */
	bool fallback;
	bool interrupt;
	bool share;		/* see sfu_request_submit_current() */
	u64 cookie;		/* by sfu_request_new_cookie(), or 0: that of the walk */
};

/*
 * Returns a cookie for a request that is going to be submitted. The request does not
 * share the cookie of those that it shares the walk with. Any context.
 */
u64 sfu_request_new_cookie(void);

/*
 * Request the stack of thread @tid of the current PID namespace, or of the
 * current thread if @tid is 0. Checks whether the current process may observe
 * the thread. The current thread's may be taken at once, so @consumer must be one for
 * sfu_consumer_deliver_own(), and the caller must keep it from being closed.
 * sfu_consumer_prepare() must have been called. May sleep. Returns
 * 0 with the walk's cookie; or -ESRCH, -EPERM, -EAGAIN, -ENOMEM or -EOPNOTSUPP,
 * see SFRAME_UNWIND_IOC_REQUEST.
 */
int sfu_request_submit(struct sfu_consumer *consumer, pid_t tid,
		       const struct sfu_request_spec *spec, u64 *cookie);

/*
 * Request the stack of the current thread, with memory from @pool. Any context
 * but NMI, including tracepoints, and with any lock of the kernel held: waits
 * for nothing but the locks of lock.h. The caller must hold references to
 * @consumer and @pool, which is of this consumer alone, and must have called
 * sfu_consumer_prepare().
 *
 * With @spec->share and without @spec->cookie, if the consumer has requested the stack
 * already, from @pool, and it is not delivered yet, this is no other request: it returns 1
 * with the cookie of that one.
 *
 * Returns 0 with the walk's cookie; -ENOMEM if the pool is empty; -EAGAIN if
 * too many requests are pending, or have joined a walk that is being delivered;
 * if the thread's last walk has just ended; or if this CPU, or another one for
 * the same thread, is submitting a request at this moment; -ESRCH if the thread
 * is exiting; -EOPNOTSUPP if it never runs in user space.
 */
int sfu_request_submit_current(struct sfu_consumer *consumer,
			       struct sfu_pool *pool,
			       const struct sfu_request_spec *spec, u64 *cookie);

/*
 * Returns the cookie of a request of @pool for the current thread that is not delivered
 * yet, or 0; also 0 if that cannot be found in the NMI. Only in an NMI, or what in_nmi()
 * takes for one.
 */
u64 sfu_request_find_cookie_in_nmi(struct sfu_pool *pool);

struct task_struct;

/*
 * Returns thread @tid of the current PID namespace, the current thread for 0, if
 * the current process may observe it; else NULL. The caller must be in an RCU
 * read-side critical section.
 */
struct task_struct *sfu_request_find_thread(pid_t tid);

int sfu_request_init(void);
void sfu_request_exit(void);

#endif /* SFU_REQUEST_H */
