// SPDX-License-Identifier: GPL-2.0
/*
 * From records of the sampler to samples of a profile: user stacks that were
 * unwound later are joined with their samples, and samples of threads that were
 * taken from their CPU with the time until they ran again.
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
 * @bucket: in the bucket of its cookie, if @needs_user.
 * @turn: in the list of its thread, if @needs_time.
 * @record: the sample; its frames are @frames.
 * @cookie: of the user stack.
 * @size: bytes of this.
 * @thread: number of the thread, if it is a sample of --off-cpu.
 * @needs_user: whether the user stack is to follow.
 * @needs_time: whether the thread has not run since.
 * @frames: the frames, how the user's were found, and raw data.
 */
struct waiting {
	TAILQ_ENTRY(waiting) age;
	LIST_ENTRY(waiting) bucket;
	TAILQ_ENTRY(waiting) turn;
	struct sframe_unwind_profile_record record;
	uint64_t cookie;
	size_t size;
	uint32_t thread;
	bool needs_user;
	bool needs_time;
	uint64_t *frames;
};

TAILQ_HEAD(waiting_list, waiting);
LIST_HEAD(waiting_bucket, waiting);

/**
 * struct pause - a time that a thread did not run
 *
 * @from: when it began, a little later than the sample.
 * @until: when it ended, or 0.
 * @is_blocked: whether the thread waited for something.
 */
struct pause {
	uint64_t from;
	uint64_t until;
	bool is_blocked;
};

/* Pauses of a thread for which there may be a sample that has not been read. */
#define PAUSES		64u

/**
 * struct sampled_thread - a thread, for --off-cpu
 *
 * @samples: its samples that need their time, in the order of time.
 * @pauses: the last pauses, as a ring.
 * @first: number of the first one of those.
 * @next: number of the next one.
 */
struct sampled_thread {
	struct waiting_list samples;
	struct pause *pauses;
	uint32_t first;
	uint32_t next;
};

/**
 * struct record_waiting - all samples that wait
 *
 * @list: the samples.
 * @buckets: those that need a user stack, by cookie.
 * @size: bytes of all.
 * @counts: see struct record_counts.
 * @tids: numbers of threads, for --off-cpu.
 * @threads: the threads.
 * @threads_room: room for those.
 * @frames: frames of the sample that is being written.
 * @how: how its user frames were found.
 */
