/* SPDX-License-Identifier: GPL-2.0 */
/*
 * User stacks for other kernel modules, by sframe_unwind.
 *
 * The interface has the words and the shape of <linux/unwind_deferred.h> of newer
 * kernels: without the prefix "sframe_", a user of this one is a user of that one, but
 * for what is marked below as not there. The functions are exported in the namespace
 * SFRAME_UNWIND, to modules with a GPL-compatible license:
 *
 *	MODULE_INFO(import_ns, "SFRAME_UNWIND");
 *
 * A work is who gets stacks. It is initialized once, requests the stack of the current
 * thread in any context, and gets it, in a callback, when the thread is about to return
 * to user space, where page faults are allowed. A thread that asks several times before
 * that, by any number of works, has its stack walked once.
 *
 * Which contexts may call what; "debug" says what a kernel with lockdep and
 * CONFIG_DEBUG_ATOMIC_SLEEP checks:
 *
 *	function	NMI	interrupt  atomic  task	  debug
 *	init		no	no	   no	   yes	  might_sleep()
 *	request		yes	yes	   yes	   yes	  -
 *	cancel		no	no	   no	   yes	  might_sleep(); that it is called by no
 *							  callback, and that no lock is held
 *							  that a callback takes
 *	user_faultable	no	no	   no	   yes	  might_sleep(), might_fault()
 *	trace_put	no	no	   no	   yes	  might_sleep()
 *	stats		no	yes	   yes	   yes	  that it is no NMI (always)
 *	the callback	is called in task context; that it returns without a lock, and
 *			with interrupts and preemption enabled
 *
 * A request may be made with any lock held: it waits only for locks of sframe_unwind
 * under which nothing else is taken. It allocates nothing.
 */
#ifndef _LINUX_SFRAME_UNWIND_DEFERRED_H
#define _LINUX_SFRAME_UNWIND_DEFERRED_H

#include <linux/lockdep_types.h>
#include <linux/module.h>
#include <linux/sframe_unwind.h>
#include <linux/types.h>

/* Frames of a stack: more are cut, with SFRAME_UNWIND_STOP_DEPTH. */
#define SFRAME_UNWIND_MAX_ENTRIES	512

/* Requests of one work that may be pending at a time, of as many threads. */
#define SFRAME_UNWIND_MAX_PENDING	1024

/*
 * Of these, those of threads of one user, by their real user ID: a thread that sleeps
 * keeps its request without limit, and no user may thus keep a work from the stacks of
 * all others. That holds for root, too. A user who controls several user IDs, by a user
 * namespace for example, counts as so many users.
 */
#define SFRAME_UNWIND_MAX_PENDING_OF_USER	(SFRAME_UNWIND_MAX_PENDING / 4)

struct sframe_unwind_stacktrace;
struct sframe_unwind_work;

/**
 * typedef sframe_unwind_callback_t - gets the stack of the current thread
 *
 * @work: that has requested it.
 * @trace: the stack, valid until the callback returns. Other works may get the same
 *	memory: it must not be changed.
 * @cookie: of the request.
 *
 * Called in task context, may sleep and access user memory; but the thread waits, and so
 * does who cancels @work. Must not cancel a work. A request for the stack that is made in
 * it is one more of the same walk, with the same cookie, which is delivered after it; a few
 * are possible, so it cannot be called without end.
 *
 * It is not called in a thread that is exiting, which has no memory of its own any more:
 * a stack that was requested in exit(2) or exit_group(2), or by an interrupt then, is
 * lost, see @exited of struct sframe_unwind_deferred_stats. The stacks of a thread that
 * is killed are not, if they were requested before.
 *
 * If the thread has executed another program since the request, it is called with no
 * frames and SFRAME_UNWIND_STOP_EXITED, and user memory is that of the new program. A
 * 32-bit thread has no frames, either, and SFRAME_UNWIND_STOP_UNSUPPORTED_TASK.
 */
typedef void (*sframe_unwind_callback_t)(struct sframe_unwind_work *work,
					 struct sframe_unwind_stacktrace *trace,
					 u64 cookie);

/**
 * struct sframe_unwind_stacktrace - a user stack
 *
 * @nr: number of frames.
 * @entries: their addresses, the innermost first.
 * @how: how each of them was found, enum sframe_unwind_frame. Not there upstream.
 * @stop: why the stack ends, enum sframe_unwind_stop. Not there upstream.
 * @walk: private: what sframe_unwind_trace_put() frees; NULL for callbacks.
 */
struct sframe_unwind_stacktrace {
	unsigned int nr;
	unsigned long *entries;
	const u8 *how;
	unsigned int stop;
	struct sfu_walk *walk;
};

/**
 * struct sframe_unwind_work - who gets stacks; embedded in a structure of its owner
 *
 * @deferred: private; NULL before init and after cancel.
 */
struct sframe_unwind_work {
	struct sfu_deferred *deferred;
};

/**
 * struct sframe_unwind_deferred_stats - what became of the requests of a work
 *
 * accepted = called + lost + pending. Not there upstream.
 *
 * @accepted: requests that have returned 0.
 * @called: of these, those whose callback has returned.
 * @lost: of these, those whose callback will not be called: @exited; and those of NMIs
 *	that could not be made when interrupts were possible again, because the thread
 *	was switched, or for what sframe_unwind_deferred_request() returns -ENOMEM or
 *	-EAGAIN for.
 * @exited: of @lost, those whose thread was exiting.
 * @pending: of these, those whose callback has not returned yet. Requests of an NMI
 *	are counted a moment later.
 */
