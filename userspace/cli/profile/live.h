/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Samples as they are taken, for commands that show them at once. What happens to
 * processes meanwhile is followed, too.
 */
#ifndef CLI_PROFILE_LIVE_H
#define CLI_PROFILE_LIVE_H

#include "cli/profile/command.h"
#include "cli/profile/load.h"
#include "cli/profile/record_sampler.h"

struct pollfd;

/**
 * struct live - a session
 *
 * @command: the command's name, for messages.
 * @options: what to sample.
 * @program: what to run.
 * @attach: process of the daemon, or 0.
 * @sampler: the sampler.
 * @changes: changes of processes.
 * @waiting: samples that wait for their user stack.
 * @fd: memory with the records of one round.
 * @load: the records of one round, with names and history of all.
 * @names: how to name addresses.
 * @generation: changes when @load has other names than before.
 * @since: what exists tells all that happened before.
 * @read_again: when what exists may be read again.
 * @ready: optional: called when all has been started, and before the program runs. Returns
 *	an exit status.
 */
struct live {
	const char *command;
	struct record_options *options;
	struct command program;
	pid_t attach;
	struct record_sampler sampler;
	struct record_changes *changes;
	struct record_waiting *waiting;
	int fd;
	struct load load;
	struct names_options names;
	unsigned int generation;
	uint64_t since;
	double read_again;
	int (*ready)(struct live *live);
};

/* Options of all commands with sessions. */
#define LIVE_SHORT	"e:c:F:ap:t:G:C:"
#define LIVE_NO_ATTACH	0x200	/* others are above */
#define LIVE_LONG							\
	{ "event", required_argument, NULL, 'e' },			\
	{ "count", required_argument, NULL, 'c' },			\
	{ "freq", required_argument, NULL, 'F' },			\
	{ "all-cpus", no_argument, NULL, 'a' },				\
	{ "pid", required_argument, NULL, 'p' },			\
	{ "tid", required_argument, NULL, 't' },			\
	{ "cgroup", required_argument, NULL, 'G' },			\
	{ "cpu", required_argument, NULL, 'C' },			\
	{ "no-attach", no_argument, NULL, LIVE_NO_ATTACH }

/*
 * Handle one of them, with @live->command and @live->options set. For another one,
 * *@is_other is set. Returns an exit status.
 */
int live_option(struct live *live, int option, bool *is_other);

/* Parse a number from 1 to @most. Returns whether it is one. */
bool live_parse_number(const char *text, uint64_t most, uint64_t *number);

/* Seconds of CLOCK_MONOTONIC. */
double live_now(void);

/*
 * Start what @options says, with @command, @options, @names and maybe @ready set and all
 * else 0.
 * From now on, SIGINT, SIGTERM and SIGHUP end the session. Returns an exit status,
 * after a message if it is not CLI_OK; live_close() is to be called in any case.
 */
int live_open(struct live *live);

/*
 * Get what was sampled since the last call: load_next(&live->load) returns the
 * samples, until the next call. Returns 0 or -errno.
 */
int live_round(struct live *live);

/*
 * Wait until there may be something, or for @other if it is not NULL, or for
 * @timeout_ms. Returns whether the session goes on: no signal, and the program has
 * not ended.
 */
bool live_wait(struct live *live, struct pollfd *other, int timeout_ms);

/* Take no more samples. live_round() returns user stacks that follow. */
void live_stop(struct live *live);

/* Numbers of samples so far. */
const struct record_counts *live_counts(const struct live *live);

/* Number of samples that were lost so far. */
uint64_t live_lost(const struct live *live);

/*
 * Exit status of a session that has ended by itself: whether the program could be
 * executed.
 */
int live_status(const struct live *live);

/* End what was started, and free everything but the options. */
void live_close(struct live *live);

#endif /* CLI_PROFILE_LIVE_H */
