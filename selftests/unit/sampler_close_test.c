// SPDX-License-Identifier: GPL-2.0
/*
 * module/walk/consumer.c with module/perf/sampler.c: what the sampler does with a copy after it
 * was given a stack, and what it waits for before it frees its rings.
 */
#include "limits.h"
#include "payer.h"
#include "perf/files.h"
#include "perf/sampler.h"
#include "perf/stack_copy.h"
#include "perf/stack_map.h"
#include "stack_map_none.h"
#include "tap.h"
#include "walk/request_nmi.h"
#include "walk/walk.h"

unsigned long jiffies;
int preempt_count;
static struct task_struct task = { .mm = (struct mm_struct *)&task, .tgid = 100 };
struct task_struct *current = &task;

static struct sfu_sampler *sampler;

/* --- the ring */

static u8 *records;
static u32 room;
static unsigned int nr_reserved, nr_commits, nr_rings, nr_waits;

/* Whether the lock was held and preemption disabled, as it must be. */
static bool reserved_well, committed_well, waited_well;

u64 sfu_sample_ring_bytes(u32 pages)
{
	return pages;
}

struct sfu_sample_ring *sfu_sample_ring_create(u32 cpu, u32 pages, u32 watermark,
					       bool overwrite)
{
	(void)cpu;
	(void)pages;
	(void)watermark;
	(void)overwrite;
	records = calloc(1, 4096);
	nr_rings++;
	return calloc(1, sizeof(struct sfu_sample_ring));
}

void sfu_sample_ring_free(struct sfu_sample_ring *ring)
{
	nr_rings--;
	free(records);
	free(ring);
}

int sfu_sample_ring_map(struct sfu_sample_ring *ring, struct vm_area_struct *vma, bool control)
{
	(void)ring;
	(void)vma;
	(void)control;
	return 0;
}

void *sfu_sample_ring_reserve(struct sfu_sample_ring *ring, u32 size, u64 *overwritten)
{
	(void)ring;
	(void)overwritten;
	reserved_well = sampler->consumer.lock.is_held && preempt_count == 1;
	if (size > room)
		return NULL;
	nr_reserved++;
	return records;
}

bool sfu_sample_ring_is_half_free(const struct sfu_sample_ring *ring, u32 size)
{
	(void)ring;
	(void)size;
	return true;
}

bool sfu_sample_ring_commit(struct sfu_sample_ring *ring)
{
	(void)ring;
	committed_well = !sampler->consumer.lock.is_held && preempt_count == 1;
	nr_commits++;
	return true;
}

bool sfu_sample_ring_wakes(struct sfu_sample_ring *ring)
{
	(void)ring;
	return false;
}

bool sfu_sample_ring_is_readable(const struct sfu_sample_ring *ring)
{
	(void)ring;
	return false;
}

/* No stack is given to the sampler any more, and its rings are still there. */
void synchronize_rcu(void)
{
	nr_waits++;
	waited_well = !preempt_count && sampler->consumer.cancelled && nr_rings;
}

/* --- what else they use */

u64 ktime_get_mono_fast_ns(void)
{
	return 5;
}

struct sfu_walk *sfu_walk_alloc(gfp_t gfp)
{
	(void)gfp;
	return calloc(1, sizeof(struct sfu_walk));
}

void sfu_walk_free(struct sfu_walk *walk)
{
	free(walk);
}

bool sfu_cut_ends(const struct sfu_cut *cut, u32 nr, enum sframe_unwind_stop stop)
{
	(void)nr;
	(void)stop;
	return cut->known;
}

struct sframe_unwind_stack_copy *sfu_stack_copy_make(const struct sfu_cut *cut, u32 max)
{
	struct sframe_unwind_stack_copy *copy = calloc(1, sizeof(*copy) + max);

	(void)cut;
	copy->size = max;
	memset(copy->stack, 0x5a, max);
	return copy;
}

static u64 charged;

void sfu_payer_get(struct sfu_payer *payer)
{
	(void)payer;
}

void sfu_payer_put(struct sfu_payer *payer)
{
	(void)payer;
}

int sfu_payer_charge(struct sfu_payer *payer, u64 bytes, bool force)
{
	(void)payer;
	(void)force;
	charged += bytes;
	return 0;
}

void sfu_payer_uncharge(struct sfu_payer *payer, u64 bytes)
{
	(void)payer;
	charged -= bytes;
}

struct sfu_request_nmi *sfu_request_nmi_create(struct sfu_consumer *consumer,
					       struct sfu_pool *pool,
					       const struct sfu_request_spec *spec)
{
	(void)consumer;
	(void)pool;
	(void)spec;
	return malloc(1);
}

void sfu_request_nmi_free(struct sfu_request_nmi *nmi)
{
	free(nmi);
}

u64 sfu_request_nmi_bytes(void)
{
	return 1;
}

