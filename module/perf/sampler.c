// SPDX-License-Identifier: GPL-2.0
/*
 * Sampler: takes samples at perf events, for a client; a consumer of the user
 * stacks that follow them.
 *
 * Who may use a sampler, and why that ends:
 *
 * - Its client, until sfu_sampler_close(). The client's file is not released as
 *   long as a ring is mapped.
 * - Events, until sfu_sample_events_remove_all() has returned, see sample_event.c.
 * - The irq_works of @nmi, which only events queue, until sfu_sampler_close() has
 *   waited for them; then @wake, which also stacks queue, after these have ended.
 * - Pending requests, which hold a reference. sfu_consumer_cancel() ends their
 *   use of the rings: sfu_sampler_stack() is called and the consumer is cancelled
 *   under the same lock; and sfu_sampler_finish() with preemption disabled since
 *   then, so that it has ended after a grace period. After that they may only wake
 *   @wait, which has no waiters any more.
 */
#include <linux/cpumask.h>
#include <linux/mm.h>
#include <linux/nospec.h>
#include <linux/pid_namespace.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>

#include "compat.h"
#include "counters.h"
#include "files.h"
#include "limits.h"
#include "lock.h"
#include "payer.h"
#include "walk/request_nmi.h"
#include "sampler.h"
#include "stack_map.h"
#include "walk/request.h"
#include "walk/request_memory.h"

#define RING_CPU_SHIFT		32
#define RING_RECORDS_BIT	BIT_ULL(31)

static_assert(SFRAME_UNWIND_RING_CONTROL(1) == 1ULL << RING_CPU_SHIFT);
static_assert(SFRAME_UNWIND_RING_RECORDS(0) == RING_RECORDS_BIT);
static_assert(2ULL * SFU_MAX_RING_PAGES * PAGE_SIZE <= RING_RECORDS_BIT);

/* These can be read in any context, also while timekeeping is updated. */
static const struct {
	clockid_t clock;
	u64 (*read)(void);
} clocks[] = {
	{ CLOCK_MONOTONIC, ktime_get_mono_fast_ns },
	{ CLOCK_MONOTONIC_RAW, ktime_get_raw_fast_ns },
	{ CLOCK_BOOTTIME, ktime_get_boot_fast_ns },
	{ CLOCK_REALTIME, ktime_get_real_fast_ns },
	{ CLOCK_TAI, ktime_get_tai_fast_ns },
};

static u64 (*find_clock(clockid_t clock))(void)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(clocks); i++) {
		if (clocks[i].clock == clock)
			return clocks[i].read;
	}
	return NULL;
}

bool sfu_sampler_has_clock(clockid_t clock)
{
	return find_clock(clock);
}

void *sfu_sampler_reserve(struct sfu_sampler *sampler,
			  struct sfu_sample_ring *ring, u32 size)
{
	u64 overwritten = 0;
	void *to = sfu_sample_ring_reserve(ring, size, &overwritten);

	if (overwritten)
		this_cpu_add(sampler->counts->of[SFU_SAMPLE_OVERWRITTEN],
			     overwritten);
	if (!to && sfu_sample_ring_wakes(ring))
		irq_work_queue(&sampler->wake);
	return to;
}

static void wake_pollers(struct sfu_sampler *sampler)
{
	if (wq_has_sleeper(&sampler->wait))
		wake_up_interruptible_poll(&sampler->wait,
					   EPOLLIN | EPOLLRDNORM);
}

static void sampler_ready(struct sfu_consumer *consumer)
{
	struct sfu_sampler *sampler = sfu_sampler_of(consumer);

	/* Set by this thread or, if it wakes the pollers itself, by another one. */
	if (READ_ONCE(sampler->wake_due)) {
		WRITE_ONCE(sampler->wake_due, false);
		wake_pollers(sampler);
	}
}

