// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "cli/attach/clock.h"
#include "cli/cli.h"
#include "cli/profile/record_output.h"

uint64_t record_output_time(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000ULL + time.tv_nsec;
}

/* Rename an older profile. Nothing else is renamed, such as a device or a directory. */
static int keep_old(const char *path)
{
	struct stat status;
	char *old = NULL;
	int ret;

	if (lstat(path, &status))
		return errno == ENOENT ? CLI_OK :
		       complain("%s: %s", path, strerror(errno));
	if (!S_ISREG(status.st_mode))
		return complain("%s: not a regular file", path);
	if (asprintf(&old, "%s.old", path) < 0)
		return complain("no memory");
	ret = rename(path, old) ? -errno : 0;
	free(old);
	return ret ? complain("%s: %s", path, strerror(-ret)) : CLI_OK;
}

static int open_file(struct record_output *output)
{
	const char *path = output->options->output;
	const int status = keep_old(path);

	if (status)
		return status;
	/* A link that somebody else has made meanwhile is not followed. */
	output->fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	return output->fd < 0 ? complain("%s: %s", path, strerror(errno)) :
				CLI_OK;
}

/*
 * perf refuses tracepoints without the descriptions of their data, which are not
 * recorded. So they are described as another kind of event. So is the event of
 * --off-cpu, because its samples stand for time.
 */
static bool is_plain(const struct record_event *event)
{
	return event->attr.type != PERF_TYPE_TRACEPOINT && !event->is_off_cpu;
}

/* Clocks that are sampled at a frequency have a fixed period. */
static bool is_software_clock(const struct record_event *event)
{
	const struct perf_event_attr *attr = &event->attr;

	return !event->is_off_cpu && attr->type == PERF_TYPE_SOFTWARE &&
	       (attr->config == PERF_COUNT_SW_CPU_CLOCK ||
		attr->config == PERF_COUNT_SW_TASK_CLOCK);
}

static void fill_source(const struct record_options *options,
			const struct record_event *event,
			struct sframe_unwind_profile_source *source)
{
	const struct perf_event_attr *attr = &event->attr;
	uint64_t *ids = table_allocate(event->nr_ids * sizeof(*ids));

	for (uint32_t i = 0; i < event->nr_ids; i++)
		ids[i] = event->ids[i];
	*source = (struct sframe_unwind_profile_source){
		.name = event->name,
		.ids = ids,
		.nr_ids = event->nr_ids,
		.type = is_plain(event) ? attr->type : PERF_TYPE_SOFTWARE,
		.config = is_plain(event) ? attr->config : PERF_COUNT_SW_DUMMY,
		.is_user_only = attr->exclude_kernel,
	};
	if (attr->freq && is_software_clock(event)) {
		source->period = SECOND / attr->sample_freq;
	} else if (attr->sample_period) {
		source->period = attr->sample_period;
		source->frequency = attr->freq;
	} else if (options->frequency && is_software_clock(event)) {
		source->period = SECOND / options->frequency;
	} else if (options->frequency && is_plain(event)) {
		source->period = options->frequency;
		source->frequency = 1;
	} else {
		source->period = options->period ? options->period : 1;
	}
}

static void set_facts(const struct record_output *output)
{
	struct utsname machine;
	char *command = NULL;
	size_t size;
	FILE *to;

	if (!uname(&machine)) {
		sframe_unwind_profile_set_fact(output->writer,
			SFRAME_UNWIND_PROFILE_HOSTNAME, machine.nodename);
		sframe_unwind_profile_set_fact(output->writer,
			SFRAME_UNWIND_PROFILE_RELEASE, machine.release);
		sframe_unwind_profile_set_fact(output->writer,
			SFRAME_UNWIND_PROFILE_ARCH, machine.machine);
	}
	sframe_unwind_profile_set_fact(output->writer,
				       SFRAME_UNWIND_PROFILE_VERSION,
				       "sframe-unwind " SFRAME_UNWIND_VERSION);
	to = open_memstream(&command, &size);
	if (!to)
		return;
	fputs("sframe-unwind record", to);
	for (char **word = output->options->command; word && *word; word++)
		fprintf(to, " %s", *word);
	fclose(to);
	if (command)
		sframe_unwind_profile_set_fact(output->writer,
			SFRAME_UNWIND_PROFILE_COMMAND, command);
	free(command);
}

/* What the samples of @event have. Fields that say nothing make each sample larger. */
static uint32_t flags_of(const struct record_options *options, const struct record_event *event)
{
	const struct perf_event_attr *attr = &event->attr;

	if (event->is_off_cpu)
		return SFRAME_UNWIND_PROFILE_WRITE_PERIOD;
	if (attr->type == PERF_TYPE_TRACEPOINT)
		return SFRAME_UNWIND_PROFILE_WRITE_RAW |
		       (attr->freq ? SFRAME_UNWIND_PROFILE_WRITE_PERIOD : 0);
	if (is_software_clock(event))
		return 0;
	return SFRAME_UNWIND_PROFILE_WRITE_ADDRESS |
	       (attr->freq || (options->frequency && !attr->sample_period) ?
		SFRAME_UNWIND_PROFILE_WRITE_PERIOD : 0);
}

