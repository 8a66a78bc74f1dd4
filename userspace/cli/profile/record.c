// SPDX-License-Identifier: GPL-2.0
/*
 * sframe-unwind record: take samples with whole user stacks, into a file that
 * perf reads.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/profile/record.h"
#include "cli/profile/record_options.h"
#include "cli/profile/record_output.h"
#include "sframe_unwind.h"

#define RING_PAGES	256u	/* of each CPU */
#define ROUND_MS	100	/* between two readings */
#define FLUSH_S		1	/* what is lost if the recorder is killed */
#define LATER_MS	1000	/* to wait for user stacks at the end */

/**
 * struct record - a recording
 *
 * @options: what to record.
 * @event_of: number of the event by id of the sampler.
 * @event_room: room for those.
 * @child: process of the program to run, or 0.
 * @go: a pipe: when a byte is written, the program begins.
 * @failure: a pipe: a byte says that it could not be executed.
 * @attach: process of the daemon, or 0.
 * @samples: the sampler.
 * @changes: changes of processes.
 * @waiting: samples that wait.
 * @output: the profile.
 */
struct record {
	struct record_options options;
	uint32_t *event_of;
	uint32_t event_room;
	pid_t child;
	int go;
	int failure;
	pid_t attach;
	struct sframe_unwind_samples *samples;
	struct record_changes *changes;
	struct record_waiting *waiting;
	struct record_output output;
};

static volatile sig_atomic_t is_interrupted, is_child_over, is_switch_asked;

static void on_signal(int signal)
{
	if (signal == SIGCHLD)
		is_child_over = 1;
	else if (signal == SIGUSR2)
		is_switch_asked = 1;
	else
		is_interrupted = 1;
}

static void catch_signals(const struct record_options *options)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGCHLD };
	struct sigaction action = { .sa_handler = on_signal };

	for (unsigned int i = 0; i < 4; i++)
		sigaction(signals[i], &action, NULL);
	if (options->switch_signal)
		sigaction(SIGUSR2, &action, NULL);
}

/* Start the daemon and wait until it has attached what there is. */
static int start_attach(struct record *record)
{
	char ready[32], byte;
	char *argv[] = { "attach", "-q", "--all", ready, NULL };
	const pid_t parent = getpid();
	int pipes[2];

	if (pipe2(pipes, O_CLOEXEC))
		return complain("record: %s", strerror(errno));
	record->attach = fork();
	if (!record->attach) {
		/* Ctrl-C ends the recording; that ends the daemon. */
		setpgid(0, 0);
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		/* It may have died before. */
		if (getppid() != parent)
			_exit(CLI_OK);
		fcntl(pipes[1], F_SETFD, 0);
		snprintf(ready, sizeof(ready), "--ready-fd=%d", pipes[1]);
		_exit(attach_main(4, argv));
	}
	close(pipes[1]);
	while (record->attach > 0 && read(pipes[0], &byte, 1) < 0 &&
	       errno == EINTR && !is_interrupted)
		;
	close(pipes[0]);
	return record->attach < 0 ? complain("record: %s", strerror(errno)) :
				    CLI_OK;
}

/* Start the program, which waits for a byte from record->go. */
static int start_command(struct record *record)
{
	char **command = record->options.command;
	int pipes[2], failures[2];
	char byte;

	if (pipe2(pipes, O_CLOEXEC) || pipe2(failures, O_CLOEXEC | O_NONBLOCK))
		return complain("record: %s", strerror(errno));
	record->child = fork();
	if (!record->child) {
		close(pipes[1]);
		if (read(pipes[0], &byte, 1) != 1)
			_exit(127);
		execvp(command[0], command);
		complain("record: %s: %s", command[0], strerror(errno));
		_exit(write(failures[1], "", 1) == 1 ? 127 : 126);
	}
	close(pipes[0]);
	close(failures[1]);
	record->go = pipes[1];
	record->failure = failures[0];
	return record->child < 0 ? complain("record: %s", strerror(errno)) :
				   CLI_OK;
}

/* The period or frequency of an event, unless it says it itself. */
static void set_period(const struct record_options *options,
		       struct perf_event_attr *attr)
{
	if (attr->sample_period)
		return;
	attr->freq = options->frequency && attr->type != PERF_TYPE_TRACEPOINT;
	attr->sample_period = attr->freq ? options->frequency :
			      options->period ? options->period : 1;
}

