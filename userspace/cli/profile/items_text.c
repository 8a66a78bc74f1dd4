// SPDX-License-Identifier: GPL-2.0
/*
 * Lines of a report as text, for the width of a terminal.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/profile/common.h"
#include "cli/profile/items.h"

/* Characters of a line from which on there is room for: */
#define WIDTH_OBJECT	90	/* thread's name and object */
#define WIDTH_SELF	50	/* the second percentage */

#define COMM_WIDTH	15

static double percent(const struct items *items, uint64_t events)
{
	return items->rows.total ? 100.0 * events / items->rows.total : 0;
}

/* Write @text, escaped, in exactly @width characters and a blank. */
static void put_padded(FILE *to, const char *text, int width)
{
	char *escaped = common_escape(text);
	const int wide = common_width(escaped);

	fprintf(to, "%.*s%*s ", (int)common_cut(escaped, width), escaped,
		wide < width ? width - wide : 0, "");
	free(escaped);
}

static void put_percentages(FILE *to, const struct items *items,
			    const struct item *item,
			    const struct items_options *options, int width)
{
	const struct row *row = item ? &items->rows.list[item->row] : NULL;

	if (!item)
		fputs(options->children ? "CHILDREN " : "OVERHEAD ", to);
	else
		fprintf(to, "%7.2f%% ", percent(items, item->events));
	if (!options->children || width < WIDTH_SELF)
		return;
	if (!item)
		fputs("    SELF ", to);
	else if (item->depth)
		fputs("         ", to);
	else
		fprintf(to, "%7.2f%% ", percent(items, row->self));
}

static void put_columns(FILE *to, const struct items *items,
			const struct item *item,
			const struct items_options *options, int width)
{
	const int object_width = width / 5 < 40 ? width / 5 : 40;
	const struct row *row = item ? &items->rows.list[item->row] : NULL;
	const char *comm = "COMMAND", *object = "OBJECT";
	char pid[16] = "PID";

	if (width < WIDTH_OBJECT)
		return;
	if (row) {
		comm = item->depth ? "" : items->tree->comms.texts[row->comm];
		object = item->depth ? "" : items->rows.texts.texts[row->object];
		snprintf(pid, sizeof(pid), item->depth ? "" : "%u", row->pid);
	}
	if (options->columns & ROW_COMM)
		put_padded(to, comm, COMM_WIDTH);
	if (options->columns & ROW_PID)
		put_padded(to, pid, 8);
	if (options->columns & ROW_OBJECT)
		put_padded(to, object, options->columns & ROW_SYMBOL ?
			   object_width : width);
}

char *items_text(const struct items *items, const struct item *item,
		 const struct items_options *options, int width)
{
	char *text = NULL, *name;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	if (!to)
		return table_copy("");
	put_percentages(to, items, item, options, width);
	put_columns(to, items, item, options, width);
	if (!item) {
		fputs(options->columns & ROW_SYMBOL ? "  SYMBOL" : "", to);
	} else {
		name = common_escape(items_name(items, item));
		fprintf(to, "%*s%s%s%s", 2 * (int)item->depth, "",
			item->is_open ? "- " : item->can_open ? "+ " : "  ",
			item->depth || !name[0] ? "" :
			rows_code_mark(items->rows.list[item->row].code), name);
		free(name);
	}
	fclose(to);
	if (!text)
		return table_copy("");
	text[common_cut(text, width)] = '\0';
	return text;
}
