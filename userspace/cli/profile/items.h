/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The lines of a report that can be folded: functions, and below those that are
 * open their callers.
 */
#ifndef CLI_PROFILE_ITEMS_H
#define CLI_PROFILE_ITEMS_H

#include "cli/profile/rows.h"

/**
 * struct items_options - which lines there are
 *
 * @columns: ROW_* bits.
 * @children: count samples also for callers.
 * @filter: text that names of functions, objects or threads must contain; or NULL.
 * @thread: only this thread's name; or NULL.
 */
struct items_options {
	uint32_t columns;
	bool children;
	const char *filter;
	const char *thread;
};

/**
 * struct item - a line
 *
 * @key: what it is, the same in later lists.
 * @row: number of its row.
 * @function: for a caller, number of the function.
 * @depth: 0 for a row, else how far out the caller is.
 * @events: events of samples, those of the first column.
 * @is_open: whether callers follow.
 * @can_open: whether it has callers.
 */
struct item {
	uint64_t key;
	uint32_t row;
	uint32_t function;
	uint32_t depth;
	uint64_t events;
	bool is_open;
	bool can_open;
};

/**
 * struct items - all lines; all 0 at the beginning
 *
 * @list: the lines.
 * @nr: number of those.
 * @room: room for those.
 * @rows: the rows.
 * @tree: the tree.
 * @load: for names.
 * @open: keys of the lines that are open.
 */
struct items {
	struct item *list;
	uint32_t nr;
	uint32_t room;
	struct rows rows;
	const struct tree *tree;
	struct load *load;
	struct pairs open;
};

/* Make the lines for what is below node @source of the tree. */
void items_make(struct items *items, const struct tree *tree,
		struct load *load, uint32_t source,
		const struct items_options *options);

/* Open the line with @key, or fold it: at the next items_make(). */
void items_toggle(struct items *items, uint64_t key);

void items_free(struct items *items);

/* Returns the number of the line with @key, or TABLE_NONE. */
uint32_t items_find(const struct items *items, uint64_t key);

/* The name of a line's function. Escape before printing. */
const char *items_name(const struct items *items, const struct item *item);

/*
 * Returns a line as text of at most @width characters, escaped, to be freed; or for
 * NULL the titles of the columns. What there is no room for is left out: first the
 * thread's name and the object.
 */
char *items_text(const struct items *items, const struct item *item,
		 const struct items_options *options, int width);

#endif /* CLI_PROFILE_ITEMS_H */
