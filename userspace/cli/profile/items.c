// SPDX-License-Identifier: GPL-2.0
#include <stdlib.h>
#include <string.h>

#include "cli/profile/items.h"

/* Callers of callers that are shown. */
#define DEPTH_MAX	127u

/**
 * struct part - a node of the tree that belongs to a line
 *
 * @node: the node.
 * @events: events of samples through it.
 */
struct part {
	uint32_t node;
	uint64_t events;
};

/**
 * struct parts - all of one line
 *
 * @list: the parts.
 * @nr: number of those.
 * @room: room for those.
 */
struct parts {
	struct part *list;
	uint32_t nr;
	uint32_t room;
};

static void add_part(struct parts *parts, uint32_t node, uint64_t events)
{
	parts->list = table_grow(parts->list, &parts->room, parts->nr,
				 sizeof(*parts->list));
	parts->list[parts->nr++] = (struct part){ node, events };
}

/* A hash of what a line is, FNV-1a: numbers change when samples are added. */
static uint64_t hash_text(uint64_t hash, const char *text)
{
	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3ULL;
	return (hash ^ 0xff) * 0x100000001b3ULL;
}

static uint64_t row_key(const struct items *items, const struct row *row)
{
	uint64_t key = 0xcbf29ce484222325ULL + row->pid;

	key = hash_text(key, items->tree->comms.texts[row->comm]);
	key = hash_text(key, items->rows.texts.texts[row->object]);
	return hash_text(key, items->rows.texts.texts[row->symbol]);
}

static bool has_key(const struct pairs *keys, uint64_t key)
{
	for (uint32_t i = 0; i < keys->nr; i++)
		if (keys->keys[i].a == key)
			return true;
	return false;
}

void items_toggle(struct items *items, uint64_t key)
{
	struct pairs old = items->open;

	items->open = (struct pairs){ 0 };
	for (uint32_t i = 0; i < old.nr; i++)
		if (old.keys[i].a != key)
			pairs_add(&items->open, old.keys[i].a, 0);
	if (!has_key(&old, key))
		pairs_add(&items->open, key, 0);
	pairs_free(&old);
}

static struct item *add_item(struct items *items, const struct item *item)
{
	items->list = table_grow(items->list, &items->room, items->nr,
				 sizeof(*items->list));
	items->list[items->nr] = *item;
	return &items->list[items->nr++];
}

static bool has_caller(const struct items *items, uint32_t node)
{
	return items->tree->nodes[items->tree->nodes[node].parent].kind ==
	       NODE_FRAME;
}

/**
 * struct group - the nodes that one function called from
 *
 * @function: the function.
 * @events: of all of them.
 * @parts: the nodes of the function.
 */
struct group {
	uint32_t function;
	uint64_t events;
	struct parts parts;
};

static int compare_groups(const void *a, const void *b)
{
	const struct group *left = a, *right = b;

	if (left->events != right->events)
		return left->events > right->events ? -1 : 1;
	return (left->function > right->function) -
	       (left->function < right->function);
}

/* Group the callers of @parts by function. Returns them, to be freed. */
static struct group *make_groups(const struct items *items,
				 const struct parts *parts, uint32_t *nr)
{
	struct pairs keys = { 0 };
	struct group *groups = NULL;
	uint32_t room = 0;

	for (uint32_t i = 0; i < parts->nr; i++) {
		const struct part *part = &parts->list[i];
		const uint32_t caller = items->tree->nodes[part->node].parent;
		struct group *group;
		uint32_t number;

		if (!has_caller(items, part->node))
			continue;
		number = pairs_add(&keys, items->tree->nodes[caller].number, 0);
		groups = table_grow(groups, &room, number, sizeof(*groups));
		group = &groups[number];
		group->function = items->tree->nodes[caller].number;
		group->events += part->events;
		add_part(&group->parts, caller, part->events);
	}
	*nr = keys.nr;
	if (*nr)
		qsort(groups, *nr, sizeof(*groups), compare_groups);
	pairs_free(&keys);
	return groups;
}

