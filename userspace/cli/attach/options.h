/* SPDX-License-Identifier: GPL-2.0 */
#ifndef ATTACH_OPTIONS_H
#define ATTACH_OPTIONS_H

#include <stdbool.h>

#include "watch.h"

/**
 * struct options - what the command line says
 *
 * @poll_ms: milliseconds between looks at /proc without perf; 0: with perf.
 * @ready_fd: where to write that the first pass is done, or -1.
 */
struct options {
	bool is_quiet;
	bool is_verbose;
	unsigned int poll_ms;
	int ready_fd;
};

/*
 * Fill in @options, and the processes of @watch. Returns an exit status, having
 * complained if it is not CLI_OK.
 */
int options_parse(struct options *options, struct watch *watch, int argc,
		  char **argv);

#endif /* ATTACH_OPTIONS_H */
