// SPDX-License-Identifier: GPL-2.0
/*
 * "sframe-unwind attach", jobs: which files are examined again because they were refused, or
 * because there was no room for them. One user must not keep a file of another from that.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "attach_job_scene.h"
#include "attach_world.h"
#include "tap.h"

static const struct file plain = { DEVICE, 42, 5, false };
/* What the attacker puts in the place of another file. */
static const struct file fake = { DEVICE, 666, 7, false };

/* --- retries */

static void refuse_of(const struct file *file, pid_t pid)
{
	struct known known = {
		.key = { DEVICE, 42 },
		.device = file->device,
		.inode = file->inode,
		.size = file->size,
		.group = known_group(jobs.known, 100 * pid),
		.state = FILE_REFUSED,
		.reason = "",
		.checked_at = world.now,
		.retry_at = world.now + 5 * SECOND,
		.retry = { pid, 0x1000, 0x2000 },
	};

	known_set(jobs.known, &known);
}

static void refuse(const struct file *file)
{
	refuse_of(file, VICTIM);
}

/* By a mapping that has led to the file, not by one that seemed to. */
static void a_retry_is_not_taken_over(void)
{
	mapped[ATTACKER] = &fake;
	mapped[VICTIM] = &plain;
	refuse(&plain);
	storm(4 * SECOND);
	EXPECT_EQ(looks[VICTIM], 0);
	looks[ATTACKER] = 0;
	pass_time(SECOND);
	EXPECT_EQ(looks[VICTIM], 1);
	EXPECT(!last.known.is_set);
	EXPECT_EQ(known_of(&plain)->state, FILE_FOREIGN);
	/* The process may have ended: the latest one that maps it is used. */
	scene_begin();
	mapped[OTHER] = &plain;
	refuse(&plain);
	map_and_read(OTHER, 42);
	EXPECT_EQ(looks[OTHER], 1);
	pass_time(5 * SECOND);
	EXPECT_EQ(looks[OTHER], 2);
	EXPECT_EQ(known_of(&plain)->state, FILE_FOREIGN);
}

/* Others may have any number of files refused. */
static void a_retry_waits_for_no_other(void)
{
	mapped[VICTIM] = &plain;
	for (uint64_t i = 0; i < 100; i++) {
		const struct file file = { DEVICE, 100 + i, 5, false };

		refuse_of(&file, ATTACKER);
	}
	refuse(&plain);
	for (uint64_t i = 0; i < 100; i++) {
		const struct file file = { DEVICE, 200 + i, 5, false };

		refuse_of(&file, OTHER);
	}
	pass_time(5 * SECOND);
	EXPECT_EQ(looks[VICTIM], 1);
	EXPECT_EQ(known_of(&plain)->state, FILE_FOREIGN);
}

/* It was being compared with what is known of it when its retry was due. */
static void a_retry_is_not_lost_to_a_comparison(void)
{
	mapped[VICTIM] = &plain;
	refuse(&plain);
	world.now += 5 * SECOND - 1;
	map(VICTIM, 42);
	EXPECT_EQ(nr_asked, 1);
	EXPECT(last.known.is_set);
	world.now++;
	jobs_recheck(&jobs, world.now);
	read_all();
	EXPECT_EQ(known_of(&plain)->state, FILE_REFUSED);
	pass_time(SECOND);
	EXPECT_EQ(known_of(&plain)->state, FILE_FOREIGN);
}

/* Others have mapped the file last, and not for long: who else maps it is to be found. */
static void a_lost_retry_is_told_of(void)
{
	unsigned int nr_lost = 0;

	mapped[VICTIM] = &plain;
	mapped[ATTACKER] = &plain;
	refuse(&plain);
	map_and_read(ATTACKER, 42);
	EXPECT_EQ(looks[ATTACKER], 1);
	mapped[ATTACKER] = NULL;
	for (unsigned int i = 0; i < 20; i++) {
		world.now += SECOND;
		nr_lost += jobs_recheck(&jobs, world.now);
		jobs_schedule(&jobs);
		read_all();
		/* Soon, but only when a reader has had some time. */
		EXPECT_EQ(nr_lost, i + 1 >= 5 + KNOWN_LATE_NS / SECOND);
	}
	EXPECT_EQ(looks[ATTACKER], 2);
	/* The pass finds the mapping. */
	map_and_read(VICTIM, 42);
	EXPECT_EQ(known_of(&plain)->state, FILE_FOREIGN);
	EXPECT(!jobs_recheck(&jobs, world.now + 100 * SECOND));
}

/* Others have found it first, and have any number of files refused, which are retried. */
static void a_late_retry_is_told_of(void)
{
	struct file files[10];
	struct known known;

	mapped[VICTIM] = &plain;
	refuse(&plain);
	known = *known_of(&plain);
	known.group = known_group(jobs.known, 100 * ATTACKER);
	known_set(jobs.known, &known);
	for (uint64_t i = 0; i < 10; i++) {
		files[i] = (struct file) { DEVICE, 100 + i, 5, false };
		refuse_of(&files[i], ATTACKER);
	}
	world.now += 5 * SECOND;
	for (unsigned int i = 9; i > 0; i--) {
		mapped[ATTACKER] = &files[i];
		EXPECT_EQ(jobs_recheck(&jobs, world.now), i == 5);
		jobs_schedule(&jobs);
		read_all();
		EXPECT_EQ(known_of(&files[i])->state, FILE_FOREIGN);
		EXPECT_EQ(looks[VICTIM], 0);
		world.now += KNOWN_LATE_NS / 4;
	}
}

