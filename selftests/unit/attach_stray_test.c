// SPDX-License-Identifier: GPL-2.0
/*
 * "sframe-unwind attach", strays: attachments of a reader that was killed
 * before it could report them.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include <linux/sframe_unwind.h>

#include "attach_world.h"
#include "tap.h"
#include "userspace/cli/attach/stray.h"

#define DEVICE 77

static struct jobs jobs;
static struct strays strays;

/* Time of the oldest question without an answer. */
static uint64_t asked_since;

/*
 * Ids that the kernel has attached: true up to the last one, except those
 * detached.
 */
/* What the kernel attaches at most, and the ids in use. */
#define MAX_ATTACHED 16384
#define MAX_ID (3 * MAX_ATTACHED + 1)

static bool attached[MAX_ID];
static unsigned int nr_detached;
static unsigned int nr_listed;

uint64_t readers_asked_since(const struct readers *readers)
{
	(void)readers;
	return asked_since;
}

static void detach(void *data, uint64_t id)
{
	(void)data;
	nr_detached += attached[id];
	attached[id] = false;
}

int __wrap_ioctl(int fd, unsigned long number, ...)
{
	struct sframe_unwind_list_attached *list;
	struct sframe_unwind_attached *to;
	uint32_t nr = 0;
	va_list args;

	va_start(args, number);
	list = va_arg(args, struct sframe_unwind_list_attached *);
	va_end(args);
	if (fd != DEVICE || number != SFRAME_UNWIND_IOC_LIST_ATTACHED)
		return -1;
	nr_listed++;
	to = (struct sframe_unwind_attached *)(uintptr_t)list->attached;
	for (uint64_t id = list->from; id < MAX_ID && nr < list->nr; id++)
		if (attached[id])
			to[nr++] = (struct sframe_unwind_attached) { .id = id };
	list->nr = nr;
	return 0;
}

static void begin(void)
{
	known_files_free(jobs.known);
	world_begin();
	jobs = (struct jobs) { .known = known_files_create(detach, NULL) };
	strays = (struct strays) { 0 };
	memset(attached, 0, sizeof(attached));
	asked_since = UINT64_MAX;
	nr_detached = 0;
	nr_listed = 0;
}

static void tell_of(uint64_t id)
{
	const struct known known = {
		.key = { .inode = id },
		.inode = id,
		.state = FILE_ATTACHED,
		.id = id,
		.retry_at = UINT64_MAX,
	};

	known_set(jobs.known, &known);
}

static void attach(uint64_t first, uint64_t last, bool is_told)
{
	for (uint64_t id = first; id <= last; id++) {
		attached[id] = true;
		if (is_told)
			tell_of(id);
	}
}

static void check(void)
{
	world.now += STRAYS_MIN_NS / 2;
	strays_check(&strays, &jobs, DEVICE);
}

static void nothing_is_asked_without_need(void)
{
	attach(1, 5, false);
	for (int i = 0; i < 5; i++)
		check();
	EXPECT_EQ(nr_listed, 0);
	EXPECT_EQ(nr_detached, 0);
}

static void what_nobody_knows_of_is_detached(void)
{
	attach(1, 200, true);
	attach(201, 203, false);
	attach(204, 300, true);
	jobs.nr_lost++;
	for (int i = 0; i < 5; i++)
		check();
	EXPECT_EQ(nr_detached, 3);
	EXPECT(!attached[201] && !attached[203] && attached[200] && attached[204]);
	/* The kernel's list is read only as often as necessary. */
	EXPECT_EQ(nr_listed, 6);
}

/* A user can have many attached in the time between two listings. */
static void one_listing_finds_all(void)
{
	attach(1, MAX_ATTACHED, false);
	jobs.nr_lost++;
	check();
	check();
	EXPECT_EQ(nr_detached, MAX_ATTACHED);
}

static void begin_code(const struct code_fns *fns)
{
	jobs.users = users_create(NULL);
	jobs.codes = codes_create(fns, MAX_ATTACHED, false, true);
}

static void end_code(void)
{
	codes_free(jobs.codes);
	users_free(jobs.users);
	jobs.codes = NULL;
}

/* Attachments to generated code are in another table. */
static void those_of_generated_code_stay(void)
{
	const struct code_fns fns = { 0 };
	const struct reader_reply reply = {
		.code = { .is_runtime = true, .nr = 1 },
	};
	const struct reader_code_range range = {
		.start = 1, .end = 2, .id = 2, .weight = 1,
	};
	struct reader_request request = { 0 };
	struct code_process *process;
	struct user *user;

	begin_code(&fns);
	user = users_get(jobs.users, 1);
	codes_enter(jobs.codes, user, 1, true);
	process = codes_begin_look(jobs.codes, user, world.now, &request);
	codes_end_look(jobs.codes, process, &reply, (void *)&range, sizeof(range));
	attach(1, 3, false);
	jobs.nr_lost++;
	for (int i = 0; i < 5; i++)
		check();
	end_code();
	EXPECT(!attached[1] && attached[2] && !attached[3]);
}

/* Ask for a look, which attaches @nr from @id on, and is lost. */
static void lose_look(struct user *user, uint64_t id, unsigned int nr)
{
	struct reader_request request = { 0 };
	struct code_process *process;

	codes_enter(jobs.codes, user, 1, true);
	process = codes_begin_look(jobs.codes, user, world.now, &request);
	EXPECT(process && request.code.max >= nr);
	attach(id, id + nr - 1, false);
	jobs.nr_lost++;
	codes_end_look(jobs.codes, process, NULL, NULL, 0);
	codes_remove(jobs.codes, 1);
}

