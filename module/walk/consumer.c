// SPDX-License-Identifier: GPL-2.0
/*
 * Consumer: requests stacks and receives them.
 *
 * Who may hold a consumer, and why that ends; see sfu_consumer.refs:
 *
 * - Its owner, until sfu_consumer_put().
 * - Each request, from sfu_consumer_begin() to sfu_consumer_end(). The task_work
 *   of its thread calls that, at the latest when the thread exits. Not one by
 *   sfu_consumer_deliver_own(), which begins and ends in a call by the owner.
 *
 * sfu_consumer_cancel() sets @cancelled under the lock that @stack is called
 * with, and removes the listener under the mutex that @event is called with. So
 * neither is running, nor is called again, after it returns. @ready may be
 * running: its caller holds the request's reference. So may @call, which is not
 * called with the lock held; but @calling is increased, under the lock, before.
 */
#include <linux/container_of.h>
#include <linux/errno.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "consumer.h"
#include "counters.h"
#include "limits.h"
#include "lock.h"
#include "mm/space.h"
#include "netlink/netlink.h"
#include "payer.h"
#include "request_memory.h"
#include "trace/trace.h"
#include "walk.h"

static void tell_lost(enum sfu_lost reason, u64 cookie)
{
	sfu_trace_lost(reason, cookie);
	sfu_netlink_lost(reason);
}

static void pass_event(struct sfu_listener *listener,
		       const struct sframe_unwind_removed *removed)
{
	struct sfu_consumer *consumer =
		container_of(listener, struct sfu_consumer, listener);

	consumer->ops->event(consumer, removed);
}

void sfu_consumer_init(struct sfu_consumer *consumer,
		       const struct sfu_consumer_ops *ops,
		       struct sfu_payer *payer)
{
	consumer->ops = ops;
	consumer->payer = payer;
	refcount_set(&consumer->refs, 1);
	sfu_listener_init(&consumer->listener, pass_event);
	raw_spin_lock_init(&consumer->lock);
	INIT_HLIST_HEAD(&consumer->spare);
}

int sfu_consumer_prepare(struct sfu_consumer *consumer)
{
	struct sfu_walk *walk;

	if (sfu_payer_charge(consumer->payer, sizeof(*walk), false))
		return -ENOMEM;
	walk = sfu_walk_alloc(GFP_KERNEL_ACCOUNT);
	if (!walk) {
		sfu_payer_uncharge(consumer->payer, sizeof(*walk));
		return -ENOMEM;
	}
	sfu_space_asker_add();
	consumer->is_prepared = true;
	consumer->walk = walk;
	return 0;
}

void sfu_consumer_get(struct sfu_consumer *consumer)
{
	refcount_inc(&consumer->refs);
}

void sfu_consumer_put(struct sfu_consumer *consumer)
{
	struct sfu_payer *payer = consumer->payer;

	if (!refcount_dec_and_test(&consumer->refs))
		return;
	sfu_request_free_spare(payer, &consumer->spare);
	consumer->ops->free(consumer);
	sfu_payer_put(payer);
}

void sfu_consumer_cancel(struct sfu_consumer *consumer)
{
	struct sfu_walk *walk;
	unsigned long flags;
	HLIST_HEAD(spare);

	sfu_listener_set(&consumer->listener, NULL);
	flags = sfu_lock_irqsave(&consumer->lock);
	consumer->cancelled = true;
	walk = xchg(&consumer->walk, NULL);
	hlist_move_list(&consumer->spare, &spare);
	sfu_unlock_irqrestore(&consumer->lock, flags);
	/*
	 * Pending requests keep the consumer as long as their threads sleep,
	 * and RLIMIT_NOFILE does not count it any more: so free what can be
	 * freed.
	 */
	if (consumer->is_prepared) {
		sfu_space_asker_remove();
		sfu_payer_uncharge(consumer->payer, sizeof(*walk));
	}
	sfu_walk_free(walk);
	sfu_request_free_spare(consumer->payer, &spare);
}

bool sfu_consumer_is_calling(struct sfu_consumer *consumer)
{
	unsigned long flags;
	bool is_calling;

	flags = sfu_lock_irqsave(&consumer->lock);
	is_calling = consumer->calling;
	sfu_unlock_irqrestore(&consumer->lock, flags);
	return is_calling;
}

void sfu_consumer_count(struct sfu_consumer *consumer,
			struct sfu_consumer_counts *counts)
{
	unsigned long flags;

	flags = sfu_lock_irqsave(&consumer->lock);
	*counts = (struct sfu_consumer_counts) {
		.accepted = consumer->accepted,
		.delivered = consumer->delivered,
		.lost = consumer->lost,
		.exited = consumer->exited,
		.pending = consumer->pending,
	};
	sfu_unlock_irqrestore(&consumer->lock, flags);
}

