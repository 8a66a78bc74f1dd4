// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

#include "profile/deferred.h"

/* glibc's header lacks it. */
#define TAILQ_FOREACH_SAFE(entry, list, member, following)		\
	for ((entry) = TAILQ_FIRST(list);				\
	     (entry) && ((following) = TAILQ_NEXT(entry, member), 1);	\
	     (entry) = (following))

/* Limits of memory, in bytes. */
#define SAMPLES_MAX	(64u << 20)
#define PARTS_MAX	(16u << 20)

/**
 * struct held - a copy of a sample, or a user part
 *
 * @age: in the list of samples, parts, or samples to return.
 * @bucket: in a bucket, except samples to return.
 * @record: the record; its pointers are not valid.
 * @cookie: the cookie.
 * @size: bytes that are counted for it.
 * @is_part: whether this is a user part.
 * @frames: the frames, followed by the raw data.
 */
struct held {
	TAILQ_ENTRY(held) age;
	LIST_ENTRY(held) bucket;
	struct sframe_unwind_profile_record record;
	uint64_t cookie;
	size_t size;
	bool is_part;
	uint64_t frames[];
};

void sfu_deferred_init(struct deferred *deferred)
{
	*deferred = (struct deferred){
		.keys = { 0x9e3779b97f4a7c15ULL, 0xd6e8feb86659fd93ULL },
	};
	/* If this fails, the keys above remain: they suffice unless a file is hostile. */
	(void)!getrandom(deferred->keys, sizeof(deferred->keys), GRND_NONBLOCK);
	deferred->keys[0] |= 1;
	deferred->keys[1] |= 1;
	TAILQ_INIT(&deferred->samples);
	TAILQ_INIT(&deferred->parts);
	TAILQ_INIT(&deferred->ready);
}

static struct held_bucket *find_bucket(struct deferred *deferred, bool is_part,
				       uint32_t tid, uint64_t cookie)
{
	const uint64_t hash = cookie * deferred->keys[0] +
			      tid * deferred->keys[1];

	return &deferred->buckets[(is_part ? HELD_BUCKETS : 0) + (hash >> 48)];
}

static bool has_key(const struct held *held, uint32_t tid, uint64_t cookie)
{
	return held->record.tid == tid && held->cookie == cookie;
}

static struct held *find_part(struct deferred *deferred, uint32_t tid,
			      uint64_t cookie)
{
	struct held *held;

	LIST_FOREACH(held, find_bucket(deferred, true, tid, cookie), bucket)
		if (has_key(held, tid, cookie))
			return held;
	return NULL;
}

static unsigned int nr_frames(const struct sframe_unwind_profile_sample *sample)
{
	return sample->nr_kernel + sample->nr_user;
}

/* Returns a copy, in its bucket but in no list; or NULL. */
static struct held *hold(struct deferred *deferred, const struct parsed *parsed)
{
	const struct sframe_unwind_profile_sample *sample =
		&parsed->record.sample;
	const size_t frames_size = nr_frames(sample) * sizeof(uint64_t);
	const size_t raw_size = sample->raw ? sample->raw_size : 0;
	struct held *held;

	if (!deferred->buckets)
		deferred->buckets = calloc(2 * HELD_BUCKETS,
					   sizeof(*deferred->buckets));
	held = deferred->buckets ?
	       malloc(sizeof(*held) + frames_size + raw_size) : NULL;
	if (!held)
		return NULL;
	held->record = parsed->record;
	held->cookie = parsed->cookie;
	held->size = sizeof(*held) + frames_size + raw_size;
	held->is_part = parsed->is_user_part;
	memcpy(held->frames, parsed->frames, frames_size);
	if (raw_size)
		memcpy((char *)held->frames + frames_size, sample->raw,
		       raw_size);
	LIST_INSERT_HEAD(find_bucket(deferred, held->is_part, held->record.tid,
				     held->cookie), held, bucket);
	return held;
}

