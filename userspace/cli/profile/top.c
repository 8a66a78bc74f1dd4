// SPDX-License-Identifier: GPL-2.0
/*
 * sframe-unwind top: the hottest functions, now.
 */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/options.h"
#include "cli/profile/browser.h"
#include "cli/profile/common.h"
#include "cli/profile/live.h"

#define FREQUENCY	499u
#define ROUND_MS	200	/* between two readings */
#define WIDTH		100	/* of lines without a terminal */
#define LINES_MAX	40u	/* without a terminal */

const char top_help[] =
"usage: sframe-unwind top [OPTION]...\n\n"
"Show which functions run most, now, and who called them. Older samples count less\n"
"and less.\n\n"
"  sframe-unwind top                          all CPUs\n"
"  sframe-unwind top -p 1234\n"
"  sframe-unwind top -e page-faults -c 1\n"
"  sframe-unwind top --stdio -n 1 >now.txt    without a terminal\n\n"
"Keys: up, down, PgUp, PgDn choose a line; Enter opens it, which shows the callers,\n"
"or folds it; / only what contains a text; t only this thread; c count samples for\n"
"callers, too; p pause; z forget all samples; e next event; ? help; q quit.\n\n"
"  -p, --pid=PID[,...]  these processes, with all that they start\n"
"  -t, --tid=TID[,...]  these threads\n"
"  -G, --cgroup=CGROUP  the processes that are in this cgroup now: as for record\n"
"  -C, --cpu=CPU[,...]  only on these CPUs: 0,2-3\n"
"  -a, --all-cpus     everything; the default\n"
"  -e, --event=EVENT  as for record; default: cpu-clock; can be repeated\n"
"  -F, --freq=HZ      samples per second; default: 499\n"
"  -c, --count=N      a sample every N events\n"
"  -s, --sort=COLUMN[,...]  add up by: comm, pid, dso (the object), sym;\n"
"                     default: comm,dso,sym\n"
"      --children     count samples also for all callers of a function\n"
"  -d, --delay=SECONDS  between two screens; default: 2\n"
"      --stdio        print plain text, also without a terminal\n"
"  -n, --iterations=N  end after N screens\n"
"      --no-attach    do not run 'sframe-unwind attach --all' meanwhile: code\n"
"                     without SFrame data is unwound only if something is attached\n"
"  -h, --help         print this\n"
"  -V, --version      print the version\n\n"
"Exit status: 0; 2 on wrong usage; 5 on failure.\n";

enum {
	OPTION_CHILDREN = LIVE_NO_ATTACH + 1,
	OPTION_STDIO,
};

static const struct option longs[] = {
	{ "sort", required_argument, NULL, 's' },
	{ "children", no_argument, NULL, OPTION_CHILDREN },
	{ "delay", required_argument, NULL, 'd' },
	{ "stdio", no_argument, NULL, OPTION_STDIO },
	{ "iterations", required_argument, NULL, 'n' },
	LIVE_LONG,
	OPTIONS_LONG
};

/**
 * struct top - what is shown
 *
 * @live: the session.
 * @what: what to sample.
 * @shown: which lines.
 * @tree: the samples.
 * @generation: of the names in the tree.
 * @event: number of the event that is shown.
 * @browser: the screen, or NULL for plain text.
 * @delay: seconds between two screens.
 * @left: screens to be shown, or UINT64_MAX.
 * @stdio: whether plain text was asked for.
 * @is_paused: whether samples are ignored.
 * @before: number of samples at the last screen.
 * @rate: samples per second since then.
 */
struct top {
	struct live live;
	struct record_options what;
	struct items_options shown;
	struct tree tree;
	unsigned int generation;
	uint32_t event;
	struct browser *browser;
	double delay;
	uint64_t left;
	bool stdio;
	bool is_paused;
	uint64_t before;
	double rate;
};

static int parse_option(struct top *top, int option)
{
	char *end;

	switch (option) {
	case 's':
		top->shown.columns = rows_parse_columns(optarg);
		return top->shown.columns ? CLI_OK :
		       usage_error("top", "--sort: unknown column");
	case 'd':
		top->delay = strtod(optarg, &end);
		return end != optarg && !*end && top->delay >= 0.1 &&
		       top->delay <= 3600 ?
		       CLI_OK : usage_error("top", "--delay: from 0.1 to 3600 seconds");
	case 'n':
		return live_parse_number(optarg, UINT64_MAX, &top->left) ?
		       CLI_OK : usage_error("top", "--iterations: no number");
	case OPTION_CHILDREN:
		top->shown.children = true;
		return CLI_OK;
	case OPTION_STDIO:
		top->stdio = true;
		return CLI_OK;
	default:
		return usage_error("top", NULL);
	}
}

/* The node of the tree whose samples are shown; the root if there are none yet. */
static uint32_t source_node(const struct top *top)
{
	for (uint32_t i = 1; i < top->tree.nr; i++)
		if (top->tree.nodes[i].kind == NODE_SOURCE &&
		    top->tree.nodes[i].number == top->event)
			return i;
	return 0;
}

static void make_head(const struct top *top, char *text, size_t size)
{
	const struct record_counts *counts = live_counts(&top->live);
	const uint64_t lost = live_lost(&top->live);

	snprintf(text, size, "%s%s: %.0f samples/s, %.1f%% of the stacks complete, %" PRIu64 " lost",
		 top->is_paused ? "PAUSED  " : "",
		 top->what.events[top->event].name, top->rate,
		 counts->samples ? 100.0 * counts->complete / counts->samples :
				   100, lost);
}

