// SPDX-License-Identifier: GPL-2.0
#include <stdio.h>
#include <stdlib.h>

#include "cli/profile/callers.h"
#include "cli/profile/common.h"

/* Levels that are printed. */
#define DEPTH_MAX	100u

/**
 * struct caller - a function that called, with what it called
 *
 * @function: the function.
 * @parent: number of what it called.
 * @events: events of samples.
 */
struct caller {
	uint32_t function;
	uint32_t parent;
	uint64_t events;
};

/**
 * struct callers - callers of one row
 *
 * @list: the callers; the first one is the row itself.
 * @keys: their numbers.
 * @room: room in @list.
 * @least: callers with fewer events are not printed.
 * @total: events of all samples.
 * @load: for names.
 */
struct callers {
	struct caller *list;
	struct pairs keys;
	uint32_t room;
	double least;
	uint64_t total;
	struct load *load;
};

static uint32_t add(struct callers *callers, uint32_t parent, uint32_t function,
		    uint64_t events)
{
	const uint32_t number = pairs_add(&callers->keys, parent, function);

	callers->list = table_grow(callers->list, &callers->room, number,
				   sizeof(*callers->list));
	callers->list[number].function = function;
	callers->list[number].parent = parent;
	callers->list[number].events += events;
	return number;
}

static void collect(struct callers *callers, const struct rows *rows,
		    const struct tree *tree, uint32_t row, bool children)
{
	add(callers, TABLE_NONE, TABLE_NONE, 0);
	for (uint32_t i = 1; i < tree->nr; i++) {
		uint32_t at = tree->nodes[i].parent, number = 0;
		uint64_t events;

		if (rows->of_node[i] != row)
			continue;
		events = children ? tree->nodes[i].total : tree->nodes[i].self;
		if (!events || (children && rows_is_nested(rows, tree, i)))
			continue;
		for (; tree->nodes[at].kind == NODE_FRAME;
		     at = tree->nodes[at].parent)
			number = add(callers, number, tree->nodes[at].number,
				     events);
	}
}

/* The largest caller of @parent less than number @before in the order. */
static uint32_t next_caller(const struct callers *callers, uint32_t parent,
			    uint32_t before)
{
	const struct caller *list = callers->list;
	uint32_t best = TABLE_NONE;

	for (uint32_t i = 1; i < callers->keys.nr; i++) {
		if (list[i].parent != parent ||
		    (double)list[i].events < callers->least)
			continue;
		if (before != TABLE_NONE &&
		    (list[i].events > list[before].events ||
		     (list[i].events == list[before].events && i <= before)))
			continue;
		if (best == TABLE_NONE || list[i].events > list[best].events)
			best = i;
	}
	return best;
}

static void print_level(const struct callers *callers, uint32_t parent,
			char *lines, unsigned int depth)
{
	uint32_t caller = next_caller(callers, parent, TABLE_NONE), next;

	for (; caller != TABLE_NONE && depth < DEPTH_MAX; caller = next) {
		char *name = common_escape(names_function(callers->load->names,
				callers->list[caller].function)->name);

		next = next_caller(callers, parent, caller);
		printf("            %.*s|--%.2f%%-- %s\n", (int)depth * 3, lines,
		       100.0 * callers->list[caller].events / callers->total,
		       name);
		free(name);
		lines[depth * 3] = next == TABLE_NONE ? ' ' : '|';
		lines[depth * 3 + 1] = ' ';
		lines[depth * 3 + 2] = ' ';
		print_level(callers, caller, lines, depth + 1);
	}
}

void callers_print(const struct rows *rows, const struct tree *tree,
		   struct load *load, uint32_t row, bool children, double limit)
{
	struct callers callers = {
		.least = limit / 100 * rows->total,
		.total = rows->total,
		.load = load,
	};
	char lines[DEPTH_MAX * 3 + 3];
	const uint64_t events = children ? rows->list[row].children :
					   rows->list[row].self;

	if ((double)events >= callers.least && rows->total) {
		collect(&callers, rows, tree, row, children);
		print_level(&callers, 0, lines, 0);
		putchar('\n');
	}
	free(callers.list);
	pairs_free(&callers.keys);
}