/* --- converting */

/* A snapshot of a file of this system that is to be converted. */
static void tell_snapshot(unsigned int i)
{
	const uint64_t inode = asked[i].request.mapping.key.inode;
	struct reader_reply reply = { .is_last = true };
	const int fds[2] = { open("/dev/null", O_RDONLY | O_CLOEXEC),
			     open("/dev/null", O_RDONLY | O_CLOEXEC) };

	reply.file = (struct reader_file) {
		.is_found = true,
		.is_trusted = true,
		.is_system = true,
		.is_uncached = true,
		.known = { .is_set = true, .device = DEVICE, .inode = inode },
		.digest = { { inode } },
		.nr_bytes = 100,
	};
	jobs_told(&jobs, asked[i].question, asked[i].user, &reply, NULL, 0, fds);
}

/* What a worker converts together shares the room for its results. */
static void no_room_left_by_others_is_not_final(void)
{
	static const int errors[] = { -EFBIG, -EPROTO, -ENOMEM };
	const int no_fds[2] = { -1, -1 };

	for (size_t i = 0; i < 3; i++) {
		struct reader_reply reply = {
			.is_last = true,
			.stage = READER_RESULT,
			.error = errors[i],
		};

		scene_begin();
		jobs.max_workers = 1;
		jobs.max_attached = 1000;
		jobs.max_memory = 1 << 20;
		for (pid_t inode = 1; inode <= 2; inode++) {
			struct mapping mapping = world_mapping(inode);

			mapping.pid = VICTIM;
			jobs_add_mapping(&jobs, &mapping, NULL, false);
		}
		jobs_schedule(&jobs);
		EXPECT_EQ(nr_asked, 2);
		tell_snapshot(0);
		tell_snapshot(1);
		nr_asked = 0;
		jobs_schedule(&jobs);
		EXPECT_EQ(nr_snapshots, 2);
		jobs_check_workers(&jobs);
		jobs_schedule(&jobs);
		EXPECT_EQ(nr_asked, 2);
		EXPECT_EQ(asked[1].request.what, READER_ATTACH);
		EXPECT(asked[1].request.attach.is_trusted);
		/* One gets the error. It is read again, and converted alone. */
		jobs_told(&jobs, asked[1].question, asked[1].user, &reply,
			  NULL, 0, no_fds);
		EXPECT(!*refusal);
		nr_asked = 1;
		jobs_schedule(&jobs);
		EXPECT_EQ(nr_asked, 2);
		EXPECT_EQ(asked[1].request.what, READER_FILE);
		tell_snapshot(1);
		nr_asked = 1;
		jobs_schedule(&jobs);
		EXPECT_EQ(nr_snapshots, 1);
		jobs_check_workers(&jobs);
		jobs_schedule(&jobs);
		EXPECT_EQ(asked[1].request.what, READER_ATTACH);
		jobs_told(&jobs, asked[1].question, asked[1].user, &reply,
			  NULL, 0, no_fds);
		EXPECT(*refusal);
		/* Let the other one end. */
		jobs_told(&jobs, asked[0].question, asked[0].user, NULL, NULL,
			  0, no_fds);
		nr_asked = 0;
	}
}

/* Each user has room for some hundred files, and a process can map more. */
static void what_has_no_room_is_found_later(void)
{
	static unsigned char rest[READER_MAX_REPLY];
	const unsigned int nr = USER_MAX_FILES + 10;
	struct user *user = users_get(jobs.users, 100 * VICTIM);
	struct reader_reply reply = { .is_last = true, .maps.nr = nr };
	const int no_fds[2] = { -1, -1 };
	struct asked maps;
	size_t size = 0;

	user_add_process(user, VICTIM, 0, true);
	jobs_schedule(&jobs);
	EXPECT_EQ(nr_asked, 1);
	EXPECT_EQ(last.what, READER_MAPS);
	for (unsigned int i = 0; i < nr; i++) {
		const struct reader_maps_entry entry = {
			.start = 4096 * (i + 1),
			.end = 4096 * (i + 2),
			.key = { DEVICE, i + 1 },
			.name_size = 2,
		};

		memcpy(rest + size, &entry, sizeof(entry));
		memcpy(rest + size + sizeof(entry), "/", 2);
		size += sizeof(entry) + 2;
	}
	maps = asked[--nr_asked];
	jobs_told(&jobs, maps.question, maps.user, &reply, rest, size, no_fds);
	EXPECT_EQ(user->nr_files, USER_MAX_FILES);
	EXPECT(!user->is_missed);
	EXPECT_EQ(user->nr_first, USER_MAX_FILES + 1);
	jobs_schedule(&jobs);
	read_all();
	EXPECT_EQ(last.what, READER_MAPS);
	EXPECT_EQ(last.mapping.start, 4096 * (USER_MAX_FILES + 1));
	EXPECT_EQ(user->nr_first, 0);
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(a_retry_is_not_taken_over),
		TAP_TEST(a_retry_waits_for_no_other),
		TAP_TEST(a_retry_is_not_lost_to_a_comparison),
		TAP_TEST(a_lost_retry_is_told_of),
		TAP_TEST(a_late_retry_is_told_of),
		TAP_TEST(no_room_left_by_others_is_not_final),
		TAP_TEST(what_has_no_room_is_found_later),
	};

	for (unsigned int i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		scene_begin();
		tap_run(&tests[i], 1);
	}
	scene_end();
	return tap_done();
}
