// SPDX-License-Identifier: GPL-2.0
#include <stdlib.h>
#include <string.h>

#include "cli/profile/order.h"

#define FRAME_SIZE	(sizeof(uint64_t) + sizeof(uint32_t) + sizeof(uint8_t))

static size_t size_of(const struct ordered *sample)
{
	return sizeof(*sample) + sample->nr * FRAME_SIZE;
}

static struct ordered *copy(struct load *load,
			    const struct sframe_unwind_profile_record *record)
{
	const struct sframe_unwind_profile_sample *sample = &record->sample;
	const uint32_t *places;
	struct ordered *new;
	uint32_t nr;

	places = names_of_sample(load->names, record, &nr);
	new = malloc(sizeof(*new) + nr * FRAME_SIZE);
	if (!new)
		new = table_allocate(SIZE_MAX);
	new->record = *record;
	new->nr = nr;
	new->has_how = sample->how && sample->nr_user;
	if (sample->nr_kernel + sample->nr_user)
		memcpy(new->frames, sample->frames, nr * sizeof(uint64_t));
	else if (nr)
		new->frames[0] = sample->ip;
	memcpy(new->frames + nr, places, nr * sizeof(uint32_t));
	if (new->has_how)
		memcpy((uint8_t *)(new->frames + nr) + nr * sizeof(uint32_t),
		       sample->how, sample->nr_user);
	return new;
}

static bool is_before(const struct ordered *a, const struct ordered *b)
{
	if (a->record.time != b->record.time)
		return a->record.time < b->record.time;
	return a->order < b->order;
}

static void push(struct order *order, struct ordered *new)
{
	uint32_t at = order->nr++;

	order->heap = table_grow(order->heap, &order->room, at,
				 sizeof(struct ordered *));
	new->order = order->next++;
	order->size += size_of(new);
	for (; at && is_before(new, order->heap[(at - 1) / 2]);
	     at = (at - 1) / 2)
		order->heap[at] = order->heap[(at - 1) / 2];
	order->heap[at] = new;
}

static struct ordered *pop(struct order *order)
{
	struct ordered *first, *last;
	uint32_t at = 0, child;

	if (!order->nr)
		return NULL;
	first = order->heap[0];
	last = order->heap[--order->nr];
	for (; (child = 2 * at + 1) < order->nr; at = child) {
		if (child + 1 < order->nr &&
		    is_before(order->heap[child + 1], order->heap[child]))
			child++;
		if (!is_before(order->heap[child], last))
			break;
		order->heap[at] = order->heap[child];
	}
	order->heap[at] = last;
	order->size -= size_of(first);
	return first;
}

struct ordered *order_next(struct order *order, struct load *load)
{
	const struct sframe_unwind_profile_record *record;

	while (order->size <= ORDER_MAX) {
		record = load_next(load);
		if (!record)
			break;
		push(order, copy(load, record));
	}
	return pop(order);
}

void order_free(struct order *order)
{
	struct ordered *sample;

	while ((sample = pop(order)))
		free(sample);
	free(order->heap);
}
