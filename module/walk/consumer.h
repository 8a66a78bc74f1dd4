/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Consumer: requests stacks and receives them. An open file of the device is
 * one kind of consumer. What happens to a stack is up to its operations.
 */
#ifndef SFU_CONSUMER_H
#define SFU_CONSUMER_H

#include <linux/refcount.h>
#include <linux/sframe_unwind.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include "mm/listener.h"

struct sfu_consumer;
struct sfu_payer;
struct sfu_request;
struct sfu_walk;

/**
 * struct sfu_prepared - what an operation @prepare has prepared for @stack
 *
 * @places: a word for each frame, to be used instead of its address, in memory from
 *	kmalloc(), which is freed after @stack; or NULL.
 * @hash: a hash of the frames, or 0.
 * @cut: the stack ends where there is no rule yet, and the consumer wants a copy of what is
 *	behind it.
 * @copy: that, to be written behind the frames, in memory from kvmalloc(), which is freed
 *	after @finish; or NULL.
 * @copy_to: where @finish is to write it, set by @stack; or NULL.
 */
struct sfu_prepared {
	u64 *places;
	u32 hash;
	bool cut;
	struct sframe_unwind_stack_copy *copy;
	void *copy_to;
};

/**
 * struct sfu_consumer_ops - operations of one kind of consumer
 *
 * @prepare: optional: called before @stack, if @nr is not 0, for what takes too long
 *	under the lock. Process context, may sleep; may be called during and after
 *	sfu_consumer_cancel(). @prepared is zeroed.
 * @stack: take the current thread's stack for @request: the first @nr frames of
 *	@walk. @walk may be NULL if @nr is 0. @prepared is NULL if the caller is
 *	sfu_consumer_deliver_own(). Called with consumer->lock held,
 *	so it must not sleep, take another lock, wake a thread, or allocate or
 *	free memory. Returns false if there is no room. Not called after
 *	sfu_consumer_cancel().
 * @finish: called after @stack has returned true and set @prepared.copy_to, for what is left
 *	to do on the same CPU and takes too long with the lock held and interrupts off. The
 *	stack is pending until it returns. Preemption has been disabled since before @stack,
 *	because there is a @prepared.copy.
 *	May be running during and after sfu_consumer_cancel(), until an RCU grace period has
 *	passed.
 * @call: instead of @stack, for what has to sleep or takes its time: called without
 *	a lock. Process context, and the thread has an mm of its own: an exiting one
 *	would have the user memory of another process, so its stacks are lost. Not
 *	called after sfu_consumer_cancel(), but may still be running then: see
 *	sfu_consumer_is_calling().
 * @ready: called after @stack has returned true, to wake readers, and after @call.
 *	Process context. May be called until the last reference is dropped.
 * @event: see struct sfu_listener. Not called after sfu_consumer_cancel().
 * @free: called when the last reference is dropped. Process context, must not
 *	sleep.
 */
struct sfu_consumer_ops {
	void (*prepare)(struct sfu_consumer *consumer,
			const struct sfu_walk *walk, u32 nr,
			enum sframe_unwind_stop stop,
			struct sfu_prepared *prepared);
	bool (*stack)(struct sfu_consumer *consumer,
		      const struct sfu_request *request,
		      const struct sfu_walk *walk, u32 nr,
		      enum sframe_unwind_stop stop,
		      struct sfu_prepared *prepared);
	void (*finish)(struct sfu_consumer *consumer,
		       const struct sfu_prepared *prepared);
	void (*call)(struct sfu_consumer *consumer,
		     const struct sfu_request *request,
		     const struct sfu_walk *walk, u32 nr,
		     enum sframe_unwind_stop stop);
	void (*ready)(struct sfu_consumer *consumer);
	void (*event)(struct sfu_consumer *consumer,
		      const struct sframe_unwind_removed *removed);
	void (*free)(struct sfu_consumer *consumer);
};

/**
 * struct sfu_consumer - embedded in a structure of its owner
 *
 * @ops: see above.
 * @refs: one for the owner, one for each pending request.
 * @payer: charged for its requests and its walk; holds a reference. NULL: nobody is.
 * @listener: listens to the events of a space, if set.
 * @is_prepared: sfu_consumer_prepare() has been called.
 * @walk: memory for a walk; NULL before sfu_consumer_prepare(), and while a
 *	walk uses it. Taken by xchg(), stored under @lock.
 * @lock: taken in any context, see lock.h. The owner may protect its own
 *	members by it.
 * @cancelled: sfu_consumer_cancel() was called.
 * @spare: unused requests, kept for later ones.
 * @nr_spare: number of entries in @spare.
 * @calling: number of threads in @ops->call().
 * @pending: accepted requests whose stacks are neither delivered nor lost yet.
 * @accepted, @delivered, @lost: number of requests accepted, of stacks taken,
 *	and of stacks that were not taken, for lack of room, after
 *	cancellation, or, with @ops->call, because the thread was exiting.
 * @exited: of @lost, those whose thread was exiting.
 */
