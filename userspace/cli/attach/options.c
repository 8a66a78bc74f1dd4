// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/cli.h"
#include "options.h"

/*
 * Watch the processes of the list @text, but for those that have ended. Returns an exit
 * status; prints a message if it is not CLI_OK.
 */
static int add_pids(const struct options *options, struct watch *watch,
		    char *text)
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
		if (err && err != -ESRCH)
			return complain_as(CLI_USAGE, "process %ld: %s", pid,
					   strerror(-err));
		if (err && !options->is_quiet)
			complain("process %ld: %s", pid, strerror(-err));
	}
	return CLI_OK;
}

/* Watch the processes of @nr lists. */
static int add_lists(const struct options *options, struct watch *watch,
		     char **lists, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++) {
		const int status = add_pids(options, watch, lists[i]);

		if (status)
			return status;
	}
	if (nr && !watch->nr)
		return complain_as(CLI_USAGE, "attach: none of these processes exists");
	return CLI_OK;
}

static int parse_number(const char *text, double min, double max, double *to)
{
	char *rest;

	*to = strtod(text, &rest);
	return rest == text || *rest || !(*to >= min && *to <= max) ? -1 : 0;
}

static bool is_socket(int fd)
{
	struct stat status;

	return !fstat(fd, &status) && S_ISSOCK(status.st_mode);
}

/* Parse all but the lists of processes, which are put into @lists, *@nr of them. */
static int parse(struct options *options, struct watch *watch, int argc,
		 char **argv, char **lists, unsigned int *nr)
{
	static const struct option longs[] = {
		{ "all", no_argument, NULL, 'a' },
		{ "code-fd", required_argument, NULL, 'c' },
		{ "pid", required_argument, NULL, 'p' },
		{ "poll", required_argument, NULL, 'P' },
		{ "quiet", no_argument, NULL, 'q' },
		{ "ready-fd", required_argument, NULL, 'r' },
		{ "verbose", no_argument, NULL, 'v' },
		{ 0 }
	};
	double number;
	int option;

	options->ready_fd = -1;
	options->code_fd = -1;
	while ((option = getopt_long(argc, argv, "ap:qv", longs, NULL)) != -1) {
		switch (option) {
		case 'a':
			watch->all = true;
			break;
		case 'p':
			lists[(*nr)++] = optarg;
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
		case 'c':
			if (parse_number(optarg, 0, INT_MAX, &number))
				return usage_error("attach",
						   "bad file descriptor");
			options->code_fd = number;
			if (!is_socket(options->code_fd))
				return usage_error("attach",
						   "--code-fd: no socket");
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
	if (watch->all == (*nr > 0))
		return usage_error("attach", "give either --all or -p");
	return CLI_OK;
}

int options_parse(struct options *options, struct watch *watch, int argc,
		  char **argv)
{
	char **lists = calloc(argc + 1, sizeof(*lists));
	unsigned int nr = 0;
	int status;

	if (!lists)
		return complain("no memory");
	status = parse(options, watch, argc, argv, lists, &nr);
	if (!status)
		status = add_lists(options, watch, lists, nr);
	free(lists);
	return status;
}
