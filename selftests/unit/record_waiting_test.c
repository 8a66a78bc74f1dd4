// SPDX-License-Identifier: GPL-2.0
/*
 * Samples that "record" gets from the module: what becomes of those without a user stack.
 */
#include <linux/sframe_unwind.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "profile_made.h"
#include "sframe_unwind.h"
#include "tap.h"
#include "userspace/cli/profile/record.h"
#include "userspace/cli/profile/record_sums.h"

static const char *cut = "";
static struct record_waiting *waiting;
static struct sframe_unwind_profile_writer *writer;
static int fd = -1;

static bool start(void)
{
	const struct sframe_unwind_profile_source source = {
		.name = "one", .ids = (uint64_t[]){ 1 }, .nr_ids = 1,
	};

	if (fd >= 0)
		close(fd);
	fd = profile_new();
	waiting = record_waiting_create();
	return !sframe_unwind_profile_create(&writer, fd, &source, 1, 0, -1);
}

/* Take over a sample of thread 7. */
static int add(uint32_t user, uint64_t cookie, uint8_t stop)
{
	static uint64_t time;
	static const uint64_t frame = 0x401000;
	const struct sframe_unwind_sample_record sample = {
		.type = SFRAME_UNWIND_RECORD_SAMPLE,
		.time = ++time,
		.pid = 7,
		.tid = 7,
		.entry = SFRAME_UNWIND_ENTRY_USER,
		.user = user,
		.cookie = cookie,
		.stop = stop,
		.kernel = &frame,
		.frames = &frame,
		.nr_frames = user == SFRAME_UNWIND_USER_AT_ONCE,
	};

	return record_waiting_add(waiting, &sample, 0, false, writer);
}

/* The next sample of the profile has this reason. */
static bool has_stop(struct sframe_unwind_profile *profile, uint32_t stop)
{
	const struct sframe_unwind_profile_record *record;

	if (sframe_unwind_profile_next(profile, &record) != 1)
		return tap_fail("no sample");
	return record->sample.stop == stop ? true :
	       tap_fail("%u, not %u", record->sample.stop, stop);
}

/* Returns what record_sums_cut() prints. */
static const char *print_cut(void)
{
	static char text[1000];
	const int to = memfd_create("stderr", 0), before = dup(STDERR_FILENO);
	ssize_t length;

	dup2(to, STDERR_FILENO);
	record_sums_cut(record_counts(waiting));
	dup2(before, STDERR_FILENO);
	length = pread(to, text, sizeof(text) - 1, 0);
	text[length < 0 ? 0 : length] = '\0';
	close(to);
	close(before);
	return text;
}

/* Each reason is written, counted and told as what it is. */
static void reasons(void)
{
	struct sframe_unwind_profile *profile;
	const struct record_counts *counts;

	EXPECT(start());
	EXPECT_EQ(add(SFRAME_UNWIND_USER_REFUSED, 0, 0), 0);
	EXPECT_EQ(add(SFRAME_UNWIND_USER_REFUSED, 0, 0), 0);
	EXPECT_EQ(add(SFRAME_UNWIND_USER_AT_ONCE, 0, SFRAME_UNWIND_STOP_EXITED), 0);
	EXPECT_EQ(add(SFRAME_UNWIND_USER_AT_ONCE, 0, SFRAME_UNWIND_STOP_PENDING), 0);
	EXPECT_EQ(add(SFRAME_UNWIND_USER_AT_ONCE, 0, SFRAME_UNWIND_STOP_COMPLETE), 0);
	EXPECT_EQ(add(SFRAME_UNWIND_USER_AT_ONCE, 0, 99), 0);
	EXPECT_EQ(add(SFRAME_UNWIND_USER_NONE, 0, 0), 0);
	EXPECT_EQ(add(SFRAME_UNWIND_USER_LATER, 5, 0), 0);
	counts = record_counts(waiting);
	EXPECT_EQ(counts->samples, 7);
	EXPECT_EQ(counts->waiting, 1);
	EXPECT_EQ(record_waiting_end(waiting, 100, writer), 0);
	EXPECT_EQ(counts->samples, 8);
	EXPECT_EQ(counts->waiting, 0);
	EXPECT_EQ(counts->complete, 2);
	cut = print_cut();
	EXPECT(!strcmp(cut, "record: stacks that are cut: 1 thread exited or executed, 1 file being read, "
		       "2 refused: thread exiting or sampled again too soon or too many pending, "
		       "1 thread not back in user mode in time, 1 another reason\n"));
	EXPECT_EQ(sframe_unwind_profile_finish(writer), 0);
	EXPECT_EQ(sframe_unwind_profile_open(&profile, fd), 0);
	EXPECT(has_stop(profile, SFRAME_UNWIND_PROFILE_STOP_REFUSED));
	EXPECT(has_stop(profile, SFRAME_UNWIND_PROFILE_STOP_REFUSED));
	EXPECT(has_stop(profile, SFRAME_UNWIND_STOP_EXITED));
	EXPECT(has_stop(profile, SFRAME_UNWIND_STOP_PENDING));
	EXPECT(has_stop(profile, SFRAME_UNWIND_STOP_COMPLETE));
	EXPECT(has_stop(profile, 99));
	EXPECT(has_stop(profile, 0));
	EXPECT(has_stop(profile, SFRAME_UNWIND_PROFILE_STOP_LATE));
	sframe_unwind_profile_close(profile);
	record_waiting_free(waiting);
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(reasons),
	};

	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	if (*cut)
		printf("# %s", cut);
	return tap_done();
}