struct record_waiting {
	struct waiting_list list;
	struct waiting_bucket buckets[BUCKETS];
	size_t size;
	struct record_counts counts;
	struct pairs tids;
	struct sampled_thread **threads;
	uint32_t threads_room;
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

static struct sampled_thread *get_thread(struct record_waiting *waiting,
					 pid_t tid, uint32_t *number)
{
	*number = pairs_add(&waiting->tids, tid, 0);
	waiting->threads = table_grow(waiting->threads, &waiting->threads_room,
				      *number, sizeof(struct sampled_thread *));
	if (!waiting->threads[*number]) {
		waiting->threads[*number] =
			table_allocate(sizeof(struct sampled_thread));
		TAILQ_INIT(&waiting->threads[*number]->samples);
	}
	return waiting->threads[*number];
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
	sample->raw = from->raw_size ? from->raw : NULL;
	sample->raw_size = from->raw_size;
	if (from->nr_kernel) {
		sample->flags |= SFRAME_UNWIND_PROFILE_KERNEL;
		sample->ip = frames[0];
	} else if (from->fields & SFRAME_UNWIND_SAMPLE_REGISTERS) {
		sample->ip = from->ip;
	}
}

/* Add the user's frames, from a sample or a record of its user stack. */
static void set_user(struct record_waiting *waiting,
		     struct sframe_unwind_profile_record *record,
		     const struct sframe_unwind_sample_record *user)
{
	struct sframe_unwind_profile_sample *sample = &record->sample;

	if (sample->frames != waiting->frames)
		memcpy(waiting->frames, sample->frames,
		       sample->nr_kernel * sizeof(uint64_t));
	sample->frames = waiting->frames;
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

_Static_assert((int)SFRAME_UNWIND_STOP_PENDING < (int)RECORD_REFUSED,
	       "a reason has the number of another one");

static uint32_t reason_of(uint32_t stop)
{
	switch (stop) {
	case SFRAME_UNWIND_PROFILE_STOP_REFUSED:
		return RECORD_REFUSED;
	case SFRAME_UNWIND_PROFILE_STOP_LATE:
		return RECORD_LATE;
	default:
		return stop < RECORD_REFUSED ? stop : RECORD_OTHER;
	}
}

static int write_sample(struct record_waiting *waiting,
			const struct sframe_unwind_profile_record *record,
			struct sframe_unwind_profile_writer *writer)
{
	const uint32_t stop = record->sample.stop;

	waiting->counts.samples++;
	if (!stop || stop == SFRAME_UNWIND_STOP_COMPLETE)
		waiting->counts.complete++;
	else
		waiting->counts.cut[reason_of(stop)]++;
	return sframe_unwind_profile_write(writer, record);
}

/* Keep copies of the frames and the raw data of @one->record. */
static void keep_frames(struct record_waiting *waiting, struct waiting *one)
{
	struct sframe_unwind_profile_sample *sample = &one->record.sample;
	const size_t frames_size = (sample->nr_kernel + sample->nr_user) *
				   sizeof(uint64_t);
	const size_t size = frames_size + sample->nr_user + sample->raw_size;
	uint64_t *frames = table_allocate(size);
	uint8_t *how = (uint8_t *)frames + frames_size;

	memcpy(frames, sample->frames, frames_size);
	if (sample->how) {
		memcpy(how, sample->how, sample->nr_user);
		sample->how = how;
	}
	if (sample->raw) {
		memcpy(how + sample->nr_user, sample->raw, sample->raw_size);
		sample->raw = how + sample->nr_user;
	}
	free(one->frames);
	one->frames = frames;
	sample->frames = frames;
	waiting->size += size;
	one->size += size;
}

static void remove_waiting(struct record_waiting *waiting, struct waiting *one)
{
	TAILQ_REMOVE(&waiting->list, one, age);
	if (one->needs_user) {
		LIST_REMOVE(one, bucket);
		waiting->counts.waiting--;
	}
	if (one->needs_time)
		TAILQ_REMOVE(&waiting->threads[one->thread]->samples, one, turn);
	waiting->size -= one->size;
	free(one->frames);
	free(one);
}

/* The user stack will not come, or is too late. */
static int give_up(struct record_waiting *waiting, struct waiting *one,
		   uint64_t time, struct sframe_unwind_profile_writer *writer)
{
	struct sframe_unwind_profile_sample *sample = &one->record.sample;
	int ret;

	if (one->needs_user)
		sample->stop = SFRAME_UNWIND_PROFILE_STOP_LATE;
	if (one->needs_time)
		sample->period = time > one->record.time ?
				 time - one->record.time : 1;
	ret = write_sample(waiting, &one->record, writer);
	remove_waiting(waiting, one);
	return ret;
}

static struct waiting *hold(struct record_waiting *waiting,
			    const struct sframe_unwind_profile_record *record)
{
	struct waiting *one = table_allocate(sizeof(*one));

	one->record = *record;
	one->size = sizeof(*one);
	waiting->size += one->size;
	TAILQ_INSERT_TAIL(&waiting->list, one, age);
	keep_frames(waiting, one);
	return one;
}

static void wait_for_user(struct record_waiting *waiting, struct waiting *one,
			  uint64_t cookie)
{
	one->cookie = cookie;
	one->needs_user = true;
	LIST_INSERT_HEAD(bucket_of(waiting, cookie), one, bucket);
	waiting->counts.waiting++;
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
		set_user(waiting, &one->record, user);
		if (one->needs_time) {
			one->needs_user = false;
			LIST_REMOVE(one, bucket);
			waiting->counts.waiting--;
			keep_frames(waiting, one);
			continue;
		}
		ret = write_sample(waiting, &one->record, writer);
		remove_waiting(waiting, one);
	}
	return ret;
}

/*
 * The first sample of a thread and the pause that belongs to it. The kernel tells
 * of a pause right after the sample, by another ring: either may not have been
 * read yet, or be lost. Returns 1 if there was something to do, 0 or an error.
 */
static int match_one(struct record_waiting *waiting,
		     struct sampled_thread *thread,
		     struct sframe_unwind_profile_writer *writer)
{
	struct waiting *one = TAILQ_FIRST(&thread->samples);
	const struct pause *pause;
	struct waiting *next;
	int ret;

	if (!one || thread->first == thread->next)
		return 0;
	pause = &thread->pauses[thread->first % PAUSES];
	if (pause->from < one->record.time) {
		/* The one that goes on now has no sample. */
		if (!pause->until && thread->first + 1 == thread->next)
			return 0;
		thread->first++;
		return 1;
	}
	next = TAILQ_NEXT(one, turn);
	if (next && next->record.time <= pause->from) {
		remove_waiting(waiting, one);
		return 1;
	}
	if (!pause->until)
		return 0;
	thread->first++;
	if (!pause->is_blocked) {
		remove_waiting(waiting, one);
		return 1;
	}
	one->record.sample.period = pause->until - one->record.time;
	one->needs_time = false;
	TAILQ_REMOVE(&thread->samples, one, turn);
	if (one->needs_user)
		return 1;
	ret = write_sample(waiting, &one->record, writer);
	remove_waiting(waiting, one);
	return ret ? ret : 1;
}

static int match(struct record_waiting *waiting, struct sampled_thread *thread,
		 struct sframe_unwind_profile_writer *writer)
{
	int ret;

