// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Dynamic programming: the cheapest division of the first n rows is that of the first m
 * rows and one entry for the rest, for the m where the sum is smallest.
 *
 * In entries of one kind, and with starts of one size, row m contributes the same bytes
 * to each entry that it is in. So the sum is smallest where the cost of the first m rows,
 * minus these bytes of the first m rows, is smallest: the key of m. A queue for each kind
 * and size has the rows with which an entry may begin that ends with the row at hand: those
 * for which starts of this size suffice, without those that have a greater key than a
 * later one. Its head is the best.
 *
 * A small entry may be in a queue for larger starts, too: it costs more there, so it is
 * not chosen. Nor is a flexible one chosen where a default one is possible. So most
 * queues are of no use for most rows: a queue gets its rows only when an entry may begin
 * with one of them that no cheaper queue has.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cuts.h"
#include "module/decode/sframe_format.h"

/* Bytes of an entry without its rows. */
#define ENTRY_SIZE (SFRAME_FDE_SIZE + SFRAME_ATTR_SIZE)

/* Kinds of entries, default and flexible, by sizes of starts. */
#define NR_QUEUES 6

/* An entry may begin with row @first. */
struct begin {
	int64_t key;
	size_t first;
};

/**
 * struct queue - the first rows of entries of one kind
 *
 * @most: bytes of code of the largest entry.
 * @start_size: bytes of a row's start.
 * @is_plain: default entries.
 * @low: the first row from which on an entry is small enough.
 * @begins: array with room for @space elements.
 * @head, @tail: those in use, from @head up to @tail. Keys and rows increase.
 * @next: the first row that it has not got yet.
 * @sum: bytes of the rows in front of that, in entries of this kind; from any row on that
 *	is not behind the first one in @begins.
 */
struct queue {
	uint64_t most;
	unsigned int start_size;
	bool is_plain;
	size_t low;
	struct begin *begins;
	size_t space;
	struct begin *head;
	struct begin *tail;
	size_t next;
	int64_t sum;
};

/* Make room for an element behind the last one. Returns 0 or -ENOMEM. */
static int make_room(struct queue *queue)
{
	const size_t used = queue->tail - queue->head;
	const size_t space = queue->space ? 2 * queue->space : 64;
	struct begin *begins = queue->begins;

	/* At least half is free again: move the others to the front. */
	if (used > queue->space / 2 || !begins)
		begins = malloc(space * sizeof(*begins));
	if (!begins)
		return -ENOMEM;
	if (used)
		memmove(begins, queue->head, used * sizeof(*begins));
	if (begins != queue->begins) {
		free(queue->begins);
		queue->begins = begins;
		queue->space = space;
	}
	queue->head = begins;
	queue->tail = begins + used;
	return 0;
}

/* An entry may begin with row @number; those in front of it cost @before. */
static int add_begin(struct queue *queue, size_t number, uint64_t before)
{
	const int64_t key = before - queue->sum;
	struct begin *tail = queue->tail;

	while (tail > queue->head && tail[-1].key >= key)
		tail--;
	queue->tail = tail;
	if ((!tail || tail == queue->begins + queue->space) && make_room(queue))
		return -ENOMEM;
	*queue->tail++ = (struct begin){ key, number };
	return 0;
}

/* Let @queue have its rows up to @last, and no others. Returns 0 or -ENOMEM. */
static int fill_queue(struct queue *queue, const struct row *rows, size_t last)
{
	if (queue->next < queue->low) {
		queue->head = queue->tail;
		queue->next = queue->low;
	}
	for (; queue->next <= last; queue->next++) {
		const struct row *row = &rows[queue->next];

		if (add_begin(queue, queue->next, queue->next ? row[-1].cost : 0))
			return -ENOMEM;
		queue->sum += queue->start_size +
			      (queue->is_plain ? row->plain : row->flexible);
	}
	while (queue->head->first < queue->low)
		queue->head++;
	return 0;
}

/* Set @queue->low, at least @least, for entries that end with row @last. */
static void set_low(struct queue *queue, const struct row *rows, size_t last,
		    size_t least)
{
	const uint64_t end = rows[last + 1].start;
	size_t low = queue->low > least ? queue->low : least;

	while (low <= last && end - rows[low].start > queue->most)
		low++;
	/* One row may be larger than any size of a start. */
	if (low > last && queue->most == UINT32_MAX &&
	    (!queue->is_plain || rows[last].plain))
		low = last;
	queue->low = low;
}

/*
 * Find the entry that ends with row @last and begins with row @least or later, a default
 * one with row @plain or later, which is not in front of @least.
 */
static int find_entry(struct queue queues[NR_QUEUES], struct row *rows,
		      size_t last, size_t least, size_t plain)
{
	struct row *row = &rows[last];
	/* Where entries begin that the queues so far have. */
	size_t from = last + 1;

	row->cost = UINT64_MAX;
	for (unsigned int i = 0; i < NR_QUEUES && from > least; i++) {
		struct queue *queue = &queues[i];
		const struct begin *best;
		uint64_t cost;

		/* Where all rows can be in default entries, no others are needed. */
		if (!queue->is_plain && plain == least)
			continue;
		set_low(queue, rows, last, queue->is_plain ? plain : least);
		if (queue->low >= from)
			continue;
		from = queue->low;
		if (fill_queue(queue, rows, last))
			return -ENOMEM;
		best = queue->head;
		cost = best->key + queue->sum + ENTRY_SIZE;
		if (cost < row->cost ||
		    (cost == row->cost && best->first > row->first)) {
			row->cost = cost;
			row->first = best->first;
		}
	}
	return 0;
}

int sfu_cuts_find(struct row *rows, size_t count, uint32_t max_rows)
{
	/*
	 * An entry in one of these costs more than the same one in another in front of it.
	 * Flexible entries begin in front of default ones only if a row needs them, and then
	 * default ones with larger starts do not begin there either.
	 */
	struct queue queues[NR_QUEUES] = {
		{ .most = UINT8_MAX, .start_size = 1, .is_plain = true },
		{ .most = UINT8_MAX, .start_size = 1 },
		{ .most = UINT16_MAX, .start_size = 2, .is_plain = true },
		{ .most = UINT16_MAX, .start_size = 2 },
		{ .most = UINT32_MAX, .start_size = 4, .is_plain = true },
		{ .most = UINT32_MAX, .start_size = 4 },
	};
	size_t plain = 0;
	int err = 0;

	for (size_t i = 0; !err && i < count; i++) {
		const size_t least = i < max_rows ? 0 : i + 1 - max_rows;

		if (!rows[i].plain)
			plain = i + 1;
		if (plain < least)
			plain = least;
		err = find_entry(queues, rows, i, least, plain);
	}
	for (unsigned int i = 0; i < NR_QUEUES; i++)
		free(queues[i].begins);
	return err;
}