int sfu_consumer_begin(struct sfu_consumer *consumer,
		       struct sfu_request **spare)
{
	unsigned long flags;
	int err = 0;

	flags = sfu_lock_irqsave(&consumer->lock);
	if (consumer->pending < SFU_MAX_PENDING) {
		consumer->pending++;
		consumer->accepted++;
		if (spare) {
			*spare = hlist_entry_safe(consumer->spare.first,
						  struct sfu_request, node);
			if (*spare) {
				hlist_del(&(*spare)->node);
				consumer->nr_spare--;
			}
		}
	} else {
		err = -EAGAIN;
	}
	sfu_unlock_irqrestore(&consumer->lock, flags);
	if (err)
		return err;

	/* refs is not 0: the caller keeps the consumer from being closed. */
	refcount_inc(&consumer->refs);
	sfu_count(SFU_REQUESTS);
	sfu_count(SFU_TOTAL_ACCEPTED);
	return 0;
}

void sfu_consumer_end(struct sfu_consumer *consumer, struct sfu_request *spare)
{
	unsigned long flags;
	bool keep;

	if (spare) {
		flags = sfu_lock_irqsave(&consumer->lock);
		keep = !consumer->cancelled && consumer->nr_spare < SFU_MAX_SPARE;
		if (keep) {
			hlist_add_head(&spare->node, &consumer->spare);
			consumer->nr_spare++;
		}
		sfu_unlock_irqrestore(&consumer->lock, flags);
		if (!keep)
			sfu_request_free(consumer->payer, spare);
	}
	sfu_uncount(SFU_REQUESTS);
	sfu_consumer_put(consumer);
}

void sfu_consumer_take_back(struct sfu_consumer *consumer)
{
	unsigned long flags;

	flags = sfu_lock_irqsave(&consumer->lock);
	consumer->pending--;
	consumer->accepted--;
	sfu_unlock_irqrestore(&consumer->lock, flags);
	sfu_uncount(SFU_TOTAL_ACCEPTED);
}

/* As sfu_consumer_deliver(), for a consumer with @call. */
static void call_consumer(struct sfu_consumer *consumer,
			  const struct sfu_request *request,
			  const struct sfu_walk *walk, u32 nr,
			  enum sframe_unwind_stop stop)
{
	/*
	 * After exit_mm() user memory is that of the process that has run before on this
	 * CPU: nobody's callback may be led to read or write that.
	 */
	const bool exited = !current->mm || current->flags & PF_EXITING;
	unsigned long flags;
	bool is_called;

	flags = sfu_lock_irqsave(&consumer->lock);
	is_called = !consumer->cancelled && !exited;
	if (is_called) {
		consumer->calling++;
	} else {
		consumer->pending--;
		consumer->lost++;
		consumer->exited += exited;
	}
	sfu_unlock_irqrestore(&consumer->lock, flags);
	if (!is_called) {
		sfu_count(exited ? SFU_TOTAL_LOST_EXITED : SFU_TOTAL_LOST_CLOSED);
		tell_lost(exited ? SFU_LOST_EXITED : SFU_LOST_CLOSED, request->cookie);
		return;
	}

	consumer->ops->call(consumer, request, walk, nr, stop);
	sfu_count(SFU_TOTAL_DELIVERED);
	sfu_trace_stack(request->cookie, nr ? walk->ip : NULL, nr, stop, false);
	flags = sfu_lock_irqsave(&consumer->lock);
	consumer->calling--;
	consumer->pending--;
	consumer->delivered++;
	sfu_unlock_irqrestore(&consumer->lock, flags);
	consumer->ops->ready(consumer);
}

/*
 * What becomes of a stack: the consumer takes it, or it is lost, because there is no room,
 * or the consumer has been cancelled.
 */
enum end { TAKEN, FULL, CANCELLED };

/* Let the consumer take the stack of @request. */
static enum end take_stack(struct sfu_consumer *consumer,
			   const struct sfu_request *request,
			   const struct sfu_walk *walk, u32 nr,
			   enum sframe_unwind_stop stop,
			   struct sfu_prepared *prepared)
{
	lockdep_assert_held(&consumer->lock);
	if (consumer->cancelled)
		return CANCELLED;
	return consumer->ops->stack(consumer, request, walk, nr, stop, prepared) ?
		       TAKEN : FULL;
}

/* Count the end of a request. */
static void count_end(struct sfu_consumer *consumer, enum end end)
{
	lockdep_assert_held(&consumer->lock);
	consumer->pending--;
	if (end == TAKEN)
		consumer->delivered++;
	else
		consumer->lost++;
}

