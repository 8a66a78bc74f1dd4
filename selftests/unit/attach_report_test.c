// SPDX-License-Identifier: GPL-2.0
/*
 * "sframe-unwind attach", report: its output, escaping of names, and that a
 * reader that does not read blocks nothing.
 */
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <linux/sframe_unwind.h>

#include "attach_world.h"
#include "tap.h"
#include "userspace/cli/attach/job.h"
#include "userspace/cli/attach/report.h"

static struct report report;
static struct jobs jobs;
static struct known_files *known;
static bool is_terminal;

/* The captured output of stdout and stderr. */
static int streams[2] = { -1, -1 };
static int before[2];

static void detach(void *data, uint64_t id)
{
	(void)data;
	(void)id;
}

int __wrap_isatty(int fd)
{
	return fd == STDERR_FILENO && is_terminal;
}

/* The module's list: three pages, and every other entry has hits. */
int __wrap_ioctl(int fd, unsigned long number, ...)
{
	struct sframe_unwind_list_attached *list;
	struct sframe_unwind_attached *to;
	va_list args;

	va_start(args, number);
	list = va_arg(args, struct sframe_unwind_list_attached *);
	va_end(args);
	if (fd != 77 || number != SFRAME_UNWIND_IOC_LIST_ATTACHED)
		return -1;
	to = (struct sframe_unwind_attached *)(uintptr_t)list->attached;
	if (list->from >= 150)
		list->nr = 0;
	else if (list->nr > 150 - list->from)
		list->nr = 150 - list->from;
	for (uint32_t i = 0; i < list->nr; i++)
		to[i] = (struct sframe_unwind_attached) {
			.id = list->from + i,
			.hits = i % 2 ? 3 : 0,
		};
	return 0;
}

/* Capture the output from now on, for taken(). */
static void capture(void)
{
	for (int i = 0; i < 2; i++) {
		int ends[2];

		fflush(i ? stderr : stdout);
		before[i] = dup(1 + i);
		if (pipe2(ends, O_NONBLOCK))
			exit(1);
		streams[i] = ends[0];
		dup2(ends[1], 1 + i);
		close(ends[1]);
	}
}

/* End the capture. Returns the output of stdout or stderr. */
static const char *taken(int fd)
{
	static char text[2][1 << 17];

	for (int i = 0; streams[0] >= 0 && i < 2; i++) {
		ssize_t got;

		fflush(i ? stderr : stdout);
		got = read(streams[i], text[i], sizeof(text[i]) - 1);
		text[i][got > 0 ? got : 0] = '\0';
		dup2(before[i], 1 + i);
		close(before[i]);
		close(streams[i]);
	}
	streams[0] = -1;
	return text[fd - 1];
}

static void begin(void)
{
	known_files_free(known);
	users_free(jobs.users);
	world_begin();
	is_terminal = false;
	known = known_files_create(detach, NULL);
	report = (struct report) { .known = known, .is_verbose = true };
	jobs = (struct jobs) { .users = users_create(NULL), .known = known };
	report_begin(&report);
}

static bool has(const char *text, const char *part)
{
	return strstr(text, part);
}

static void a_line_for_each_file(void)
{
	capture();
	report_file(&report, "/a", FILE_ATTACHED, "1 functions");
	report_file(&report, "/b", FILE_OWN, "has its own");
	report_file(&report, "/c", FILE_FOREIGN, "no ELF file");
	report_file(&report, "/d\n/e\033[31m", FILE_REFUSED, "bad\nattached");
	EXPECT(!strcmp(taken(1), "attached /a: 1 functions\n"
				 "skipped /b: has its own\n"
				 "skipped /c: no ELF file\n"
				 "refused /d\\x0a/e\\x1b[31m: bad\\x0aattached\n"));
	EXPECT(!*taken(2));
}

static void no_line_where_none_is_wanted(void)
{
	report.is_verbose = false;
	capture();
	report_file(&report, "/a", FILE_ATTACHED, "1 functions");
	EXPECT(!*taken(1) && !*taken(2));
	EXPECT_EQ(report.unprinted, 0);
}