static int add_perf_event(struct record *record, uint32_t number, pid_t tid,
			  int cpu)
{
	struct record_options *options = &record->options;
	struct record_event *event = &options->events[number];
	struct perf_event_attr attr = event->attr;
	uint32_t fields = SFRAME_UNWIND_SAMPLE_PERIOD |
			  SFRAME_UNWIND_SAMPLE_ADDRESS;
	uint32_t id;
	int fd, ret;

	set_period(options, &attr);
	attr.inherit = tid != -1;
	attr.enable_on_exec = tid == record->child && tid > 0;
	attr.disabled = attr.enable_on_exec;
	if (attr.type == PERF_TYPE_TRACEPOINT) {
		attr.sample_type = PERF_SAMPLE_RAW;
		fields |= SFRAME_UNWIND_SAMPLE_RAW;
	}
	fd = record_perf_open(&attr, tid, cpu);
	/* Who may not see the data of tracepoints may count them. */
	if ((fd == -EACCES || fd == -EPERM) && attr.sample_type) {
		attr.sample_type = 0;
		fields &= ~SFRAME_UNWIND_SAMPLE_RAW;
		fd = record_perf_open(&attr, tid, cpu);
	}
	if (fd == -ESRCH && tid != -1)
		return CLI_OK;
	if (fd < 0)
		return record_complain(event->name, fd);
	ret = sframe_unwind_sampler_add(record->samples, fd, 0, fields, &id);
	close(fd);
	if (ret == -ESRCH && tid != -1)
		return CLI_OK;
	if (ret)
		return complain("record: %s: %s", event->name,
				sframe_unwind_error(NULL));
	record->event_of = table_grow(record->event_of, &record->event_room, id,
				      sizeof(uint32_t));
	record->event_of[id] = number;
	event->ids = table_grow(event->ids, &event->room, event->nr_ids,
				sizeof(uint32_t));
	event->ids[event->nr_ids++] = id;
	return CLI_OK;
}

static int add_event(struct record *record, uint32_t number)
{
	const struct record_targets *targets = &record->options.targets;
	const int nr_cpus = sysconf(_SC_NPROCESSORS_CONF);
	int status = CLI_OK;

	for (uint32_t i = 0; i < targets->nr && !status; i++)
		status = add_perf_event(record, number, targets->tids[i], -1);
	for (int cpu = 0; !targets->nr && cpu < nr_cpus && !status; cpu++)
		status = add_perf_event(record, number, -1, cpu);
	if (!status && !record->options.events[number].nr_ids)
		status = complain("record: the threads have ended");
	return status;
}

static int open_sampler(struct record *record)
{
	struct sframe_unwind_sampler how = {
		.ring_pages = RING_PAGES,
		.clockid = CLOCK_MONOTONIC,
	};
	int ret, status = CLI_OK;

	ret = sframe_unwind_sampler_open(&record->samples, &how);
	if (ret == -ENOENT)
		return complain("record: %s does not exist: load the module (modprobe sframe_unwind)",
				SFRAME_UNWIND_DEVICE);
	if (ret)
		return complain("record: %s", sframe_unwind_error(NULL));
	for (uint32_t i = 0; i < record->options.nr_events && !status; i++)
		status = add_event(record, i);
	return status;
}

/* Write what the rings contain. Returns 0 or an error of the writer. */
static int write_round(struct record *record)
{
	struct record_output *output = &record->output;
	struct sframe_unwind_sample_record sample;
	uint32_t event;
	int ret;

	ret = record_changes_write(record->changes, output->writer,
				   &output->latest);
	while (!ret &&
	       sframe_unwind_sampler_read(record->samples, &sample) == 1) {
		event = sample.event < record->event_room ?
			record->event_of[sample.event] : 0;
		if (sample.type == SFRAME_UNWIND_RECORD_SAMPLE &&
		    sample.time > output->latest)
			output->latest = sample.time;
		ret = record_waiting_add(record->waiting, &sample, event,
				record->options.events[event].is_off_cpu,
				output->writer);
	}
	return ret ? ret : record_output_end_round(output,
				record_waiting_oldest(record->waiting));
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec / 1e9;
}

static void print_progress(const struct record *record, double seconds,
			   const char *end)
{
	const struct record_counts *counts = record_counts(record->waiting);

	fprintf(stderr, "\rrecord: %.1f s, %" PRIu64 " samples, %.2f%% of the stacks complete, %.1f MB%s",
		seconds, counts->samples, counts->samples ?
		100.0 * counts->complete / counts->samples : 100,
		record_output_written(&record->output) / 1e6, end);
}

/* The child of this process that has ended is the command. */
static bool has_ended(struct record *record)
{
	pid_t pid;

	while ((pid = waitpid(-1, NULL, WNOHANG)) > 0) {
		if (pid == record->attach) {
			complain("record: attach has ended; see its message");
			record->attach = 0;
		}
		if (pid == record->child) {
			record->child = 0;
			return true;
		}
	}
	return false;
}

/* Whether the recording is to end. */
static bool is_over(struct record *record, double start)
{
	const struct record_options *options = &record->options;

	return is_interrupted || (is_child_over && has_ended(record)) ||
	       (options->duration > 0 && now() - start >= options->duration) ||
	       (options->max_size &&
		record_output_written(&record->output) >= options->max_size);
}

/* Begin another file if it is time to do so. Returns 0 or -errno, after a message. */
static int switch_output(struct record *record)
{
	if (!is_switch_asked && !record_output_is_due(&record->output))
		return 0;
	is_switch_asked = 0;
	return record_output_switch(&record->output) ? -ECANCELED : 0;
}

