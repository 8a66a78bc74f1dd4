// SPDX-License-Identifier: GPL-2.0
/*
 * module/perf/sampler_stack.c: for how long copies are made of stacks that are cut; and that
 * they are written, and published, without the sampler's lock.
 */
#include <stdlib.h>

#include "limits.h"
#include "perf/files.h"
#include "perf/sampler.h"
#include "perf/stack_copy.h"
#include "perf/stack_map.h"
#include "stack_map_none.h"
#include "tap.h"
#include "walk/walk.h"

#include <linux/jiffies.h>

#define COPY_SIZE	64u
#define NR_FRAMES	3u
#define FREE		0xa5	/* what the ring has where nothing is written */
#define IP		0x7f0000001234UL

unsigned long jiffies;
static struct task_struct tasks[2];
struct task_struct *current = &tasks[0];

/* --- the sampler, its ring, and what it uses */

static struct sfu_sampler *sampler;
static struct sfu_sample_counts counts;
static struct sfu_sample_ring the_ring;
static u8 records[4096];

/* Bytes that may be reserved, and that leave half of the ring free. */
static u32 room, half;
static u32 reserved;
static unsigned int nr_commits, nr_copies;

/* The record when it was published. */
static u8 published[sizeof(records)];
static bool published_with_lock;

void *sfu_sampler_reserve(struct sfu_sampler *from, struct sfu_sample_ring *ring, u32 size)
{
	if (from != sampler || ring != &the_ring || size > room)
		return NULL;
	reserved = size;
	return records;
}

bool sfu_sample_ring_is_half_free(const struct sfu_sample_ring *ring, u32 size)
{
	return ring == &the_ring && size <= half;
}

bool sfu_sample_ring_commit(struct sfu_sample_ring *ring)
{
	nr_commits += ring == &the_ring;
	published_with_lock = sampler->consumer.lock.is_held;
	memcpy(published, records, sizeof(records));
	return true;
}

bool sfu_cut_ends(const struct sfu_cut *cut, u32 nr, enum sframe_unwind_stop stop)
{
	return cut->known && cut->nr == nr && stop == SFRAME_UNWIND_STOP_NO_RULE;
}

/* Bytes 1, 2, ... */
struct sframe_unwind_stack_copy *sfu_stack_copy_make(const struct sfu_cut *cut, u32 max)
{
	struct sframe_unwind_stack_copy *copy = calloc(1, sizeof(*copy) + max);

	copy->ip = cut->ip;
	copy->size = max;
	copy->known = 0xffff;
	for (u32 i = 0; i < max; i++)
		((u8 *)copy->stack)[i] = i + 1;
	nr_copies++;
	return copy;
}

void sfu_files_get(struct sfu_files *files)
{
	(void)files;
	abort();
}

