// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/attach/clock.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/profile/attaching.h"
#include "cli/profile/live.h"
#include "cli/profile/processes.h"
#include "cli/profile/record_sums.h"
#include "sframe_unwind.h"

/*
 * Bytes for what has happened to processes: then what exists is read again, in a tenth of
 * the time at most, and until then what happens is not taken notice of. One user's
 * processes can take only a part of them: see inspect_begin().
 */
#define HISTORY_MAX	(512u << 20)
#define READ_SHARE	10

static volatile sig_atomic_t is_interrupted, is_child_over;

static void on_signal(int signal)
{
	if (signal == SIGCHLD)
		is_child_over = 1;
	else
		is_interrupted = 1;
}

bool live_parse_number(const char *text, uint64_t most, uint64_t *number)
{
	char *end;

	errno = 0;
	*number = strtoull(text, &end, 10);
	return end != text && !*end && !errno && *number && *number <= most &&
	       text[0] != '-';
}

double live_now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec / 1e9;
}

int live_option(struct live *live, int option, bool *is_other)
{
	struct record_options *what = live->options;

	switch (option) {
	case 'e':
		return record_add_events(what, live->command, optarg);
	case 'c':
		what->frequency = 0;
		return live_parse_number(optarg, INT64_MAX, &what->period) ?
		       CLI_OK : usage_error(live->command, "-c: no number");
	case 'F':
		what->period = 0;
		return live_parse_number(optarg, 1000000, &what->frequency) ?
		       CLI_OK : usage_error(live->command, "-F: no frequency");
	case 'a':
		what->all = true;
		return CLI_OK;
	case 'p':
	case 't':
	case 'G':
	case 'C':
		return record_add_place(what, live->command, option, optarg);
	case LIVE_NO_ATTACH:
		what->no_attach = true;
		return CLI_OK;
	default:
		*is_other = true;
		return CLI_OK;
	}
}

static void catch_signals(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGCHLD };
	struct sigaction action = { .sa_handler = on_signal };

	for (unsigned int i = 0; i < 4; i++) {
		/* The second Ctrl-C ends also what waits for another process. */
		action.sa_flags = signals[i] == SIGINT ? SA_RESETHAND :
				  signals[i] == SIGCHLD ? SA_RESTART : 0;
		sigaction(signals[i], &action, NULL);
	}
}

static int fail(const struct live *live, int error)
{
	return complain("%s: %s", live->command, strerror(-error));
}

/* Start the program, before "attach", which looks for what is mapped. */
static int start_program(struct live *live)
{
	const struct record_options *options = live->options;
	char pid[16];
	int status;

	status = command_start(&live->program, live->command, options->command,
			       !options->no_attach, NULL, &is_interrupted);
	if (status || options->all || options->by_cgroup)
		return status;
	snprintf(pid, sizeof(pid), "%d", live->program.pid);
	return record_add_targets(&live->options->targets, live->command, pid,
				  true);
}

static void read_processes(struct live *live)
{
	const double start = live_now();

	live->since = now_ns();
	live->load.history = history_create(HISTORY_MAX);
	history_set_live(live->load.history);
	processes_inspect(&live->options->targets, &is_interrupted,
			  processes_add_record, live->load.history);
	history_update(live->load.history);
	live->load.names = names_create(live->load.history, &live->names,
					NULL);
	live->read_again = live_now() +
			   (READ_SHARE - 1) * (live_now() - start);
}

static void forget_processes(struct live *live)
{
	names_free(live->load.names);
	history_free(live->load.history);
	live->load.names = NULL;
	live->load.history = NULL;
}

int live_open(struct live *live)
{
	int status = CLI_OK;

	live->fd = memfd_create("sframe-unwind", MFD_CLOEXEC);
	if (live->fd < 0)
		return fail(live, -errno);
	live->load.path = live->command;
	live->load.fd = -1;
	live->load.is_live = true;
	live->waiting = record_waiting_create();
	catch_signals();
	if (live->options->command)
		status = start_program(live);
	if (!status && !live->options->no_attach) {
		live->attach = attaching_start(live->command, NULL, false,
					       &is_interrupted);
		if (live->attach < 0)
			return CLI_TROUBLE;
	}
	if (!status)
		status = record_sampler_open(&live->sampler, live->command,
					     live->options, live->program.pid,
					     false);
	if (!status)
		status = record_changes_open(&live->changes, live->command,
					     &live->options->targets, NULL, false);
	if (status)
		return status;
	read_processes(live);
	sframe_unwind_sampler_control(live->sampler.samples, SFRAME_UNWIND_SAMPLE_START,
				      0);
	if (live->ready)
		status = live->ready(live);
	if (!status && live->program.pid)
		command_go(&live->program);
	return status;
}

/* --- one round */

static void fill_source(const struct record_options *options,
			const struct record_event *event,
			struct sframe_unwind_profile_source *source)
{
	uint64_t *ids = table_allocate(event->nr_ids * sizeof(*ids));

	for (uint32_t i = 0; i < event->nr_ids; i++)
		ids[i] = event->ids[i];
	*source = (struct sframe_unwind_profile_source){
		.name = event->name,
		.ids = ids,
		.nr_ids = event->nr_ids,
		.type = event->attr.type,
		.config = event->attr.config,
		.period = options->period ? options->period : 1,
		.is_user_only = event->attr.exclude_kernel,
	};
}