	do
		ret = match_one(waiting, thread, writer);
	while (ret == 1);
	return ret;
}

int record_waiting_switch(struct record_waiting *waiting, pid_t tid,
			  uint64_t time, enum record_switch what,
			  struct sframe_unwind_profile_writer *writer)
{
	struct sampled_thread *thread;
	struct pause *pause;
	uint32_t number;

	if (!tid)
		return 0;
	thread = get_thread(waiting, tid, &number);
	if (!thread->pauses)
		thread->pauses = table_allocate(PAUSES * sizeof(*thread->pauses));
	if (what == RECORD_RUNS) {
		if (thread->first == thread->next)
			return 0;
		pause = &thread->pauses[(thread->next - 1) % PAUSES];
		if (!pause->until)
			pause->until = time;
		return match(waiting, thread, writer);
	}
	if (thread->next - thread->first == PAUSES)
		thread->first++;
	thread->pauses[thread->next++ % PAUSES] = (struct pause){
		.from = time,
		.is_blocked = what == RECORD_BLOCKED,
	};
	return match(waiting, thread, writer);
}

static int wait_for_time(struct record_waiting *waiting, struct waiting *one,
			 struct sframe_unwind_profile_writer *writer)
{
	struct sampled_thread *thread = get_thread(waiting, one->record.tid,
						   &one->thread);

	one->needs_time = true;
	TAILQ_INSERT_TAIL(&thread->samples, one, turn);
	return match(waiting, thread, writer);
}

int record_waiting_add(struct record_waiting *waiting,
		       const struct sframe_unwind_sample_record *from,
		       uint32_t event, bool is_off_cpu,
		       struct sframe_unwind_profile_writer *writer)
{
	struct sframe_unwind_profile_record record;
	struct waiting *one;
	int ret = 0;

	if (from->type == SFRAME_UNWIND_RECORD_USER_STACK)
		return add_stack(waiting, from, writer);
	/* Idle CPUs, and processes of other namespaces, do not wait. */
	if (is_off_cpu && !from->tid)
		return 0;
	begin(&record, from, event, waiting->frames);
	if (from->user == SFRAME_UNWIND_USER_REFUSED)
		record.sample.stop = SFRAME_UNWIND_PROFILE_STOP_REFUSED;
	if (from->user == SFRAME_UNWIND_USER_AT_ONCE)
		set_user(waiting, &record, from);
	if (from->user != SFRAME_UNWIND_USER_LATER && !is_off_cpu)
		return write_sample(waiting, &record, writer);
	one = hold(waiting, &record);
	if (from->user == SFRAME_UNWIND_USER_LATER)
		wait_for_user(waiting, one, from->cookie);
	if (is_off_cpu)
		ret = wait_for_time(waiting, one, writer);
	while (waiting->size > WAITING_MAX && !ret)
		ret = give_up(waiting, TAILQ_FIRST(&waiting->list), from->time,
			      writer);
	return ret;
}

uint64_t record_waiting_oldest(const struct record_waiting *waiting)
{
	const struct waiting *one = TAILQ_FIRST(&waiting->list);

	return one ? one->record.time : UINT64_MAX;
}

/* Whether a sample is of a thread that was not blocked, or was lost sight of. */
static bool is_void(const struct record_waiting *waiting,
		    const struct waiting *one)
{
	const struct sampled_thread *thread;

	if (!one->needs_time)
		return false;
	thread = waiting->threads[one->thread];
	return thread->first == thread->next ||
	       !thread->pauses[(thread->next - 1) % PAUSES].is_blocked ||
	       TAILQ_FIRST(&thread->samples) != one;
}

int record_waiting_end(struct record_waiting *waiting, uint64_t time,
		       struct sframe_unwind_profile_writer *writer)
{
	struct waiting *one;
	int ret = 0;

	while (!ret && (one = TAILQ_FIRST(&waiting->list))) {
		if (is_void(waiting, one))
			remove_waiting(waiting, one);
		else
			ret = give_up(waiting, one, time, writer);
	}
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
	for (uint32_t i = 0; i < waiting->tids.nr; i++) {
		free(waiting->threads[i]->pauses);
		free(waiting->threads[i]);
	}
	free(waiting->threads);
	pairs_free(&waiting->tids);
	free(waiting);
}