void sfu_files_put(struct sfu_files *files)
{
	(void)files;
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

static u64 read_clock(void)
{
	return 5;
}

static void begin(u32 copy_size)
{
	free(sampler);
	sampler = calloc(1, sizeof(*sampler) + sizeof(sampler->ring[0]));
	sampler->spec.copy_size = copy_size;
	sampler->counts = &counts;
	sampler->time = read_clock;
	sampler->ring[0] = &the_ring;
	memset(&counts, 0, sizeof(counts));
	memset(records, FREE, sizeof(records));
	room = half = sizeof(records);
	nr_commits = nr_copies = 0;
	current = &tasks[0];
	tasks[0] = (struct task_struct){ .mm = (struct mm_struct *)&tasks[0], .tgid = 100 };
	tasks[1] = (struct task_struct){ .mm = (struct mm_struct *)&tasks[1], .tgid = 101 };
	jiffies = 0;
}

/* --- a stack that is cut */

static struct sfu_walk walk;
static struct sfu_prepared prepared;
static const struct sfu_request request = { .cookie = 77 };

/* The last section that was attached to generated code. */
static u64 generated;

static void cut_at(u64 ip)
{
	walk.nr = NR_FRAMES;
	walk.cut = (struct sfu_cut){
		.nr = NR_FRAMES, .known = 0xffff, .ip = ip, .generated = generated,
	};
	for (u32 i = 0; i < NR_FRAMES; i++) {
		walk.ip[i] = i + 1 < NR_FRAMES ? 0x1000 * (i + 1) : ip;
		walk.how[i] = i ? SFRAME_UNWIND_FRAME_SFRAME : SFRAME_UNWIND_FRAME_REGS;
	}
	prepared = (struct sfu_prepared){ 0 };
	sfu_sampler_prepare(&sampler->consumer, &walk, NR_FRAMES, SFRAME_UNWIND_STOP_NO_RULE,
			    &prepared);
}

static bool take_stack(void)
{
	bool taken;

	raw_spin_lock(&sampler->consumer.lock);
	taken = sfu_sampler_stack(&sampler->consumer, &request, &walk, NR_FRAMES,
				  SFRAME_UNWIND_STOP_NO_RULE, &prepared);
	raw_spin_unlock(&sampler->consumer.lock);
	return taken;
}

static void end(void)
{
	free(prepared.copy);
	prepared.copy = NULL;
}

/* Deliver a stack that is cut at @ip. Returns whether there is a copy in the record. */
static bool is_copied(u64 ip)
{
	struct sframe_unwind_user_stack head;

	cut_at(ip);
	if (!take_stack())
		abort();
	if (prepared.copy_to)
		sfu_sampler_finish(&sampler->consumer, &prepared);
	end();
	memcpy(&head, published, sizeof(head));
	return head.fields & SFRAME_UNWIND_SAMPLE_COPY;
}

/* --- tests */

/* From the first one on, whether or not they were taken at once meanwhile. */
static void for_two_minutes(void)
{
	u64 copied;

	for (unsigned int start = 0; start < 2; start++) {
		begin(COPY_SIZE);
		/* As the kernel's: it wraps soon. */
		jiffies = start ? (u32)-60 * HZ : 0;
		for (unsigned int i = 0; i < 120; i++, jiffies += HZ) {
			EXPECT(sfu_sampler_copies(sampler, IP, 0));
			EXPECT(is_copied(IP));
		}
		copied = counts.of[SFU_SAMPLE_COPIED];
		EXPECT_EQ(copied, 120);
		EXPECT_EQ(nr_copies, 120);
		EXPECT_EQ(counts.of[SFU_SAMPLE_NOT_COPIED], 0);
		for (unsigned int i = 0; i < 10; i++, jiffies += 60 * HZ) {
			EXPECT(!sfu_sampler_copies(sampler, IP, 0));
			EXPECT(!is_copied(IP));
		}
		EXPECT_EQ(nr_copies, 120);
		EXPECT_EQ(counts.of[SFU_SAMPLE_COPIED], copied);
		EXPECT_EQ(counts.of[SFU_SAMPLE_NOT_COPIED], 10);
	}
}

/* Other code, other processes, also one with the memory of an mm that is gone. */
static void each_place(void)
{
	begin(COPY_SIZE);
	EXPECT(is_copied(IP));
	jiffies += 200 * HZ;
	EXPECT(!is_copied(IP));
	EXPECT(is_copied(IP + 0x10000));
	current = &tasks[1];
	EXPECT(is_copied(IP));
	tasks[1].mm = tasks[0].mm;
	EXPECT(is_copied(IP));
	current = &tasks[0];
	EXPECT(!is_copied(IP));
	EXPECT(!sfu_sampler_copies(sampler, IP, 0));
}

/* Generated code: from the last time on that such code of the process has got a section. */
static void generated_code(void)
{
	begin(COPY_SIZE);
	for (generated = 1000; generated < 1010; generated++) {
		EXPECT(is_copied(IP));
		jiffies += 119 * HZ;
		EXPECT(is_copied(IP));
		jiffies += HZ;
		EXPECT(!is_copied(IP));
		EXPECT(!sfu_sampler_copies(sampler, IP, generated));
		jiffies += 60 * HZ;
	}
	generated = 0;
}

static void only_if_asked_for(void)
{
	begin(0);
	EXPECT(!sfu_sampler_copies(sampler, IP, 0));
	EXPECT(!is_copied(IP));
	EXPECT_EQ(counts.of[SFU_SAMPLE_COPIED] + counts.of[SFU_SAMPLE_NOT_COPIED], 0);
	EXPECT(sampler->wake_due);
	/* A stack that is not cut. */
	begin(COPY_SIZE);
	cut_at(IP);
	end();
	prepared = (struct sfu_prepared){ 0 };
	sfu_sampler_prepare(&sampler->consumer, &walk, NR_FRAMES,
			    SFRAME_UNWIND_STOP_COMPLETE, &prepared);
	EXPECT(!prepared.cut);
	EXPECT(!prepared.copy);
}

/* Under the lock, the copy gets its room; it is written and published without. */
static void written_without_the_lock(void)
{
	const u32 at = sizeof(struct sframe_unwind_user_stack) + NR_FRAMES * sizeof(u64);
	const u32 size = sizeof(struct sframe_unwind_stack_copy) + COPY_SIZE;

	begin(COPY_SIZE);
	cut_at(IP);
	EXPECT(prepared.copy);
	EXPECT(take_stack());
	EXPECT_EQ(nr_commits, 0);
	EXPECT(!sampler->wake_due);
	EXPECT_EQ(reserved, at + size);
	EXPECT(prepared.copy_to == records + at);
	for (u32 i = at; i < sizeof(records); i++)
		EXPECT_EQ(records[i], FREE);
	sfu_sampler_finish(&sampler->consumer, &prepared);
	EXPECT_EQ(nr_commits, 1);
	EXPECT(!published_with_lock);
	EXPECT(sampler->wake_due);
	EXPECT(!memcmp(published + at, prepared.copy, size));
	for (u32 i = at + size; i < sizeof(records); i++)
		EXPECT_EQ(records[i], FREE);
	EXPECT_EQ(counts.of[SFU_SAMPLE_COPIED], 1);
	end();
}

/* A record without a copy is published at once, and not once more. */
static void room_for_other_records(void)
{
	const u32 at = sizeof(struct sframe_unwind_user_stack) + NR_FRAMES * sizeof(u64);
	const u32 size = sizeof(struct sframe_unwind_stack_copy) + COPY_SIZE;

	begin(COPY_SIZE);
	half = at + size - 1;
	EXPECT(!is_copied(IP));
	EXPECT_EQ(reserved, at);
	EXPECT_EQ(nr_commits, 1);
	EXPECT(published_with_lock);
	EXPECT_EQ(counts.of[SFU_SAMPLE_COPIED], 0);
	EXPECT_EQ(counts.of[SFU_SAMPLE_NOT_COPIED], 1);
	half++;
	EXPECT(is_copied(IP));
	EXPECT_EQ(nr_commits, 2);
	EXPECT_EQ(counts.of[SFU_SAMPLE_COPIED], 1);
	/* No room at all. */
	begin(COPY_SIZE);
	room = at + size - 1;
	cut_at(IP);
	EXPECT(!take_stack());
	EXPECT(!prepared.copy_to);
	EXPECT_EQ(nr_commits, 0);
	EXPECT_EQ(records[0], FREE);
	EXPECT_EQ(counts.of[SFU_SAMPLE_COPIED] + counts.of[SFU_SAMPLE_NOT_COPIED], 0);
	end();
	/* No ring. */
	begin(COPY_SIZE);
	sampler->ring[0] = NULL;
	cut_at(IP);
	EXPECT(!take_stack());
	EXPECT(!prepared.copy_to);
	end();
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(for_two_minutes),
		TAP_TEST(each_place),
		TAP_TEST(generated_code),
		TAP_TEST(only_if_asked_for),
		TAP_TEST(written_without_the_lock),
		TAP_TEST(room_for_other_records),
	};

	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	free(sampler);
	return tap_done();
}