static int create_writer(struct live *live,
			 struct sframe_unwind_profile_writer **writer)
{
	const struct record_options *options = live->options;
	struct sframe_unwind_profile_source sources[RECORD_EVENTS_MAX];
	int ret;

	if (ftruncate(live->fd, 0))
		return -errno;
	for (uint32_t i = 0; i < options->nr_events; i++)
		fill_source(options, &options->events[i], &sources[i]);
	ret = sframe_unwind_profile_create(writer, live->fd, sources,
					   options->nr_events,
					   SFRAME_UNWIND_PROFILE_WRITE_CPU |
					   SFRAME_UNWIND_PROFILE_WRITE_PERIOD |
					   SFRAME_UNWIND_PROFILE_WRITE_ADDRESS,
					   CLOCK_MONOTONIC);
	for (uint32_t i = 0; i < options->nr_events; i++)
		free((uint64_t *)sources[i].ids);
	return ret;
}

/*
 * Read samples before changes, so that the mappings made before a sample are known. Those taken
 * meanwhile are left, but for one: processes can cause them faster than they are read.
 * If all CPUs are sampled, drop the samples of this process: printing a sample could
 * cause another one, without end.
 */
static int write_round(struct live *live,
		       struct sframe_unwind_profile_writer *writer)
{
	const uint32_t own = live->options->targets.nr ? 0 : getpid();
	struct sframe_unwind_sample_record sample = { 0 };
	const uint64_t until = now_ns();
	uint64_t latest = 0;
	int ret = 0;

	while (!ret && sample.time <= until &&
	       sframe_unwind_sampler_read(live->sampler.samples, &sample) == 1) {
		if (own && sample.pid == own)
			continue;
		ret = record_waiting_add(live->waiting, &sample, NULL,
					 record_sampler_event(&live->sampler,
							      sample.event),
					 false, writer);
	}
	return ret ? ret : record_changes_write(live->changes, writer,
						&latest);
}

/*
 * Read what was written: first what happened to processes. What happened while it was written is
 * left for the next round, as some of it may be missing; all samples are from before. What happened
 * before the processes were read is not all here: what has replaced it may have been forgotten.
 */
static int read_round(struct live *live)
{
	const struct sframe_unwind_profile_record *record;
	struct load *load = &live->load;
	int ret;

	sframe_unwind_profile_close(load->profile);
	load->profile = NULL;
	ret = sframe_unwind_profile_open(&load->profile, live->fd);
	while (!ret && sframe_unwind_profile_next(load->profile, &record) == 1)
		if (record->kind != SFRAME_UNWIND_PROFILE_SAMPLE &&
		    record->time >= live->since &&
		    !history_is_full(load->history))
			history_add(load->history, record);
	if (ret)
		return ret;
	history_update_until(load->history, record_changes_until(live->changes));
	sframe_unwind_profile_rewind(load->profile);
	load->end = UINT64_MAX;
	/* Print no message about what was written here. */
	load->damage = true;
	return 0;
}

int live_round(struct live *live)
{
	struct sframe_unwind_profile_writer *writer = NULL;
	int ret, error;

	if (history_is_full(live->load.history) && !is_interrupted &&
	    live_now() >= live->read_again) {
		forget_processes(live);
		read_processes(live);
		live->generation++;
	}
	inspect_begin(&is_interrupted, 0);
	ret = create_writer(live, &writer);
	if (!ret)
		ret = write_round(live, writer);
	error = sframe_unwind_profile_finish(writer);
	ret = ret ? ret : error;
	return ret ? ret : read_round(live);
}

/* Returns whether the program has ended. */
static bool has_ended(struct live *live)
{
	/* Others belong to cli/attach/child.h. */
	if (live->attach > 0 && waitpid(live->attach, NULL, WNOHANG) > 0) {
		complain("%s: attach has ended; see its message",
			 live->command);
		live->attach = 0;
	}
	if (live->program.pid > 0 &&
	    waitpid(live->program.pid, NULL, WNOHANG) > 0) {
		live->program.pid = 0;
		return true;
	}
	return false;
}

bool live_wait(struct live *live, struct pollfd *other, int timeout_ms)
{
	struct pollfd files[2] = {
		{ .fd = sframe_unwind_sampler_fd(live->sampler.samples),
		  .events = POLLIN },
	};

	if (other)
		files[1] = *other;
	if (!is_interrupted)
		poll(files, other ? 2 : 1, timeout_ms);
	if (other)
		other->revents = files[1].revents;
	return !is_interrupted && !(is_child_over && has_ended(live));
}

void live_stop(struct live *live)
{
	sframe_unwind_sampler_control(live->sampler.samples, SFRAME_UNWIND_SAMPLE_STOP,
				      0);
}

const struct record_counts *live_counts(const struct live *live)
{
	return record_counts(live->waiting);
}

uint64_t live_lost(const struct live *live)
{
	struct sframe_unwind_sample_stats stats;

	if (sframe_unwind_sampler_stats(live->sampler.samples, &stats))
		return 0;
	return record_sums_lost(&stats);
}

int live_status(const struct live *live)
{
	return live->options->command && command_has_failed(&live->program) ?
	       CLI_TROUBLE : CLI_OK;
}

void live_close(struct live *live)
{
	command_end(&live->program);
	attaching_end(live->attach);
	record_changes_close(live->changes);
	record_sampler_close(&live->sampler, live->options);
	record_waiting_free(live->waiting);
	sframe_unwind_profile_close(live->load.profile);
	forget_processes(live);
	if (live->fd >= 0)
		close(live->fd);
}
