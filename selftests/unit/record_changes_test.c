// SPDX-License-Identifier: GPL-2.0
/*
 * Which file "record" takes a mapping for, by the kernel's records: one may have the name that
 * another one had. The rings are the test's.
 */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "profile_made.h"
#include "rings.h"
#include "tap.h"
#include "userspace/cli/cli.h"
#include "userspace/cli/profile/copies.h"
#include "userspace/cli/profile/history.h"
#include "userspace/cli/profile/record.h"
#include "userspace/cli/profile/record_files.h"
#include "userspace/cli/profile/record_jit.h"

/* --- in place of all that follows processes */

static struct history *history;
static unsigned int nr_completed, nr_lost;

/* So many mappings come while the first one is read. */
static unsigned int nr_more;

void copies_follow(struct copies *copies, const struct sframe_unwind_profile_record *record,
		   const struct object_inode *inode)
{
	(void)copies;
	nr_lost += record->kind == SFRAME_UNWIND_PROFILE_LOST;
	for (; nr_more; nr_more--)
		rings_map(0, 7, 10, "/lib/a", 11, 1);
	history_add_file(history, record, inode);
}

void record_files_complete(struct record_files *files,
			   struct sframe_unwind_profile_record *record, dev_t device,
			   uint64_t inode, uint64_t generation)
{
	(void)files;
	if (device != makedev(8, 1) || inode != 11 || generation != 1)
		return;
	record->map.build_id_size = 20;
	nr_completed++;
}

void record_files_add(struct record_files *files,
		      const struct sframe_unwind_profile_record *record)
{
	(void)files;
	(void)record;
}

void record_jit_add(struct record_jit *jit, const struct sframe_unwind_profile_record *record)
{
	(void)jit;
	(void)record;
}

void record_waiting_begin_round(struct record_waiting *waiting)
{
	(void)waiting;
}

int record_waiting_switch(struct record_waiting *waiting, pid_t tid, uint64_t time,
			  enum record_switch what,
			  struct sframe_unwind_profile_writer *writer)
{
	(void)waiting;
	(void)tid;
	(void)time;
	(void)what;
	(void)writer;
	return 0;
}

/* --- the tests */

static struct record_changes *changes;
static struct sframe_unwind_profile_writer *writer;
static int fd;

static int begin(void)
{
	static const struct record_targets targets;
	const struct sframe_unwind_profile_source source = {
		.name = "one", .ids = (uint64_t[]){ 1 }, .nr_ids = 1,
	};

	fd = profile_new();
	history = history_create(1 << 20);
	nr_completed = 0;
	nr_lost = 0;
	return sframe_unwind_profile_create(&writer, fd, &source, 1, 0, -1) ||
	       record_changes_open(&changes, "test", &targets, NULL, true);
}

/* Read the rings. */
static int go_on(void)
{
	uint64_t latest = 0;
	const int ret = record_changes_write(changes, writer, &latest);

	history_update(history);
	return ret;
}

static void end(void)
{
	record_changes_close(changes);
	sframe_unwind_profile_finish(writer);
	history_free(history);
	rings_free();
}

/* Returns what process 7 has mapped at @time. */
static struct history_object *object_at(uint64_t time)
{
	const struct mapping *mapping;
	uint64_t version;

	mapping = process_find(history_process(history, 7, time, &version), RINGS_CODE);
	return mapping ? history_object(history, mapping->object) : NULL;
}

/* --- waiting: what poll(2) says of the ring of each of two CPUs, and of another file */

static short polled[3];
static unsigned int nr_polls, nr_polled, nr_of_rings;
static int polled_ms;

int __wrap_poll(struct pollfd *files, nfds_t nr, int ms);

int __wrap_poll(struct pollfd *files, nfds_t nr, int ms)
{
	int nr_ready = 0;

	nr_polls++;
	nr_polled = nr;
	nr_of_rings = 0;
	polled_ms = ms;
	for (nfds_t i = 0; i < nr && i < 3; i++) {
		nr_of_rings += files[i].fd >= 0 && files[i].events == POLLIN;
		files[i].revents = polled[i];
		nr_ready += !!polled[i];
	}
	return nr_ready;
}

static void set_polled(short first, short second, short other)
{
	polled[0] = first;
	polled[1] = second;
	polled[2] = other;
}

static void waits(void)
{
	struct pollfd other = { .fd = -1, .events = POLLIN };

	EXPECT_EQ(begin(), 0);
	set_polled(0, 0, 0);
	nr_polls = 0;
	EXPECT(!record_changes_wait(changes, &other, 1, 500));
	EXPECT_EQ(polled_ms, 500);
	EXPECT_EQ(nr_polled, 3);
	EXPECT_EQ(nr_of_rings, 2);
	set_polled(0, 0, POLLIN);
	EXPECT(!record_changes_wait(changes, &other, 1, 500));
	EXPECT_EQ(other.revents, POLLIN);
	set_polled(0, POLLIN, 0);
	EXPECT(record_changes_wait(changes, &other, 1, 500));
	EXPECT_EQ(other.revents, 0);
	EXPECT_EQ(nr_polls, 3);
	end();
}

