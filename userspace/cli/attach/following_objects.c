// SPDX-License-Identifier: GPL-2.0
/*
 * Following: announced objects that have been tried and have no section. They are
 * remembered from look to look while they are announced, so that they are not converted
 * for nothing, and that no other object gets a section where they say that their code is.
 */
#include <string.h>

#include "clock.h"
#include "following.h"

/*
 * An object is refused when all tries together have had this cost. The pause after a try
 * is AGAIN_NS, doubled for each cost of 2 before, up to AGAIN_MAX_NS: so that is after 3
 * minutes at least if its code is not usable, and 40 s if its conversion fails. The next
 * look after the first try is not too early: see CODE_MIN_NS.
 */
#define MAX_COST	32
#define AGAIN_NS	(50 * MS)
#define AGAIN_MAX_NS	(10 * SECOND)

void following_begin_objects(struct following *following)
{
	const struct reader_code_objects *from = &following->request->code.objects;

	following->nr_tried = from->nr;
	for (unsigned int i = 0; i < from->nr; i++)
		following->tried[i] = (struct tried_object) {
			.object = from->all[i],
		};
}

void following_end_objects(struct following *following)
{
	struct reader_code_objects *to = &following->code->objects;

	to->nr = following->nr_tried;
	for (unsigned int i = 0; i < to->nr; i++) {
		to->all[i] = following->tried[i].object;
		following->code->is_partial |= to->all[i].why != CODE_REFUSED;
	}
}

static struct tried_object *find(struct following *following, uint64_t key)
{
	for (unsigned int i = 0; i < following->nr_tried; i++)
		if (following->tried[i].object.key == key)
			return &following->tried[i];
	return NULL;
}

bool following_has_tried(struct following *following,
			 const struct announced *announced, uint64_t key)
{
	struct tried_object *tried = find(following, key);

	if (!tried)
		return false;
	tried->announced = *announced;
	tried->is_listed = true;
	return true;
}

void following_forget_others(struct following *following)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < following->nr_tried; i++)
		if (following->tried[i].is_listed)
			following->tried[nr++] = following->tried[i];
	following->nr_tried = nr;
}

void following_forget(struct following *following, uint64_t key)
{
	struct tried_object *tried = find(following, key);
	const struct tried_object *end = following->tried + following->nr_tried;

	if (!tried)
		return;
	memmove(tried, tried + 1, (end - tried - 1) * sizeof(*tried));
	following->nr_tried--;
}

/* The one with the key of @range, which is made if there is none. The oldest one goes. */
static struct reader_code_object *get(struct following *following,
				      const struct reader_code_range *range)
{
	struct tried_object *tried = find(following, range->key);

	if (!tried) {
		tried = following->tried;
		if (following->nr_tried < CODE_MAX_OBJECTS)
			following->nr_tried++;
		memmove(tried + 1, tried,
			(following->nr_tried - 1) * sizeof(*tried));
		*tried = (struct tried_object) { .object.key = range->key };
	}
	if (range->start < range->end) {
		tried->object.start = range->start;
		tried->object.end = range->end;
	}
	return &tried->object;
}

void following_remember(struct following *following,
			const struct reader_code_range *range,
			enum reader_code_why why)
{
	get(following, range)->why = why;
}

void following_put_off(struct following *following,
		       const struct reader_code_range *range, unsigned int cost)
{
	struct reader_code_object *object = get(following, range);
	uint64_t pause;

	object->tries += cost;
	if (object->tries >= MAX_COST) {
		object->why = CODE_REFUSED;
		return;
	}
	pause = AGAIN_NS << object->tries / 2;
	object->why = CODE_LATER;
	object->again_at = now_ns() +
			   (pause < AGAIN_MAX_NS ? pause : AGAIN_MAX_NS);
}

/* It is tried again, at once. If other code is there now, that is found out then. */
void following_end_range(struct following *following,
			 const struct reader_code_range *range)
{
	struct reader_code_object *object = get(following, range);

	object->why = CODE_LATER;
	object->again_at = 0;
}

static bool overlaps(uint64_t start, uint64_t end,
		     const struct reader_code_range *range)
{
	return start < range->end && end > range->start;
}

/* Returns whether an object with another key that has been tried has code there. */
static bool tried_overlaps(const struct following *following,
			   const struct reader_code_range *range)
{
	for (unsigned int i = 0; i < following->nr_tried; i++) {
		const struct reader_code_object *object =
			&following->tried[i].object;

		if (object->key != range->key &&
		    overlaps(object->start, object->end, range))
			return true;
	}
	return false;
}

/* The same for one that is attached to. Sets *@index. */
static bool attached_overlaps(const struct following *following,
			      const struct reader_code_range *range,
			      unsigned int *index)
{
	const struct announced_ranges *attached = following->ranges;

	for (*index = 0; *index < attached->nr; (*index)++) {
		const struct reader_code_range *other = &attached->ranges[*index];

		if (overlaps(other->start, other->end, range))
			return true;
	}
	return false;
}

bool following_is_ambiguous(struct following *following,
			    const struct reader_code_range *range)
{
	struct announced_ranges *attached = following->ranges;
	bool is_ambiguous = tried_overlaps(following, range);
	unsigned int index;

	for (unsigned int i = 0; i < following->nr; i++) {
		const struct reader_code_range *other = &following->objects[i].range;

		is_ambiguous |= other != range &&
				overlaps(other->start, other->end, range);
	}
	while (attached_overlaps(following, range, &index)) {
		struct reader_code_range *other = &attached->ranges[index];

		reader_code_detach(other->id);
		attached->weight -= other->weight;
		following_remember(following, other, CODE_AMBIGUOUS);
		*other = attached->ranges[--attached->nr];
		is_ambiguous = true;
	}
	return is_ambiguous;
}

/* Returns whether @tried can be tried again now. */
static bool is_due(const struct following *following,
		   const struct tried_object *tried)
{
	const struct reader_code_object *object = &tried->object;
	const struct reader_code_range range = {
		.start = object->start,
		.end = object->end,
		.key = object->key,
	};
	unsigned int index;

	if (!tried->is_listed || tried->is_taken || object->why == CODE_REFUSED ||
	    (object->why == CODE_LATER && now_ns() < object->again_at))
		return false;
	return !tried_overlaps(following, &range) &&
	       !attached_overlaps(following, &range, &index);
}

struct tried_object *following_next_again(struct following *following)
{
	struct tried_object *next = NULL;

	for (unsigned int i = 0; i < following->nr_tried; i++) {
		struct tried_object *tried = &following->tried[i];

		if (is_due(following, tried) &&
		    (!next || tried->object.again_at < next->object.again_at))
			next = tried;
	}
	return next;
}
