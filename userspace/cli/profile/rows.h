/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Rows of a report: a tree added up by command, object, function.
 */
#ifndef CLI_PROFILE_ROWS_H
#define CLI_PROFILE_ROWS_H

#include "cli/profile/tree.h"

/* Columns of rows. */
#define ROW_COMM	0x1U
#define ROW_PID		0x2U
#define ROW_OBJECT	0x4U
#define ROW_SYMBOL	0x8U

/**
 * struct row - one row
 *
 * @comm: number of the thread's name in the tree.
 * @pid: the process.
 * @object: number of the object's name in @rows.texts.
 * @symbol: number of the function's name in @rows.texts.
 * @code: kind of code.
 * @self: events of samples in it.
 * @samples: number of those.
 * @children: events of samples in it and in what it called.
 */
struct row {
	uint32_t comm;
	uint32_t pid;
	uint32_t object;
	uint32_t symbol;
	enum code code;
	uint64_t self;
	uint64_t samples;
	uint64_t children;
};

/**
 * struct rows - all rows of one event
 *
 * @list: the rows; those that do not occur have 0 everywhere.
 * @keys: their numbers.
 * @room: room in @list.
 * @texts: names of objects and functions.
 * @of_node: number of the row of each frame of the tree, else TABLE_NONE.
 * @total: events of all samples.
 * @samples: number of samples.
 */
struct rows {
	struct row *list;
	struct pairs keys;
	uint32_t room;
	struct strings texts;
	uint32_t *of_node;
	uint64_t total;
	uint64_t samples;
};

/* Add up what the tree has below node @source. @columns: ROW_* bits. */
void rows_make(struct rows *rows, const struct tree *tree, struct load *load,
	       uint32_t source, uint32_t columns);

void rows_free(struct rows *rows);

/* What is printed before the name of a function. */
const char *rows_code_mark(enum code code);

/* Whether node @node has an ancestor of the same row. */
bool rows_is_nested(const struct rows *rows, const struct tree *tree,
		    uint32_t node);

/*
 * Parse what --sort takes: names of columns, with commas. Returns ROW_* bits, or
 * 0 for an unknown one.
 */
uint32_t rows_parse_columns(const char *text);

#endif /* CLI_PROFILE_ROWS_H */
