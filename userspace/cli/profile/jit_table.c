// SPDX-License-Identifier: GPL-2.0
/*
 * A function covers a range of addresses. The ranges between all bounds are the leaves of a
 * tree, and a range is the union of a few nodes, at most two on each level. Each node has a
 * list of what covers it, by time. So of the functions that cover an address the last one
 * until a time is found by a binary search on each level, whatever a program says.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/profile/jit_table.h"

static void add(struct jit_table *table, uint64_t start, uint64_t size,
		uint64_t time, uint32_t name)
{
	table->list = table_grow(table->list, &table->room, table->nr,
				 sizeof(*table->list));
	table->list[table->nr] = (struct jit_function){
		.start = start,
		.end = start + size,
		.from = time,
		.until = JIT_NOW,
		.name = name,
		.order = table->nr,
	};
	table->nr++;
}

void jit_table_add(struct jit_table *table, uint64_t start, uint64_t size,
		   uint64_t time, const char *name)
{
	const uint32_t old = table->names.pairs.nr;
	const uint32_t number = strings_add(&table->names, name);

	if (number == old)
		table->name_bytes += strlen(name) + 1;
	add(table, start, size, time, number);
}

void jit_table_add_same(struct jit_table *table, uint64_t start, uint64_t size,
			uint64_t time, uint32_t of)
{
	add(table, start, size, time, table->list[of].name);
}

void jit_table_end(struct jit_table *table, uint32_t number, uint64_t time)
{
	struct jit_function *function = &table->list[number];

	if (time < function->until)
		function->until = time;
}

void jit_table_end_all(struct jit_table *table, uint64_t time)
{
	for (; table->nr_ended < table->nr; table->nr_ended++)
		jit_table_end(table, table->nr_ended, time);
}

/* --- finishing */

static int compare_functions(const void *a, const void *b)
{
	const struct jit_function *left = a, *right = b;

	if (left->from != right->from)
		return left->from < right->from ? -1 : 1;
	return (left->order > right->order) - (left->order < right->order);
}

