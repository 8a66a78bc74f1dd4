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

#include "cli/profile/copies.h"
#include "cli/profile/pauses.h"
#include "cli/profile/record.h"
#include "sframe_unwind.h"

#define BUCKETS		4096u
#define THREAD_BUCKETS	16384u
#define WAITING_MAX	(64u << 20)	/* bytes */

/*
 * Threads that are followed. Those that have ended are forgotten; if that was lost, because
 * too much happened, the one that has not been heard of for the longest time is.
 */
#define THREADS_MAX	262144u

/* Readings until a thread that has ended is forgotten: its last samples may come later. */
#define ENDED_ROUNDS	2u

/**
 * struct waiting - a sample that waits
 *
 * @age: in the list of all, the oldest first.
 * @bucket: in the bucket of its cookie, if @needs_user.
 * @turn: in the list of its thread, if @needs_time.
 * @record: the sample; its frames are @frames.
 * @cookie: of the user stack.
 * @size: bytes of this.
 * @thread: the thread, if @needs_time.
 * @needs_user: whether the user stack is to follow.
 * @needs_time: whether the thread has not run since.
 * @copied: the user stack, while it is being completed; or NULL.
 * @of_copy: in its list.
 * @frames: the frames, how the user's were found, and raw data.
 */
struct waiting {
	TAILQ_ENTRY(waiting) age;
	LIST_ENTRY(waiting) bucket;
	TAILQ_ENTRY(waiting) turn;
	struct sframe_unwind_profile_record record;
	uint64_t cookie;
	size_t size;
	struct sampled_thread *thread;
	bool needs_user;
	bool needs_time;
	struct copied_stack *copied;
	LIST_ENTRY(waiting) of_copy;
	uint64_t *frames;
};

TAILQ_HEAD(waiting_list, waiting);
LIST_HEAD(waiting_bucket, waiting);

/**
 * struct sampled_thread - a thread, for --off-cpu
 *
 * @bucket: in the bucket of its number.
 * @age: in the list of those that run, or of those that have ended, the one that was not
 *	heard of for the longest time first.
 * @tid: its number.
 * @samples: its samples that need their time, in the order of time.
 * @pauses: the last pauses.
 * @has_ended: whether it has ended.
 * @round: in which reading.
 */
struct sampled_thread {
	LIST_ENTRY(sampled_thread) bucket;
	TAILQ_ENTRY(sampled_thread) age;
	pid_t tid;
	struct waiting_list samples;
	struct pauses pauses;
	bool has_ended;
	uint32_t round;
};

TAILQ_HEAD(thread_list, sampled_thread);
LIST_HEAD(thread_bucket, sampled_thread);

/**
 * struct record_waiting - all samples that wait
 *
 * @list: the samples.
 * @buckets: those that need a user stack, by cookie.
 * @size: bytes of all.
 * @counts: see struct record_counts.
 * @copies: completes stacks, or NULL.
 * @threads: threads that run, for --off-cpu.
 * @ended: threads that have ended, the first one first.
 * @thread_buckets: both, by number.
 * @round: number of the reading.
 * @frames: frames of the sample that is being written.
 * @how: how its user frames were found.
 */
struct record_waiting {
	struct waiting_list list;
	struct waiting_bucket buckets[BUCKETS];
	size_t size;
	struct record_counts counts;
	struct copies *copies;
	struct thread_list threads;
	struct thread_list ended;
	struct thread_bucket thread_buckets[THREAD_BUCKETS];
	uint32_t round;
	uint64_t frames[SFRAME_UNWIND_PROFILE_FRAMES];
	uint8_t how[SFRAME_UNWIND_PROFILE_FRAMES];
};

struct record_waiting *record_waiting_create(void)
{
	struct record_waiting *waiting = table_allocate(sizeof(*waiting));

	TAILQ_INIT(&waiting->list);
	TAILQ_INIT(&waiting->threads);
	TAILQ_INIT(&waiting->ended);
	return waiting;
}

void record_waiting_use(struct record_waiting *waiting, struct copies *copies)
{
	waiting->copies = copies;
}

