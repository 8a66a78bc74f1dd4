// SPDX-License-Identifier: GPL-2.0
/*
 * "sframe-unwind attach", subordinate user IDs: which IDs count as one user.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attach_world.h"
#include "tap.h"
#include "userspace/cli/attach/subuid.h"
#include "userspace/cli/attach/user.h"

static char path[] = "/tmp/subuid_test.XXXXXX";
static struct subuids *subuids;

static void write_file(const char *text)
{
	FILE *file = fopen(path, "w");

	if (!file || fputs(text, file) < 0 || fclose(file))
		exit(1);
}

static void begin(void)
{
	subuids_free(subuids);
	world_begin();
	subuids = subuids_create(path);
}

static void a_range_is_one(void)
{
	write_file("alice:100000:65536\nbob:165536:65536\n1002:300000:1\n");
	EXPECT_EQ(subuids_first(subuids, 1000), 1000);
	EXPECT_EQ(subuids_first(subuids, 99999), 99999);
	EXPECT_EQ(subuids_first(subuids, 100000), 100000);
	EXPECT_EQ(subuids_first(subuids, 165535), 100000);
	EXPECT_EQ(subuids_first(subuids, 165536), 165536);
	EXPECT_EQ(subuids_first(subuids, 231071), 165536);
	EXPECT_EQ(subuids_first(subuids, 231072), 231072);
	EXPECT_EQ(subuids_first(subuids, 300000), 300000);
	EXPECT_EQ(subuids_first(subuids, 300001), 300001);
}

/* A range that root delegates to many containers is split. */
static void a_large_range_is_many(void)
{
	write_file("root:1000000:1000000000\n");
	EXPECT_EQ(subuids_first(subuids, 1000000), 1000000);
	EXPECT_EQ(subuids_first(subuids, 1065535), 1000000);
	EXPECT_EQ(subuids_first(subuids, 1065536), 1065536);
	EXPECT_EQ(subuids_first(subuids, 1065537), 1065536);
	EXPECT_EQ(subuids_first(subuids, 1001000000), 1001000000);
}

static void lines_that_make_no_sense_do_not_count(void)
{
	write_file("# alice:1000:65536\n\nbob\nbob:\nbob:x:y\n:1:2\nbob:10:\n"
		   "bob:-5:3\nbob:10:0\nbob:4294967295:2\nbob:4294967296:1\n"
		   "bob:1:99999999999999999999999\n"
		   "carol:4294967000:296\ndave:50:5");
	EXPECT_EQ(subuids_first(subuids, 10), 10);
	EXPECT_EQ(subuids_first(subuids, 4294967295U), 4294967000U);
	EXPECT_EQ(subuids_first(subuids, 54), 50);
	EXPECT_EQ(subuids_first(subuids, 55), 55);
}

static void a_change_is_seen(void)
{
	remove(path);
	EXPECT_EQ(subuids_first(subuids, 100001), 100001);
	write_file("alice:100000:65536\n");
	world.now += SUBUIDS_CHECK_NS - 1;
	EXPECT_EQ(subuids_first(subuids, 100001), 100001);
	world.now++;
	EXPECT_EQ(subuids_first(subuids, 100001), 100000);
	remove(path);
	world.now += SUBUIDS_CHECK_NS;
	EXPECT_EQ(subuids_first(subuids, 100001), 100001);
}

static void too_many_ranges(void)
{
	FILE *file = fopen(path, "w");

	for (unsigned int i = 0; file && i <= SUBUIDS_MAX; i++)
		fprintf(file, "user%u:%u:10\n", i, 100000 + 10 * i);
	if (!file || fclose(file))
		exit(1);
	EXPECT_EQ(subuids_first(subuids, 100000 + 10 * SUBUIDS_MAX - 1),
		  100000 + 10 * SUBUIDS_MAX - 10);
	EXPECT_EQ(subuids_first(subuids, 100000 + 10 * SUBUIDS_MAX + 9),
		  100000 + 10 * SUBUIDS_MAX + 9);
}

/* A range of 65,536 IDs has the budget of one user. */
static void they_have_one_budget(void)
{
	struct users *users;
	struct user *user;

	write_file("alice:100000:65536\nzero:0:5\nall:4294967000:296\n");
	users = users_create(path);
	user = users_get(users, 100000);
	EXPECT(users_get(users, 100007) == user);
	EXPECT(users_get(users, 99999) != user);
	world_add(7, 165535);
	EXPECT(users_of_process(users, 7) == user);
	/*
	 * Root and unknown owners are never part of a range, whatever the file
	 * says.
	 */
	EXPECT_EQ(users_get(users, 0)->uid, 0);
	EXPECT_EQ(users_get(users, 3)->uid, 3);
	EXPECT_EQ(users_get(users, USER_UNKNOWN)->uid, USER_UNKNOWN);
	users_free(users);
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(a_range_is_one),
		TAP_TEST(a_large_range_is_many),
		TAP_TEST(lines_that_make_no_sense_do_not_count),
		TAP_TEST(a_change_is_seen),
		TAP_TEST(too_many_ranges),
		TAP_TEST(they_have_one_budget),
	};

	if (close(mkstemp(path)))
		return 1;
	for (unsigned int i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		begin();
		tap_run(&tests[i], 1);
	}
	subuids_free(subuids);
	remove(path);
	return tap_done();
}