/* The ring of a CPU belongs to the event of one thread, and others write to it, too. */
static void waits_no_more_for_a_thread_that_has_ended(void)
{
	struct pollfd other = { .fd = -1, .events = POLLIN };

	EXPECT_EQ(begin(), 0);
	set_polled(POLLHUP, 0, 0);
	record_changes_wait(changes, &other, 1, 500);
	set_polled(0, 0, 0);
	nr_polls = 0;
	EXPECT(record_changes_wait(changes, &other, 1, 500));
	EXPECT_EQ(nr_polls, 0);
	end();
}

static void replaced(void)
{
	struct history_object *first;

	EXPECT_EQ(begin(), 0);
	rings_map(0, 7, 10, "/lib/a", 11, 1);
	rings_map(0, 7, 20, "/lib/a", 11, 1);
	rings_map(0, 7, 30, "/lib/a", 12, 1);
	/* The inode number of the first one, which was deleted. */
	rings_map(0, 7, 40, "/lib/a", 11, 2);
	rings_map(0, 7, 50, "/lib/a", 11, 1);
	EXPECT_EQ(go_on(), 0);
	first = object_at(10);
	EXPECT(first && first->inode.inode == 11 && first->inode.generation == 1);
	EXPECT_EQ(first->inode.device, makedev(8, 1));
	EXPECT(object_at(20) == first);
	EXPECT(object_at(30) != first);
	EXPECT_EQ(object_at(30)->inode.inode, 12);
	EXPECT(object_at(40) != first && object_at(40) != object_at(30));
	EXPECT(object_at(50) == first);
	EXPECT(!strcmp(object_at(40)->name, "/lib/a"));
	end();
}

/* What has no file is the same everywhere, as when it was found in /proc/PID/maps. */
static void without_file(void)
{
	const struct sframe_unwind_profile_record record = {
		.kind = SFRAME_UNWIND_PROFILE_MAP,
		.pid = 7,
		.map = { .start = RINGS_CODE, .size = 4096, .name = "[vdso]", .is_code = 1 },
	};

	EXPECT_EQ(begin(), 0);
	history_add(history, &record);
	rings_map(0, 7, 10, "[vdso]", 0, 0);
	EXPECT_EQ(go_on(), 0);
	EXPECT(object_at(0) && object_at(0) == object_at(10));
	end();
}

/* A build ID that was found tells which file it is. */
static void build_id_found(void)
{
	EXPECT_EQ(begin(), 0);
	record_changes_keep(changes, (struct record_files *)&nr_completed, NULL, NULL);
	rings_map(0, 7, 10, "/lib/a", 11, 1);
	rings_map(0, 7, 20, "/lib/a", 12, 1);
	EXPECT_EQ(go_on(), 0);
	EXPECT_EQ(nr_completed, 1);
	EXPECT_EQ(object_at(10)->build_id_size, 20);
	EXPECT_EQ(object_at(10)->inode.inode, 0);
	EXPECT_EQ(object_at(20)->build_id_size, 0);
	EXPECT_EQ(object_at(20)->inode.inode, 12);
	end();
}

/*
 * In a ring that was full, something may be missing, also if it became full while it was read. The
 * kernel tells that with the next record, which may come much later.
 */
static void ring_was_full(void)
{
	/* The longest record has a name of 4096 bytes; these have 8. */
	static const struct {
		unsigned int before, meanwhile;
		bool is_full;
	} cases[] = { { 2000, 0, false }, { 2700, 0, true }, { 1, 2699, true }, { 1, 2000, false } };

	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		EXPECT_EQ(begin(), 0);
		for (unsigned int j = 0; j < cases[i].before; j++)
			rings_map(0, 7, 10, "/lib/a", 11, 1);
		nr_more = cases[i].meanwhile;
		EXPECT_EQ(go_on(), 0);
		EXPECT_EQ(nr_lost, cases[i].is_full);
		/* Now all of it is read, and it is empty. */
		EXPECT_EQ(go_on(), 0);
		nr_lost = 0;
		EXPECT_EQ(go_on(), 0);
		EXPECT_EQ(nr_lost, 0);
		end();
	}
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(replaced),
		TAP_TEST(without_file),
		TAP_TEST(build_id_found),
		TAP_TEST(ring_was_full),
		TAP_TEST(waits),
		TAP_TEST(waits_no_more_for_a_thread_that_has_ended),
	};

	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	return tap_done();
}
