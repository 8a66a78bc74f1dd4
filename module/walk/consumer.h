/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Consumer: whoever gets stacks, and asks for them. An open file of the device is
 * one kind. Nothing here knows what becomes of a stack: that is in the operations.
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
 * struct sfu_consumer_ops - what one kind of consumer does
 *
 * @stack: take the current thread's stack for @request: the first @nr frames of
 *	@walk, which may be NULL with 0. Called with consumer->lock, so it neither
 *	sleeps, takes another lock, wakes a thread nor allocates memory. Returns
 *	whether there was room. Not called after sfu_consumer_cancel().
 * @ready: a stack has been taken, for whoever waits for one. Process context.
 *	May be called until the last reference is put.
 * @event: see struct sfu_listener. Not called after sfu_consumer_cancel().
 * @free: the last reference is put. Process context, does not sleep.
 */
struct sfu_consumer_ops {
	bool (*stack)(struct sfu_consumer *consumer,
		      const struct sfu_request *request,
		      const struct sfu_walk *walk, u32 nr,
		      enum sframe_unwind_stop stop);
	void (*ready)(struct sfu_consumer *consumer);
	void (*event)(struct sfu_consumer *consumer,
		      const struct sframe_unwind_removed *removed);
	void (*free)(struct sfu_consumer *consumer);
};

/**
 * struct sfu_consumer - part of a structure of its owner's
 *
 * @ops: see above.
 * @refs: one of the owner, one of each pending request.
 * @payer: whoever is charged for its requests and walk, with a reference.
 * @listener: to a space, if it is set to one.
 * @is_prepared: sfu_consumer_prepare() has been called.
 * @walk: memory for a walk, or NULL before sfu_consumer_prepare() and while a walk
 *	uses it. Taken by xchg(), put there under @lock.
 * @lock: taken in any context, see lock.h. The owner may protect members of its
 *	own by it.
 * @cancelled: see sfu_consumer_cancel().
 * @spare: memory for requests.
 * @nr_spare: entries in it.
 * @pending: requests accepted, whose stacks are neither taken nor lost.
 * @accepted, @delivered, @lost: requests so far, stacks taken, and stacks that
 *	there was no room for.
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
	u32 pending;
	u64 accepted;
	u64 delivered;
	u64 lost;
};

/* Takes over the caller's reference to @payer. The owner has one reference. */
void sfu_consumer_init(struct sfu_consumer *consumer,
		       const struct sfu_consumer_ops *ops,
		       struct sfu_payer *payer);

/*
 * Make what requests need. To be called once, before the first of them. May sleep.
 * Returns 0 or -ENOMEM.
 */
int sfu_consumer_prepare(struct sfu_consumer *consumer);

/*
 * Cancel all requests, and listen to nothing: no stack is taken and no event told
 * any more. Stacks of pending requests are lost when their threads come by. No
 * request may be made any more. May sleep.
 */
void sfu_consumer_cancel(struct sfu_consumer *consumer);

/* Put the owner's reference. Pending requests have some of their own. */
void sfu_consumer_put(struct sfu_consumer *consumer);

/*
 * Count a request in, with a reference that sfu_consumer_end() puts.
 * sfu_consumer_prepare() has been called. Any context but NMI. Returns 0, with a
 * spare request in *@spare if there is one and @spare is not NULL; or -EAGAIN
 * with too many pending.
 */
int sfu_consumer_begin(struct sfu_consumer *consumer,
		       struct sfu_request **spare);

/* Take sfu_consumer_begin() back but for sfu_consumer_end(): it was not accepted. */
void sfu_consumer_take_back(struct sfu_consumer *consumer);

/*
 * A request of @consumer is over, whose memory is @spare, or NULL if the consumer
 * is not to have it. Any context but NMI if it is NULL.
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

/* Memory for a walk: the consumer's, or new. NULL if there is none. May sleep. */
struct sfu_walk *sfu_consumer_take_walk(struct sfu_consumer *consumer);

/*
 * Give that back: it is kept for the next one unless @consumer is cancelled. Process
 * context.
 */
void sfu_consumer_keep_walk(struct sfu_consumer *consumer,
			    struct sfu_walk *walk);

#endif /* SFU_CONSUMER_H */
