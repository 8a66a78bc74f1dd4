// SPDX-License-Identifier: GPL-2.0
/*
 * From records of the sampler to samples of a profile: user stacks that were
 * unwound later are joined with their samples.
 */
#include <linux/sframe_unwind.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "cli/profile/record.h"
#include "sframe_unwind.h"

#define BUCKETS		4096u
#define WAITING_MAX	(64u << 20)	/* bytes */

/**
 * struct waiting - a sample that waits
 *
 * @age: in the list of all, the oldest first.
 * @bucket: in the bucket of its cookie.
 * @record: the sample; its frames are @frames.
 * @cookie: of the user stack.
 * @size: bytes of this.
 * @frames: the kernel's frames.
 */
struct waiting {
	TAILQ_ENTRY(waiting) age;
	LIST_ENTRY(waiting) bucket;
	struct sframe_unwind_profile_record record;
	uint64_t cookie;
	size_t size;
	uint64_t frames[];
};

TAILQ_HEAD(waiting_list, waiting);
LIST_HEAD(waiting_bucket, waiting);

/**
 * struct record_waiting - all samples that wait
 *
 * @list: the samples.
 * @buckets: by cookie.
 * @size: bytes of all.
 * @counts: see struct record_counts.
 * @frames: frames of the sample that is being written.
 * @how: how its user frames were found.
 */
struct record_waiting {
	struct waiting_list list;
	struct waiting_bucket buckets[BUCKETS];
	size_t size;
	struct record_counts counts;
	uint64_t frames[SFRAME_UNWIND_PROFILE_FRAMES];
	uint8_t how[SFRAME_UNWIND_PROFILE_FRAMES];
};

struct record_waiting *record_waiting_create(void)
{
	struct record_waiting *waiting = table_allocate(sizeof(*waiting));

	TAILQ_INIT(&waiting->list);
	return waiting;
}

static struct waiting_bucket *bucket_of(struct record_waiting *waiting,
					uint64_t cookie)
{
	return &waiting->buckets[cookie * 0x9e3779b97f4a7c15ULL >> 52];
}

static uint32_t entry_of(const struct sframe_unwind_sample_record *from)
{
	switch (from->entry) {
	case SFRAME_UNWIND_ENTRY_USER:
		return SFRAME_UNWIND_PROFILE_ENTRY_NONE;
	case SFRAME_UNWIND_ENTRY_SYSTEM_CALL:
		return SFRAME_UNWIND_PROFILE_ENTRY_SYSCALL;
	case SFRAME_UNWIND_ENTRY_PAGE_FAULT:
	case SFRAME_UNWIND_ENTRY_EXCEPTION:
		return SFRAME_UNWIND_PROFILE_ENTRY_FAULT;
	case SFRAME_UNWIND_ENTRY_INTERRUPT:
		return SFRAME_UNWIND_PROFILE_ENTRY_INTERRUPT;
	case SFRAME_UNWIND_ENTRY_NEW_THREAD:
		return SFRAME_UNWIND_PROFILE_ENTRY_NEW;
	default:
		return SFRAME_UNWIND_PROFILE_ENTRY_UNKNOWN;
	}
}

/* Everything but the user's frames; those of the kernel are in @frames. */
static void begin(struct sframe_unwind_profile_record *record,
		  const struct sframe_unwind_sample_record *from,
		  uint32_t event, uint64_t *frames)
{
	struct sframe_unwind_profile_sample *sample = &record->sample;

	*record = (struct sframe_unwind_profile_record){
		.kind = SFRAME_UNWIND_PROFILE_SAMPLE,
		.source = event,
		.time = from->time,
		.pid = from->pid,
		.tid = from->tid,
		.cpu = from->cpu,
	};
	memcpy(frames, from->kernel, from->nr_kernel * sizeof(*frames));
	sample->nr_kernel = from->nr_kernel;
	sample->frames = frames;
	sample->period = from->fields & SFRAME_UNWIND_SAMPLE_PERIOD ?
			 from->period : 1;
	sample->address = from->address;
	sample->entry = entry_of(from);
	sample->flags = SFRAME_UNWIND_PROFILE_CHAIN;
	if (from->nr_kernel) {
		sample->flags |= SFRAME_UNWIND_PROFILE_KERNEL;
		sample->ip = frames[0];
	}
}

/* Add the user's frames from a sample, or a record of its user stack; and write. */
static int finish(struct record_waiting *waiting,
		  struct sframe_unwind_profile_record *record,
		  const struct sframe_unwind_sample_record *user,
		  struct sframe_unwind_profile_writer *writer)
{
	struct sframe_unwind_profile_sample *sample = &record->sample;

