// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/profile/copies.h"
#include "cli/profile/record_sampler.h"
#include "sframe_unwind.h"

#define RING_PAGES	256u	/* of each CPU */
#define COPYING_PAGES	512u	/* the same with copies, on machines with few CPUs */
#define FEW_CPUS	16
#define MAP_PAGES	256u	/* of half of the stack map: some thousand stacks */
/* Bytes of a stack that is cut: copies take half of a ring at most. */
#define COPY_SIZE	32768u
#define FREQUENCY	99u	/* of clocks, if neither that nor a period is given */
#define MAX_TRIES	100	/* to sample a thread that forks all the time */

/**
 * struct opening - the sampler that is being opened
 *
 * @sampler: it.
 * @command, @options, @child, @raw: see record_sampler_open().
 */
struct opening {
	struct record_sampler *sampler;
	const char *command;
	struct record_options *options;
	pid_t child;
	bool raw;
};

/* Whether one stack for each event is too much. */
static bool is_clock(const struct perf_event_attr *attr)
{
	return attr->type == PERF_TYPE_SOFTWARE ?
	       attr->config == PERF_COUNT_SW_CPU_CLOCK ||
	       attr->config == PERF_COUNT_SW_TASK_CLOCK :
	       attr->type != PERF_TYPE_TRACEPOINT;
}

/* How often to take samples, unless the event says it. */
static void set_period(struct perf_event_attr *attr,
		       const struct record_options *options)
{
	uint64_t frequency = options->frequency;

	if (attr->sample_period)
		return;
	if (!frequency && !options->period && is_clock(attr))
		frequency = FREQUENCY;
	attr->freq = frequency && attr->type != PERF_TYPE_TRACEPOINT;
	attr->sample_period = attr->freq ? frequency :
			      options->period ? options->period : 1;
}

/* Whether an event also occurs in user mode. */
static bool is_of_user(const struct perf_event_attr *attr)
{
	if (attr->type == PERF_TYPE_TRACEPOINT)
		return false;
	return attr->type != PERF_TYPE_SOFTWARE || is_clock(attr) ||
	       attr->config == PERF_COUNT_SW_PAGE_FAULTS ||
	       attr->config == PERF_COUNT_SW_PAGE_FAULTS_MIN ||
	       attr->config == PERF_COUNT_SW_PAGE_FAULTS_MAJ ||
	       attr->config == PERF_COUNT_SW_ALIGNMENT_FAULTS;
}

static int paranoia(void)
{
	FILE *file = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
	int level = 0;

	if (!file)
		return 0;
	if (fscanf(file, "%d", &level) != 1)
		level = 0;
	fclose(file);
	return level;
}

/*
 * Who may not sample the kernel may sample user mode, as perf does. Returns a file of
 * perf_event_open(2), or @error.
 */
static int open_for_user(const struct opening *opening,
			 struct record_event *event,
			 struct perf_event_attr *attr, pid_t tid, int cpu,
			 int error)
{
	const size_t length = strlen(event->name);
	char *name;
	int fd;

	if ((error != -EACCES && error != -EPERM) || tid == -1 ||
	    attr->exclude_kernel || attr->exclude_user || !is_of_user(attr))
		return error;
	attr->exclude_kernel = 1;
	attr->exclude_hv = 1;
	fd = record_perf_open(attr, tid, cpu);
	if (fd < 0)
		return error;
	name = table_allocate(length + 3);
	sprintf(name, "%s%s", event->name,
		length && event->name[length - 1] == '/' ? "u" : ":u");
	event->attr.exclude_kernel = 1;
	event->attr.exclude_hv = 1;
	if (!opening->options->quiet)
		complain("%s: %s: only user mode, because kernel.perf_event_paranoid is %d: for the kernel, run as root or with CAP_PERFMON",
			 opening->command, event->name, paranoia());
	event->name = name;
	event->own_name = name;
	return fd;
}