static int sample(struct record *record)
{
	const double start = now();
	double flushed = start;
	int ret = 0;

	while (!ret) {
		struct pollfd ready = {
			.fd = sframe_unwind_sampler_fd(record->samples),
			.events = POLLIN,
		};

		poll(&ready, 1, ROUND_MS);
		ret = write_round(record);
		if (!ret && now() - flushed >= FLUSH_S) {
			ret = sframe_unwind_profile_flush(record->output.writer);
			flushed = now();
			if (!record->options.quiet && isatty(STDERR_FILENO))
				print_progress(record, now() - start, " ");
		}
		if (!ret && is_over(record, start))
			break;
		if (!ret)
			ret = switch_output(record);
	}
	return ret;
}

/* Take no more samples; user stacks of the last ones follow. */
static int finish(struct record *record)
{
	struct sframe_unwind_sample_stats stats;
	struct sframe_unwind_profile_record lost = {
		.kind = SFRAME_UNWIND_PROFILE_LOST_SAMPLES,
		.source = SFRAME_UNWIND_PROFILE_NONE,
	};
	const double start = now();
	uint64_t time;
	int ret = 0;

	sframe_unwind_sampler_control(record->samples,
				      SFRAME_UNWIND_SAMPLE_STOP, 0);
	time = record_output_time();
	do {
		ret = write_round(record);
		if (!record_counts(record->waiting)->waiting || is_interrupted)
			break;
		poll(NULL, 0, 10);
	} while (!ret && (now() - start) * 1000 < LATER_MS);
	if (!ret)
		ret = record_waiting_end(record->waiting, time,
					 record->output.writer);
	if (!ret &&
	    !sframe_unwind_sampler_stats(record->samples, &stats)) {
		lost.lost = stats.lost_full + stats.lost_no_ring +
			    stats.lost_recursion;
		if (lost.lost)
			ret = sframe_unwind_profile_write(record->output.writer,
							  &lost);
		if (lost.lost)
			complain("record: %" PRIu64 " samples were lost",
				 (uint64_t)lost.lost);
	}
	return ret;
}

static int run(struct record *record)
{
	const double start = now();
	char byte;
	int ret;

	/* The program may have ended already. */
	sframe_unwind_sampler_control(record->samples,
				      SFRAME_UNWIND_SAMPLE_START, 0);
	if (record->child && write(record->go, "", 1) != 1)
		return complain("record: %s", strerror(errno));
	ret = sample(record);
	is_interrupted = 0;
	if (!ret)
		ret = finish(record);
	if (!ret && !record->options.quiet)
		print_progress(record, now() - start, "\n");
	if (ret == -ECANCELED)
		return CLI_TROUBLE;
	if (ret)
		return complain("%s: %s", record->options.output, strerror(-ret));
	if (record_output_finish(&record->output))
		return CLI_TROUBLE;
	/* The child has told why. */
	return record->options.command && read(record->failure, &byte, 1) == 1 ?
	       CLI_TROUBLE : CLI_OK;
}

static int prepare(struct record *record)
{
	int status = CLI_OK;

	if (!record->options.no_attach)
		status = start_attach(record);
	if (!status && record->options.command)
		status = start_command(record);
	if (!status && record->child && !record->options.all) {
		char pid[16];

		snprintf(pid, sizeof(pid), "%d", record->child);
		status = record_add_targets(&record->options.targets, pid, true);
	}
	if (!status)
		status = open_sampler(record);
	if (!status)
		status = record_changes_open(&record->changes,
					     &record->options.targets,
					     record_has_off_cpu(&record->options) ?
					     record->waiting : NULL);
	if (!status)
		status = record_output_open(&record->output, &record->options);
	return status;
}

/* End what was started, and free everything. */
static void clean_up(struct record *record)
{
	record_output_close(&record->output);
	record_changes_close(record->changes);
	sframe_unwind_sampler_close(record->samples);
	record_waiting_free(record->waiting);
	if (record->go) {
		close(record->go);
		close(record->failure);
	}
	if (record->child > 0)
		kill(record->child, SIGTERM);
	if (record->attach > 0)
		kill(record->attach, SIGTERM);
	if (record->child > 0)
		waitpid(record->child, NULL, 0);
	if (record->attach > 0)
		waitpid(record->attach, NULL, 0);
	for (uint32_t i = 0; i < record->options.nr_events; i++)
		free(record->options.events[i].ids);
	free(record->event_of);
	free(record->options.targets.tids);
}

int record_main(int argc, char **argv)
{
	struct record record = { .output.fd = -1 };
	int status = record_parse_options(&record.options, argc, argv);

	if (status)
		return status;
	record.waiting = record_waiting_create();
	catch_signals(&record.options);
	status = prepare(&record);
	if (!status)
		status = run(&record);
	clean_up(&record);
	return status;
}
