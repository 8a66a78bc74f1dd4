/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Sampler: takes samples at perf events, for a client; a consumer of the user
 * stacks that follow them.
 */
#ifndef SFU_SAMPLER_H
#define SFU_SAMPLER_H

#include <linux/irq_work.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/poll.h>
#include <linux/siphash.h>
#include <linux/types.h>
#include <linux/wait.h>

#include "copy_places.h"
#include "sample_ring.h"
#include "walk/consumer.h"

struct file;
struct pid_namespace;
struct sfu_request_nmi;
struct sfu_payer;
struct sfu_pool;
struct sfu_mapped_stack;
struct sfu_files;
struct sfu_stack_map;

/* What happened to events, see struct sframe_unwind_sample_stats. */
enum sfu_sample_count {
	SFU_SAMPLE_SEEN,
	SFU_SAMPLE_TAKEN,
	SFU_SAMPLE_LOST_FULL,
	SFU_SAMPLE_LOST_NO_RING,
	SFU_SAMPLE_LOST_RECURSION,
	SFU_SAMPLE_AT_ONCE,
	SFU_SAMPLE_LATER,
	SFU_SAMPLE_REFUSED,
	SFU_SAMPLE_THROTTLED,
	SFU_SAMPLE_MAP_REFUSED,
	SFU_SAMPLE_MAP_UNCOUNTED,
	SFU_SAMPLE_OVERWRITTEN,
	SFU_SAMPLE_COPIED,
	SFU_SAMPLE_NOT_COPIED,
	SFU_NR_SAMPLE_COUNTS
};

struct sfu_sample_counts {
	u64 of[SFU_NR_SAMPLE_COUNTS];
};

/**
 * struct sfu_sampler_spec - how to take samples, see struct sframe_unwind_sampler
 */
struct sfu_sampler_spec {
	u32 ring_pages;		/* a power of two, to SFU_MAX_RING_PAGES */
	u32 watermark;		/* to half of them */
	clockid_t clock;
	u32 max_depth;		/* 1 to SFU_MAX_DEPTH */
	u32 max_kernel_depth;	/* 1 to SFU_MAX_KERNEL_DEPTH */
	u32 map_pages;		/* of a half of the stack map; 0 for none */
	u32 max_files;		/* of the table of files; 0 for none */
	u32 copy_size;		/* of a cut stack; 0 for none */
	bool fallback;
	bool overwrite;
};

/**
 * struct sfu_sampler
 *
 * @consumer: gets the user stacks that follow samples. Its payer is charged for
 *	everything.
 * @spec: constant.
 * @time: reads the clock; any context.
 * @pid_ns: PID namespace of the client's opener, for the ids in records.
 * @pool: requests for user stacks.
 * @map: the stack map, or NULL.
 * @map_key: its key; stacks are still prepared after the map has been freed.
 * @files: the files of user frames; NULL if these are addresses, or after closing.
 * @counts: of each CPU.
 * @places: where stacks were cut that are copied.
 * @nmi: requests for user stacks of samples that were taken in NMIs, of each CPU.
 * @started: samples are being taken.
 * @wait: pollers.
 * @wake: wakes @wait.
 * @wake_due: a user stack has reached the watermark. Set by the thread that has committed it,
 *	and cleared before the pollers are woken.
 * @events_mutex: protects @events, @nr_events and @last_id. Perf events are made and
 *	released without it, and no other lock is taken under it.
 * @events: of struct sfu_sample_event.
 * @nr_events: number of entries in @events.
 * @last_id: id of the last event added.
 * @rings_mutex: serialises the creation of rings. Nests inside the mmap lock.
 * @ring: the ring of each CPU, or NULL.
 */
struct sfu_sampler {
	struct sfu_consumer consumer;
	struct sfu_sampler_spec spec;
	u64 (*time)(void);
	struct pid_namespace *pid_ns;
	struct sfu_pool *pool;
	struct sfu_stack_map *map;
	hsiphash_key_t map_key;
	struct sfu_sample_counts __percpu *counts;
	struct sfu_copy_places places;
	struct sfu_request_nmi __percpu *nmi;
	bool started;
	wait_queue_head_t wait;
	struct irq_work wake;
	bool wake_due;			/* READ_ONCE(), WRITE_ONCE() */
	struct sfu_files *files;	/* consumer.lock */
	struct mutex events_mutex;	/* the next three */
	struct list_head events;
	u32 nr_events;
	u32 last_id;
	struct mutex rings_mutex;	/* creation of rings */
	struct sfu_sample_ring *ring[];
};

static inline struct sfu_sampler *sfu_sampler_of(struct sfu_consumer *consumer)
{
	return container_of(consumer, struct sfu_sampler, consumer);
}

/* Returns whether @clock can be the clock of a sampler. */
bool sfu_sampler_has_clock(clockid_t clock);