/* Append the user part to the frames of @parsed. */
static void append(struct parsed *parsed, const struct held *part)
{
	struct sframe_unwind_profile_sample *sample = &parsed->record.sample;
	const unsigned int have = nr_frames(sample);
	unsigned int nr = part->record.sample.nr_user;

	if (nr > SFRAME_UNWIND_PROFILE_FRAMES - have)
		nr = SFRAME_UNWIND_PROFILE_FRAMES - have;
	memcpy(parsed->frames + have, part->frames, nr * sizeof(uint64_t));
	sample->nr_user += nr;
	/* That tells only of the frames that came with the sample. */
	sample->how = NULL;
}

int sfu_deferred_add_sample(struct deferred *deferred, struct parsed *parsed)
{
	struct held *held = NULL, *part = NULL;

	if (deferred->buckets)
		part = find_part(deferred, parsed->record.tid, parsed->cookie);
	if (part) {
		append(parsed, part);
		return 1;
	}
	held = hold(deferred, parsed);
	if (!held)
		return -ENOMEM;
	TAILQ_INSERT_TAIL(&deferred->samples, held, age);
	deferred->samples_size += held->size;
	return 0;
}

static void make_ready(struct deferred *deferred, struct held *held)
{
	LIST_REMOVE(held, bucket);
	TAILQ_REMOVE(&deferred->samples, held, age);
	deferred->samples_size -= held->size;
	TAILQ_INSERT_TAIL(&deferred->ready, held, age);
}

static void free_part(struct deferred *deferred, struct held *part)
{
	LIST_REMOVE(part, bucket);
	TAILQ_REMOVE(&deferred->parts, part, age);
	deferred->parts_size -= part->size;
	free(part);
}

int sfu_deferred_add_part(struct deferred *deferred, const struct parsed *parsed)
{
	const uint32_t tid = parsed->record.tid;
	const uint64_t cookie = parsed->cookie;
	struct held *part, *held, *next;

	part = hold(deferred, parsed);
	if (!part)
		return -ENOMEM;
	TAILQ_INSERT_TAIL(&deferred->parts, part, age);
	deferred->parts_size += part->size;
	for (held = LIST_FIRST(find_bucket(deferred, false, tid, cookie)); held;
	     held = next) {
		next = LIST_NEXT(held, bucket);
		if (has_key(held, tid, cookie))
			make_ready(deferred, held);
	}
	TAILQ_FOREACH_SAFE(held, &deferred->parts, age, next) {
		if (deferred->parts_size <= PARTS_MAX || held == part)
			break;
		free_part(deferred, held);
	}
	return 0;
}

bool sfu_deferred_next(struct deferred *deferred, bool is_end,
		       struct parsed *parsed)
{
	struct sframe_unwind_profile_sample *sample = &parsed->record.sample;
	struct held *held = TAILQ_FIRST(&deferred->ready), *part;
	size_t frames_size;

	if (!held && (is_end || deferred->samples_size > SAMPLES_MAX)) {
		held = TAILQ_FIRST(&deferred->samples);
		if (held)
			make_ready(deferred, held);
	}
	if (!held)
		return false;
	TAILQ_REMOVE(&deferred->ready, held, age);
	frames_size = nr_frames(&held->record.sample) * sizeof(uint64_t);
	parsed->record = held->record;
	memcpy(parsed->frames, held->frames, frames_size);
	sample->frames = parsed->frames;
	sample->how = NULL;
	if (sample->raw) {
		/* At most 64 KiB, as a name. */
		memcpy(parsed->name, (char *)held->frames + frames_size,
		       sample->raw_size);
		sample->raw = parsed->name;
	}
	part = find_part(deferred, held->record.tid, held->cookie);
	if (part)
		append(parsed, part);
	else
		sample->flags |= SFRAME_UNWIND_PROFILE_USER_MISSING;
	free(held);
	return true;
}

static void free_list(struct held_list *list)
{
	struct held *held;

	while ((held = TAILQ_FIRST(list))) {
		TAILQ_REMOVE(list, held, age);
		free(held);
	}
}

void sfu_deferred_reset(struct deferred *deferred)
{
	free_list(&deferred->samples);
	free_list(&deferred->parts);
	free_list(&deferred->ready);
	free(deferred->buckets);
	sfu_deferred_init(deferred);
}
