// SPDX-License-Identifier: GPL-2.0
/*
 * sframe-unwind diff: compare two profiles.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/profile/common.h"
#include "cli/profile/flame.h"
#include "cli/profile/rows.h"

#define WIDTH	1200

const char diff_help[] =
"usage: sframe-unwind diff [OPTION]... BEFORE AFTER\n\n"
"Compare two profiles: how the share of each function has changed.\n\n"
"  sframe-unwind diff old.data new.data\n"
"  sframe-unwind diff -o diff.svg old.data new.data\n\n"
"  -o, --output=FILE  draw a flame graph of AFTER, in which red is what takes\n"
"                     more than in BEFORE, blue what takes less; SVG, or HTML\n"
"                     if the name ends with .html\n"
"  -e, --event=NAME   samples of this event; default: the first one of each\n"
"      --children     compare functions with all that they call\n"
"      --percent-limit=LIMIT  leave out smaller changes; default: 0.01\n"
COMMON_HELP;

enum {
	OPTION_CHILDREN = COMMON_OTHERS,
	OPTION_PERCENT_LIMIT,
};

static const struct option longs[] = {
	{ "output", required_argument, NULL, 'o' },
	{ "event", required_argument, NULL, 'e' },
	{ "children", no_argument, NULL, OPTION_CHILDREN },
	{ "percent-limit", required_argument, NULL, OPTION_PERCENT_LIMIT },
	COMMON_LONG
};

/**
 * struct diff - what to compare
 *
 * @common: options of all commands.
 * @output: the flame graph, or NULL.
 * @event: name of the event, or NULL.
 * @children: whether to compare functions with what they call.
 * @limit: smallest change in percent.
 * @paths: the profiles.
 */
struct diff {
	struct common common;
	const char *output;
	const char *event;
	bool children;
	double limit;
	const char *paths[2];
};

/**
 * struct side - one of the two profiles
 *
 * @load: the profile.
 * @tree: its samples.
 * @source: node of the event.
 */
struct side {
	struct load load;
	struct tree tree;
	uint32_t source;
};

/**
 * struct change - a function in both
 *
 * @object: its object.
 * @symbol: its name.
 * @share: percent of the samples, before and after.
 */
struct change {
	const char *object;
	const char *symbol;
	double share[2];
};

static int parse_option(struct diff *diff, int option)
{
	char *end;

	if (common_option(&diff->common, option))
		return option == COMMON_INPUT ?
		       usage_error("diff", "takes two profiles, not -i") : CLI_OK;
	switch (option) {
	case 'o':
		diff->output = optarg;
		return CLI_OK;
	case 'e':
		diff->event = optarg;
		return CLI_OK;
	case OPTION_CHILDREN:
		diff->children = true;
		return CLI_OK;
	case OPTION_PERCENT_LIMIT:
		diff->limit = strtod(optarg, &end);
		return end != optarg && !*end && diff->limit >= 0 ? CLI_OK :
		       usage_error("diff", "--percent-limit: no percentage");
	default:
		return usage_error("diff", NULL);
	}
}

static int open_side(struct side *side, const struct diff *diff,
		     const char *path)
{
	const struct tree_options options = {
		.source = SFRAME_UNWIND_PROFILE_NONE,
	};
	const int status = load_open(&side->load, path, &diff->common.names);

	if (status)
		return status;
	tree_read(&side->tree, &side->load, &options);
	side->source = flame_find_source(&side->tree, &side->load, diff->event);
	if (side->source)
		return CLI_OK;
	complain(diff->event ? "%s: no samples of event '%s'" :
			       "%s: no samples", path, diff->event);
	tree_free(&side->tree);
	load_close(&side->load);
	return CLI_NOTHING;
}

static void close_side(struct side *side)
{
	tree_free(&side->tree);
	load_close(&side->load);
}

static int compare(const void *a, const void *b)
{
	const struct change *left = a, *right = b;
	const double one = fabs(left->share[1] - left->share[0]);
	const double other = fabs(right->share[1] - right->share[0]);

	if (one != other)
		return one > other ? -1 : 1;
	return strcmp(left->symbol, right->symbol);
}

/**
 * struct changes - all changes
 *
 * @list: the changes.
 * @room: room for those.
 * @keys: their numbers.
 * @texts: names.
 */