/*
 * Create a sampler, charged to @payer, of which it takes a reference of its own.
 * May sleep. Returns NULL if out of memory.
 */
struct sfu_sampler *sfu_sampler_create(const struct sfu_sampler_spec *spec,
				       struct sfu_payer *payer,
				       struct pid_namespace *pid_ns);

/*
 * Free the rings and drop the owner's reference. @sampler must have no events
 * any more, see sfu_sample_events_remove_all(), and its rings not be mapped. May sleep.
 */
void sfu_sampler_close(struct sfu_sampler *sampler);

/*
 * Map part of a ring, see SFRAME_UNWIND_RING_CONTROL, the stack map, see
 * SFRAME_UNWIND_STACK_MAP, or the files, see SFRAME_UNWIND_FILES; creates the ring
 * if there is none. The mmap lock must be held. Returns 0, -EINVAL, -EPERM or
 * -ENOMEM.
 */
int sfu_sampler_map(struct sfu_sampler *sampler, struct vm_area_struct *vma);

/* See poll(2). */
__poll_t sfu_sampler_poll(struct sfu_sampler *sampler, struct file *file,
			  poll_table *table);

void sfu_sampler_stats(struct sfu_sampler *sampler,
		       struct sframe_unwind_sample_copy_stats *and_copies);

/* Count what has happened on this CPU. Any context, with preemption disabled. */
static inline void sfu_sampler_count(struct sfu_sampler *sampler,
				     enum sfu_sample_count what)
{
	this_cpu_inc(sampler->counts->of[what]);
}

/*
 * Returns this CPU's ring, or NULL. Any context, with preemption disabled; the
 * ring is not freed before preemption is enabled.
 */
static inline struct sfu_sample_ring *
sfu_sampler_ring(const struct sfu_sampler *sampler)
{
	/* Pairs with the release in get_ring(). */
	return smp_load_acquire(&sampler->ring[smp_processor_id()]);
}

/**
 * struct sfu_stack_ids - the stacks of one record that are in the stack map
 *
 * @generation: see sfu_stack_map_generation().
 * @user, @kernel: their ids, or 0.
 * @refused: a stack of the record is not in the map.
 */
struct sfu_stack_ids {
	u64 generation;
	u32 user;
	u32 kernel;
	bool refused;
};

/*
 * Begin to put stacks into the sampler's stack map, which it must have. Any
 * context; preemption must be disabled until the last of the functions below has
 * returned.
 */
void sfu_sampler_map_begin(const struct sfu_sampler *sampler,
			   struct sfu_stack_ids *mapped);

/* Put @stack into the map. Returns its id, or 0 if the map is full. */
u32 sfu_sampler_map_stack(struct sfu_sampler *sampler,
			  struct sfu_stack_ids *mapped,
			  const struct sfu_mapped_stack *stack);

/* Count the record in the map. */
void sfu_sampler_map_count(struct sfu_sampler *sampler,
			   const struct sfu_stack_ids *mapped, u32 pid, u32 event);

/*
 * As sfu_sample_ring_reserve(), and counts what is overwritten. @ring is that of
 * this CPU.
 */
void *sfu_sampler_reserve(struct sfu_sampler *sampler,
			  struct sfu_sample_ring *ring, u32 size);

/*
 * Returns whether the current process's stacks that are cut at @ip are to be copied.
 * @generated: see struct sfu_cut. Any context.
 */
bool sfu_sampler_copies(struct sfu_sampler *sampler, u64 ip, u64 generated);

/*
 * Operations of the sampler as a consumer, see struct sfu_consumer_ops. Prepared are
 * the places of the frames, the hash for the stack map, and the copy of a cut stack, which is
 * written last, without the lock.
 */
void sfu_sampler_prepare(struct sfu_consumer *consumer,
			 const struct sfu_walk *walk, u32 nr,
			 enum sframe_unwind_stop stop,
			 struct sfu_prepared *prepared);
bool sfu_sampler_stack(struct sfu_consumer *consumer,
		       const struct sfu_request *request,
		       const struct sfu_walk *walk, u32 nr,
		       enum sframe_unwind_stop stop,
		       struct sfu_prepared *prepared);
void sfu_sampler_finish(struct sfu_consumer *consumer,
			const struct sfu_prepared *prepared);

/*
 * Returns the bytes that @how of @nr frames takes in a record: 0 if it is what
 * readers assume, see SFRAME_UNWIND_SAMPLE_HOW. SFU_FILL_BEHIND bytes behind it may
 * be read.
 */
u32 sfu_sampler_how_bytes(const u8 *how, u32 nr);

/*
 * Write frames to a record: @nr addresses, and @how, which takes @how_bytes.
 * Returns the address behind them.
 */
void *sfu_sampler_put_frames(void *to, const u64 *ip, const u8 *how, u32 nr,
			     u32 how_bytes);

#endif /* SFU_SAMPLER_H */