/* A pipe that is not read is full after some lines. */
static void nobody_waits_for_a_reader(void)
{
	unsigned int unprinted;

	capture();
	for (int i = 0; i < 5000; i++)
		report_file(&report, "/name", FILE_ATTACHED, "so many functions");
	unprinted = report.unprinted;
	report_ready(&report, &jobs);
	report_end(&report, &jobs, 77);
	taken(1);
	EXPECT(unprinted > 0 && unprinted < 5000);
	EXPECT_EQ(report.unprinted, unprinted + 2);
	EXPECT(!has(taken(1), "ready") && !has(taken(1), "detached"));
	/* The number of lost lines is reported once the pipe is read again. */
	report.unprinted = 7;
	capture();
	report_end(&report, &jobs, 77);
	EXPECT(has(taken(1), "\n7 lines could not be printed in time\n"));
}

/* --- sums */

static void set(uint64_t inode, enum file_state state, const char *reason)
{
	const struct known file = {
		.key = { .inode = inode },
		.inode = inode,
		.state = state,
		.reason = reason,
		.functions = 20,
		.bytes = 1 << 19,
		.memory = 3 << 19,
		.from_cache = inode % 2,
		.retry_at = UINT64_MAX,
	};

	known_set(known, &file);
}

static void says_what_is_ready(void)
{
	set(1, FILE_ATTACHED, NULL);
	set(2, FILE_ATTACHED, NULL);
	world.now += 2500 * MS;
	capture();
	report_ready(&report, &jobs);
	EXPECT(!strcmp(taken(1), "ready after 2.5 s: 2 objects attached (1 from the cache), 40 functions, "
				 "1.0 MiB, 3.0 MiB of kernel memory\n"));
	set(3, FILE_OWN, NULL);
	set(4, FILE_FOREIGN, NULL);
	set(5, FILE_FOREIGN, NULL);
	jobs.missed = 6;
	jobs.forbidden = 7;
	capture();
	report_ready(&report, &jobs);
	EXPECT(has(taken(1), "memory; 1 have a .sframe; 2 are not for x86-64; 6 gone or unreadable before they were looked at\n"));
	EXPECT(has(taken(1), "\n7 processes may not be examined"));
	EXPECT(!has(taken(1), "sandbox"));
	jobs.weakness = "conversions run as this user";
	capture();
	report_ready(&report, &jobs);
	EXPECT(has(taken(1), "\nsandbox is incomplete: conversions run as this user\n"));
	jobs.weakness = NULL;
	report.is_quiet = true;
	capture();
	report_ready(&report, &jobs);
	report_end(&report, &jobs, 77);
	EXPECT(!*taken(1) && !*taken(2));
}

static void says_what_was_refused(void)
{
	static const char reason[] = "no room", other[] = "too large";

	set(1, FILE_REFUSED, reason);
	set(2, FILE_REFUSED, reason);
	set(3, FILE_REFUSED, other);
	set(4, FILE_FOREIGN, other);
	report_refused(&report, "/one", reason);
	report_refused(&report, "/other", other);
	report_refused(&report, "/two\n", reason);
	known_forget(known, known_find_inode(known, 0, 3));
	capture();
	report_ready(&report, &jobs);
	EXPECT(has(taken(1), "; 2 refused\n"));
	EXPECT(has(taken(1), "\nrefused: 2: no room, such as /two\\x0a\n"));
	EXPECT(!has(taken(1), "/one"));
	EXPECT(!has(taken(1), "too large"));
	/* More reasons than there is room for. */
	for (size_t i = 0; i < 2 * REPORT_MAX_REASONS; i++) {
		static const char many[2 * REPORT_MAX_REASONS];

		report_refused(&report, "/many", many + i);
	}
	set(3, FILE_REFUSED, other);
	capture();
	report_ready(&report, &jobs);
	EXPECT(has(taken(1), "\nrefused: 1: too large, such as /other\n"));
}

