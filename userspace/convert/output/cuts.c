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
 * not chosen.
 */
#include <errno.h>
#include <stdlib.h>

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
 * @begins: a ring of @space elements, a power of two; @head to @tail are in use, counted
 *	without end. Keys and rows increase.
 * @most: bytes of code of the largest entry.
 * @start_size: bytes of a row's start.
 * @is_plain: default entries.
 * @low: the first row from which on an entry is small enough.
 * @sum: bytes of all rows so far, in entries of this kind.
 */
struct queue {
	struct begin *begins;
	size_t space;
	size_t head;
	size_t tail;
	uint64_t most;
	unsigned int start_size;
	bool is_plain;
	size_t low;
	int64_t sum;
};

static struct begin *begin_at(const struct queue *queue, size_t number)
{
	return &queue->begins[number & (queue->space - 1)];
}

static int grow(struct queue *queue)
{
	const size_t space = queue->space ? 2 * queue->space : 64;
	struct begin *begins = malloc(space * sizeof(*begins));

	if (!begins)
		return -ENOMEM;
	for (size_t i = queue->head; i < queue->tail; i++)
		begins[i & (space - 1)] = *begin_at(queue, i);
	free(queue->begins);
	queue->begins = begins;
	queue->space = space;
	return 0;
}

/* An entry may begin with row @number; those in front of it cost @before. */
static int add_begin(struct queue *queue, size_t number, uint64_t before)
{
	const struct begin begin = { before - queue->sum, number };

	while (queue->tail > queue->head &&
	       begin_at(queue, queue->tail - 1)->key >= begin.key)
		queue->tail--;
	if (queue->tail - queue->head == queue->space && grow(queue))
		return -ENOMEM;
	*begin_at(queue, queue->tail++) = begin;
	return 0;
}

/* Drop what is too far from row @last. */
static void drop_begins(struct queue *queue, const struct row *rows,
			size_t last, uint32_t max_rows)
{
	const uint64_t end = rows[last].end;

	if (queue->is_plain && !rows[last].plain)
		queue->low = last + 1;
	else if (last >= max_rows && queue->low < last + 1 - max_rows)
		queue->low = last + 1 - max_rows;
	while (queue->low <= last && end - rows[queue->low].start > queue->most)
		queue->low++;
	/* One row may be larger than any size of a start. */
	if (queue->low > last && queue->most == UINT32_MAX &&
	    (!queue->is_plain || rows[last].plain))
		queue->low = last;
	while (queue->head < queue->tail &&
	       begin_at(queue, queue->head)->first < queue->low)
		queue->head++;
}

/* Find the entry that ends with row @last. */
static int find_entry(struct queue queues[NR_QUEUES], struct row *rows,
		      size_t last, uint32_t max_rows)
{
	const uint64_t before = last ? rows[last - 1].cost : 0;
	struct row *row = &rows[last];

	row->cost = UINT64_MAX;
	for (unsigned int i = 0; i < NR_QUEUES; i++) {
		struct queue *queue = &queues[i];
		const struct begin *best;
		uint64_t cost;

		if (add_begin(queue, last, before))
			return -ENOMEM;
		queue->sum += queue->start_size +
			      (queue->is_plain ? row->plain : row->flexible);
		drop_begins(queue, rows, last, max_rows);
		if (queue->head == queue->tail)
			continue;
		best = begin_at(queue, queue->head);
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
	struct queue queues[NR_QUEUES] = {
		{ .most = UINT8_MAX, .start_size = 1, .is_plain = true },
		{ .most = UINT8_MAX, .start_size = 1 },
		{ .most = UINT16_MAX, .start_size = 2, .is_plain = true },
		{ .most = UINT16_MAX, .start_size = 2 },
		{ .most = UINT32_MAX, .start_size = 4, .is_plain = true },
		{ .most = UINT32_MAX, .start_size = 4 },
	};
	int err = 0;

	for (size_t i = 0; !err && i < count; i++)
		err = find_entry(queues, rows, i, max_rows);
	for (unsigned int i = 0; i < NR_QUEUES; i++)
		free(queues[i].begins);
	return err;
}
