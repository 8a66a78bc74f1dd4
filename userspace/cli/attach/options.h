/* SPDX-License-Identifier: GPL-2.0 */
#ifndef ATTACH_OPTIONS_H
#define ATTACH_OPTIONS_H

#include <stdbool.h>

#include "watch.h"

/**
 * struct options - options of the command line
 *
 * @poll_ms: milliseconds between passes through /proc; 0 to use perf events.
 * @ready_fd: descriptor to write "ready" to, or -1.
 * @code_fd: socket to tell announced code, see told.h, or -1.
 */
struct options {
	bool is_quiet;
	bool is_verbose;
	unsigned int poll_ms;
	int ready_fd;
	int code_fd;
};

/*
 * Fill in @options, and the processes of @watch. Returns an exit status; prints a
 * message if it is not CLI_OK.
 */
int options_parse(struct options *options, struct watch *watch, int argc,
		  char **argv);

#endif /* ATTACH_OPTIONS_H */
