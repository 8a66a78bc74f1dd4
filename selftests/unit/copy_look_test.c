// SPDX-License-Identifier: GPL-2.0
/*
 * Processes that "record" looks at again because what happened to them was lost: how often, and
 * that nothing is taken over which may be wrong. The processes are the test's.
 */
#include <stdlib.h>
#include <string.h>

#include "tap.h"
#include "userspace/cli/attach/clock.h"
#include "userspace/cli/profile/copy_look.h"
#include "userspace/cli/profile/inspect.h"
#include "userspace/cli/profile/processes.h"

#define CODE	0x7f0000000000UL

/* --- processes, and the clock */

static uint64_t time_ns;

int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
	(void)clock;
	*now = (struct timespec){ time_ns / SECOND, time_ns % SECOND };
	return 0;
}

/*
 * How often they were looked at, how many files each has, whether all of these are told, and how
 * long that takes.
 */
static unsigned int nr_looks, nr_files;
static bool is_all;
static uint64_t look_ns;

bool inspect_process(pid_t pid, bool has_names, inspect_fn fn, void *data)
{
	struct sframe_unwind_profile_record record = {
		.kind = SFRAME_UNWIND_PROFILE_MAP,
		.pid = pid,
		.tid = pid,
		.map = { .start = CODE, .size = 4096, .name = "/lib/a", .is_code = 1 },
	};

	if (has_names)
		abort();
	nr_looks++;
	for (unsigned int i = 0; i < nr_files; i++) {
		fn(data, &record);
		record.map.start += record.map.size;
	}
	time_ns += look_ns;
	return is_all;
}

/* A hundred processes each; those of the first one have ended. */
uid_t inspect_user(pid_t pid)
{
	return pid < 100 ? PROCESSES_NO_USER : (uid_t)pid / 100;
}

/* --- the tests */

static struct copy_look *look;
static struct history *history;

static void begin(void)
{
	look = copy_look_create();
	history = history_create(1u << 30);
	time_ns = 1000 * SECOND;
	nr_looks = 0;
	nr_files = 3;
	is_all = true;
	look_ns = 10;
	copy_look_begin(look);
}

static void end(void)
{
	copy_look_free(look);
	history_free(history);
}

/* Whether it is known what process @pid has mapped, now or @before. */
static bool knows(uint32_t pid, uint64_t before)
{
	uint64_t version;

	copy_look_take(look, history, time_ns);
	history_update_until(history, time_ns);
	return process_find(history_process(history, pid, time_ns - before, &version),
			    CODE + 2 * 4096);
}

static void seen(void)
{
	begin();
	EXPECT(!knows(100, 0));
	copy_look_at(look, 100);
	copy_look_at(look, 101);
	EXPECT(knows(100, 0));
	EXPECT(!knows(100, 1));
	EXPECT(!knows(101, 0));
	copy_look_at(look, 100);
	EXPECT_EQ(nr_looks, 1);
	copy_look_at(look, 101);
	EXPECT_EQ(nr_looks, 2);
	EXPECT(knows(101, 0));
	end();
}

/* Returns the number of the object that process @pid has mapped now as its file @i. */
static uint32_t object_of(uint32_t pid, unsigned int i)
{
	const struct mapping *mapping;
	uint64_t version;

	mapping = process_find(history_process(history, pid, time_ns, &version),
			       CODE + i * 4096);
	return mapping ? mapping->object : UINT32_MAX;
}

/* Another file may have the name at another look. */
static void another_file(void)
{
	uint32_t before;

	begin();
	copy_look_at(look, 100);
	EXPECT(knows(100, 0));
	before = object_of(100, 0);
	copy_look_begin(look);
	copy_look_at(look, 100);
	EXPECT(knows(100, 0));
	EXPECT_EQ(nr_looks, 2);
	EXPECT(object_of(100, 0) != before);
	end();
}

/* Files that are deleted, or in memory, may have the same name at the same time. */
static void same_name(void)
{
	begin();
	copy_look_at(look, 100);
	EXPECT(knows(100, 0));
	EXPECT(object_of(100, 0) != object_of(100, 1));
	end();
}

/*
 * When it has been seen, it is known: otherwise each look would add to what is kept of it. Another
 * process may have got its number, though, also while that is not known yet.
 */
static void only_once(void)
{
	struct sframe_unwind_profile_record record = {
		.kind = SFRAME_UNWIND_PROFILE_FORK, .pid = 100, .task.ppid = 100,
	};

	begin();
	copy_look_at(look, 100);
	EXPECT(knows(100, 0));
	for (unsigned int i = 0; i < 10; i++) {
		time_ns += 100 * SECOND;
		copy_look_follow(look, &record);
		copy_look_at(look, 100);
	}
	EXPECT_EQ(nr_looks, 1);
	record.task.ppid = 1;
	copy_look_follow(look, &record);
	copy_look_at(look, 100);
	EXPECT_EQ(nr_looks, 2);
	record.time = time_ns + 1;
	copy_look_follow(look, &record);
	EXPECT(knows(100, 0));
	copy_look_at(look, 100);
	EXPECT_EQ(nr_looks, 3);
	end();
}

/* Nothing was lost. */
static void not_needed(void)
{
	begin();
	copy_look_free(look);
	look = copy_look_create();
	copy_look_at(look, 100);
	EXPECT_EQ(nr_looks, 0);
	end();
}