static void says_who_has_to_wait(void)
{
	struct user *paused = users_get(jobs.users, 5);
	struct user *blocked = users_get(jobs.users, 6);

	capture();
	report_ready(&report, &jobs);
	EXPECT(!has(taken(1), "left for later"));
	user_add_process(paused, 1, 0, true);
	user_add_process(paused, 2, 0, true);
	user_charge(paused, USER_BURST_NS);
	user_add_process(blocked, 3, 0, true);
	capture();
	report_ready(&report, &jobs);
	EXPECT(has(taken(1), "left for later: 2 files and processes of user 5: the user's CPU time is used up\n"));
	EXPECT(has(taken(1), "left for later: 1 files and processes of user 6: the user's files do not answer\n"));
}

static void says_of_what_use_it_was(void)
{
	set(1, FILE_ATTACHED, NULL);
	known_forget(known, known_find_inode(known, 0, 1));
	set(2, FILE_ATTACHED, NULL);
	known_find_inode(known, 0, 2)->id = 9;
	known_forget(known, known_find_inode(known, 0, 2));
	capture();
	report_end(&report, &jobs, 77);
	EXPECT(has(taken(1), "detached: 0 objects attached"));
	EXPECT(has(taken(1), "; 1 detached to make room\n"));
	/* 150 of them, in pages of 64, half of each used three times. */
	EXPECT(has(taken(1), "\n225 rules were found in 75 of them\n"));
	capture();
	report_end(&report, &jobs, -1);
	EXPECT(has(taken(1), "\n0 rules were found in 0 of them\n"));
}

/* --- the bar */

static void has_a_bar_at_a_terminal(void)
{
	capture();
	report_progress(&report, "/a");
	EXPECT(!*taken(2));
	is_terminal = true;
	report_begin(&report);
	report.is_verbose = false;
	report.done = 1;
	report.whole = 4;
	set(1, FILE_ATTACHED, NULL);
	capture();
	report_progress(&report, "/a\033");
	EXPECT(!strcmp(taken(2), "\r[##########                              ] 1 attached /a\\x1b\033[K"));
	/* The bar is not redrawn all the time. */
	world.now += 99 * MS;
	capture();
	report_file(&report, "/b", FILE_OWN, "");
	EXPECT(!*taken(2) && !*taken(1));
	world.now += MS;
	/* More files than expected. */
	report.done = 9;
	capture();
	report_file(&report, "/b", FILE_OWN, "");
	EXPECT(has(taken(2), "[########################################] 1 attached /b"));
	/* The bar is removed before lines are printed. */
	report.is_verbose = true;
	capture();
	report_file(&report, "/c", FILE_OWN, "");
	EXPECT(!strcmp(taken(2), "\r\033[K"));
	EXPECT(!strcmp(taken(1), "skipped /c: \n"));
	capture();
	report_remove_bar(&report);
	EXPECT(!*taken(2));
	/* The bar is no longer drawn once everything is attached. */
	capture();
	report_ready(&report, &jobs);
	taken(1);
	world.now += SECOND;
	capture();
	report_progress(&report, "/d");
	EXPECT(!*taken(2));
	report.is_quiet = true;
	report_begin(&report);
	EXPECT(!report.has_bar);
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(a_line_for_each_file),
		TAP_TEST(no_line_where_none_is_wanted),
		TAP_TEST(nobody_waits_for_a_reader),
		TAP_TEST(says_what_is_ready),
		TAP_TEST(says_what_was_refused),
		TAP_TEST(says_who_has_to_wait),
		TAP_TEST(says_of_what_use_it_was),
		TAP_TEST(has_a_bar_at_a_terminal),
	};

	for (unsigned int i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		begin();
		tap_run(&tests[i], 1);
		taken(1);
	}
	known_files_free(known);
	users_free(jobs.users);
	return tap_done();
}
