// SPDX-License-Identifier: GPL-2.0
/*
 * sframe-unwind record: take samples with whole user stacks, into a file that
 * perf reads.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/preload.h"
#include "cli/profile/attaching.h"
#include "cli/profile/command.h"
#include "cli/profile/copies.h"
#include "cli/profile/copy_code.h"
#include "cli/profile/inspect.h"
#include "cli/profile/record_output.h"
#include "cli/profile/record_sampler.h"
#include "cli/profile/record_sums.h"
#include "sframe_unwind.h"

#define ROUND_MS	100	/* between two readings */
#define IDLE_MS		500	/* the same if no process has changed what it maps */
#define COPIES_MS	250	/* the same while stacks are being completed */
#define SOON_MS		20	/* from a change to reading it, if the last one was long ago */
#define NICENESS	(-10)	/* while samples are read */
#define FLUSH_MS	700	/* and a round: what is lost if the recorder is killed */
#define LATER_MS	1000	/* to wait for user stacks at the end */
#define COMPLETE_MS	60000	/* to complete stacks at the end */
#define COMPLETE_LAST_MS 3000	/* after a signal */
#define INSPECT_MS	1000	/* to look at what is mapped, in one reading */
#define INSPECT_LAST_MS	250	/* after a signal */

/**
 * struct record - a recording
 *
 * @options: what to record.
 * @command: the program to run.
 * @attach: process of the daemon, or 0.
 * @sampler: the sampler.
 * @changes: changes of processes.
 * @waiting: samples that wait.
 * @files: files to keep, or NULL.
 * @jit: files to keep that name code made at run time, or NULL.
 * @copies: completes stacks that are cut, or NULL.
 * @inspect_ms: time to look at what is mapped, in one reading.
 * @output: the profile.
 */
struct record {
	struct record_options options;
	struct command command;
	pid_t attach;
	struct record_sampler sampler;
	struct record_changes *changes;
	struct record_waiting *waiting;
	struct record_files *files;
	struct record_jit *jit;
	struct copies *copies;
	unsigned int inspect_ms;
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

	for (unsigned int i = 0; i < 4; i++) {
		/* Children that end interrupt nothing but poll(2). */
		action.sa_flags = signals[i] == SIGCHLD ? SA_RESTART : 0;
		sigaction(signals[i], &action, NULL);
	}
	action.sa_flags = 0;
	if (options->switch_signal)
		sigaction(SIGUSR2, &action, NULL);
}

/*
 * Write the samples that were taken before @until, and perhaps one more: all that is left may never
 * be read, because processes can cause samples faster.
 */
static int write_samples(struct record *record, uint64_t until)
{
	struct record_output *output = &record->output;
	struct sframe_unwind_sample_record sample = { 0 };
	struct record_copy copy;
	uint32_t event;
	int ret = 0;

	while (!ret && sample.time <= until &&
	       record_sampler_read(&record->sampler, &sample, &copy) == 1) {
		event = record_sampler_event(&record->sampler, sample.event);
		if (sample.type == SFRAME_UNWIND_RECORD_SAMPLE &&
		    sample.time > output->latest)
			output->latest = sample.time;
		ret = record_waiting_add(record->waiting, &sample, &copy, event,
				record->options.events[event].is_off_cpu,
				output->writer);
	}
	return ret;
}

/* Write what the rings contain. Returns 0 or an error of the writer. */
static int write_round(struct record *record)
{
	struct record_output *output = &record->output;
	uint64_t until;
	int ret;

	inspect_begin(&is_interrupted, record->inspect_ms);
	ret = record_changes_write(record->changes, output->writer,
				   &output->latest);
	until = record_changes_until(record->changes);
	if (record->copies)
		copies_begin_round(record->copies, until);
	if (!ret)
		ret = write_samples(record, until);
	if (!ret && record->copies)
		ret = record_waiting_complete(record->waiting, false,
					      output->writer);
	if (record->options.stack_map)
		record_sampler_end_round(&record->sampler);
	if (record->files)
		record_files_open(record->files);
	if (record->jit)
		record_jit_look(record->jit);
	return ret ? ret : record_output_end_round(output,
				record_waiting_oldest(record->waiting));
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec / 1e9;
}

/* @end: what comes behind the line. */
static void print_progress(const struct record *record, double seconds,
			   const char *end)
{
	struct sframe_unwind_sample_stats stats = { 0 };

	sframe_unwind_sampler_stats(record->sampler.samples, &stats);
	record_sums_progress(record_counts(record->waiting), &stats, seconds,
			     record_output_written(&record->output));
	fputs(end, stderr);
}