	if (sample->frames != waiting->frames)
		memcpy(waiting->frames, sample->frames,
		       sample->nr_kernel * sizeof(uint64_t));
	sample->frames = waiting->frames;
	if (user) {
		memcpy(waiting->frames + sample->nr_kernel, user->frames,
		       user->nr_frames * sizeof(uint64_t));
		for (uint32_t i = 0; i < user->nr_frames; i++)
			waiting->how[i] = sframe_unwind_sample_how(user, i);
		sample->nr_user = user->nr_frames;
		sample->how = waiting->how;
		sample->stop = user->stop;
		if (!sample->nr_kernel && sample->nr_user)
			sample->ip = user->frames[0];
	}
	waiting->counts.samples++;
	waiting->counts.complete += !sample->stop ||
				    sample->stop == SFRAME_UNWIND_STOP_COMPLETE;
	return sframe_unwind_profile_write(writer, record);
}

static void remove_waiting(struct record_waiting *waiting, struct waiting *one)
{
	TAILQ_REMOVE(&waiting->list, one, age);
	LIST_REMOVE(one, bucket);
	waiting->size -= one->size;
	waiting->counts.waiting--;
	free(one);
}

/* The user stack will not come, or is too late. */
static int give_up(struct record_waiting *waiting, struct waiting *one,
		   struct sframe_unwind_profile_writer *writer)
{
	int ret;

	one->record.sample.stop = SFRAME_UNWIND_STOP_PENDING;
	ret = finish(waiting, &one->record, NULL, writer);
	remove_waiting(waiting, one);
	return ret;
}

static int hold(struct record_waiting *waiting,
		const struct sframe_unwind_sample_record *from, uint32_t event,
		struct sframe_unwind_profile_writer *writer)
{
	const size_t size = sizeof(struct waiting) +
			    from->nr_kernel * sizeof(uint64_t);
	struct waiting *one = table_allocate(size);
	int ret = 0;

	begin(&one->record, from, event, one->frames);
	one->cookie = from->cookie;
	one->size = size;
	TAILQ_INSERT_TAIL(&waiting->list, one, age);
	LIST_INSERT_HEAD(bucket_of(waiting, one->cookie), one, bucket);
	waiting->size += size;
	waiting->counts.waiting++;
	while (waiting->size > WAITING_MAX && !ret)
		ret = give_up(waiting, TAILQ_FIRST(&waiting->list), writer);
	return ret;
}

static int add_stack(struct record_waiting *waiting,
		     const struct sframe_unwind_sample_record *user,
		     struct sframe_unwind_profile_writer *writer)
{
	struct waiting *one, *next;
	int ret = 0;

	for (one = LIST_FIRST(bucket_of(waiting, user->cookie)); one && !ret;
	     one = next) {
		next = LIST_NEXT(one, bucket);
		if (one->cookie != user->cookie)
			continue;
		ret = finish(waiting, &one->record, user, writer);
		remove_waiting(waiting, one);
	}
	return ret;
}

int record_waiting_add(struct record_waiting *waiting,
		       const struct sframe_unwind_sample_record *from,
		       uint32_t event,
		       struct sframe_unwind_profile_writer *writer)
{
	struct sframe_unwind_profile_record record;

	if (from->type == SFRAME_UNWIND_RECORD_USER_STACK)
		return add_stack(waiting, from, writer);
	if (from->user == SFRAME_UNWIND_USER_LATER)
		return hold(waiting, from, event, writer);
	begin(&record, from, event, waiting->frames);
	if (from->user == SFRAME_UNWIND_USER_REFUSED)
		record.sample.stop = SFRAME_UNWIND_STOP_EXITED;
	return finish(waiting, &record,
		      from->user == SFRAME_UNWIND_USER_AT_ONCE ? from : NULL,
		      writer);
}

int record_waiting_end(struct record_waiting *waiting,
		       struct sframe_unwind_profile_writer *writer)
{
	int ret = 0;

	while (!ret && TAILQ_FIRST(&waiting->list))
		ret = give_up(waiting, TAILQ_FIRST(&waiting->list), writer);
	return ret;
}

const struct record_counts *record_counts(const struct record_waiting *waiting)
{
	return &waiting->counts;
}

void record_waiting_free(struct record_waiting *waiting)
{
	struct waiting *one;

	if (!waiting)
		return;
	while ((one = TAILQ_FIRST(&waiting->list)))
		remove_waiting(waiting, one);
	free(waiting);
}