/* Memory that a sampler uses besides its rings and events. */
static u64 sampler_bytes(void)
{
	return struct_size((struct sfu_sampler *)NULL, ring, nr_cpu_ids) +
	       num_possible_cpus() * sizeof(struct sfu_sample_counts) +
	       sfu_request_nmi_bytes() +
	       sfu_pool_bytes(SFU_MAX_PENDING);
}

static void sampler_free(struct sfu_consumer *consumer)
{
	struct sfu_sampler *sampler = sfu_sampler_of(consumer);

	put_pid_ns(sampler->pid_ns);
	sfu_request_nmi_free(sampler->nmi);
	free_percpu(sampler->counts);
	sfu_payer_uncharge(consumer->payer, sampler_bytes());
	sfu_uncount(SFU_SAMPLERS);
	kvfree(sampler);
}

/* Without @event, as a sampler listens to no space. */
static const struct sfu_consumer_ops sampler_ops = {
	.stack = sfu_sampler_stack,
	.ready = sampler_ready,
	.free = sampler_free,
};

/* Of a sampler that sfu_sampler_prepare() does something for. */
static const struct sfu_consumer_ops preparing_ops = {
	.prepare = sfu_sampler_prepare,
	.stack = sfu_sampler_stack,
	.finish = sfu_sampler_finish,
	.ready = sampler_ready,
	.free = sampler_free,
};

static void wake_from_irq(struct irq_work *work)
{
	wake_pollers(container_of(work, struct sfu_sampler, wake));
}

/* Make the stack map, if there is to be one. Returns 0 or -ENOMEM. */
static int make_map(struct sfu_sampler *sampler)
{
	struct sfu_payer *payer = sampler->consumer.payer;
	const u32 pages = sampler->spec.map_pages;

	if (!pages)
		return 0;
	if (sfu_payer_charge(payer, sfu_stack_map_bytes(pages), false))
		return -ENOMEM;
	sampler->map = sfu_stack_map_create(pages);
	if (sampler->map) {
		sampler->map_key = sampler->map->key;
		return 0;
	}
	sfu_payer_uncharge(payer, sfu_stack_map_bytes(pages));
	return -ENOMEM;
}

/* Make the table of files, if there is to be one. Returns 0 or -ENOMEM. */
static int make_files(struct sfu_sampler *sampler)
{
	const u32 max = sampler->spec.max_files;

	if (!max)
		return 0;
	sampler->files = sfu_files_create(max, sampler->consumer.payer);
	return sampler->files ? 0 : -ENOMEM;
}

/* Threads may be using the files still. */
static void free_files(struct sfu_sampler *sampler)
{
	struct sfu_consumer *consumer = &sampler->consumer;
	struct sfu_files *files;
	unsigned long flags;

	flags = sfu_lock_irqsave(&consumer->lock);
	files = sampler->files;
	sampler->files = NULL;
	sfu_unlock_irqrestore(&consumer->lock, flags);
	sfu_files_put(files);
}

static void free_map(struct sfu_sampler *sampler)
{
	if (!sampler->map)
		return;
	sfu_stack_map_free(sampler->map);
	sfu_payer_uncharge(sampler->consumer.payer,
			   sfu_stack_map_bytes(sampler->spec.map_pages));
}

struct sfu_sampler *sfu_sampler_create(const struct sfu_sampler_spec *spec,
				       struct sfu_payer *payer,
				       struct pid_namespace *pid_ns)
{
	const struct sfu_request_spec request = {
		.max_depth = spec->max_depth,
		.fallback = spec->fallback,
	};
	const bool prepares = spec->copy_size || spec->max_files || spec->map_pages;
	struct sfu_sampler *sampler;