static struct waiting_bucket *bucket_of(struct record_waiting *waiting,
					uint64_t cookie)
{
	return &waiting->buckets[cookie * 0x9e3779b97f4a7c15ULL >> 52];
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
		waiting->counts.cut[record_sample_reason(stop)]++;
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
		TAILQ_REMOVE(&one->thread->samples, one, turn);
	if (one->copied)
		LIST_REMOVE(one, of_copy);
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
	if (one->copied)
		waiting->counts.not_completed++;
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

/* The user stack has come. */
static void end_wait_for_user(struct record_waiting *waiting, struct waiting *one)
{
	one->needs_user = false;
	LIST_REMOVE(one, bucket);
	waiting->counts.waiting--;
	keep_frames(waiting, one);
}

/* Returns whether @one waits until its stack, that of @user, is completed. */
static bool wait_for_copy(struct record_waiting *waiting, struct waiting *one,
			  const struct sframe_unwind_sample_record *user,
			  const struct record_copy *copy, struct copied_stack **copied)
{
	if (!waiting->copies || !copy || !copy->copy)
		return false;
	if (!*copied)
		*copied = copies_add(waiting->copies, user, copy, RECORD_DEPTH);
	if (!*copied) {
		waiting->counts.not_completed++;
		return false;
	}
	end_wait_for_user(waiting, one);
	one->copied = *copied;
	LIST_INSERT_HEAD(&one->copied->samples, one, of_copy);
	return true;
}

static int add_stack(struct record_waiting *waiting,
		     const struct sframe_unwind_sample_record *user,
		     const struct record_copy *copy,
		     struct sframe_unwind_profile_writer *writer)
{
	struct copied_stack *copied = NULL;
	struct waiting *one, *next;
	int ret = 0;

	for (one = LIST_FIRST(bucket_of(waiting, user->cookie)); one && !ret;
	     one = next) {
		next = LIST_NEXT(one, bucket);
		if (one->cookie != user->cookie)
			continue;
		record_sample_set_user(&one->record, user, waiting->frames, waiting->how);
		if (wait_for_copy(waiting, one, user, copy, &copied))
			continue;
		if (one->needs_time) {
			end_wait_for_user(waiting, one);
			continue;
		}
		ret = write_sample(waiting, &one->record, writer);
		remove_waiting(waiting, one);
	}
	return ret;
}

/* @copied is over: write its samples, but for those whose threads have not run since. */
static int end_wait_for_copy(struct record_waiting *waiting, struct copied_stack *copied,
			     struct sframe_unwind_profile_writer *writer)
{
	struct waiting *one;
	int ret = 0;

	while (!ret && (one = LIST_FIRST(&copied->samples))) {
		LIST_REMOVE(one, of_copy);
		one->copied = NULL;
		waiting->counts.completed += copied->is_complete;
		waiting->counts.not_completed += !copied->is_complete;
		if (copied->is_complete)
			record_sample_add_user(&one->record, &copied->walk, copied->stop,
					       waiting->frames, waiting->how);
		if (one->needs_time) {
			keep_frames(waiting, one);
			continue;
		}
		ret = write_sample(waiting, &one->record, writer);
		remove_waiting(waiting, one);
	}
	return ret;
}

int record_waiting_complete(struct record_waiting *waiting, bool is_urgent,
			    struct sframe_unwind_profile_writer *writer)
{
	struct copied_stack *copied;
	int ret = 0;

	copies_work(waiting->copies, is_urgent);
	while (!ret && (copied = copies_next(waiting->copies))) {
		ret = end_wait_for_copy(waiting, copied, writer);
		if (!ret)
			copies_remove(waiting->copies, copied);
	}
	return ret;
}

/* --- threads */

static struct thread_list *list_of(struct record_waiting *waiting,
				   const struct sampled_thread *thread)
{
	return thread->has_ended ? &waiting->ended : &waiting->threads;
}

/* Samples that still need the thread's time have lost sight of it. */
static void remove_thread(struct record_waiting *waiting,
			  struct sampled_thread *thread)
{
	struct waiting *one;

	while ((one = TAILQ_FIRST(&thread->samples)))
		remove_waiting(waiting, one);
	LIST_REMOVE(thread, bucket);
	TAILQ_REMOVE(list_of(waiting, thread), thread, age);
	waiting->counts.threads--;
	free(thread->pauses.ring);
	free(thread);
}

/* Returns a thread, a new one if need be, which is now the last one to be forgotten. */
static struct sampled_thread *get_thread(struct record_waiting *waiting,
					 pid_t tid)
{
	struct thread_bucket *bucket =
		&waiting->thread_buckets[(uint32_t)tid % THREAD_BUCKETS];
	struct sampled_thread *thread;

	LIST_FOREACH(thread, bucket, bucket)
		if (thread->tid == tid)
			break;
	if (thread && thread->has_ended)
		return thread;
	if (thread) {
		TAILQ_REMOVE(&waiting->threads, thread, age);
		TAILQ_INSERT_TAIL(&waiting->threads, thread, age);
		return thread;
	}
	if (waiting->counts.threads >= THREADS_MAX)
		remove_thread(waiting, TAILQ_EMPTY(&waiting->ended) ?
			      TAILQ_FIRST(&waiting->threads) :
			      TAILQ_FIRST(&waiting->ended));
	thread = table_allocate(sizeof(*thread));
	thread->tid = tid;
	TAILQ_INIT(&thread->samples);
	LIST_INSERT_HEAD(bucket, thread, bucket);
	TAILQ_INSERT_TAIL(&waiting->threads, thread, age);
	waiting->counts.threads++;
	return thread;
}

static void set_ended(struct record_waiting *waiting,
		      struct sampled_thread *thread, bool has_ended)
{
	TAILQ_REMOVE(list_of(waiting, thread), thread, age);
	thread->has_ended = has_ended;
	thread->round = waiting->round;
	TAILQ_INSERT_TAIL(list_of(waiting, thread), thread, age);
}

/*
 * Match the first sample of a thread with the pause that belongs to it. The kernel
 * reports the pause right after the sample, in another ring: either may not have been
 * read yet, or be lost. Returns 1 if there was something to do, 0 or an error.
 */
static int match_one(struct record_waiting *waiting,
		     struct sampled_thread *thread,
		     struct sframe_unwind_profile_writer *writer)
{
	struct waiting *one = TAILQ_FIRST(&thread->samples);
	struct pauses *pauses = &thread->pauses;
	const struct pause *pause;
	struct waiting *next;
	int ret;

	if (!one || !pauses_nr(pauses))
		return 0;
	/* The pause of this sample was forgotten: it must not get a later one. */
	if (one->record.time < pauses->forgotten) {
		remove_waiting(waiting, one);
		return 1;
	}
	pause = pauses_first(pauses);
	if (pause->from < one->record.time) {
		/* Keep the current pause, although its sample was lost. */
		if (!pause->until && pauses_nr(pauses) == 1)
			return 0;
		pauses->first++;
		return 1;
	}
	next = TAILQ_NEXT(one, turn);
	if (next && next->record.time <= pause->from) {
		remove_waiting(waiting, one);
		return 1;
	}
	if (!pause->until)
		return 0;
	pauses->first++;
	if (!pause->is_blocked) {
		remove_waiting(waiting, one);
		return 1;
	}
	one->record.sample.period = pause->until - one->record.time;
	one->needs_time = false;
	TAILQ_REMOVE(&thread->samples, one, turn);
	if (one->needs_user || one->copied)
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
	const struct pause next = {
		.from = time,
		.is_blocked = what == RECORD_BLOCKED,
	};
	struct sampled_thread *thread;
	struct pause *pause;

	/* A thread that has ended has no number when it is taken from its CPU. */
	if (tid <= 0)
		return 0;
	thread = get_thread(waiting, tid);
	if (what == RECORD_ENDED) {
		set_ended(waiting, thread, true);
		return 0;
	}
	if (what == RECORD_RUNS) {
		if (!pauses_nr(&thread->pauses))
			return 0;
		pause = pauses_last(&thread->pauses);
		if (!pause->until)
			pause->until = time;
		return match(waiting, thread, writer);
	}
	pauses_add(&thread->pauses, &next);
	return match(waiting, thread, writer);
}

void record_waiting_begin_round(struct record_waiting *waiting)
{
	struct sampled_thread *thread;

	waiting->round++;
	while ((thread = TAILQ_FIRST(&waiting->ended)) &&
	       waiting->round - thread->round > ENDED_ROUNDS)
		remove_thread(waiting, thread);
}

static int wait_for_time(struct record_waiting *waiting, struct waiting *one,
			 struct sframe_unwind_profile_writer *writer)
{
	one->thread = get_thread(waiting, one->record.tid);
	one->needs_time = true;
	TAILQ_INSERT_TAIL(&one->thread->samples, one, turn);
	return match(waiting, one->thread, writer);
}

int record_waiting_add(struct record_waiting *waiting,
		       const struct sframe_unwind_sample_record *from,
		       const struct record_copy *copy, uint32_t event, bool is_off_cpu,
		       struct sframe_unwind_profile_writer *writer)
{
	struct sframe_unwind_profile_record record;
	struct waiting *one;
	int ret = 0;

	if (from->type == SFRAME_UNWIND_RECORD_USER_STACK)
		return add_stack(waiting, from, copy, writer);
	/* Idle CPUs, and processes of other namespaces, do not wait. */
	if (is_off_cpu && !from->tid)
		return 0;
	record_sample_begin(&record, from, event, waiting->frames);
	if (from->user == SFRAME_UNWIND_USER_REFUSED)
		record.sample.stop = SFRAME_UNWIND_PROFILE_STOP_REFUSED;
	if (from->user == SFRAME_UNWIND_USER_AT_ONCE)
		record_sample_set_user(&record, from, waiting->frames,
				       waiting->how);
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
static bool is_void(const struct waiting *one)
{
	const struct sampled_thread *thread;

	if (!one->needs_time)
		return false;
	thread = one->thread;
	/* After its end, a thread is taken from its CPU once more. */
	return thread->has_ended || !pauses_nr(&thread->pauses) ||
	       !pauses_last(&thread->pauses)->is_blocked ||
	       TAILQ_FIRST(&thread->samples) != one;
}

int record_waiting_end(struct record_waiting *waiting, uint64_t time,
		       struct sframe_unwind_profile_writer *writer)
{
	struct waiting *one;
	int ret = 0;

	while (!ret && (one = TAILQ_FIRST(&waiting->list))) {
		if (is_void(one))
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
	struct sampled_thread *thread;
	struct waiting *one;

	if (!waiting)
		return;
	while ((one = TAILQ_FIRST(&waiting->list)))
		remove_waiting(waiting, one);
	while ((thread = TAILQ_FIRST(&waiting->threads)) ||
	       (thread = TAILQ_FIRST(&waiting->ended)))
		remove_thread(waiting, thread);
	free(waiting);
}
