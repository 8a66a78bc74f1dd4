// SPDX-License-Identifier: GPL-2.0
/*
 * sframe-unwind flamegraph: draw a profile.
 */
#include <stdio.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "cli/profile/common.h"
#include "cli/profile/flame.h"

#define WIDTH_DEFAULT	1200
#define WIDTH_MAX	100000

const char flamegraph_help[] =
"usage: sframe-unwind flamegraph [OPTION]... -o FILE\n\n"
"Draw a profile as a flame graph: each function is as wide as it has samples,\n"
"on top of the one that called it. The file needs no other one and no network;\n"
"in a browser, a click zooms, and Ctrl-F searches.\n\n"
"  sframe-unwind flamegraph -o flame.svg\n\n"
"  -o, --output=FILE  write SVG, or HTML if the name ends with .html\n"
"  -e, --event=NAME   samples of this event; default: the first one\n"
"      --title=TEXT   default: the name of the profile\n"
"      --width=PIXELS default: 1200\n"
"      --percent-limit=LIMIT  leave out functions of less than that; default: 0\n"
COMMON_HELP;

enum {
	OPTION_TITLE = COMMON_OTHERS,
	OPTION_WIDTH,
	OPTION_PERCENT_LIMIT,
};

static const struct option longs[] = {
	{ "output", required_argument, NULL, 'o' },
	{ "event", required_argument, NULL, 'e' },
	{ "title", required_argument, NULL, OPTION_TITLE },
	{ "width", required_argument, NULL, OPTION_WIDTH },
	{ "percent-limit", required_argument, NULL, OPTION_PERCENT_LIMIT },
	COMMON_LONG
};

struct flamegraph {
	struct common common;
	const char *output;
	const char *event;
	const char *title;
	unsigned int width;
	double limit;
};

static int parse_option(struct flamegraph *graph, int option)
{
	unsigned long width;
	char *end;

	if (common_option(&graph->common, option))
		return CLI_OK;
	switch (option) {
	case 'o':
		graph->output = optarg;
		return CLI_OK;
	case 'e':
		graph->event = optarg;
		return CLI_OK;
	case OPTION_TITLE:
		graph->title = optarg;
		return CLI_OK;
	case OPTION_WIDTH:
		width = strtoul(optarg, &end, 10);
		if (*end || width < 300 || width > WIDTH_MAX)
			return usage_error("flamegraph",
					   "--width: from 300 to 100000");
		graph->width = width;
		return CLI_OK;
	case OPTION_PERCENT_LIMIT:
		graph->limit = strtod(optarg, &end);
		return end != optarg && !*end && graph->limit >= 0 &&
		       graph->limit <= 100 ? CLI_OK :
		       usage_error("flamegraph",
				   "--percent-limit: no percentage");
	default:
		return usage_error("flamegraph", NULL);
	}
}

static int draw(const struct flamegraph *graph, const struct tree *tree,
		struct load *load)
{
	const uint32_t source = flame_find_source(tree, load, graph->event);
	struct flame flame;
	int status;

	if (!source)
		return complain_as(CLI_NOTHING, graph->event ?
				   "%s: no samples of event '%s'" :
				   "%s: no samples", load->path, graph->event);
	flame_make(&flame, tree, load, source, NULL, NULL, 0);
	flame.least = graph->limit / 100;
	flame.title = common_escape(graph->title ? graph->title : load->path);
	status = flame_save(&flame, graph->output, graph->width);
	flame_free(&flame);
	return status;
}

static int run(const struct flamegraph *graph)
{
	const struct tree_options options = {
		.source = SFRAME_UNWIND_PROFILE_NONE,
	};
	struct load load;
	struct tree tree;
	int status;

	status = load_open(&load, graph->common.input, &graph->common.names);
	if (status)
		return status;
	tree_read(&tree, &load, &options);
	status = draw(graph, &tree, &load);
	load_complain(&load);
	if (!status)
		status = load_status(&load);
	tree_free(&tree);
	load_close(&load);
	return status;
}

int flamegraph_main(int argc, char **argv)
{
	static const struct options options = {
		.command = "flamegraph",
		.help = flamegraph_help,
		.shorts = COMMON_SHORT "o:e:",
		.longs = longs,
	};
	struct flamegraph graph = {
		.common.input = LOAD_DEFAULT,
		.common.names.no_inlined = true,
		.width = WIDTH_DEFAULT,
	};
	int option, status;

	while ((option = options_next(&options, argc, argv)) != -1) {
		status = parse_option(&graph, option);
		if (status)
			return status;
	}
	if (optind < argc)
		return usage_error("flamegraph", "takes no argument but options");
	if (!graph.output)
		return usage_error("flamegraph", "-o FILE is missing");
	return run(&graph);
}