static int compare_numbers(const void *a, const void *b)
{
	const uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

/* Sort, and keep one of those that are equal. Returns their number. */
static uint32_t sort_numbers(uint64_t *numbers, uint32_t nr)
{
	uint32_t kept = 0;

	qsort(numbers, nr, sizeof(*numbers), compare_numbers);
	for (uint32_t i = 0; i < nr; i++)
		if (!kept || numbers[kept - 1] != numbers[i])
			numbers[kept++] = numbers[i];
	return kept;
}

/* Returns how many of sorted numbers are not greater than @number. */
static uint32_t count_until(const uint64_t *numbers, uint32_t nr, uint64_t number)
{
	uint32_t low = 0, high = nr;

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (numbers[middle] <= number)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Returns the leaf of @address, which a bound is not greater than. */
static uint32_t leaf_of(const struct jit_table *table, uint64_t address)
{
	return table->nr_leaves - 1 +
	       count_until(table->bounds, table->nr_bounds, address);
}

/* Call @fn with the nodes whose union is the range of @function. The root is 1. */
static void each_node(struct jit_table *table,
		      const struct jit_function *function, uint32_t number,
		      void (*fn)(struct jit_table *table, uint32_t node,
				 uint32_t number))
{
	uint32_t left = leaf_of(table, function->start);
	uint32_t right = leaf_of(table, function->end);

	for (; left < right; left /= 2, right /= 2) {
		if (left & 1)
			fn(table, left++, number);
		if (right & 1)
			fn(table, --right, number);
	}
}

static void count_in(struct jit_table *table, uint32_t node, uint32_t number)
{
	(void)number;
	table->nodes[node + 1]++;
}

/* Afterwards, each node has where its list ends, which is where the next one begins. */
static void put_in(struct jit_table *table, uint32_t node, uint32_t number)
{
	table->lists[table->nodes[node]++] = number;
}

static void make_tree(struct jit_table *table)
{
	uint32_t nr_nodes;

	table->nr_leaves = 1;
	/* One more, for what is behind the last bound. */
	while (table->nr_leaves < table->nr_bounds + 1)
		table->nr_leaves *= 2;
	nr_nodes = 2 * table->nr_leaves;
	table->nodes = table_allocate((nr_nodes + 2ULL) * sizeof(*table->nodes));
	for (uint32_t i = 0; i < table->nr; i++)
		each_node(table, &table->list[i], i, count_in);
	for (uint32_t i = 1; i <= nr_nodes; i++)
		table->nodes[i] += table->nodes[i - 1];
	table->lists = table_allocate((table->nodes[nr_nodes] + 1ULL) *
				      sizeof(*table->lists));
	for (uint32_t i = 0; i < table->nr; i++)
		each_node(table, &table->list[i], i, put_in);
	memmove(table->nodes + 1, table->nodes,
		nr_nodes * sizeof(*table->nodes));
	table->nodes[0] = 0;
}

static void note_times(struct jit_table *table)
{
	table->times = table_allocate((2ULL * table->nr + 1) *
				      sizeof(*table->times));
	for (uint32_t i = 0; i < table->nr; i++) {
		table->times[2 * i] = table->list[i].from;
		table->times[2 * i + 1] = table->list[i].until;
	}
	table->nr_times = sort_numbers(table->times, 2 * table->nr);
}

void jit_table_finish(struct jit_table *table)
{
	if (!table->nr)
		return;
	qsort(table->list, table->nr, sizeof(*table->list), compare_functions);
	table->bounds = table_allocate(2ULL * table->nr *
				       sizeof(*table->bounds));
	for (uint32_t i = 0; i < table->nr; i++) {
		table->bounds[2 * i] = table->list[i].start;
		table->bounds[2 * i + 1] = table->list[i].end;
	}
	table->nr_bounds = sort_numbers(table->bounds, 2 * table->nr);
	make_tree(table);
	note_times(table);
}

/* --- questions */

/* Returns the last function of a node until @time, or TABLE_NONE. */
static uint32_t last_of(const struct jit_table *table, uint32_t node,
			uint64_t time)
{
	uint32_t low = table->nodes[node], high = table->nodes[node + 1];
	const uint32_t first = low;

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (table->list[table->lists[middle]].from <= time)
			low = middle + 1;
		else
			high = middle;
	}
	return low > first ? table->lists[low - 1] : TABLE_NONE;
}

const struct jit_function *jit_table_find(const struct jit_table *table,
					  uint64_t address, uint64_t time)
{
	const struct jit_function *function;
	uint32_t found = TABLE_NONE;

	if (!table->nr || address < table->bounds[0])
		return NULL;
	for (uint32_t node = leaf_of(table, address); node; node /= 2) {
		const uint32_t last = last_of(table, node, time);

		if (last != TABLE_NONE && (found == TABLE_NONE || last > found))
			found = last;
	}
	if (found == TABLE_NONE)
		return NULL;
	function = &table->list[found];
	return time == JIT_NOW || time < function->until ? function : NULL;
}

uint32_t jit_table_version(const struct jit_table *table, uint64_t time)
{
	return count_until(table->times, table->nr_times, time);
}

const char *jit_table_name(const struct jit_table *table,
			   const struct jit_function *function)
{
	return table->names.texts[function->name];
}

uint64_t jit_table_size(const struct jit_table *table)
{
	const uint64_t names = table->names.pairs.nr;
	uint64_t size = table->room * sizeof(*table->list) +
			table->nr_bounds * sizeof(*table->bounds) +
			table->nr_times * sizeof(*table->times) +
			names * (sizeof(struct pair) + 64) + table->name_bytes;

	if (table->nr_leaves)
		size += 2ULL * table->nr_leaves * sizeof(*table->nodes) +
			table->nodes[2 * table->nr_leaves] *
				sizeof(*table->lists);
	return size;
}

void jit_table_free(struct jit_table *table)
{
	free(table->list);
	free(table->bounds);
	free(table->nodes);
	free(table->lists);
	free(table->times);
	strings_free(&table->names);
	*table = (struct jit_table){ 0 };
}
