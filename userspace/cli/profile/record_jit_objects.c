// SPDX-License-Identifier: GPL-2.0
/*
 * "record": look at what processes announce to debuggers, while they run.
 */
#include <unistd.h>

#include "cli/profile/inspect.h"
#include "cli/profile/record_jit_makers.h"

/* Bytes of objects: of one process, of all processes of this user, and of all others. */
#define PROCESS_MAX	(64ULL << 20)
#define OWN_MAX		(512ULL << 20)
#define OTHERS_MAX	(128ULL << 20)

/* Time between two looks: the longer, the longer they take. */
#define OBJECTS_NS	(SECOND / 10)
#define OBJECTS_SHARE	20u
#define MORE_SHARE	5u	/* if the last one has left something */

/* The same for all processes of a user, and of this one: samples wait meanwhile. */
#define USER_TIME_SHARE	20u
#define OWN_TIME_SHARE	4u

static uint64_t left_of(uint64_t max, uint64_t used)
{
	return used < max ? max - used : 0;
}

static uint64_t least(uint64_t one, uint64_t other)
{
	return one < other ? one : other;
}

/* Returns how many bytes a process may still announce. */
static uint64_t room_of(const struct record_jit *jit, const struct maker *maker)
{
	const struct his *his = &jit->of_user[maker->user_number];
	const uint64_t room = left_of(PROCESS_MAX, maker->objects.size);

	if (maker_is_own(maker))
		return least(room, left_of(OWN_MAX, jit->own_objects));
	return least(least(room, left_of(OTHERS_MAX, jit->others_objects)),
		     left_of(OTHERS_MAX / USER_SHARE, his->objects));
}

/* Count what a process has announced since it had @before bytes. */
static void count(struct record_jit *jit, const struct maker *maker,
		  uint64_t before)
{
	const uint64_t more = maker->objects.size - before;

	jit->of_user[maker->user_number].objects += more;
	*(maker_is_own(maker) ? &jit->own_objects : &jit->others_objects) += more;
}

static void set_next(struct maker *maker, uint64_t took)
{
	const uint64_t share = took * (maker->objects.has_more ? MORE_SHARE :
								 OBJECTS_SHARE);
	uint64_t wait = share > OBJECTS_NS ? share : OBJECTS_NS;

	if (!maker->objects.has_list) {
		wait = maker->objects_wait_ns > wait ? maker->objects_wait_ns : wait;
		if (maker->objects_wait_ns < LOOK_MAX_NS)
			maker->objects_wait_ns *= 2;
	}
	maker->objects_at = now_ns() + wait;
}

/* When to look again. */
static uint64_t due_at(const struct record_jit *jit, const struct maker *maker)
{
	const uint64_t his_at = jit->of_user[maker->user_number].look_at;

	return maker->objects_at > his_at ? maker->objects_at : his_at;
}

bool maker_look(struct record_jit *jit, struct maker *maker, bool is_last)
{
	struct his *his = &jit->of_user[maker->user_number];
	const uint64_t now = now_ns(), before = maker->objects.size;
	const uint64_t due = due_at(jit, maker);

	if ((now < due && !is_last) ||
	    !maker_is_there(maker) || !inspect_count(maker->pid))
		return false;
	jit_objects_update(&maker->objects, maker->pid, maker->started,
			   room_of(jit, maker));
	count(jit, maker, before);
	if (maker->objects.is_there)
		maker->missed_at = 0;
	else if (!maker->missed_at)
		maker->missed_at = due;
	set_next(maker, now_ns() - now);
	his->look_at = now_ns() + (now_ns() - now) *
		       (maker_is_own(maker) ? OWN_TIME_SHARE : USER_TIME_SHARE);
	return true;
}

void maker_expect(struct maker *maker)
{
	if (maker->objects.has_list)
		return;
	maker->objects_at = least(maker->objects_at, now_ns() + LOOK_NS);
	maker->objects_wait_ns = LOOK_NS;
}

void maker_open_objects(struct record_jit *jit, struct maker *maker)
{
	const uint64_t due = maker->missed_at ? maker->missed_at :
						due_at(jit, maker);
	struct source *source = &maker->sources[OBJECTS];

	/* If it has ended, nobody knows what it has announced after the look before. */
	if (!(maker_look(jit, maker, true) && maker->objects.is_there) &&
	    due < now_ns())
		jit_objects_end(&maker->objects, due);
	source->is_open = jit_opening_set(&source->opening, &maker->objects);
	jit->nr_open += source->is_open;
	jit->of_user[maker->user_number].nr_open += source->is_open;
}

void maker_free_objects(struct record_jit *jit, struct maker *maker)
{
	const uint64_t before = maker->objects.size;

	if (!maker->objects.is_open)
		return;
	jit_objects_free(&maker->objects);
	count(jit, maker, before);
}
