// SPDX-License-Identifier: GPL-2.0
/*
 * Which events to sample.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/profile/record.h"
#include "cli/profile/record_options.h"

static const struct {
	const char *name;
	uint32_t type;
	uint32_t config;
} known_events[] = {
	{ "cpu-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK },
	{ "task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK },
	{ "page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS },
	{ "faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS },
	{ "minor-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN },
	{ "major-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ },
	{ "context-switches", PERF_TYPE_SOFTWARE,
	  PERF_COUNT_SW_CONTEXT_SWITCHES },
	{ "cs", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES },
	{ "cpu-migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS },
	{ "alignment-faults", PERF_TYPE_SOFTWARE,
	  PERF_COUNT_SW_ALIGNMENT_FAULTS },
	{ "cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES },
	{ "cpu-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES },
	{ "instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS },
	{ "cache-references", PERF_TYPE_HARDWARE,
	  PERF_COUNT_HW_CACHE_REFERENCES },
	{ "cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES },
	{ "branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS },
	{ "branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES },
};

int record_perf_open(const struct perf_event_attr *attr, pid_t tid, int cpu)
{
	const int fd = syscall(SYS_perf_event_open, attr, tid, cpu, -1,
			       PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int record_complain(const char *command, const char *event, int error)
{
	if (error == -EACCES || error == -EPERM)
		return complain("%s: %s: not permitted: run as root, or with CAP_PERFMON, or sysctl kernel.perf_event_paranoid=1 (or less) and profile own processes",
				command, event);
	if (error == -ENOENT || error == -ENODEV || error == -EOPNOTSUPP)
		return complain("%s: %s: this machine has no such event; try -e cpu-clock",
				command, event);
	return complain("%s: %s: %s", command, event, strerror(-error));
}

/* Returns the number of a tracepoint, or 0. */
static uint64_t tracepoint(const char *name, size_t length)
{
	static const char * const roots[] = {
		"/sys/kernel/tracing", "/sys/kernel/debug/tracing",
	};
	unsigned long long id = 0;
	char path[512], *colon;
	FILE *file;

	for (unsigned int i = 0; i < 2 && !id; i++) {
		snprintf(path, sizeof(path), "%s/events/%.*s/id", roots[i],
			 (int)length, name);
		colon = strchr(path, ':');
		if (!colon || strstr(path, ".."))
			return 0;
		*colon = '/';
		file = fopen(path, "re");
		if (!file)
			continue;
		if (fscanf(file, "%llu", &id) != 1)
			id = 0;
		fclose(file);
	}
	return id;
}

/*
 * Returns the length of the name without ":u" and ":k", or "u" and "k" behind
 * PMU/TERM,.../, and sets those.
 */
static size_t parse_modifiers(const char *name, struct perf_event_attr *attr)
{
	const char *end = strrchr(name, '/');
	const bool is_pmu = end && strchr(name, '/') < end;
	const char *letters;

	if (!is_pmu)
		end = strrchr(name, ':');
	letters = end ? end + 1 : "";
	if (is_pmu && *letters == ':')
		letters++;
	if (!*letters || strspn(letters, "uk") != strlen(letters))
		return strlen(name);
	attr->exclude_kernel = !strchr(letters, 'k');
	attr->exclude_user = !strchr(letters, 'u');
	attr->exclude_hv = 1;
	return end - name + is_pmu;
}

int record_parse_event(struct record_event *event, const char *command,
		       const char *name)
{
	struct perf_event_attr *attr = &event->attr;
	size_t length;
	char *end;

	*event = (struct record_event){ .name = name };
	attr->size = sizeof(*attr);
	length = parse_modifiers(name, attr);
	for (size_t i = 0; i < sizeof(known_events) / sizeof(known_events[0]);
	     i++) {
		if (strlen(known_events[i].name) != length ||
		    strncmp(known_events[i].name, name, length))
			continue;
		attr->type = known_events[i].type;
		attr->config = known_events[i].config;
		return CLI_OK;
	}
	if (name[0] == 'r' && isxdigit((unsigned char)name[1])) {
		attr->type = PERF_TYPE_RAW;
		attr->config = strtoull(name + 1, &end, 16);
		if (end == name + length)
			return CLI_OK;
	}
	if (memchr(name, '/', length)) {
		if (record_parse_pmu(attr, name, length))
			return CLI_OK;
		return complain_as(CLI_USAGE,
				   "%s: '%s' is not PMU/TERM,.../: see /sys/bus/event_source/devices/PMU/format and events",
				   command, name);
	}
	attr->type = PERF_TYPE_TRACEPOINT;
	attr->config = tracepoint(name, length);
	if (attr->config)
		return CLI_OK;
	return complain_as(CLI_USAGE, strchr(name, ':') ?
			   "%s: no tracepoint '%s', or /sys/kernel/tracing cannot be read" :
			   "%s: no event '%s'", command, name);
}

/*
 * End the first event of @list at the comma behind it; one between the slashes of
 * PMU/TERM,.../ is not that. Returns the other events, or NULL.
 */
static char *cut_event(char *list)
{
	bool in_pmu = false;

	for (; *list; list++) {
		in_pmu ^= *list == '/';
		if (*list == ',' && !in_pmu) {
			*list = '\0';
			return list + 1;
		}
	}
	return NULL;
}

int record_add_events(struct record_options *options, const char *command,
		      char *list)
{
	char *name;
	int status;

	while ((name = list)) {
		list = cut_event(list);
		if (options->nr_events == RECORD_EVENTS_MAX)
			return usage_error(command, "at most 64 events");
		status = record_parse_event(&options->events[options->nr_events++],
					    command, name);
		if (status)
			return status;
	}
	return CLI_OK;
}

/* Lines of tracefs' list of tracepoints; none if it cannot be read. */
static void list_tracepoints(void)
{
	static const char * const paths[] = {
		"/sys/kernel/tracing/available_events",
		"/sys/kernel/debug/tracing/available_events",
	};
	FILE *file = NULL;
	int byte;

	for (unsigned int i = 0; i < 2 && !file; i++)
		file = fopen(paths[i], "re");
	while (file && (byte = getc(file)) != EOF)
		putchar(byte);
	if (file)
		fclose(file);
}

void record_list_events(void)
{
	for (size_t i = 0; i < sizeof(known_events) / sizeof(known_events[0]);
	     i++)
		puts(known_events[i].name);
	record_list_pmus();
	list_tracepoints();
}

/* Each time that a thread is taken from its CPU; record_waiting.c adds the time. */
void record_off_cpu_event(struct record_event *event)
{
	*event = (struct record_event){
		.name = RECORD_OFF_CPU,
		.attr = {
			.type = PERF_TYPE_SOFTWARE,
			.size = sizeof(event->attr),
			.config = PERF_COUNT_SW_CONTEXT_SWITCHES,
			.sample_period = 1,
		},
		.is_off_cpu = true,
	};
}
