/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Request queue: the requests of each thread, from when they are submitted
 * until they are delivered.
 */
#ifndef SFU_REQUEST_QUEUE_H
#define SFU_REQUEST_QUEUE_H

#include <linux/types.h>

struct sfu_consumer;
struct sfu_request;
struct task_struct;

/* Returns a cookie that is unique in the system, never 0. Any context. */
u64 sfu_queue_new_cookie(void);

/*
 * Queue @request, to be served when @task returns to user space, by the
 * callback of request->work. @task must be the current thread, or the caller be
 * in an RCU read-side critical section. @interrupt: interrupt the thread's
 * system call; only for another thread, and from process context. Any context
 * but NMI otherwise. If request->cookie is 0, it gets that of the walk. Returns 0 with
 * *@cookie; -ESRCH if the thread is exiting;
 * -EOPNOTSUPP if it never runs in user space; -EBUSY if another request for the
 * thread is being queued at this moment; -EAGAIN if too many requests share the
 * walk, or have joined since it began.
 */
int sfu_queue_add(struct sfu_request *request, struct task_struct *task,
		  bool interrupt, u64 *cookie);

/*
 * Begin the walk of @first and the requests that have joined it. Returns true
 * with the union of what they ask for; false if @first is not a first request.
 */
bool sfu_queue_begin(struct sfu_request *first, u32 *max_depth, bool *fallback);

/*
 * Take the next request from the list of @first. If the list is empty, remove
 * @first from the hash, so that no request joins it any more, note the end of
 * the walk that began at @start, and return NULL.
 */
struct sfu_request *sfu_queue_next(struct sfu_request *first, u64 start);

/*
 * Returns whether less time has passed since the end of the current thread's last walk
 * than that took, up to a millisecond; or than an eighth of that if a user register has
 * changed of those that sfu_arch_registers_digest() looks at, as when the thread has been
 * in user mode. Without this limit, interrupts that arrive faster than walks are
 * completed, or a tracepoint hit at the end of each walk, could keep the thread from ever
 * returning to user space. False in a system call that has begun since: so the thread has
 * returned to user space. Interrupts must be off.
 */
bool sfu_queue_is_served_enough(void);

/* Drop a reference to @request. */
void sfu_queue_put(struct sfu_request *request);

/*
 * Return the memory of @request, which is not queued, to its pool, or to the
 * consumer, which may keep it. Context as for sfu_consumer_end().
 */
void sfu_queue_release(struct sfu_request *request);

void sfu_queue_init(void);

#endif /* SFU_REQUEST_QUEUE_H */
