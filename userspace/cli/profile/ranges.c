// SPDX-License-Identifier: GPL-2.0
#include <stdlib.h>
#include <string.h>

#include "cli/profile/ranges.h"

/* Linux' own limit (vm.max_map_count) is usually less. */
#define RANGES_MAX	(1u << 18)

/**
 * struct ranges - ranges
 *
 * @list: the ranges, which do not overlap.
 * @nr: number of those.
 * @room: room for those.
 * @references: how often this is used.
 * @usage: where it is counted.
 */
struct ranges {
	struct mapping *list;
	uint32_t nr;
	uint32_t room;
	uint32_t references;
	struct ranges_usage *usage;
};

struct ranges *ranges_create(struct ranges_usage *usage)
{
	struct ranges *ranges = table_allocate(sizeof(*ranges));

	ranges->references = 1;
	ranges->usage = usage;
	usage->bytes += sizeof(*ranges);
	return ranges;
}

/* Make room for @nr ranges. */
static void make_room(struct ranges *ranges, uint32_t nr)
{
	const uint32_t old = ranges->room;

	ranges->list = table_grow(ranges->list, &ranges->room, nr,
				  sizeof(*ranges->list));
	ranges->usage->bytes += (uint64_t)(ranges->room - old) *
				sizeof(*ranges->list);
}

struct ranges *ranges_get(struct ranges *ranges)
{
	if (ranges)
		ranges->references++;
	return ranges;
}

void ranges_put(struct ranges *ranges)
{
	if (!ranges || --ranges->references)
		return;
	ranges->usage->bytes -= sizeof(*ranges) + (uint64_t)ranges->room *
				sizeof(*ranges->list);
	free(ranges->list);
	free(ranges);
}

struct ranges *ranges_own(struct ranges *ranges, struct ranges_usage *usage)
{
	struct ranges *copy;

	if (ranges && ranges->references == 1)
		return ranges;
	copy = ranges_create(usage);
	if (ranges && ranges->nr) {
		make_room(copy, ranges->nr);
		copy->nr = ranges->nr;
		usage->moved += ranges->nr;
		memcpy(copy->list, ranges->list,
		       ranges->nr * sizeof(*copy->list));
	}
	ranges_put(ranges);
	return copy;
}

/* Returns the number of ranges that end at or before @address. */
static uint32_t find_place(const struct ranges *ranges, uint64_t address)
{
	uint32_t low = 0, high = ranges->nr;

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (ranges->list[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Replace @nr ranges at @place by @nr_new others. */
static void replace(struct ranges *ranges, uint32_t place, uint32_t nr,
		    const struct mapping *new, uint32_t nr_new)
{
	const uint32_t behind = ranges->nr - place - nr;

	make_room(ranges, ranges->nr + nr_new);
	ranges->usage->moved += behind;
	memmove(ranges->list + place + nr_new, ranges->list + place + nr,
		behind * sizeof(*ranges->list));
	memcpy(ranges->list + place, new, nr_new * sizeof(*new));
	ranges->nr = place + nr_new + behind;
}

void ranges_add(struct ranges *ranges, const struct mapping *mapping)
{
	const uint32_t place = find_place(ranges, mapping->start);
	struct mapping new[3];
	uint32_t nr_new = 0, end = place;

	while (end < ranges->nr && ranges->list[end].start < mapping->end)
		end++;
	if (end > place && ranges->list[place].start < mapping->start) {
		new[nr_new] = ranges->list[place];
		new[nr_new++].end = mapping->start;
	}
	new[nr_new++] = *mapping;
	if (end > place && ranges->list[end - 1].end > mapping->end) {
		new[nr_new] = ranges->list[end - 1];
		new[nr_new].offset += mapping->end - new[nr_new].start;
		new[nr_new++].start = mapping->end;
	}
	if (ranges->nr + nr_new <= RANGES_MAX)
		replace(ranges, place, end - place, new, nr_new);
}

const struct mapping *ranges_find(const struct ranges *ranges, uint64_t address)
{
	uint32_t place;

	if (!ranges)
		return NULL;
	place = find_place(ranges, address);
	if (place == ranges->nr || ranges->list[place].start > address)
		return NULL;
	return &ranges->list[place];
}

uint32_t ranges_nr(const struct ranges *ranges)
{
	return ranges ? ranges->nr : 0;
}