struct sfu_consumer {
	const struct sfu_consumer_ops *ops;
	refcount_t refs;
	struct sfu_payer *payer;
	struct sfu_listener listener;
	bool is_prepared;
	struct sfu_walk *walk;
	raw_spinlock_t lock;		/* all members below */
	bool cancelled;
	struct hlist_head spare;
	u32 nr_spare;
	u32 calling;
	u32 pending;
	u64 accepted;
	u64 delivered;
	u64 lost;
	u64 exited;
};

/*
 * Initialize @consumer, with one reference for the owner. Takes over the
 * caller's reference to @payer.
 */
void sfu_consumer_init(struct sfu_consumer *consumer,
		       const struct sfu_consumer_ops *ops,
		       struct sfu_payer *payer);

/*
 * Allocate what requests need. Must be called once, before the first request.
 * May sleep. Returns 0 or -ENOMEM.
 */
int sfu_consumer_prepare(struct sfu_consumer *consumer);

/*
 * Cancel all requests, and stop listening: after this, ops->stack() and
 * ops->event() are not called any more. Pending requests stay pending until
 * their threads return to user space; their stacks are lost. No request may be
 * submitted any more. May sleep.
 */
void sfu_consumer_cancel(struct sfu_consumer *consumer);

/*
 * Returns whether a thread is in ops->call(). After sfu_consumer_cancel() it does not
 * become true again; ops->ready() is called when it has become false. Any context but NMI.
 */
bool sfu_consumer_is_calling(struct sfu_consumer *consumer);

/* Numbers of requests, see struct sfu_consumer. */
struct sfu_consumer_counts {
	u64 accepted;
	u64 delivered;
	u64 lost;
	u64 exited;
	u32 pending;
};

/* Get the numbers of @consumer at one moment. Any context but NMI. */
void sfu_consumer_count(struct sfu_consumer *consumer,
			struct sfu_consumer_counts *counts);

/* Take a reference. The caller must keep the consumer from being freed. Any context. */
void sfu_consumer_get(struct sfu_consumer *consumer);

/* Drop a reference: the owner's, or that of a request. */
void sfu_consumer_put(struct sfu_consumer *consumer);

/*
 * Count a new request as accepted and pending, and take a reference for it,
 * which sfu_consumer_end() drops. sfu_consumer_prepare() must have been called.
 * If @spare is not NULL, *@spare is set to a spare request, or NULL. Any
 * context but NMI. Returns 0, or -EAGAIN if too many requests are pending.
 */
int sfu_consumer_begin(struct sfu_consumer *consumer,
		       struct sfu_request **spare);

/*
 * Undo the counting of sfu_consumer_begin(), because the request failed.
 * sfu_consumer_end() must still be called.
 */
void sfu_consumer_take_back(struct sfu_consumer *consumer);

/*
 * End a request of @consumer: drop its reference, and take over its memory
 * @spare, unless that is NULL. Process context; if @spare is NULL and it is not
 * the last reference, any context but NMI.
 */
void sfu_consumer_end(struct sfu_consumer *consumer, struct sfu_request *spare);

/*
 * Deliver the current thread's stack for @request, see sfu_consumer_ops.stack, or
 * count it as lost. Process context.
 */
void sfu_consumer_deliver(struct sfu_consumer *consumer,
			  const struct sfu_request *request,
			  const struct sfu_walk *walk, u32 nr,
			  enum sframe_unwind_stop stop);

/*
 * Accept @request of the current thread, which nobody has begun or queued, and deliver the
 * finished @walk for it, all of it. For consumers whose operations have neither @prepare nor
 * @call, and whose @stack takes NULL for @prepared. The caller must keep @consumer from being
 * closed. Process context. Returns 0, also if the stack is lost; or -EAGAIN if too many
 * requests are pending.
 */
int sfu_consumer_deliver_own(struct sfu_consumer *consumer,
			     const struct sfu_request *request,
			     const struct sfu_walk *walk);

/*
 * Count a stack that has been promised, with @cookie, as accepted and lost, because it
 * cannot be requested. Any context but NMI.
 */
void sfu_consumer_note_lost(struct sfu_consumer *consumer, u64 cookie);

/*
 * Get memory for a walk: the consumer's, or new memory. May sleep. Can return
 * NULL.
 */
struct sfu_walk *sfu_consumer_take_walk(struct sfu_consumer *consumer);

/*
 * Give back memory for a walk. It is kept for the next walk unless @consumer is
 * cancelled. Process context.
 */
void sfu_consumer_keep_walk(struct sfu_consumer *consumer,
			    struct sfu_walk *walk);

/*
 * Likewise, if the caller keeps @consumer from being cancelled meanwhile. Faster.
 */
void sfu_consumer_put_back_walk(struct sfu_consumer *consumer,
				struct sfu_walk *walk);

#endif /* SFU_CONSUMER_H */