static void print_screen(struct top *top)
{
	struct items items = { 0 };
	char head[512], *text;

	make_head(top, head, sizeof(head));
	text = common_escape(head);
	items_make(&items, &top->tree, &top->live.load, source_node(top),
		   &top->shown);
	puts(text);
	free(text);
	text = items_text(&items, NULL, &top->shown, WIDTH);
	puts(text);
	free(text);
	for (uint32_t i = 0; i < items.nr && i < LINES_MAX; i++) {
		/* There is no key to open it. */
		items.list[i].can_open = false;
		text = items_text(&items, &items.list[i], &top->shown, WIDTH);
		puts(text);
		free(text);
	}
	putchar('\n');
	fflush(stdout);
	items_free(&items);
}

static void draw(struct top *top)
{
	char head[512];

	make_head(top, head, sizeof(head));
	browser_draw(top->browser, head);
}

static void make(struct top *top)
{
	browser_set(top->browser, &top->tree, &top->live.load,
		    source_node(top));
}

static void clear(struct top *top)
{
	tree_free(&top->tree);
	tree_begin(&top->tree);
	if (top->browser)
		make(top);
}

/* Read what has been sampled. */
static int read_samples(struct top *top)
{
	const struct tree_options options = {
		.by_pid = top->shown.columns & ROW_PID,
		.source = SFRAME_UNWIND_PROFILE_NONE,
	};
	const int ret = live_round(&top->live);

	if (ret)
		return ret;
	if (top->generation != top->live.generation) {
		top->generation = top->live.generation;
		clear(top);
	}
	if (!top->is_paused)
		tree_add(&top->tree, &top->live.load, &options);
	return 0;
}

/* Show a new screen. Returns whether it was the last one. */
static bool show(struct top *top, double seconds)
{
	const uint64_t samples = live_counts(&top->live)->samples;

	top->rate = seconds > 0 ? (samples - top->before) / seconds : 0;
	top->before = samples;
	if (!top->browser) {
		print_screen(top);
	} else {
		if (!top->is_paused)
			make(top);
		draw(top);
	}
	if (!top->is_paused)
		tree_decay(&top->tree);
	return !--top->left || ferror(stdout);
}

/* Handle the keys that have been pressed. Returns whether to go on. */
static bool handle_keys(struct top *top)
{
	enum browser_wish wish;
	bool is_any = false;

	while ((wish = browser_key(top->browser, false)) != BROWSER_NOTHING) {
		is_any = true;
		if (wish == BROWSER_QUIT)
			return false;
		if (wish == BROWSER_PAUSE)
			top->is_paused = !top->is_paused;
		if (wish == BROWSER_CLEAR)
			clear(top);
		if (wish == BROWSER_NEXT)
			top->event = (top->event + 1) % top->what.nr_events;
		if (wish == BROWSER_NEXT || wish == BROWSER_MAKE)
			make(top);
	}
	if (is_any)
		draw(top);
	return true;
}

static int run(struct top *top)
{
	struct pollfd keys = { .fd = STDIN_FILENO, .events = POLLIN };
	double last = live_now();
	bool goes_on = true;
	int ret = 0;

	while (goes_on && !ret) {
		const double left = last + top->delay - live_now();
		const int ms = left <= 0 ? 0 : left * 1000 < ROUND_MS ?
			       left * 1000 + 1 : ROUND_MS;

		goes_on = live_wait(&top->live, top->browser ? &keys : NULL,
				    ms);
		ret = read_samples(top);
		if (!ret && goes_on && top->browser)
			goes_on = handle_keys(top);
		if (ret || !goes_on || live_now() - last < top->delay)
			continue;
		goes_on = !show(top, live_now() - last);
		last = live_now();
	}
	return ret ? complain("top: %s", strerror(-ret)) : CLI_OK;
}

static int open_and_run(struct top *top)
{
	int status = live_open(&top->live);

	if (status)
		return status;
	clear(top);
	if (!top->stdio) {
		top->browser = browser_open(&top->shown,
					    "  p pause  z clear  e event");
		if (!top->browser)
			return CLI_TROUBLE;
		make(top);
		draw(top);
	}
	status = run(top);
	browser_close(top->browser);
	if (!status)
		names_complain(top->live.load.names);
	return status;
}

int top_main(int argc, char **argv)
{
	static const struct options options = {
		.command = "top",
		.help = top_help,
		.shorts = OPTIONS_SHORT LIVE_SHORT "s:d:n:",
		.longs = longs,
	};
	static struct top top = {
		.live.command = "top",
		.live.fd = -1,
		.live.options = &top.what,
		.live.names.no_inlined = true,
		.what.frequency = FREQUENCY,
		.shown.columns = ROW_COMM | ROW_OBJECT | ROW_SYMBOL,
		.delay = 2,
		.left = UINT64_MAX,
	};
	int option, status;

	while ((option = options_next(&options, argc, argv)) != -1) {
		bool is_other = false;

		status = live_option(&top.live, option, &is_other);
		if (is_other)
			status = parse_option(&top, option);
		if (status)
			return status;
	}
	if (optind < argc)
		return usage_error("top", "takes no argument but options");
	status = record_check_places(&top.what, "top");
	if (status)
		return status;
	if (!top.what.nr_events)
		record_parse_event(&top.what.events[top.what.nr_events++],
				   "top", "cpu-clock");
	if (!top.stdio && !browser_is_possible())
		return usage_error("top", "this is no terminal, or the program was built without ncurses; use --stdio");
	status = open_and_run(&top);
	tree_free(&top.tree);
	live_close(&top.live);
	return status;
}
