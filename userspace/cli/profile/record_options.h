/* SPDX-License-Identifier: GPL-2.0 */
/* The command line of "record". */
#ifndef CLI_PROFILE_RECORD_OPTIONS_H
#define CLI_PROFILE_RECORD_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/profile/record.h"

#define RECORD_EVENTS_MAX	64u

/**
 * enum record_chains - which stacks samples have
 *
 * @RECORD_BOTH_CHAINS: the kernel's and the user's.
 * @RECORD_USER_CHAINS: only the user's.
 * @RECORD_KERNEL_CHAINS: only the kernel's; of user mode, only where it was.
 */
enum record_chains {
	RECORD_BOTH_CHAINS,
	RECORD_USER_CHAINS,
	RECORD_KERNEL_CHAINS,
};

/**
 * struct record_options - what to record
 *
 * @events: what to sample; at least one.
 * @nr_events: number of those.
 * @targets: threads; none for everything. The recorder adds the program to run.
 * @all: whether everything was asked for.
 * @by_number: whether -p or -t was given.
 * @by_cgroup: whether -G was given.
 * @chains: which stacks samples have.
 * @frequency: samples per second, or 0.
 * @period: events for each sample, or 0; then @frequency is used.
 * @duration: seconds, or 0.
 * @max_size: bytes after which to end, or 0.
 * @switch_size: bytes of a file after which another one begins, or 0.
 * @switch_seconds: the same in seconds, or 0.
 * @switch_signal: whether SIGUSR2 begins another file.
 * @output: the file.
 * @stack_map: whether equal stacks are collected once.
 * @level: of compression; 0 for none.
 * @build_id: whether the files that samples are in are kept.
 * @no_attach: whether nothing is to be attached.
 * @copies: whether stacks that are cut are to be copied, to be completed later.
 * @jit: whether code that the command generates is to be registered.
 * @no_jit_names: whether not to keep the names of such code.
 * @quiet: whether to print nothing.
 * @command: the program to run with its arguments, ending with NULL; or NULL.
 */
struct record_options {
	struct record_event events[RECORD_EVENTS_MAX];
	uint32_t nr_events;
	struct record_targets targets;
	bool all;
	bool by_number;
	bool by_cgroup;
	enum record_chains chains;
	uint64_t frequency;
	uint64_t period;
	double duration;
	uint64_t max_size;
	uint64_t switch_size;
	double switch_seconds;
	bool switch_signal;
	const char *output;
	bool stack_map;
	uint32_t level;
	bool build_id;
	bool no_attach;
	bool copies;
	bool jit;
	bool no_jit_names;
	bool quiet;
	char **command;
};

/* Whether there are several files. */
static inline bool record_switches(const struct record_options *options)
{
	return options->switch_size || options->switch_seconds > 0 ||
	       options->switch_signal;
}

/* Whether any event is --off-cpu's. */
bool record_has_off_cpu(const struct record_options *options);

/*
 * Add the events of @list, separated by commas, which are overwritten. @command: for
 * messages. Returns an exit status, after a message if it is not CLI_OK.
 */
int record_add_events(struct record_options *options, const char *command,
		      char *list);

/*
 * Take over an option that says where to take samples: 'p', 't', 'G' or 'C', with its
 * value. @command: for messages. Returns an exit status.
 */
int record_add_place(struct record_options *options, const char *command,
		     int option, const char *value);

/*
 * Call this after all options, with @options->command set. Returns an exit status,
 * after a message if they exclude each other.
 */
int record_check_places(struct record_options *options, const char *command);

/*
 * Fill in @options. Returns an exit status, after a message if it is not CLI_OK.
 * --help and --version end the process.
 */
int record_parse_options(struct record_options *options, int argc, char **argv);

#endif /* CLI_PROFILE_RECORD_OPTIONS_H */
