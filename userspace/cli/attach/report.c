// SPDX-License-Identifier: GPL-2.0
/*
 * Report: the output of "attach".
 */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <linux/sframe_unwind.h>

#include "cli/escape.h"
#include "clock.h"
#include "job.h"
#include "report.h"

#define BAR_WIDTH	40
#define BAR_NS		(100 * MS)	/* between updates */

void report_begin(struct report *report)
{
	report->start_ns = now_ns();
	report->has_bar = isatty(STDERR_FILENO) && !report->is_quiet;
}

/* A pipe or terminal that is writable has room for at least one line. */
static bool can_print(struct report *report, int fd)
{
	struct pollfd file = { .fd = fd, .events = POLLOUT };

	if (poll(&file, 1, 0) > 0 && file.revents & (POLLOUT | POLLERR))
		return true;
	report->unprinted++;
	return false;
}

/* Flush the output. Returns whether there is room for another line. */
static bool next_line(struct report *report)
{
	fflush(stdout);
	return can_print(report, STDOUT_FILENO);
}

void report_remove_bar(struct report *report)
{
	if (report->bar_ns && can_print(report, STDERR_FILENO))
		fputs("\r\033[K", stderr);
	report->bar_ns = 0;
}

void report_progress(struct report *report, const char *name)
{
	const uint64_t now = now_ns();
	char bar[BAR_WIDTH + 1], escaped[64];
	size_t filled;

	if (!report->has_bar || now - report->bar_ns < BAR_NS ||
	    !can_print(report, STDERR_FILENO))
		return;
	report->bar_ns = now;
	filled = report->whole ? report->done * BAR_WIDTH / report->whole : 0;
	if (filled > BAR_WIDTH)
		filled = BAR_WIDTH;
	memset(bar, ' ', BAR_WIDTH);
	memset(bar, '#', filled);
	bar[BAR_WIDTH] = '\0';
	fprintf(stderr, "\r[%s] %u attached %s\033[K", bar,
		known_files_totals(report->known)->nr[FILE_ATTACHED],
		escape(escaped, sizeof(escaped), name));
}

void report_file(struct report *report, const char *name,
		 enum file_state state, const char *text)
{
	static const char * const verbs[] = {
		[FILE_ATTACHED] = "attached",
		[FILE_OWN] = "skipped",
		[FILE_FOREIGN] = "skipped",
		[FILE_REFUSED] = "refused",
	};

	report_progress(report, name);
	if (!report->is_verbose || !can_print(report, STDOUT_FILENO))
		return;
	report_remove_bar(report);
	print_line(stdout, "%s %s: %s", verbs[state], name, text);
	fflush(stdout);
}

void report_limit(struct report *report, const char *what, pid_t pid)
{
	if (report->is_quiet || !can_print(report, STDERR_FILENO))
		return;
	report_remove_bar(report);
	print_line(stderr, "sframe-unwind: attach: %s, such as process %d: some get no rules",
		   what, (int)pid);
}

void report_refused(struct report *report, const char *name,
		    const char *reason)
{
	for (size_t i = 0; i < REPORT_MAX_REASONS; i++) {
		if (report->refused[i].reason &&
		    report->refused[i].reason != reason)
			continue;
		report->refused[i].reason = reason;
		snprintf(report->refused[i].name,
			 sizeof(report->refused[i].name), "%s", name);
		return;
	}
}

/* Number of files that are refused for one reason now. */
struct tally {
	const char *reason;
	unsigned int nr;
};

static void add_to_tally(void *data, const struct known *known)
{
	struct tally *tally = data;

	tally->nr += known->state == FILE_REFUSED &&
		     known->reason == tally->reason;
}

static void print_refused(struct report *report)
{
	for (size_t i = 0; i < REPORT_MAX_REASONS; i++) {
		struct tally tally = { .reason = report->refused[i].reason };

		if (!tally.reason)
			break;
		known_for_each(report->known, add_to_tally, &tally);
		if (tally.nr && next_line(report))
			print_line(stdout, "refused: %u: %s, such as %s",
				   tally.nr, tally.reason,
				   report->refused[i].name);
	}
}

