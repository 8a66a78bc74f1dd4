// SPDX-License-Identifier: GPL-2.0
#include <stdlib.h>
#include <string.h>

#include "cli/profile/rows.h"

static uint32_t add_row(struct rows *rows, const struct node *comm,
			const struct function *function, uint32_t columns)
{
	struct row row = { .code = function->code };
	const uint32_t old = rows->keys.nr;
	uint32_t number;

	if (columns & ROW_COMM)
		row.comm = comm->number;
	if (columns & ROW_PID)
		row.pid = comm->pid;
	if (columns & ROW_OBJECT)
		row.object = strings_add(&rows->texts, function->short_object);
	if (columns & ROW_SYMBOL)
		row.symbol = strings_add(&rows->texts, function->name);
	number = pairs_add(&rows->keys, (uint64_t)row.comm << 32 | row.pid,
			   (uint64_t)row.object << 32 | row.symbol);
	if (number < old)
		return number;
	rows->list = table_grow(rows->list, &rows->room, number,
				sizeof(*rows->list));
	rows->list[number] = row;
	return number;
}

const char *rows_code_mark(enum code code)
{
	switch (code) {
	case CODE_KERNEL:	return "[k] ";
	case CODE_JIT:		return "[j] ";
	case CODE_MARK:		return "";
	default:		return "[.] ";
	}
}

bool rows_is_nested(const struct rows *rows, const struct tree *tree,
		    uint32_t node)
{
	const uint32_t row = rows->of_node[node];

	for (node = tree->nodes[node].parent;
	     tree->nodes[node].kind == NODE_FRAME;
	     node = tree->nodes[node].parent)
		if (rows->of_node[node] == row)
			return true;
	return false;
}

/**
 * struct known - row of a function of one thread's name
 *
 * @comm: number of the node of that name, or 0.
 * @row: number of the row.
 */
struct known {
	uint32_t comm;
	uint32_t row;
};

static void add_nodes(struct rows *rows, const struct tree *tree,
		      struct load *load, uint32_t source, uint32_t columns)
{
	uint32_t *comm_of = table_allocate(tree->nr * sizeof(*comm_of));
	struct known *known = NULL;
	uint32_t room = 0;

	for (uint32_t i = 1; i < tree->nr; i++) {
		const struct node *node = &tree->nodes[i];

		rows->of_node[i] = TABLE_NONE;
		if (node->kind == NODE_COMM && node->parent == source)
			comm_of[i] = i;
		if (node->kind != NODE_FRAME)
			continue;
		comm_of[i] = comm_of[node->parent];
		if (!comm_of[i])
			continue;
		known = table_grow(known, &room, node->number, sizeof(*known));
		if (known[node->number].comm != comm_of[i]) {
			known[node->number].comm = comm_of[i];
			known[node->number].row =
				add_row(rows, &tree->nodes[comm_of[i]],
					names_function(load->names,
						       node->number), columns);
		}
		rows->of_node[i] = known[node->number].row;
	}
	free(known);
	free(comm_of);
}

void rows_make(struct rows *rows, const struct tree *tree, struct load *load,
	       uint32_t source, uint32_t columns)
{
	*rows = (struct rows){ 0 };
	/* Number 0 is for columns that are left out. */
	strings_add(&rows->texts, "");
	rows->of_node = table_allocate(tree->nr * sizeof(uint32_t));
	rows->total = tree->nodes[source].total;
	rows->samples = tree->nodes[source].all_samples;
	add_nodes(rows, tree, load, source, columns);
	for (uint32_t i = 1; i < tree->nr; i++) {
		struct row *row;

		if (rows->of_node[i] == TABLE_NONE)
			continue;
		row = &rows->list[rows->of_node[i]];
		row->self += tree->nodes[i].self;
		row->samples += tree->nodes[i].samples;
		if (!rows_is_nested(rows, tree, i))
			row->children += tree->nodes[i].total;
	}
}

void rows_free(struct rows *rows)
{
	free(rows->list);
	pairs_free(&rows->keys);
	strings_free(&rows->texts);
	free(rows->of_node);
}

uint32_t rows_parse_columns(const char *text)
{
	static const struct {
		const char *name;
		uint32_t bit;
	} columns[] = {
		{ "comm", ROW_COMM }, { "command", ROW_COMM },
		{ "pid", ROW_PID }, { "dso", ROW_OBJECT },
		{ "object", ROW_OBJECT }, { "sym", ROW_SYMBOL },
		{ "symbol", ROW_SYMBOL }, { "function", ROW_SYMBOL },
		{ "overhead", 0 },
	};
	uint32_t bits = 0;

	for (;;) {
		const size_t length = strcspn(text, ",");
		size_t i;

		for (i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
			if (strlen(columns[i].name) == length &&
			    !strncmp(columns[i].name, text, length))
				break;
		if (i == sizeof(columns) / sizeof(columns[0]))
			return 0;
		bits |= columns[i].bit;
		if (!text[length])
			return bits;
		text += length + 1;
	}
}