	if (sfu_payer_charge(payer, sampler_bytes(), false))
		return NULL;
	sampler = kvzalloc(struct_size(sampler, ring, nr_cpu_ids),
			   GFP_KERNEL_ACCOUNT);
	if (!sampler)
		goto err_charge;
	sampler->counts = alloc_percpu_gfp(struct sfu_sample_counts,
					   GFP_KERNEL_ACCOUNT);
	if (!sampler->counts)
		goto err_sampler;
	sampler->pool = sfu_pool_create(SFU_MAX_PENDING, SFU_MAX_PENDING);
	if (!sampler->pool)
		goto err_counts;
	sampler->nmi = sfu_request_nmi_create(&sampler->consumer, sampler->pool, &request);
	if (!sampler->nmi)
		goto err_pool;
	sfu_payer_get(payer);
	sfu_consumer_init(&sampler->consumer,
			  prepares ? &preparing_ops : &sampler_ops, payer);
	sampler->spec = *spec;
	sampler->time = find_clock(spec->clock);
	sampler->pid_ns = get_pid_ns(pid_ns);
	init_waitqueue_head(&sampler->wait);
	init_irq_work(&sampler->wake, wake_from_irq);
	mutex_init(&sampler->events_mutex);
	INIT_LIST_HEAD(&sampler->events);
	mutex_init(&sampler->rings_mutex);
	sfu_count(SFU_SAMPLERS);
	if (sfu_consumer_prepare(&sampler->consumer) || make_map(sampler) ||
	    make_files(sampler)) {
		sfu_sampler_close(sampler);
		return NULL;
	}
	return sampler;

err_pool:
	sfu_pool_destroy(sampler->pool);
err_counts:
	free_percpu(sampler->counts);
err_sampler:
	kvfree(sampler);
err_charge:
	sfu_payer_uncharge(payer, sampler_bytes());
	return NULL;
}

void sfu_sampler_close(struct sfu_sampler *sampler)
{
	struct sfu_consumer *consumer = &sampler->consumer;
	const u64 bytes = sfu_sample_ring_bytes(sampler->spec.ring_pages);
	u32 cpu;

	sfu_request_nmi_wait(sampler->nmi);
	sfu_consumer_cancel(consumer);
	/* sfu_sampler_finish() may still be writing copies. */
	if (sampler->spec.copy_size)
		synchronize_rcu();
	irq_work_sync(&sampler->wake);
	for (cpu = 0; cpu < nr_cpu_ids; cpu++) {
		if (!sampler->ring[cpu])
			continue;
		sfu_sample_ring_free(sampler->ring[cpu]);
		sfu_payer_uncharge(consumer->payer, bytes);
	}
	free_map(sampler);
	free_files(sampler);
	sfu_pool_destroy(sampler->pool);
	sfu_consumer_put(consumer);
}

/* Returns the ring of @cpu, created if there is none; or NULL. */
static struct sfu_sample_ring *get_ring(struct sfu_sampler *sampler, u32 cpu)
{
	const struct sfu_sampler_spec *spec = &sampler->spec;
	const u64 bytes = sfu_sample_ring_bytes(spec->ring_pages);
	struct sfu_payer *payer = sampler->consumer.payer;
	struct sfu_sample_ring *ring = sampler->ring[cpu];

	lockdep_assert_held(&sampler->rings_mutex);
	if (ring || sfu_payer_charge(payer, bytes, false))
		return ring;
	ring = sfu_sample_ring_create(cpu, spec->ring_pages, spec->watermark,
				      spec->overwrite);
	if (!ring) {
		sfu_payer_uncharge(payer, bytes);
		return NULL;
	}
	/* Pairs with the acquire in sfu_sampler_ring(). */
	smp_store_release(&sampler->ring[cpu], ring);
	return ring;
}

int sfu_sampler_map(struct sfu_sampler *sampler, struct vm_area_struct *vma)
{
	const u64 offset = (u64)vma->vm_pgoff << PAGE_SHIFT;
	const u64 part = offset & ((1ULL << RING_CPU_SHIFT) - 1);
	u64 cpu = offset >> RING_CPU_SHIFT;
	struct sfu_sample_ring *ring;

	if (sampler->map && offset == SFRAME_UNWIND_STACK_MAP)
		return sfu_stack_map_map(sampler->map, vma);
	if (sampler->spec.max_files && offset == SFRAME_UNWIND_FILES) {
		/* Does not change until the file is closed. */
		return sfu_files_map(data_race(sampler->files), vma);
	}
	if (cpu >= nr_cpu_ids || !cpu_possible(cpu) ||
	    (part && part != RING_RECORDS_BIT))
		return -EINVAL;
	cpu = array_index_nospec(cpu, nr_cpu_ids);
	mutex_lock(&sampler->rings_mutex);
	ring = get_ring(sampler, cpu);
	mutex_unlock(&sampler->rings_mutex);
	return ring ? sfu_sample_ring_map(ring, vma, !part) : -ENOMEM;
}