void sfu_request_nmi_wait(struct sfu_request_nmi *nmi)
{
	(void)nmi;
}

struct sfu_files *sfu_files_create(u32 max, struct sfu_payer *payer)
{
	(void)max;
	(void)payer;
	abort();
}

void sfu_files_get(struct sfu_files *files)
{
	(void)files;
	abort();
}

void sfu_files_put(struct sfu_files *files)
{
	if (files)
		abort();
}

int sfu_files_map(struct sfu_files *files, struct vm_area_struct *vma)
{
	(void)files;
	(void)vma;
	abort();
}

void sfu_files_locate(struct sfu_files *files, const u64 *ip, const u8 *how, u32 nr, u64 *place)
{
	(void)files;
	(void)ip;
	(void)how;
	(void)nr;
	(void)place;
	abort();
}

u64 sfu_stack_map_bytes(u32 pages)
{
	return pages;
}

struct sfu_stack_map *sfu_stack_map_create(u32 pages)
{
	(void)pages;
	abort();
}

void sfu_stack_map_free(struct sfu_stack_map *map)
{
	(void)map;
	abort();
}

int sfu_stack_map_map(struct sfu_stack_map *map, struct vm_area_struct *vma)
{
	(void)map;
	(void)vma;
	abort();
}

/* --- tests */

static bool begin(u32 copy_size)
{
	const struct sfu_sampler_spec spec = {
		.ring_pages = 1,
		.clock = CLOCK_MONOTONIC,
		.max_depth = 16,
		.copy_size = copy_size,
	};
	struct vm_area_struct first = { 0 };

	room = 4096;
	nr_reserved = nr_commits = nr_waits = 0;
	reserved_well = committed_well = waited_well = false;
	sampler = sfu_sampler_create(&spec, NULL, NULL);
	return sampler && !sfu_sampler_map(sampler, &first);
}

/* Deliver a stack of two frames, which is cut. */
static void deliver(void)
{
	static struct sfu_walk walk = {
		.ip = { 1, 2 },
		.how = { SFRAME_UNWIND_FRAME_REGS, SFRAME_UNWIND_FRAME_SFRAME },
		.cut = { .nr = 2, .known = 0xffff, .ip = 2 },
	};
	const struct sfu_request request = { .cookie = 7 };

	sfu_consumer_deliver(&sampler->consumer, &request, &walk, 2,
			     SFRAME_UNWIND_STOP_NO_RULE);
}

static void copies_are_written_last(void)
{
	EXPECT(begin(64));
	EXPECT_EQ(sfu_consumer_begin(&sampler->consumer, NULL), 0);
	deliver();
	sfu_consumer_end(&sampler->consumer, NULL);
	EXPECT_EQ(nr_reserved, 1);
	EXPECT(reserved_well);
	EXPECT_EQ(nr_commits, 1);
	EXPECT(committed_well);
	EXPECT_EQ(preempt_count, 0);
	EXPECT_EQ(sampler->consumer.delivered, 1);
	EXPECT_EQ(records[sizeof(struct sframe_unwind_user_stack) + 16 +
			  sizeof(struct sframe_unwind_stack_copy)], 0x5a);
	sfu_sampler_close(sampler);
	EXPECT_EQ(charged, 0);
}

/* Nothing is left to be done for a stack that was lost. */
static void lost_stacks(void)
{
	EXPECT(begin(64));
	EXPECT_EQ(sfu_consumer_begin(&sampler->consumer, NULL), 0);
	room = 0;
	deliver();
	sfu_consumer_end(&sampler->consumer, NULL);
	EXPECT_EQ(nr_commits, 0);
	EXPECT_EQ(preempt_count, 0);
	EXPECT_EQ(sampler->consumer.lost, 1);
	sfu_sampler_close(sampler);
	EXPECT_EQ(charged, 0);
}

/* A copy may be being written; a request may still be pending. */
static void rings_are_freed_later(void)
{
	for (u32 copy_size = 0; copy_size <= 64; copy_size += 64) {
		EXPECT(begin(copy_size));
		EXPECT_EQ(sfu_consumer_begin(&sampler->consumer, NULL), 0);
		EXPECT_EQ(nr_rings, 1);
		sfu_sampler_close(sampler);
		EXPECT_EQ(nr_rings, 0);
		EXPECT_EQ(nr_waits, copy_size ? 1 : 0);
		EXPECT_EQ(waited_well, copy_size != 0);
		deliver();
		EXPECT_EQ(nr_reserved, 0);
		EXPECT_EQ(nr_commits, 0);
		EXPECT_EQ(sampler->consumer.lost, 1);
		sfu_consumer_end(&sampler->consumer, NULL);
		EXPECT_EQ(charged, 0);
	}
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(copies_are_written_last),
		TAP_TEST(lost_stacks),
		TAP_TEST(rings_are_freed_later),
	};

	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	return tap_done();
}