/* Returns whether the command has ended. */
static bool has_ended(struct record *record)
{
	/* Others belong to cli/attach/child.h. */
	if (record->attach > 0 &&
	    waitpid(record->attach, NULL, WNOHANG) > 0) {
		complain(record->copies ?
			 "record: attach has ended, see its message; stacks are completed from copies" :
			 "record: attach has ended, see its message; stacks in code without SFrame data are cut");
		record->attach = 0;
	}
	if (record->command.pid <= 0 ||
	    waitpid(record->command.pid, NULL, WNOHANG) <= 0)
		return false;
	record->command.pid = 0;
	return true;
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

/* For how long nothing needs to be done, in milliseconds. @start: of the recording. */
static int idle_ms(const struct record *record, double start)
{
	const struct record_options *options = &record->options;
	const double left = (start + options->duration - now()) * 1000;
	int ms = IDLE_MS;

	if (record->copies && copies_are_left(record->copies))
		ms = COPIES_MS;
	if (record_has_off_cpu(options) || options->switch_seconds > 0)
		ms = ROUND_MS;
	if (options->duration > 0 && left < ms)
		ms = left > 0 ? left + 1 : 0;
	return ms;
}

/*
 * Wait until the rings are to be read: one of them fills, or something has happened that may be
 * gone soon. More may follow that; so when something happens all the time, read every ROUND_MS.
 * @last: when they were read.
 */
static void wait_for_samples(const struct record *record, double start, double last)
{
	struct pollfd files[] = {
		{ sframe_unwind_sampler_fd(record->sampler.samples), POLLIN, 0 },
		{ copies_file(record->copies), POLLIN, 0 },
	};
	const int ms = idle_ms(record, start);
	int more;

	if ((!record_changes_wait(record->changes, files, 2, ms) && !files[1].revents) ||
	    files[0].revents)
		return;
	more = ROUND_MS - (now() - last) * 1000;
	if (more < SOON_MS)
		more = SOON_MS;
	poll(files, 1, more < ms ? more : ms);
}

static int sample(struct record *record)
{
	const double start = now();
	double flushed = start, last = start;
	int ret = 0;

	while (!ret) {
		wait_for_samples(record, start, last);
		last = now();
		ret = write_round(record);
		if (!ret && (now() - flushed) * 1000 >= FLUSH_MS) {
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

/* Complete stacks, until there are none left. Ctrl-C ends that. */
static int complete(struct record *record)
{
	const double start = now();
	const int ms = record->inspect_ms == INSPECT_LAST_MS ? COMPLETE_LAST_MS : COMPLETE_MS;
	int ret;

	for (;;) {
		/* What the last stacks are in may not have been told before. */
		ret = write_round(record);
		if (!ret)
			ret = record_waiting_complete(record->waiting, true,
						      record->output.writer);
		if (ret || is_interrupted || !copies_are_left(record->copies) ||
		    (now() - start) * 1000 > ms)
			return ret;
		poll(NULL, 0, 10);
	}
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

	sframe_unwind_sampler_control(record->sampler.samples,
				      SFRAME_UNWIND_SAMPLE_STOP, 0);
	time = record_output_time();
	do {
		ret = write_round(record);
		if (!record_counts(record->waiting)->waiting || is_interrupted)
			break;
		poll(NULL, 0, 10);
	} while (!ret && (now() - start) * 1000 < LATER_MS);
	if (!ret && record->copies)
		ret = complete(record);
	if (!ret)
		ret = record_waiting_end(record->waiting, time,
					 record->output.writer);
	if (!ret &&
	    !sframe_unwind_sampler_stats(record->sampler.samples, &stats)) {
		lost.lost = record_sums_lost(&stats);
		if (lost.lost)
			ret = sframe_unwind_profile_write(record->output.writer,
							  &lost);
	}
	return ret;
}

static void print_sums(const struct record *record, double seconds)
{
	struct sframe_unwind_sample_copy_stats stats = { 0 };
	const int ret = sframe_unwind_sampler_copy_stats(record->sampler.samples, &stats);

	if (!record->options.quiet) {
		print_progress(record, seconds, "\n");
		record_sums_cut(record_counts(record->waiting));
		record_sums_completed(record_counts(record->waiting), &stats);
		if (record->options.stack_map)
			record_sums_map(record->sampler.mapped,
					record->sampler.cleared);
	}
	if (!ret)
		record_sums_complain(&stats.stats,
				     record_changes_lost(record->changes));
}

/* Keep the files that samples are in. Returns an exit status. */
static int keep_files(struct record *record)
{
	const struct strings *paths = &record->output.finished;
	int status = CLI_OK;

	inspect_begin(&is_interrupted, 0);
	for (uint32_t i = 0; i < paths->pairs.nr && !status; i++)
		status = record_files_use(record->files, paths->texts[i]);
	if (!status)
		status = record_files_keep(record->files,
					   record->options.quiet);
	inspect_complain();
	return status;
}

static int run(struct record *record)
{
	const double start = now();
	int ret;

	/* The program may have ended already. */
	sframe_unwind_sampler_control(record->sampler.samples,
				      SFRAME_UNWIND_SAMPLE_START, 0);
	if (record->command.pid)
		command_go(&record->command);
	ret = sample(record);
	if (is_interrupted)
		record->inspect_ms = INSPECT_LAST_MS;
	is_interrupted = 0;
	if (!ret)
		ret = finish(record);
	if (!ret)
		print_sums(record, now() - start);
	if (ret == -ECANCELED)
		return CLI_TROUBLE;
	if (ret)
		return complain("%s: %s", record->options.output, strerror(-ret));
	if (record_output_finish(&record->output) ||
	    (record->files && keep_files(record)))
		return CLI_TROUBLE;
	return record->options.command && command_has_failed(&record->command) ?
	       CLI_TROUBLE : CLI_OK;
}

/*
 * On a machine where many programs are busy, samples would not be read in time: copies of
 * stacks have only half of the ring. Children do not inherit this. A priority that was
 * chosen, as by nice(1), is left as it is.
 */
static void raise_priority(void)
{
	static const struct sched_param none;

	errno = 0;
	if (sched_getscheduler(0) != SCHED_OTHER ||
	    getpriority(PRIO_PROCESS, 0) || errno)
		return;
	if (!sched_setscheduler(0, SCHED_OTHER | SCHED_RESET_ON_FORK, &none))
		setpriority(PRIO_PROCESS, 0, NICENESS);
}

static int prepare(struct record *record)
{
	struct record_options *options = &record->options;
	char preload[2 * PATH_MAX];
	int status = CLI_OK, code = -1;

	if (options->jit && preload_find(PRELOAD_JIT, preload, sizeof(preload)))
		return CLI_TROUBLE;
	if (options->build_id)
		status = record_files_create(&record->files, &is_interrupted);
	if (!options->no_jit_names)
		record->jit = record_jit_create(&is_interrupted);
	/* Before "attach", which looks for what is mapped. */
	if (!status && options->command)
		status = command_start(&record->command, "record",
				       options->command, !options->no_attach,
				       options->jit ? preload : NULL,
				       &is_interrupted);
	if (!status && !options->no_attach) {
		record->attach = attaching_start_telling("record", &code, options->quiet,
							 &is_interrupted);
		if (record->attach < 0)
			return CLI_TROUBLE;
	}
	if (!status && record->command.pid && !options->all &&
	    !options->by_cgroup) {
		char pid[16];

		snprintf(pid, sizeof(pid), "%d", record->command.pid);
		status = record_add_targets(&options->targets, "record", pid,
					    true);
	}
	if (!status && !options->no_attach) {
		record->copies = copies_create("record",
					       code < 0 ? NULL : copy_code_create(code));
		options->copies = record->copies;
		record_waiting_use(record->waiting, record->copies);
	}
	if (!status)
		status = record_sampler_open(&record->sampler, "record", options,
					     record->command.pid, true);
	if (!status)
		status = record_changes_open(&record->changes, "record",
					     &options->targets,
					     record_has_off_cpu(options) ?
					     record->waiting : NULL, true);
	/* Threads that are not followed may replace code that is. */
	if (!status && !record_targets_are_processes(&options->targets))
		copies_without_code(record->copies);
	if (!status)
		record_changes_keep(record->changes, record->files,
				    record->jit, record->copies);
	if (!status)
		status = record_output_open(&record->output, options,
					    record->files, record->jit,
					    record->copies, &is_interrupted);
	if (!status)
		raise_priority();
	return status;
}

/* End what was started, and free everything. */
static void clean_up(struct record *record)
{
	record_output_close(&record->output);
	record_changes_close(record->changes);
	record_sampler_close(&record->sampler, &record->options);
	record_waiting_free(record->waiting);
	copies_free(record->copies);
	record_files_free(record->files);
	record_jit_free(record->jit);
	command_end(&record->command);
	attaching_end(record->attach);
	record_free_targets(&record->options.targets);
}

int record_main(int argc, char **argv)
{
	struct record record = { .inspect_ms = INSPECT_MS, .output.fd = -1 };
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