static uint32_t writer_flags(const struct record_options *options)
{
	uint32_t flags = SFRAME_UNWIND_PROFILE_WRITE_CPU;

	if (options->level)
		flags |= SFRAME_UNWIND_PROFILE_WRITE_COMPRESSED |
			 SFRAME_UNWIND_PROFILE_WRITE_LEVEL(options->level);
	for (uint32_t i = 0; i < options->nr_events; i++)
		flags |= flags_of(options, &options->events[i]);
	return flags;
}

static int begin(struct record_output *output,
		 const struct record_targets *targets)
{
	struct sframe_unwind_profile_source sources[RECORD_EVENTS_MAX] = { 0 };
	const struct record_options *options = output->options;
	int status = open_file(output), ret;

	if (status)
		return status;
	for (uint32_t i = 0; i < options->nr_events; i++)
		fill_source(options, &options->events[i], &sources[i]);
	ret = sframe_unwind_profile_create(&output->writer, output->fd, sources,
					   options->nr_events,
					   writer_flags(options),
					   CLOCK_MONOTONIC);
	for (uint32_t i = 0; i < options->nr_events; i++)
		free((uint64_t *)sources[i].ids);
	if (!ret) {
		set_facts(output);
		ret = record_existing(output->writer, targets, output->files,
				      output->jit, output->copies,
				      output->is_interrupted);
		/* It follows what has been told. */
		output->copies = NULL;
	}
	if (!ret)
		ret = sframe_unwind_profile_flush(output->writer);
	output->begun = record_output_time();
	return ret ? complain("%s: %s", options->output, strerror(-ret)) :
		     CLI_OK;
}

int record_output_open(struct record_output *output,
		       const struct record_options *options,
		       struct record_files *files, struct record_jit *jit,
		       struct copies *copies, const volatile sig_atomic_t *is_interrupted)
{
	*output = (struct record_output){
		.options = options,
		.files = files,
		.jit = jit,
		.copies = copies,
		.is_interrupted = is_interrupted,
		.fd = -1,
	};
	return begin(output, &options->targets);
}

bool record_output_is_due(const struct record_output *output)
{
	const struct record_options *options = output->options;
	const uint64_t passed = record_output_time() - output->begun;

	return (options->switch_size &&
		sframe_unwind_profile_written(output->writer) >=
			options->switch_size) ||
	       (options->switch_seconds > 0 &&
		passed / 1e9 >= options->switch_seconds);
}

/* Rename the file to its name and the time, as perf does. */
static int add_time(struct record_output *output)
{
	const char *path = output->options->output;
	char *name, text[32];
	int ret = -1;

	do {
		struct timespec now;
		struct tm local;

		clock_gettime(CLOCK_REALTIME, &now);
		localtime_r(&now.tv_sec, &local);
		strftime(text, sizeof(text), "%Y%m%d%H%M%S", &local);
		if (asprintf(&name, "%s.%s%02ld", path, text,
			     now.tv_nsec / 10000000) < 0)
			return complain("no memory");
		ret = renameat2(AT_FDCWD, path, AT_FDCWD, name, RENAME_NOREPLACE);
		if (!ret)
			strings_add(&output->finished, name);
		else if (errno == EEXIST)
			usleep(10000);
		free(name);
	} while (ret && errno == EEXIST);
	return ret ? complain("%s: %s", path, strerror(errno)) : CLI_OK;
}

int record_output_finish(struct record_output *output)
{
	int ret = 0, error;

	if (output->jit)
		ret = record_jit_keep(output->jit, output->writer,
				      record_output_time());
	output->before = record_output_written(output);
	error = sframe_unwind_profile_finish(output->writer);
	ret = ret ? ret : error;
	output->writer = NULL;
	if (close(output->fd) && !ret)
		ret = -errno;
	output->fd = -1;
	if (ret)
		return complain("%s: %s", output->options->output,
				strerror(-ret));
	if (record_switches(output->options))
		return add_time(output);
	strings_add(&output->finished, output->options->output);
	return CLI_OK;
}

int record_output_switch(struct record_output *output)
{
	/* What the targets have started meanwhile is not known here. */
	static const struct record_targets all;
	const int status = record_output_finish(output);

	output->round = 0;
	output->in_round = 0;
	return status ? status : begin(output, &all);
}

int record_output_end_round(struct record_output *output, uint64_t oldest)
{
	const uint64_t written = sframe_unwind_profile_written(output->writer);
	int ret;

	/* Readers sort up to the latest time of the round before. */
	if (oldest <= output->round || written == output->in_round)
		return 0;
	ret = sframe_unwind_profile_end_round(output->writer);
	output->round = output->latest;
	output->in_round = sframe_unwind_profile_written(output->writer);
	return ret;
}

uint64_t record_output_written(const struct record_output *output)
{
	return output->before + (output->writer ?
				 sframe_unwind_profile_written(output->writer) :
				 0);
}

void record_output_close(struct record_output *output)
{
	sframe_unwind_profile_finish(output->writer);
	if (output->fd >= 0)
		close(output->fd);
	strings_free(&output->finished);
}