/* What a lost look may have attached counts until it is detached. */
static void those_of_lost_looks_count(void)
{
	const struct code_fns fns = { 0 };
	struct user *user, *other;

	begin_code(&fns);
	user = users_get(jobs.users, 1);
	lose_look(user, 1, CODE_MAX_RANGES);
	EXPECT_EQ(user->nr_code_ranges, CODE_MAX_RANGES);
	check();
	/* Not in the listing. */
	lose_look(user, CODE_MAX_RANGES + 1, CODE_MAX_RANGES);
	EXPECT_EQ(user->nr_code_ranges, 2 * CODE_MAX_RANGES);
	check();
	EXPECT_EQ(nr_detached, CODE_MAX_RANGES);
	EXPECT_EQ(user->nr_code_ranges, CODE_MAX_RANGES);
	/* The killed reader has not ended: it may attach yet. That of another does not matter. */
	other = users_get(jobs.users, 2);
	lose_look(other, 3 * CODE_MAX_RANGES, 1);
	world.left = 1;
	world.left_user = 1;
	for (int i = 0; i < 4; i++)
		check();
	EXPECT_EQ(user->nr_code_ranges, CODE_MAX_RANGES);
	EXPECT_EQ(other->nr_code_ranges, 0);
	world.left = 0;
	for (int i = 0; i < 4; i++)
		check();
	EXPECT_EQ(nr_detached, 2 * CODE_MAX_RANGES + 1);
	EXPECT_EQ(user->nr_code_ranges, 0);
	end_code();
}

/* One user has all of his readers killed, as often as he is served. */
static void lost_looks_are_bounded(void)
{
	const struct code_fns fns = { 0 };
	unsigned int nr_most = 0, nr = 0;
	struct reader_request request;
	struct user *user;

	begin_code(&fns);
	user = users_get(jobs.users, 1);
	for (pid_t pid = 1; pid <= 100; pid++)
		codes_enter(jobs.codes, user, pid, false);
	for (int i = 0; i < 40; i++) {
		struct code_process *process;

		world.now += CODE_MAX_NS;
		while ((process = codes_begin_look(jobs.codes, user, world.now,
						   &request))) {
			if (request.code.max)
				attach(nr + 1, nr + request.code.max, false);
			nr += request.code.max;
			jobs.nr_lost++;
			codes_end_look(jobs.codes, process, NULL, NULL, 0);
		}
		if (nr - nr_detached > nr_most)
			nr_most = nr - nr_detached;
		check();
	}
	EXPECT_EQ(nr_most, MAX_ATTACHED / CODE_SHARE / CODE_USER_SHARE);
	EXPECT(nr > 2 * nr_most);
	end_code();
}

static void what_is_told_of_later_stays(void)
{
	attach(1, 2, false);
	jobs.nr_lost++;
	asked_since = world.now;
	for (int i = 0; i < 5; i++)
		check();
	EXPECT_EQ(nr_detached, 0);
	tell_of(1);
	/*
	 * Asked after the list was read, so the answer is about another
	 * attachment.
	 */
	asked_since = world.now;
	attach(3, 3, false);
	check();
	EXPECT_EQ(nr_detached, 1);
	EXPECT(attached[1] && !attached[2] && attached[3]);
}

static void what_the_killed_one_attaches_yet(void)
{
	jobs.nr_lost++;
	world.left = 1;
	for (int i = 0; i < 4; i++)
		check();
	attach(1, 1, false);
	world.left = 0;
	for (int i = 0; i < 5; i++)
		check();
	EXPECT_EQ(nr_detached, 1);
	nr_listed = 0;
	for (int i = 0; i < 5; i++)
		check();
	EXPECT_EQ(nr_listed, 0);
}

/* While a child that cannot be killed is left. */
static void the_kernel_is_not_asked_all_the_time(void)
{
	jobs.nr_lost++;
	world.left = 1;
	for (unsigned int i = 0; i < 100; i++) {
		world.now += SECOND;
		strays_check(&strays, &jobs, DEVICE);
	}
	EXPECT_EQ(nr_listed, 10);
}

static void another_is_lost_meanwhile(void)
{
	jobs.nr_lost++;
	asked_since = world.now;
	check();
	check();
	attach(1, 1, false);
	jobs.nr_lost++;
	asked_since = UINT64_MAX;
	for (int i = 0; i < 5; i++)
		check();
	EXPECT_EQ(nr_detached, 1);
}

static void more_than_are_found_at_a_time(void)
{
	attach(1, 3 * STRAYS_MAX, false);
	jobs.nr_lost++;
	for (int i = 0; i < 20; i++)
		check();
	EXPECT_EQ(nr_detached, 3 * STRAYS_MAX);
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(nothing_is_asked_without_need),
		TAP_TEST(what_nobody_knows_of_is_detached),
		TAP_TEST(one_listing_finds_all),
		TAP_TEST(those_of_generated_code_stay),
		TAP_TEST(those_of_lost_looks_count),
		TAP_TEST(lost_looks_are_bounded),
		TAP_TEST(what_is_told_of_later_stays),
		TAP_TEST(what_the_killed_one_attaches_yet),
		TAP_TEST(the_kernel_is_not_asked_all_the_time),
		TAP_TEST(another_is_lost_meanwhile),
		TAP_TEST(more_than_are_found_at_a_time),
	};

	for (unsigned int i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		begin();
		tap_run(&tests[i], 1);
	}
	known_files_free(jobs.known);
	return tap_done();
}