/* It is taken over when all is followed that has happened meanwhile; not if that was lost. */
static void not_yet(void)
{
	begin();
	copy_look_at(look, 100);
	time_ns--;
	EXPECT(!knows(100, 0));
	time_ns++;
	EXPECT(knows(100, 0));
	copy_look_at(look, 101);
	copy_look_begin(look);
	EXPECT(!knows(101, 0));
	end();
}

/*
 * What was seen may be from before, or from after: it is not used, and the process looked at
 * later.
 */
static bool is_used(const struct sframe_unwind_profile_record *record)
{
	bool is_known;

	begin();
	copy_look_at(look, 100);
	copy_look_follow(look, record);
	is_known = knows(100, 0);
	copy_look_at(look, 100);
	time_ns += 10 * SECOND;
	copy_look_at(look, 100);
	if (nr_looks != (is_known ? 1 : 2) || !knows(100, 0))
		tap_fail("%u looks", nr_looks);
	end();
	return is_known;
}

static void changed_meanwhile(void)
{
	struct sframe_unwind_profile_record record = {
		.kind = SFRAME_UNWIND_PROFILE_MAP,
		.pid = 100,
	};

	for (unsigned int i = 0; i < 13; i++) {
		record.time = 1000 * SECOND - 1 + i;
		EXPECT_EQ(is_used(&record), !i || i == 12);
	}
	record.time = 1000 * SECOND + 5;
	record.pid = 101;
	EXPECT(is_used(&record));
	record.pid = 100;
	record.kind = SFRAME_UNWIND_PROFILE_COMM;
	EXPECT(is_used(&record));
	record.comm.is_exec = 1;
	EXPECT(!is_used(&record));
	/* Another process has its number; or it has a new thread. */
	record.kind = SFRAME_UNWIND_PROFILE_FORK;
	record.task.ppid = 101;
	EXPECT(!is_used(&record));
	record.task.ppid = 100;
	EXPECT(is_used(&record));
	record.kind = SFRAME_UNWIND_PROFILE_EXIT;
	EXPECT(is_used(&record));
}

/* What is not all is not used; nor what is too much, which is not kept. */
static void not_all(void)
{
	begin();
	is_all = false;
	copy_look_at(look, 100);
	EXPECT(!knows(100, 0));
	is_all = true;
	nr_files = 10000;
	copy_look_at(look, 101);
	EXPECT(!knows(101, 0));
	nr_files = 5000;
	copy_look_at(look, 102);
	EXPECT(knows(102, 0));
	EXPECT_EQ(nr_looks, 3);
	end();
}

/* Returns how many of processes @first to @last are looked at. */
static unsigned int look_at(uint32_t first, uint32_t last)
{
	const unsigned int before = nr_looks;

	for (uint32_t pid = first; pid <= last; pid++) {
		copy_look_at(look, pid);
		copy_look_take(look, history, time_ns);
	}
	return nr_looks - before;
}

/* In a second, few processes are looked at, and fewer of one user. */
static void many(void)
{
	begin();
	EXPECT_EQ(look_at(0, 99), 0);
	EXPECT_EQ(look_at(100, 199), 4);
	EXPECT_EQ(look_at(200, 202), 3);
	EXPECT_EQ(look_at(300, 399), 3);
	EXPECT_EQ(look_at(400, 499), 0);
	time_ns += SECOND;
	EXPECT_EQ(look_at(100, 199), 4);
	EXPECT_EQ(look_at(400, 499), 4);
	EXPECT_EQ(look_at(500, 599), 2);
	/* However many there are. */
	EXPECT_EQ(look_at(1000, 200000), 0);
	time_ns += SECOND;
	EXPECT_EQ(look_at(1000, 200000), 10);
	end();
}

/*
 * Processes whose mappings take long to be read: the rings are not read meanwhile. Those of one
 * user do not stop others, and all together take half of the time at most.
 */
static void slow(void)
{
	const unsigned int seconds = 100;

	for (unsigned int users = 1; users <= 10; users += 9) {
		uint64_t begun, took = 0;
		unsigned int nr_others = 0;

		begin();
		begun = time_ns;
		for (uint32_t pid = 0; time_ns - begun < seconds * SECOND; pid++) {
			look_ns = SECOND / 3;
			took += look_at(100 * (1 + pid % users) + pid / users % 100,
					100 * (1 + pid % users) + pid / users % 100) * look_ns;
			look_ns = 10;
			nr_others += look_at(10000 + pid, 10000 + pid);
			time_ns += SECOND / 10;
		}
		EXPECT(took <= (users > 1 ? seconds / 2 + 2 : seconds / 10 + 2) * SECOND);
		EXPECT(took >= (users > 1 ? seconds / 4 : seconds / 20) * SECOND);
		if (users == 1)
			EXPECT(nr_others > seconds);
		end();
	}
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(seen),
		TAP_TEST(another_file),
		TAP_TEST(same_name),
		TAP_TEST(only_once),
		TAP_TEST(not_needed),
		TAP_TEST(not_yet),
		TAP_TEST(changed_meanwhile),
		TAP_TEST(not_all),
		TAP_TEST(many),
		TAP_TEST(slow),
	};

	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	return tap_done();
}