/* Add the line @item, of @parts, and if it is open its callers. */
static void add_lines(struct items *items, struct item item,
		      const struct parts *parts)
{
	struct group *groups;
	uint32_t nr;

	for (uint32_t i = 0; i < parts->nr && !item.can_open; i++)
		item.can_open = has_caller(items, parts->list[i].node);
	item.can_open = item.can_open && item.depth < DEPTH_MAX;
	item.is_open = item.can_open && has_key(&items->open, item.key);
	add_item(items, &item);
	if (!item.is_open)
		return;
	groups = make_groups(items, parts, &nr);
	for (uint32_t i = 0; i < nr; i++) {
		const struct group *group = &groups[i];
		struct item caller = {
			.row = item.row,
			.function = group->function,
			.depth = item.depth + 1,
			.events = group->events,
		};

		caller.key = hash_text(item.key * 31 + caller.depth,
				       items_name(items, &caller));
		add_lines(items, caller, &group->parts);
		free(group->parts.list);
	}
	free(groups);
}

/* The nodes of a row, with the events that count for it. */
static void collect(const struct items *items, uint32_t row, bool children,
		    struct parts *parts)
{
	const struct tree *tree = items->tree;

	for (uint32_t i = 1; i < tree->nr; i++) {
		uint64_t events;

		if (items->rows.of_node[i] != row)
			continue;
		events = children ? tree->nodes[i].total : tree->nodes[i].self;
		if (events && !(children && rows_is_nested(&items->rows, tree, i)))
			add_part(parts, i, events);
	}
}

static uint64_t events_of(const struct row *row, bool children)
{
	return children ? row->children : row->self;
}

static bool is_shown(const struct items *items, const struct row *row,
		     const struct items_options *options)
{
	const char *comm = items->tree->comms.texts[row->comm];

	if (!events_of(row, options->children))
		return false;
	if (options->thread && strcmp(options->thread, comm))
		return false;
	return !options->filter ||
	       strcasestr(items->rows.texts.texts[row->symbol],
			  options->filter) ||
	       strcasestr(items->rows.texts.texts[row->object],
			  options->filter) ||
	       strcasestr(comm, options->filter);
}

/**
 * struct sorting - for the comparison of rows
 *
 * @list: the rows.
 * @children: by which number.
 */
struct sorting {
	const struct row *list;
	bool children;
};

static int compare_rows(const void *a, const void *b, void *data)
{
	const struct sorting *sorting = data;
	const struct row *left = &sorting->list[*(const uint32_t *)a];
	const struct row *right = &sorting->list[*(const uint32_t *)b];
	const uint64_t one = events_of(left, sorting->children);
	const uint64_t other = events_of(right, sorting->children);

	if (one != other)
		return one > other ? -1 : 1;
	if (left->self != right->self)
		return left->self > right->self ? -1 : 1;
	return left < right ? -1 : left > right;
}

static void add_row(struct items *items, uint32_t number, bool children)
{
	const struct row *row = &items->rows.list[number];
	struct item item = {
		.key = row_key(items, row),
		.row = number,
		.events = events_of(row, children),
	};
	struct parts parts = { 0 };

	/* Their nodes are needed only if they are open; most are not. */
	if (!has_key(&items->open, item.key)) {
		item.can_open = true;
		add_item(items, &item);
		return;
	}
	collect(items, number, children, &parts);
	add_lines(items, item, &parts);
	free(parts.list);
}

void items_make(struct items *items, const struct tree *tree,
		struct load *load, uint32_t source,
		const struct items_options *options)
{
	struct sorting sorting;
	uint32_t *order, nr = 0;

	rows_free(&items->rows);
	items->tree = tree;
	items->load = load;
	items->nr = 0;
	rows_make(&items->rows, tree, load, source, options->columns);
	sorting = (struct sorting){ items->rows.list, options->children };
	order = table_allocate(items->rows.keys.nr * sizeof(*order));
	for (uint32_t i = 0; i < items->rows.keys.nr; i++)
		if (is_shown(items, &items->rows.list[i], options))
			order[nr++] = i;
	qsort_r(order, nr, sizeof(*order), compare_rows, &sorting);
	for (uint32_t i = 0; i < nr; i++)
		add_row(items, order[i], options->children);
	free(order);
}

void items_free(struct items *items)
{
	rows_free(&items->rows);
	free(items->list);
	pairs_free(&items->open);
	*items = (struct items){ 0 };
}

uint32_t items_find(const struct items *items, uint64_t key)
{
	for (uint32_t i = 0; i < items->nr; i++)
		if (items->list[i].key == key)
			return i;
	return TABLE_NONE;
}

const char *items_name(const struct items *items, const struct item *item)
{
	return item->depth ?
	       names_function(items->load->names, item->function)->name :
	       items->rows.texts.texts[items->rows.list[item->row].symbol];
}