struct changes {
	struct change *list;
	uint32_t room;
	struct pairs keys;
	struct strings texts;
};

static void add_rows(struct changes *changes, const struct diff *diff,
		     struct side *side, unsigned int which)
{
	struct rows rows;

	rows_make(&rows, &side->tree, &side->load, side->source,
		  ROW_OBJECT | ROW_SYMBOL);
	for (uint32_t i = 0; i < rows.keys.nr; i++) {
		const struct row *row = &rows.list[i];
		const uint32_t object = strings_add(&changes->texts,
						rows.texts.texts[row->object]);
		const uint32_t symbol = strings_add(&changes->texts,
						rows.texts.texts[row->symbol]);
		const uint32_t number = pairs_add(&changes->keys, object,
						  symbol);
		const uint64_t events = diff->children ? row->children :
							 row->self;
		struct change *change;

		changes->list = table_grow(changes->list, &changes->room,
					   number, sizeof(*changes->list));
		change = &changes->list[number];
		change->object = changes->texts.texts[object];
		change->symbol = changes->texts.texts[symbol];
		if (rows.total)
			change->share[which] += 100.0 * events / rows.total;
	}
	rows_free(&rows);
}

static void print_changes(const struct diff *diff, struct side *before,
			  struct side *after)
{
	struct changes changes = { 0 };

	add_rows(&changes, diff, before, 0);
	add_rows(&changes, diff, after, 1);
	if (changes.keys.nr)
		qsort(changes.list, changes.keys.nr, sizeof(*changes.list),
		      compare);
	printf("#   Before     After    Change  Object                    Symbol\n"
	       "# ........  ........  ........  ........................  ......\n#\n");
	for (uint32_t i = 0; i < changes.keys.nr; i++) {
		const struct change *change = &changes.list[i];
		char *object, *symbol;

		if (fabs(change->share[1] - change->share[0]) < diff->limit)
			break;
		object = common_escape(change->object);
		symbol = common_escape(change->symbol);
		printf("%9.2f%% %8.2f%% %+8.2f%%  %s%*s  %s\n",
		       change->share[0], change->share[1],
		       change->share[1] - change->share[0], object,
		       common_width(object) < 24 ? 24 - common_width(object) : 0,
		       "", symbol);
		free(object);
		free(symbol);
	}
	free(changes.list);
	pairs_free(&changes.keys);
	strings_free(&changes.texts);
}

static int draw(const struct diff *diff, struct side *before,
		struct side *after)
{
	struct flame flame;
	char *title = NULL;
	int status;

	flame_make(&flame, &after->tree, &after->load, after->source,
		   &before->tree, &before->load, before->source);
	if (asprintf(&title, "%s compared with %s", diff->paths[1],
		     diff->paths[0]) < 0)
		title = table_copy("");
	flame.title = common_escape(title);
	free(title);
	status = flame_save(&flame, diff->output, WIDTH);
	flame_free(&flame);
	return status;
}

static int run(const struct diff *diff)
{
	struct side before, after;
	int status;

	status = open_side(&before, diff, diff->paths[0]);
	if (status)
		return status;
	status = open_side(&after, diff, diff->paths[1]);
	if (status) {
		close_side(&before);
		return status;
	}
	if (diff->output)
		status = draw(diff, &before, &after);
	else
		print_changes(diff, &before, &after);
	fflush(stdout);
	load_complain(&before.load);
	load_complain(&after.load);
	if (!status)
		status = load_status(&before.load) | load_status(&after.load);
	close_side(&before);
	close_side(&after);
	return status;
}

int diff_main(int argc, char **argv)
{
	static const struct options options = {
		.command = "diff",
		.help = diff_help,
		.shorts = COMMON_SHORT "o:e:",
		.longs = longs,
	};
	struct diff diff = { .common.names.no_inlined = true, .limit = 0.01 };
	int option, status;

	while ((option = options_next(&options, argc, argv)) != -1) {
		status = parse_option(&diff, option);
		if (status)
			return status;
	}
	if (argc - optind != 2)
		return usage_error("diff", "takes two profiles");
	diff.paths[0] = argv[optind];
	diff.paths[1] = argv[optind + 1];
	return run(&diff);
}