/*
 * Take samples at the perf event @fd of @attr, and close it. While a thread forks, the
 * scheduler may have exchanged its events with its child's: then open another one.
 */
static int sample_at(struct record_sampler *sampler, int fd,
		     struct perf_event_attr *attr, pid_t tid, int cpu,
		     uint32_t fields, uint32_t *id)
{
	int ret = sframe_unwind_sampler_add(sampler->samples, fd, 0, fields, id);

	close(fd);
	for (int try = 1; ret == -EAGAIN && try < MAX_TRIES; try++) {
		fd = record_perf_open(attr, tid, cpu);
		if (fd < 0)
			return fd;
		ret = sframe_unwind_sampler_add(sampler->samples, fd, 0, fields,
						id);
		close(fd);
	}
	return ret;
}

static int add_perf_event(const struct opening *opening, uint32_t number,
			  pid_t tid, int cpu)
{
	struct record_options *options = opening->options;
	struct record_sampler *sampler = opening->sampler;
	struct record_event *event = &options->events[number];
	struct perf_event_attr attr = event->attr;
	uint32_t fields = SFRAME_UNWIND_SAMPLE_PERIOD |
			  SFRAME_UNWIND_SAMPLE_ADDRESS;
	uint32_t id;
	int fd, ret;

	set_period(&attr, options);
	attr.exclude_callchain_kernel = options->chains == RECORD_USER_CHAINS;
	attr.exclude_callchain_user = options->chains == RECORD_KERNEL_CHAINS;
	/* Where user mode was, if its stack is not wanted. */
	if (attr.exclude_callchain_user)
		fields |= SFRAME_UNWIND_SAMPLE_REGISTERS;
	attr.inherit = tid != -1;
	attr.enable_on_exec = tid == opening->child && tid > 0;
	attr.disabled = attr.enable_on_exec;
	if (attr.type == PERF_TYPE_TRACEPOINT && opening->raw) {
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
	if (fd < 0)
		fd = open_for_user(opening, event, &attr, tid, cpu, fd);
	/* The thread has ended, or the CPU is offline. */
	if ((fd == -ESRCH && tid != -1) || (fd == -ENODEV && cpu != -1))
		return CLI_OK;
	if (fd < 0)
		return record_complain(opening->command, event->name, fd);
	ret = sample_at(sampler, fd, &attr, tid, cpu, fields, &id);
	if (ret == -ESRCH && tid != -1)
		return CLI_OK;
	if (ret)
		return complain("%s: %s: %s", opening->command, event->name,
				sframe_unwind_error(NULL));
	sampler->event_of = table_grow(sampler->event_of, &sampler->room, id,
				       sizeof(uint32_t));
	sampler->event_of[id] = number;
	event->ids = table_grow(event->ids, &event->room, event->nr_ids,
				sizeof(uint32_t));
	event->ids[event->nr_ids++] = id;
	return CLI_OK;
}

/* For a thread, or for all if @tid is -1: on each of the CPUs that were asked for. */
static int add_target(const struct opening *opening, uint32_t number, pid_t tid)
{
	const struct record_targets *targets = &opening->options->targets;
	const int nr_cpus = sysconf(_SC_NPROCESSORS_CONF);
	int status = CLI_OK;

	if (!targets->nr_cpus && tid != -1)
		return add_perf_event(opening, number, tid, -1);
	for (uint32_t i = 0; i < targets->nr_cpus && !status; i++)
		status = add_perf_event(opening, number, tid, targets->cpus[i]);
	for (int cpu = 0; !targets->nr_cpus && cpu < nr_cpus && !status; cpu++)
		status = add_perf_event(opening, number, tid, cpu);
	return status;
}

static int add_event(const struct opening *opening, uint32_t number)
{
	const struct record_targets *targets = &opening->options->targets;
	const struct record_event *event = &opening->options->events[number];
	int status = CLI_OK;

	if (!targets->nr)
		status = add_target(opening, number, -1);
	for (uint32_t i = 0; i < targets->nr && !status; i++)
		status = add_target(opening, number, targets->tids[i]);
	if (status || event->nr_ids)
		return status;
	return targets->nr ? complain("%s: the threads have ended",
				      opening->command) :
			     record_complain(opening->command, event->name,
					     -ENODEV);
}

int record_sampler_open(struct record_sampler *sampler, const char *command,
			struct record_options *options, pid_t child, bool raw)
{
	const struct opening opening = { sampler, command, options, child, raw };
	struct sframe_unwind_sampler how = {
		.ring_pages = RING_PAGES,
		.max_depth = RECORD_DEPTH,
		.clockid = CLOCK_MONOTONIC,
	};
	int ret, status = CLI_OK;

	/*
	 * So that no samples are lost because reading them stands still: see
	 * cli/attach/privilege.c.
	 */
	prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
	if (options->stack_map) {
		how.flags |= SFRAME_UNWIND_SAMPLER_STACK_MAP;
		how.map_pages = MAP_PAGES;
	}
	if (options->copies) {
		how.copy_size = COPY_SIZE;
		how.watermark = RING_PAGES * sysconf(_SC_PAGESIZE) / 8;
		if (sysconf(_SC_NPROCESSORS_CONF) <= FEW_CPUS)
			how.ring_pages = COPYING_PAGES;
	}
	ret = sframe_unwind_sampler_open(&sampler->samples, &how);
	/* There is no memory for that; or the module makes no copies. */
	if (ret == -ENOMEM && how.ring_pages > RING_PAGES) {
		how.ring_pages = RING_PAGES;
		ret = sframe_unwind_sampler_open(&sampler->samples, &how);
	}
	if (ret == -EINVAL && how.copy_size) {
		how.copy_size = 0;
		ret = sframe_unwind_sampler_open(&sampler->samples, &how);
	}
	if (ret == -ENOENT)
		return complain("%s: %s does not exist: load the module (modprobe sframe_unwind)",
				command, SFRAME_UNWIND_DEVICE);
	if (ret)
		return complain("%s: %s", command, sframe_unwind_error(NULL));
	for (uint32_t i = 0; i < options->nr_events && !status; i++)
		status = add_event(&opening, i);
	return status;
}

uint32_t record_sampler_event(const struct record_sampler *sampler, uint32_t id)
{
	return id < sampler->room ? sampler->event_of[id] : 0;
}

int record_sampler_read(struct record_sampler *sampler,
			struct sframe_unwind_sample_record *record,
			struct record_copy *copy)
{
	const int ret = sframe_unwind_sampler_read(sampler->samples, record);

	*copy = (struct record_copy){ 0 };
	if (ret == 1 && record->fields & SFRAME_UNWIND_SAMPLE_COPY)
		copy->copy = sframe_unwind_sampler_copy(sampler->samples, &copy->size);
	if (ret == 1)
		sampler->mapped += !!record->user_id + !!record->kernel_id;
	return ret;
}

void record_sampler_end_round(struct record_sampler *sampler)
{
	struct sframe_unwind_sample_stats stats;

	/* Without a stack map, nothing is refused. */
	if (sframe_unwind_sampler_stats(sampler->samples, &stats) ||
	    stats.map_refused == sampler->refused)
		return;
	sampler->refused = stats.map_refused;
	if (!sframe_unwind_sampler_clear(sampler->samples))
		sampler->cleared++;
}

void record_sampler_close(struct record_sampler *sampler,
			  struct record_options *options)
{
	sframe_unwind_sampler_close(sampler->samples);
	free(sampler->event_of);
	*sampler = (struct record_sampler){ 0 };
	for (uint32_t i = 0; i < options->nr_events; i++) {
		free(options->events[i].ids);
		free(options->events[i].own_name);
		options->events[i] = (struct record_event){ 0 };
	}
	options->nr_events = 0;
}