__poll_t sfu_sampler_poll(struct sfu_sampler *sampler, struct file *file,
			  poll_table *table)
{
	const struct sfu_sample_ring *ring;
	u32 cpu;

	poll_wait(file, &sampler->wait, table);
	/*
	 * The caller is in the queue, and has stored the tails, before it looks for
	 * records. Pairs with wq_has_sleeper() in wake_pollers(), and with the barrier
	 * in sfu_sample_ring_wakes().
	 */
	smp_mb();
	for_each_possible_cpu(cpu) {
		/* Pairs with the release in get_ring(). */
		ring = smp_load_acquire(&sampler->ring[cpu]);
		if (ring && sfu_sample_ring_is_readable(ring))
			return EPOLLIN | EPOLLRDNORM;
	}
	return 0;
}

static u64 sum_counts(const struct sfu_sampler *sampler,
		      enum sfu_sample_count what)
{
	const struct sfu_sample_counts *counts;
	u64 sum = 0;
	u32 cpu;

	for_each_possible_cpu(cpu) {
		counts = per_cpu_ptr(sampler->counts, cpu);
		/* The CPU may be counting. */
		sum += data_race(READ_ONCE(counts->of[what]));
	}
	return sum;
}

void sfu_sampler_stats(struct sfu_sampler *sampler,
		       struct sframe_unwind_sample_copy_stats *and_copies)
{
	struct sframe_unwind_sample_stats *stats = &and_copies->stats;
	const struct sfu_consumer *consumer = &sampler->consumer;
	unsigned long flags;

	mutex_lock(&sampler->events_mutex);
	stats->nr_events = sampler->nr_events;
	mutex_unlock(&sampler->events_mutex);
	stats->seen = sum_counts(sampler, SFU_SAMPLE_SEEN);
	stats->samples = sum_counts(sampler, SFU_SAMPLE_TAKEN);
	stats->lost_full = sum_counts(sampler, SFU_SAMPLE_LOST_FULL);
	stats->lost_no_ring = sum_counts(sampler, SFU_SAMPLE_LOST_NO_RING);
	stats->lost_recursion = sum_counts(sampler, SFU_SAMPLE_LOST_RECURSION);
	stats->at_once = sum_counts(sampler, SFU_SAMPLE_AT_ONCE);
	stats->later = sum_counts(sampler, SFU_SAMPLE_LATER);
	stats->refused = sum_counts(sampler, SFU_SAMPLE_REFUSED);
	stats->throttled = sum_counts(sampler, SFU_SAMPLE_THROTTLED);
	stats->map_refused = sum_counts(sampler, SFU_SAMPLE_MAP_REFUSED);
	stats->map_uncounted = sum_counts(sampler, SFU_SAMPLE_MAP_UNCOUNTED);
	stats->overwritten = sum_counts(sampler, SFU_SAMPLE_OVERWRITTEN);
	and_copies->copied = sum_counts(sampler, SFU_SAMPLE_COPIED);
	and_copies->not_copied = sum_counts(sampler, SFU_SAMPLE_NOT_COPIED);
	flags = sfu_lock_irqsave(&sampler->consumer.lock);
	stats->stacks_asked = consumer->accepted;
	stats->stacks = consumer->delivered;
	stats->stacks_pending = consumer->pending;
	stats->stacks_lost = consumer->lost;
	sfu_unlock_irqrestore(&sampler->consumer.lock, flags);
}
