// SPDX-License-Identifier: GPL-2.0
/*
 * Samples that "record" gets from the module: what becomes of those without a user stack.
 */
#include <errno.h>
#include <linux/sframe_unwind.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "profile_made.h"
#include "sframe_unwind.h"
#include "tap.h"
#include "userspace/cli/cli.h"
#include "userspace/cli/profile/copies.h"
#include "userspace/cli/profile/record.h"
#include "userspace/cli/profile/record_files.h"
#include "userspace/cli/profile/record_jit.h"
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
	return !sframe_unwind_profile_create(&writer, fd, &source, 1, SFRAME_UNWIND_PROFILE_WRITE_PERIOD, -1);
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

	return record_waiting_add(waiting, &sample, NULL, 0, false, writer);
}

/* Another process that has the ring may have put numbers there that the kernel never does. */
static void forged(void)
{
	static const uint64_t many[UINT16_MAX];
	const struct sframe_unwind_sample_record sample = {
		.type = SFRAME_UNWIND_RECORD_SAMPLE,
		.time = 1,
		.pid = 7,
		.tid = 7,
		.entry = SFRAME_UNWIND_ENTRY_USER,
		.user = SFRAME_UNWIND_USER_AT_ONCE,
		.kernel = many,
		.nr_kernel = UINT16_MAX,
		.frames = many,
		.nr_frames = UINT16_MAX,
	};

	EXPECT(start());
	EXPECT_EQ(record_waiting_add(waiting, &sample, NULL, 0, false, writer), -E2BIG);
	EXPECT_EQ(sframe_unwind_profile_finish(writer), 0);
	record_waiting_free(waiting);
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

/* Thread @tid is blocked, runs again and ends. */
static void live_and_die(pid_t tid, uint64_t time, bool ends)
{
	EXPECT_EQ(record_waiting_switch(waiting, tid, time, RECORD_BLOCKED, writer), 0);
	EXPECT_EQ(record_waiting_switch(waiting, tid, time + 1, RECORD_RUNS, writer), 0);
	if (!ends)
		return;
	EXPECT_EQ(record_waiting_switch(waiting, tid, time + 2, RECORD_ENDED, writer), 0);
	EXPECT_EQ(record_waiting_switch(waiting, tid, time + 3, RECORD_BLOCKED, writer), 0);
}

/* A sample that stands for the time that thread @tid is blocked. */
static int add_off_cpu(pid_t tid, uint64_t time)
{
	static const uint64_t frame = 0x401000;
	const struct sframe_unwind_sample_record sample = {
		.type = SFRAME_UNWIND_RECORD_SAMPLE,
		.time = time,
		.pid = tid,
		.tid = tid,
		.user = SFRAME_UNWIND_USER_AT_ONCE,
		.stop = SFRAME_UNWIND_STOP_COMPLETE,
		.kernel = &frame,
		.frames = &frame,
		.nr_frames = 1,
	};

	return record_waiting_add(waiting, &sample, NULL, 0, true, writer);
}

/* Threads that have ended are forgotten, and do not count as blocked until the end. */
static void ended(void)
{
	const struct record_counts *counts;

	EXPECT(start());
	counts = record_counts(waiting);
	for (unsigned int i = 0; i < 1000; i++) {
		record_waiting_begin_round(waiting);
		for (unsigned int j = 0; j < 100; j++)
			live_and_die(1000 + i * 100 + j, 10000 * i, true);
		EXPECT(counts->threads <= 400);
	}
	/* A sample that is read after the end of its thread, but before it is forgotten. */
	EXPECT_EQ(counts->samples, 0);
	live_and_die(7, 20000000, true);
	record_waiting_begin_round(waiting);
	EXPECT_EQ(add_off_cpu(7, 19999999), 0);
	EXPECT_EQ(counts->samples, 1);
	/* A thread that lives is not forgotten, nor that it is blocked. */
	EXPECT_EQ(add_off_cpu(8, 20000000), 0);
	EXPECT_EQ(record_waiting_switch(waiting, 8, 20000001, RECORD_BLOCKED, writer), 0);
	for (unsigned int i = 0; i < 4; i++)
		record_waiting_begin_round(waiting);
	EXPECT_EQ(counts->threads, 1);
	/* It is not blocked that was taken from its CPU at its end. */
	live_and_die(9, 20000100, true);
	EXPECT_EQ(add_off_cpu(9, 20000102), 0);
	EXPECT_EQ(record_waiting_end(waiting, 30000000, writer), 0);
	EXPECT_EQ(counts->samples, 2);
	EXPECT_EQ(sframe_unwind_profile_finish(writer), 0);
	record_waiting_free(waiting);
}

/* The number of threads is limited, even if nothing tells that they have ended. */
static void many(void)
{
	const struct record_counts *counts;

	EXPECT(start());
	counts = record_counts(waiting);
	for (unsigned int i = 1; i < 300000; i++) {
		live_and_die(i, 10 * i, false);
		/* This one is heard of again and again. */
		if (!(i % 1000))
			live_and_die(1, 10 * i, false);
	}
	EXPECT_EQ(counts->threads, 262144);
	EXPECT_EQ(add_off_cpu(1, 20000000), 0);
	EXPECT_EQ(record_waiting_switch(waiting, 1, 20000001, RECORD_BLOCKED, writer), 0);
	EXPECT_EQ(record_waiting_switch(waiting, 1, 20000100, RECORD_RUNS, writer), 0);
	EXPECT_EQ(counts->samples, 1);
	EXPECT_EQ(sframe_unwind_profile_finish(writer), 0);
	record_waiting_free(waiting);
}

/* A thread has @nr pauses, of 1, 2, 3 ..., before their samples are read. @kept of them get a sample each. */
static void pause_often(unsigned int nr, unsigned int kept)
{
	const struct sframe_unwind_profile_record *record;
	struct sframe_unwind_profile *profile;

	EXPECT(start());
	/* The ring of pauses does not begin with the first one when it grows. */
	EXPECT_EQ(add_off_cpu(7, 499), 0);
	live_and_die(7, 500, false);
	for (unsigned int i = 1; i <= nr; i++) {
		EXPECT_EQ(record_waiting_switch(waiting, 7, 1000 * i, RECORD_BLOCKED, writer), 0);
		EXPECT_EQ(record_waiting_switch(waiting, 7, 1000 * i + i, RECORD_RUNS, writer), 0);
	}
	for (unsigned int i = 1; i <= nr; i++)
		EXPECT_EQ(add_off_cpu(7, 1000 * i - 1), 0);
	EXPECT_EQ(record_counts(waiting)->samples, 1 + kept);
	EXPECT_EQ(sframe_unwind_profile_finish(writer), 0);
	EXPECT_EQ(sframe_unwind_profile_open(&profile, fd), 0);
	EXPECT_EQ(sframe_unwind_profile_next(profile, &record), 1);
	for (unsigned int i = nr - kept + 1; i <= nr; i++) {
		EXPECT_EQ(sframe_unwind_profile_next(profile, &record), 1);
		EXPECT_EQ(record->sample.period, i + 1);
	}
	sframe_unwind_profile_close(profile);
	record_waiting_free(waiting);
}

/* Each sample gets its own pause; those of pauses that were forgotten get none. */
static void pauses(void)
{
	pause_often(8, 8);
	pause_often(64, 64);
	pause_often(80, 64);
}

/* --- stacks that are completed by their copies, in place of copies.c */

static struct copied_stack fake;
static uint64_t fake_ips[] = { 0x402000, 0x403000 };
static uint8_t fake_how[] = { SFRAME_UNWIND_FRAME_SFRAME, SFRAME_UNWIND_FRAME_SIGNAL };
static unsigned int nr_added;
static bool is_removed;

struct copied_stack *copies_add(struct copies *copies,
				const struct sframe_unwind_sample_record *record,
				const struct record_copy *from, uint32_t depth)
{
	(void)copies;
	(void)record;
	if (!from->copy || from->size != 8 || depth != RECORD_DEPTH)
		abort();
	nr_added++;
	is_removed = false;
	fake = (struct copied_stack){
		.stop = SFRAME_UNWIND_STOP_COMPLETE,
		.walk = { .ip = fake_ips, .how = fake_how, .nr = 2 },
	};
	return &fake;
}

void copies_work(struct copies *copies, bool is_urgent)
{
	(void)copies;
	(void)is_urgent;
}

struct copied_stack *copies_next(struct copies *copies)
{
	(void)copies;
	return fake.is_over && !is_removed ? &fake : NULL;
}

void copies_remove(struct copies *copies, struct copied_stack *stack)
{
	(void)copies;
	if (stack != &fake || !LIST_EMPTY(&stack->samples))
		abort();
	is_removed = true;
}

void copies_follow(struct copies *copies,
		   const struct sframe_unwind_profile_record *record,
		   const struct object_inode *inode)
{
	(void)copies;
	(void)record;
	(void)inode;
}

/* The stack of cookie 5 was cut behind its second frame, and has a copy. */
static int add_copied(void)
{
	static const uint64_t frames[] = { 0x401000, 0x401100 };
	static const struct sframe_unwind_stack_copy copy;
	const struct sframe_unwind_sample_record stack = {
		.type = SFRAME_UNWIND_RECORD_USER_STACK,
		.time = 100,
		.cookie = 5,
		.stop = SFRAME_UNWIND_STOP_NO_RULE,
		.frames = frames,
		.nr_frames = 2,
		.fields = SFRAME_UNWIND_SAMPLE_COPY,
	};

	return record_waiting_add(waiting, &stack, &(struct record_copy){ &copy, 8 }, 0, false, writer);
}

/* Two samples wait for the same stack, which is, or is not, completed. */
static void copied(bool is_complete)
{
	const struct sframe_unwind_profile_record *record;
	struct sframe_unwind_profile *profile;
	const struct record_counts *counts;

	EXPECT(start());
	nr_added = 0;
	counts = record_counts(waiting);
	record_waiting_use(waiting, (struct copies *)&fake);
	EXPECT_EQ(add(SFRAME_UNWIND_USER_LATER, 5, 0), 0);
	EXPECT_EQ(add(SFRAME_UNWIND_USER_LATER, 5, 0), 0);
	EXPECT_EQ(add_copied(), 0);
	EXPECT_EQ(nr_added, 1);
	EXPECT_EQ(counts->waiting, 0);
	EXPECT_EQ(record_waiting_complete(waiting, false, writer), 0);
	EXPECT_EQ(counts->samples, 0);
	EXPECT(record_waiting_oldest(waiting) != UINT64_MAX);
	fake.is_over = true;
	fake.is_complete = is_complete;
	EXPECT_EQ(record_waiting_complete(waiting, false, writer), 0);
	EXPECT(is_removed);
	EXPECT_EQ(counts->samples, 2);
	EXPECT_EQ(counts->completed, is_complete ? 2 : 0);
	EXPECT_EQ(counts->not_completed, is_complete ? 0 : 2);
	EXPECT_EQ(counts->complete, is_complete ? 2 : 0);
	EXPECT_EQ(record_waiting_oldest(waiting), UINT64_MAX);
	EXPECT_EQ(sframe_unwind_profile_finish(writer), 0);
	EXPECT_EQ(sframe_unwind_profile_open(&profile, fd), 0);
	for (unsigned int i = 0; i < 2; i++) {
		EXPECT_EQ(sframe_unwind_profile_next(profile, &record), 1);
		EXPECT_EQ(record->sample.nr_user, is_complete ? 4 : 2);
		EXPECT_EQ(record->sample.frames[1], 0x401100);
		EXPECT_EQ(record->sample.stop, is_complete ? SFRAME_UNWIND_STOP_COMPLETE :
							     SFRAME_UNWIND_STOP_NO_RULE);
		if (!is_complete)
			continue;
		EXPECT_EQ(record->sample.frames[2], 0x402000);
		EXPECT_EQ(record->sample.frames[3], 0x403000);
		EXPECT_EQ(record->sample.how[3], SFRAME_UNWIND_FRAME_SIGNAL);
	}
	sframe_unwind_profile_close(profile);
	record_waiting_free(waiting);
}

static void completed(void)
{
	copied(true);
}

static void not_completed(void)
{
	copied(false);
}

/* The recording ends before the stack is completed. */
static void never_over(void)
{
	struct sframe_unwind_profile *profile;

	EXPECT(start());
	record_waiting_use(waiting, (struct copies *)&fake);
	EXPECT_EQ(add(SFRAME_UNWIND_USER_LATER, 5, 0), 0);
	EXPECT_EQ(add_copied(), 0);
	EXPECT_EQ(record_waiting_end(waiting, 200, writer), 0);
	EXPECT(LIST_EMPTY(&fake.samples));
	EXPECT_EQ(record_counts(waiting)->cut[SFRAME_UNWIND_STOP_NO_RULE], 1);
	EXPECT_EQ(sframe_unwind_profile_finish(writer), 0);
	EXPECT_EQ(sframe_unwind_profile_open(&profile, fd), 0);
	EXPECT(has_stop(profile, SFRAME_UNWIND_STOP_NO_RULE));
	sframe_unwind_profile_close(profile);
	record_waiting_free(waiting);
}

/* --- what record_changes.c needs */

int record_perf_open(const struct perf_event_attr *attr, pid_t tid, int cpu)
{
	const int ret = syscall(SYS_perf_event_open, attr, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return ret < 0 ? -errno : ret;
}

int record_complain(const char *command, const char *event, int error)
{
	(void)command;
	(void)event;
	return error;
}

void record_files_complete(struct record_files *files,
			   struct sframe_unwind_profile_record *record,
			   dev_t device, uint64_t inode, uint64_t generation)
{
	(void)files;
	(void)record;
	(void)device;
	(void)inode;
	(void)generation;
}

void record_jit_add(struct record_jit *jit,
		    const struct sframe_unwind_profile_record *record)
{
	(void)jit;
	(void)record;
}

void record_files_add(struct record_files *files,
		      const struct sframe_unwind_profile_record *record)
{
	(void)files;
	(void)record;
}

#define CHILDREN	60u

/* Start processes that end at once, when there is something to read. */
static void start_many(int go)
{
	char byte;

	if (read(go, &byte, 1) != 1)
		_exit(1);
	for (unsigned int i = 0; i < CHILDREN; i++) {
		const pid_t pid = fork();

		if (!pid) {
			usleep(100);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
	_exit(0);
}

/* The kernel tells of threads that have ended. */
static void ended_by_perf(void)
{
	struct record_targets targets = { .nr = 1 };
	const struct record_counts *counts;
	struct record_changes *changes;
	uint64_t most = 0, latest = 0;
	int go[2], status;
	pid_t pid;

	EXPECT(start());
	counts = record_counts(waiting);
	EXPECT_EQ(pipe(go), 0);
	pid = fork();
	if (!pid)
		start_many(go[0]);
	targets.tids = &pid;
	EXPECT_EQ(record_changes_open(&changes, "test", &targets, waiting, false), CLI_OK);
	EXPECT_EQ(write(go[1], "", 1), 1);
	while (waitpid(pid, &status, WNOHANG) != pid) {
		EXPECT_EQ(record_changes_write(changes, writer, &latest), 0);
		if (counts->threads > most)
			most = counts->threads;
		usleep(10000);
	}
	EXPECT_EQ(status, 0);
	EXPECT_EQ(record_changes_lost(changes), 0);
	for (unsigned int i = 0; i < 5; i++)
		EXPECT_EQ(record_changes_write(changes, writer, &latest), 0);
	EXPECT(most > 0);
	EXPECT_EQ(counts->threads, 0);
	record_changes_close(changes);
	EXPECT_EQ(sframe_unwind_profile_finish(writer), 0);
	record_waiting_free(waiting);
	close(go[0]);
	close(go[1]);
}

static bool has_perf(void)
{
	const struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.size = sizeof(attr),
		.context_switch = 1,
	};
	const int perf = record_perf_open(&attr, 0, -1);

	if (perf >= 0)
		close(perf);
	return perf >= 0 && !geteuid();
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(forged),
		TAP_TEST(reasons),
		TAP_TEST(ended),
		TAP_TEST(many),
		TAP_TEST(pauses),
		TAP_TEST(completed),
		TAP_TEST(not_completed),
		TAP_TEST(never_over),
	};

	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	if (has_perf())
		tap_run(&(struct tap_test)TAP_TEST(ended_by_perf), 1);
	else
		tap_skip("ended_by_perf", "no perf events, or not root");
	if (*cut)
		printf("# %s", cut);
	return tap_done();
}