static double to_mib(uint64_t bytes)
{
	return bytes / 1048576.0;
}

static void print_totals(struct report *report, const struct jobs *jobs,
			 const char *when)
{
	const struct known_totals *totals = known_files_totals(report->known);

	printf("%s: %u objects attached (%u from the cache), %" PRIu64
	       " functions, %.1f MiB, %.1f MiB of kernel memory",
	       when, totals->nr[FILE_ATTACHED], totals->from_cache,
	       totals->functions, to_mib(totals->bytes),
	       to_mib(totals->memory));
	if (totals->completed)
		printf("; %u complete a .sframe", totals->completed);
	if (totals->nr[FILE_OWN])
		printf("; %u have a .sframe", totals->nr[FILE_OWN]);
	if (totals->nr[FILE_FOREIGN])
		printf("; %u are not for x86-64", totals->nr[FILE_FOREIGN]);
	if (totals->nr[FILE_REFUSED])
		printf("; %u refused", totals->nr[FILE_REFUSED]);
	if (jobs->codes && codes_for_each(jobs->codes, NULL, NULL))
		printf("; generated code of %u processes in %u places",
		       codes_processes(jobs->codes),
		       codes_for_each(jobs->codes, NULL, NULL));
	if (totals->detached)
		printf("; %u detached to make room", totals->detached);
	if (jobs->missed)
		printf("; %u gone or unreadable before they were looked at",
		       jobs->missed);
	putchar('\n');
	print_refused(report);
	if (jobs->forbidden && next_line(report))
		printf("%u processes may not be examined: that needs CAP_SYS_PTRACE\n",
		       jobs->forbidden);
	if (jobs->weakness && next_line(report))
		printf("sandbox is incomplete: %s\n", jobs->weakness);
	if (report->unprinted && next_line(report))
		printf("%u lines could not be printed in time\n",
		       report->unprinted);
	fflush(stdout);
}

/* Print the users whose files are not among these, because they are not served now. */
static void print_waiting(struct report *report, const struct jobs *jobs)
{
	const struct user *user = NULL;

	while ((user = users_next(jobs->users, user)))
		if (user->nr_first && next_line(report))
			printf("left for later: %u files and processes of user %u: %s\n",
			       user->nr_first, (unsigned int)user->uid,
			       user->is_paused ?
				       "the user's CPU time is used up" :
				       "the user's files do not answer");
	fflush(stdout);
}

void report_ready(struct report *report, const struct jobs *jobs)
{
	char when[64];

	report_remove_bar(report);
	report->has_bar = false;
	if (report->is_quiet || !can_print(report, STDOUT_FILENO))
		return;
	snprintf(when, sizeof(when), "ready after %.1f s",
		 (now_ns() - report->start_ns) / (double)SECOND);
	print_totals(report, jobs, when);
	print_waiting(report, jobs);
}

/* Print how many of the attachments were used, and how often. */
static void print_use(int device)
{
	struct sframe_unwind_attached attached[64];
	struct sframe_unwind_list_attached list = {
		.size = sizeof(list),
		.attached = (uintptr_t)attached,
	};
	uint64_t hits = 0;
	unsigned int used = 0;

	do {
		list.nr = 64;
		if (ioctl(device, SFRAME_UNWIND_IOC_LIST_ATTACHED, &list))
			break;
		for (uint32_t i = 0; i < list.nr; i++) {
			used += attached[i].hits != 0;
			hits += attached[i].hits;
		}
		if (list.nr)
			list.from = attached[list.nr - 1].id + 1;
	} while (list.nr);
	printf("%" PRIu64 " rules were found in %u of them\n", hits, used);
	fflush(stdout);
}

void report_end(struct report *report, const struct jobs *jobs, int device)
{
	report_remove_bar(report);
	if (report->is_quiet || !can_print(report, STDOUT_FILENO))
		return;
	print_totals(report, jobs, "detached");
	print_use(device);
}
