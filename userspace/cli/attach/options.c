// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "options.h"

static int add_pids(struct watch *watch, char *text)
{
	for (char *word = strtok(text, ","); word; word = strtok(NULL, ",")) {
		char *rest;
		long pid;
		int err;

		errno = 0;
		pid = strtol(word, &rest, 10);
		if (errno || rest == word || *rest || pid <= 0 || pid > INT_MAX)
			return usage_error("attach", "bad process number");
		err = watch_add(watch, pid);
		if (err)
			return complain_as(CLI_USAGE, "process %ld: %s", pid,
					   strerror(-err));
	}
	return CLI_OK;
}

static int parse_number(const char *text, double min, double max, double *to)
{
	char *rest;

	*to = strtod(text, &rest);
	return rest == text || *rest || !(*to >= min && *to <= max) ? -1 : 0;
}

int options_parse(struct options *options, struct watch *watch, int argc,
		  char **argv)
{
	static const struct option longs[] = {
		{ "all", no_argument, NULL, 'a' },
		{ "pid", required_argument, NULL, 'p' },
		{ "poll", required_argument, NULL, 'P' },
		{ "quiet", no_argument, NULL, 'q' },
		{ "ready-fd", required_argument, NULL, 'r' },
		{ "verbose", no_argument, NULL, 'v' },
		{ 0 }
	};
	bool all = false;
	double number;
	int option, status;

	options->ready_fd = -1;
	while ((option = getopt_long(argc, argv, "ap:qv", longs, NULL)) != -1) {
		switch (option) {
		case 'a':
			all = true;
			break;
		case 'p':
			status = add_pids(watch, optarg);
			if (status)
				return status;
			break;
		case 'P':
			if (parse_number(optarg, 0.001, 86400, &number))
				return usage_error("attach", "bad interval");
			options->poll_ms = number * 1000;
			break;
		case 'q':
			options->is_quiet = true;
			break;
		case 'r':
			if (parse_number(optarg, 0, INT_MAX, &number))
				return usage_error("attach",
						   "bad file descriptor");
			options->ready_fd = number;
			break;
		case 'v':
			options->is_verbose = true;
			break;
		default:
			return usage_error("attach", NULL);
		}
	}
	if (optind != argc)
		return usage_error("attach", "unexpected argument");
	if (all == (watch->nr > 0))
		return usage_error("attach", "give either --all or -p");
	watch->all = all;
	return CLI_OK;
}
