/* SPDX-License-Identifier: GPL-2.0 */
/* The command line of "record". */
#ifndef CLI_PROFILE_RECORD_OPTIONS_H
#define CLI_PROFILE_RECORD_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/profile/record.h"

#define RECORD_EVENTS_MAX	64u

/**
 * struct record_options - what to record
 *
 * @events: what to sample; at least one.
 * @nr_events: number of those.
 * @targets: threads; none for all CPUs. The recorder adds the program to run.
 * @all: whether all CPUs were asked for.
 * @frequency: samples per second, or 0.
 * @period: events for each sample, or 0; then @frequency is used.
 * @duration: seconds, or 0.
 * @output: the file.
 * @no_attach: whether nothing is to be attached.
 * @quiet: whether to print nothing.
 * @command: the program to run with its arguments, ending with NULL; or NULL.
 */
struct record_options {
	struct record_event events[RECORD_EVENTS_MAX];
	uint32_t nr_events;
	struct record_targets targets;
	bool all;
	uint64_t frequency;
	uint64_t period;
	double duration;
	const char *output;
	bool no_attach;
	bool quiet;
	char **command;
};

/*
 * Fill in @options. Returns an exit status, after a message if it is not CLI_OK.
 * --help and --version end the process.
 */
int record_parse_options(struct record_options *options, int argc, char **argv);

#endif /* CLI_PROFILE_RECORD_OPTIONS_H */