struct sframe_unwind_deferred_stats {
	u64 accepted;
	u64 called;
	u64 lost;
	u64 exited;
	u64 pending;
};

/* Use sframe_unwind_deferred_init(). */
int sframe_unwind_deferred_init_key(struct sframe_unwind_work *work,
				    sframe_unwind_callback_t func,
				    struct module *owner, const char *name,
				    struct lock_class_key *key);

/**
 * sframe_unwind_deferred_init() - begin to use a work
 *
 * @work: the work, in memory that stays until it is cancelled.
 * @func: gets its stacks.
 *
 * Task context; may sleep. Allocates all that its requests need, about 200 KiB.
 *
 * The module that calls it must cancel @work before it is removed, when nothing requests
 * any more: in its exit function, for example. It may leave that to no one else: no
 * reference to it is held. If it forgets to, sframe_unwind cancels @work before its code
 * is freed, and says so in the kernel's log; until then the callback may be called while
 * the exit function runs, and after it.
 *
 * Return: 0, or -ENOMEM.
 */
#define sframe_unwind_deferred_init(work, func)					\
({										\
	static struct lock_class_key __sframe_unwind_key;			\
										\
	sframe_unwind_deferred_init_key(work, func, THIS_MODULE, #work,		\
					&__sframe_unwind_key);			\
})

/**
 * sframe_unwind_deferred_request() - request the stack of the current thread
 *
 * @work: gets it.
 * @cookie: out: the cookie of the walk, never 0. Its callback has the same. Each request
 *	for the thread, of any work, until its walk has ended has the same cookie, but
 *	those of NMIs. On error 0.
 *
 * Any context, with any lock held. May be called while @work is being cancelled.
 *
 * In an NMI, or what in_nmi() takes for one, such as the handler of a kprobe, the
 * request is made when interrupts are possible again. It shares a request of @work that
 * is pending; else it has a cookie of its own. Until it is made, only other NMIs share
 * it: what else requests before is another request, with another cookie, and both have
 * their callback.
 *
 * Return:
 * * 0: requested: the callback will be called once, unless @work is cancelled before,
 *   or the thread is exiting then.
 * * 1: requested before, and the callback has yet to be called; *@cookie is that of
 *   the first request.
 * * -EINVAL: the current thread has no user stack: it is a kernel thread, an I/O worker,
 *   or exiting; or @work is cancelled.
 * * -ENOMEM: SFRAME_UNWIND_MAX_PENDING stacks are pending, or those that one user may
 *   have.
 * * -EAGAIN: the thread is killed; or the stack cannot be requested at this moment: within
 *   a request of this CPU, or while another CPU requests the stack of this thread; after a
 *   few requests while the stacks of one walk are being delivered; or because less time has
 *   passed since the last walk of the thread than that took, and this is no system call that
 *   has begun since. Without that, interrupts could keep a thread from ever returning to user
 *   space. Time decides within calls that return to user space inside, as KVM_RUN and
 *   io_uring_enter(2) may, too; and after a call whose result was -ENOSYS, in the next one.
 */
int sframe_unwind_deferred_request(struct sframe_unwind_work *work, u64 *cookie);

/**
 * sframe_unwind_deferred_cancel() - end the use of a work
 *
 * @work: the work. Nothing is done if it is zeroed, or cancelled already. If another
 *	thread is cancelling it, waits until that has ended.
 *
 * When it returns, the callback is not running, and will not be called any more. So it
 * waits for callbacks that are running. Stacks that are pending are lost. They do not
 * delay it: threads may sleep without limit, and some memory of sframe_unwind (5 KiB for
 * each work, and 200 bytes for each thread), and a reference to it, but none to the caller,
 * is kept until they have returned to user space.
 *
 * Task context; may sleep. Must not be called by a callback.
 */
void sframe_unwind_deferred_cancel(struct sframe_unwind_work *work);

/**
 * sframe_unwind_deferred_get_stats() - count what became of the requests of a work
 *
 * @work: the work.
 * @stats: out; zeros if @work is zeroed, or cancelled.
 *
 * Any context but NMI, in which there is a warning, and zeros. May be called while @work
 * is being cancelled. Not there upstream.
 */
void sframe_unwind_deferred_get_stats(const struct sframe_unwind_work *work,
				      struct sframe_unwind_deferred_stats *stats);

/**
 * sframe_unwind_user_faultable() - unwind the user stack of the current thread now
 *
 * @trace: out: the stack, to be freed by sframe_unwind_trace_put().
 *
 * Task context; may sleep, faults pages in, takes the mmap lock.
 *
 * Return: 0, also if the stack has no frames; -EINVAL if the thread has no user stack, as
 * for a request; or -ENOMEM. Then @trace is empty.
 */
int sframe_unwind_user_faultable(struct sframe_unwind_stacktrace *trace);

/**
 * sframe_unwind_trace_put() - free a stack
 *
 * @trace: of sframe_unwind_user_faultable(), whatever that has returned. Nothing is done
 *	with that of a callback, which is not the callback's to free.
 *
 * Task context; may sleep. Not there upstream, where the memory is freed with the thread.
 */
void sframe_unwind_trace_put(struct sframe_unwind_stacktrace *trace);

#endif /* _LINUX_SFRAME_UNWIND_DEFERRED_H */