/* Say what has become of the stack of @request. */
static __always_inline void tell_end(struct sfu_consumer *consumer,
				     const struct sfu_request *request,
				     const struct sfu_walk *walk, u32 nr,
				     enum sframe_unwind_stop stop, enum end end)
{
	if (end == TAKEN) {
		sfu_count(SFU_TOTAL_DELIVERED);
		sfu_trace_stack(request->cookie, nr ? walk->ip : NULL, nr, stop,
				false);
		consumer->ops->ready(consumer);
	} else if (end == CANCELLED) {
		sfu_count(SFU_TOTAL_LOST_CLOSED);
		tell_lost(SFU_LOST_CLOSED, request->cookie);
	} else {
		sfu_count(SFU_TOTAL_LOST_FULL);
		tell_lost(SFU_LOST_FULL, request->cookie);
	}
}

/*
 * As take_stack() with the lock, and count_end(), but the stack is pending until its copy
 * is written, without the lock. Frees the copy.
 */
static noinline enum end take_copied(struct sfu_consumer *consumer,
				     const struct sfu_request *request,
				     const struct sfu_walk *walk, u32 nr,
				     enum sframe_unwind_stop stop,
				     struct sfu_prepared *prepared)
{
	unsigned long flags;
	enum end end;

	preempt_disable();
	flags = sfu_lock_irqsave(&consumer->lock);
	end = take_stack(consumer, request, walk, nr, stop, prepared);
	if (prepared->copy_to) {
		sfu_unlock_irqrestore(&consumer->lock, flags);
		consumer->ops->finish(consumer, prepared);
		flags = sfu_lock_irqsave(&consumer->lock);
	}
	/* Readers that see no pending stack expect no further record. */
	count_end(consumer, end);
	sfu_unlock_irqrestore(&consumer->lock, flags);
	preempt_enable();
	kvfree(prepared->copy);
	return end;
}

void sfu_consumer_deliver(struct sfu_consumer *consumer,
			  const struct sfu_request *request,
			  const struct sfu_walk *walk, u32 nr,
			  enum sframe_unwind_stop stop)
{
	struct sfu_prepared prepared = {};
	unsigned long flags;
	enum end end;

	if (consumer->ops->call) {
		call_consumer(consumer, request, walk, nr, stop);
		return;
	}
	if (consumer->ops->prepare && nr)
		consumer->ops->prepare(consumer, walk, nr, stop, &prepared);
	if (unlikely(prepared.copy)) {
		end = take_copied(consumer, request, walk, nr, stop, &prepared);
	} else {
		flags = sfu_lock_irqsave(&consumer->lock);
		end = take_stack(consumer, request, walk, nr, stop, &prepared);
		count_end(consumer, end);
		sfu_unlock_irqrestore(&consumer->lock, flags);
	}
	if (unlikely(prepared.places))
		kfree(prepared.places);
	tell_end(consumer, request, walk, nr, stop, end);
}

int sfu_consumer_deliver_own(struct sfu_consumer *consumer,
			     const struct sfu_request *request,
			     const struct sfu_walk *walk)
{
	unsigned long flags;
	enum end end;
	int err = 0;

	flags = sfu_lock_irqsave(&consumer->lock);
	if (consumer->pending < SFU_MAX_PENDING) {
		consumer->pending++;
		consumer->accepted++;
		end = take_stack(consumer, request, walk, walk->nr, walk->stop,
				 NULL);
		count_end(consumer, end);
	} else {
		err = -EAGAIN;
	}
	sfu_unlock_irqrestore(&consumer->lock, flags);
	if (err)
		return err;
	sfu_count(SFU_TOTAL_ACCEPTED);
	sfu_trace_request(current, request->cookie, request->max_depth,
			  request->fallback, false);
	tell_end(consumer, request, walk, walk->nr, walk->stop, end);
	return 0;
}

void sfu_consumer_note_lost(struct sfu_consumer *consumer, u64 cookie)
{
	const unsigned long flags = sfu_lock_irqsave(&consumer->lock);

	consumer->accepted++;
	consumer->lost++;
	sfu_unlock_irqrestore(&consumer->lock, flags);
	tell_lost(SFU_LOST_NMI, cookie);
}

struct sfu_walk *sfu_consumer_take_walk(struct sfu_consumer *consumer)
{
	return xchg(&consumer->walk, NULL) ?: sfu_walk_alloc(SFU_GFP_OPTIONAL);
}

void sfu_consumer_keep_walk(struct sfu_consumer *consumer,
			    struct sfu_walk *walk)
{
	unsigned long flags;

	flags = sfu_lock_irqsave(&consumer->lock);
	if (!consumer->cancelled)
		walk = xchg(&consumer->walk, walk);
	sfu_unlock_irqrestore(&consumer->lock, flags);
	/*
	 * The previous one, if another thread has given back its memory; or
	 * ours.
	 */
	sfu_walk_free(walk);
}

void sfu_consumer_put_back_walk(struct sfu_consumer *consumer,
				struct sfu_walk *walk)
{
	walk = xchg(&consumer->walk, walk);
	/* As above. */
	if (walk)
		sfu_walk_free(walk);
}
