// SPDX-License-Identifier: GPL-2.0
/*
 * "sframe-unwind attach", room: which attachments are given up when the kernel
 * accepts no more.
 */
#include <stdlib.h>
#include <string.h>

#include "attach_world.h"
#include "tap.h"
#include "userspace/cli/attach/room.h"

#define MEMORY 8000U	/* the kernel's limit for attachments */

static struct jobs jobs;
static struct pass pass;
static struct room room;
static unsigned int nr_forgotten;

/* Stand-in for the function of job.c. */
void jobs_forget_refused(struct jobs *of)
{
	nr_forgotten += of == &jobs;
}

static void detach(void *data, uint64_t id)
{
	(void)data;
	(void)id;
}

static void begin(void)
{
	users_free(jobs.users);
	known_files_free(jobs.known);
	world_begin();
	nr_forgotten = 0;
	jobs = (struct jobs) {
		.users = users_create(NULL),
		.known = known_files_create(detach, NULL),
		.max_memory = MEMORY,
	};
	pass = (struct pass) { .nr_made = 5 };
	room = (struct room) { 0 };
}

static void attach(uint64_t id, uint8_t group, uint64_t memory,
		   uint64_t used_at)
{
	const struct known known = {
		.key = { .inode = id },
		.inode = id,
		.group = group,
		.state = FILE_ATTACHED,
		.id = id,
		.memory = memory,
		.used_at = used_at,
		.retry_at = UINT64_MAX,
	};

	known_set(jobs.known, &known);
}

static bool is_there(uint64_t id)
{
	return known_find_inode(jobs.known, 0, id);
}

static void check(void)
{
	room_check(&room, &jobs, &pass);
}

/* Request room, and complete a pass. */
static void want(void)
{
	jobs.wants_room = true;
	check();
	pass.nr_made++;
}

static void nothing_is_done_without_need(void)
{
	attach(1, 1, 9000, 0);
	check();
	EXPECT(!pass.wants_all && !pass.wants_use && !room.is_wanted);
	EXPECT(is_there(1));
	EXPECT_EQ(nr_forgotten, 0);
}

/* A pass first finds out which attachments are in use. */
static void a_pass_is_made_before(void)
{
	attach(1, 1, 1000, 0);
	jobs.wants_room = true;
	check();
	EXPECT(pass.wants_all && pass.wants_use);
	EXPECT(is_there(1));
	check();
	EXPECT(is_there(1));
	pass.nr_made++;
	pass.wants_all = false;
	pass.wants_use = false;
	check();
	EXPECT(!is_there(1));
	EXPECT_EQ(nr_forgotten, 1);
	EXPECT(!jobs.wants_room);
	/* Another pass finds the refused files again. */
	EXPECT(pass.wants_all && pass.wants_use);
	check();
	EXPECT_EQ(nr_forgotten, 1);
}

/* A pass that had already begun has not seen all processes. */
static void a_whole_pass(void)
{
	attach(1, 1, 1000, 0);
	pass.is_running = true;
	want();
	check();
	EXPECT(is_there(1));
	pass.nr_made++;
	check();
	EXPECT(!is_there(1));
}

static void waits_for_those_who_are_looked_at(void)
{
	struct user *user = users_get(jobs.users, 5);

	attach(1, 1, 1000, 0);
	want();
	user->nr_processes = 1;
	check();
	EXPECT(is_there(1));
	user->nr_processes = 0;
	user->nr_reading = 1;
	check();
	EXPECT(is_there(1));
	/*
	 * It does not wait for a user that is not served at present: that may
	 * take long.
	 */
	user_block(user, world.now);
	check();
	EXPECT(!is_there(1));
	user->nr_reading = 0;
}

/* A user can have his files looked at without end, and so that it takes long. */
static void does_not_wait_for_ever(void)
{
	struct user *user = users_get(jobs.users, 5);

	attach(1, 1, 1000, 0);
	want();
	user->nr_reading = 1;
	check();
	world.now += ROOM_MAX_NS - 1;
	check();
	EXPECT(is_there(1));
	world.now++;
	check();
	EXPECT(!is_there(1));
	EXPECT_EQ(nr_forgotten, 1);
	user->nr_reading = 0;
}

/* With very many processes, it takes long until the pass is complete. */
static void waits_as_long_after_a_pass_that_takes_long(void)
{
	struct user *user = users_get(jobs.users, 5);

	for (unsigned int i = 0; i < 2; i++) {
		attach(1, 1, 1000, 0);
		jobs.wants_room = true;
		check();
		world.now += 2 * ROOM_MAX_NS;
		check();
		pass.nr_made++;
		user->nr_processes = 1;
		check();
		EXPECT(is_there(1));
		world.now += ROOM_MAX_NS - 1;
		check();
		EXPECT(is_there(1));
		world.now++;
		check();
		EXPECT(!is_there(1));
		user->nr_processes = 0;
		world.now += ROOM_MIN_NS;
	}
}

static void what_is_in_use_stays(void)
{
	attach(1, KNOWN_TRUSTED, 1000, world.now - 1);
	attach(2, 1, 1000, world.now - 1);
	attach(3, KNOWN_GROUPS - 1, 1000, world.now - 1);
	attach(4, 1, 4000, world.now + 1);
	attach(5, KNOWN_TRUSTED, 4000, world.now);
	want();
	world.now += SECOND;
	check();
	EXPECT(!is_there(1) && !is_there(2) && !is_there(3));
	EXPECT(is_there(4) && is_there(5));
}

/* If all attachments are in use, groups above their share lose some. */
static void who_has_too_much_gives_it_up(void)
{
	const uint64_t later = world.now + SECOND;

	/*
	 * The oldest are detached first, until the group has an eighth of the
	 * total.
	 */
	for (uint64_t id = 1; id <= 5; id++)
		attach(id, 1, 500, later + id);
	attach(11, 2, 1001, later);
	attach(12, 3, 1000, later);
	attach(13, KNOWN_TRUSTED, 5000, later);
	want();
	check();
	EXPECT(!is_there(1) && !is_there(2) && !is_there(3));
	EXPECT(is_there(4) && is_there(5));
	EXPECT(!is_there(11));
	EXPECT(is_there(12) && is_there(13));
}

static void not_again_at_once(void)
{
	want();
	check();
	EXPECT_EQ(nr_forgotten, 1);
	pass.wants_all = false;
	jobs.wants_room = true;
	world.now += ROOM_MIN_NS - 1;
	check();
	EXPECT(!pass.wants_all);
	world.now++;
	check();
	EXPECT(pass.wants_all);
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(nothing_is_done_without_need),
		TAP_TEST(a_pass_is_made_before),
		TAP_TEST(a_whole_pass),
		TAP_TEST(waits_for_those_who_are_looked_at),
		TAP_TEST(does_not_wait_for_ever),
		TAP_TEST(waits_as_long_after_a_pass_that_takes_long),
		TAP_TEST(what_is_in_use_stays),
		TAP_TEST(who_has_too_much_gives_it_up),
		TAP_TEST(not_again_at_once),
	};

	for (unsigned int i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		begin();
		tap_run(&tests[i], 1);
	}
	known_files_free(jobs.known);
	users_free(jobs.users);
	return tap_done();
}
