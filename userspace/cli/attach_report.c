// SPDX-License-Identifier: GPL-2.0
/*
 * Report: what "attach" prints.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "attach_report.h"

#define BAR_WIDTH	40
#define BAR_MS		100	/* between updates */

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000ULL + now.tv_nsec / 1000000;
}

void report_begin(struct report *report)
{
	report->start_ms = now_ms();
	report->has_bar = isatty(STDERR_FILENO) && !report->is_quiet;
}

void report_remove_bar(struct report *report)
{
	if (report->bar_ms)
		fputs("\r\033[K", stderr);
	report->bar_ms = 0;
}

void report_busy(void *data, const char *name)
{
	struct report *report = data;
	const uint64_t now = now_ms();
	char bar[BAR_WIDTH + 1];
	size_t filled;

	if (!report->has_bar || now - report->bar_ms < BAR_MS)
		return;
	report->bar_ms = now;
	filled = report->whole ? report->done * BAR_WIDTH / report->whole : 0;
	memset(bar, ' ', BAR_WIDTH);
	memset(bar, '#', filled);
	bar[BAR_WIDTH] = '\0';
	fprintf(stderr, "\r[%s] %u attached %.60s\033[K", bar,
		objects_totals(report->objects)->nr[OBJECT_ATTACHED], name);
}

void report_progress(struct report *report, size_t done, size_t whole)
{
	report->done = done;
	report->whole = whole;
	report_busy(report, "");
}

void report_object(void *data, const char *name, enum object_state state,
		   const char *text)
{
	static const char * const verbs[] = {
		[OBJECT_ATTACHED] = "attached",
		[OBJECT_OWN] = "skipped",
		[OBJECT_FOREIGN] = "skipped",
		[OBJECT_REFUSED] = "refused",
	};
	struct report *report = data;

	if (!report->is_verbose)
		return;
	report_remove_bar(report);
	printf("%s %s: %s\n", verbs[state], name, text);
	fflush(stdout);
}

static double to_mib(uint64_t bytes)
{
	return bytes / 1048576.0;
}

static void print_totals(const struct report *report,
			 const struct watch *watch, const char *when)
{
	const struct object_totals *totals = objects_totals(report->objects);

	printf("%s: %u objects attached (%u from the cache), %" PRIu64
	       " functions, %.1f MiB, %.1f MiB of kernel memory",
	       when, totals->nr[OBJECT_ATTACHED], totals->from_cache,
	       totals->functions, to_mib(totals->bytes),
	       to_mib(totals->memory));
	if (totals->nr[OBJECT_OWN])
		printf("; %u have a .sframe", totals->nr[OBJECT_OWN]);
	if (totals->nr[OBJECT_FOREIGN])
		printf("; %u are not for x86-64", totals->nr[OBJECT_FOREIGN]);
	if (totals->nr[OBJECT_REFUSED])
		printf("; %u refused", totals->nr[OBJECT_REFUSED]);
	if (totals->detached)
		printf("; %u detached to make room", totals->detached);
	if (watch->missed)
		printf("; %u gone or unreadable before they were looked at",
		       watch->missed);
	putchar('\n');
	objects_print_refused(report->objects);
	if (watch->forbidden)
		printf("%u processes may not be looked at: that needs CAP_SYS_PTRACE\n",
		       watch->forbidden);
	fflush(stdout);
}

void report_ready(struct report *report, const struct watch *watch)
{
	char when[64];

	if (report->is_quiet)
		return;
	snprintf(when, sizeof(when), "ready after %.1f s",
		 (now_ms() - report->start_ms) / 1000.0);
	print_totals(report, watch, when);
}

/* How much of it was of use. */
static void print_use(struct sframe_unwind *handle)
{
	struct sframe_unwind_attached attached[64];
	uint64_t from = 0, hits = 0;
	unsigned int used = 0;
	int nr;

	while ((nr = sframe_unwind_list_attached(handle, from, attached, 64,
						 NULL, NULL)) > 0) {
		for (int i = 0; i < nr; i++) {
			used += attached[i].hits != 0;
			hits += attached[i].hits;
		}
		from = attached[nr - 1].id + 1;
	}
	printf("%" PRIu64 " rules were found in %u of them\n", hits, used);
}

void report_end(struct report *report, const struct watch *watch,
		struct sframe_unwind *handle)
{
	report_remove_bar(report);
	if (report->is_quiet)
		return;
	print_totals(report, watch, "detached");
	print_use(handle);
}
