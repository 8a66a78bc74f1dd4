// SPDX-License-Identifier: GPL-2.0
/*
 * Threads attach to files by their inodes, share, replace and detach, and
 * delete and unmount the files, while others walk: all counters return to their
 * start, and no file is served another one's section.
 *
 * Long: see selftests/check.
 * Racing: run with KCSAN.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "attach_fixture.h"

#define INODE	SFRAME_UNWIND_ATTACH_INODE
#define SYSTEM	SFRAME_UNWIND_ATTACH_SYSTEM
#define REPLACE	SFRAME_UNWIND_ATTACH_REPLACE
#define SHARE	SFRAME_UNWIND_ATTACH_SHARE

#define THREADS	2
#define ROUNDS	400

/* Shared by the threads. */
struct race {
	pthread_barrier_t barrier;
	atomic_int stop;
	int fd;
	struct elf_base elf;
	struct sframe_unwind_attach arg;
	const unsigned char *at;	/* a section is attached to it at times */
	const unsigned char *never;	/* nothing is ever attached to it */
	int other_file;
	_Atomic __u64 id;		/* of a section to share and detach */
	atomic_uint done;		/* number of successes */
	const char *_Atomic why;	/* error message */
	const char *dir;
};

static void say(struct race *race, const char *why)
{
	if (!race->why)
		fprintf(stderr, "# %s: %s\n", why, strerror(errno));
	race->why = why;
}

static struct race *make_race(FIXTURE_DATA(attach) *self)
{
	struct race *race = calloc(1, sizeof(*race));

	pthread_barrier_init(&race->barrier, NULL, THREADS);
	race->fd = self->fd;
	race->elf = self->elf;
	race->arg = self->arg;
	race->arg.message = 0;
	race->arg.message_size = 0;
	race->at = self->at;
	race->other_file = make_file(&self->elf, sizeof(self->elf));
	race->never = map_elf(make_file(&self->elf, sizeof(self->elf)));
	return race;
}

typedef void *(*function)(void *);

/*
 * Run all functions; those after the first @nr_finite until the first ones have
 * ended.
 */
static void run(struct race *race, const function *functions, int nr_finite,
		int nr)
{
	pthread_t threads[8];
	int i;

	for (i = 0; i < nr; i++)
		pthread_create(&threads[i], NULL, functions[i], race);
	for (i = 0; i < nr; i++) {
		if (i == nr_finite)
			race->stop = 1;
		pthread_join(threads[i], NULL);
	}
}

/* A rule found for one file must never be found for the other. */
static void *walk_both(void *data)
{
	struct race *race = data;
	const int fd = open_client(0);
	enum outcome outcome;

	while (!race->why && !race->stop) {
		outcome = walk_small(fd, race->at);
		if (outcome != NO_RULE && outcome != CALLER)
			say(race, "a wrong stack");
		if (walk_small(fd, race->never) != NO_RULE)
			say(race, "what is attached to another file");
	}
	close(fd);
	return NULL;
}

static bool is_nothing_left(int fd, long attachments)
{
	struct sframe_unwind_list_attached list;

	return !list_attached(fd, 0, NULL, 0, &list) && !list.total &&
	       !list.memory && counter("attachments") <= attachments;
}

/* Inode marks are freed asynchronously after detaching. */
static bool no_pins_are_left(long pins)
{
	int tries;

	for (tries = 0; tries < 10000000 && counter("pins") > pins; tries++)
		sched_yield();
	return counter("pins") <= pins;
}

/*
 * Two attach, only one may succeed
 */

static void *attach_for_all(void *data)
{
	struct race *race = data;
	struct sframe_unwind_attach arg = race->arg;
	int i;

	arg.flags = SYSTEM | INODE;
	for (i = 0; i < ROUNDS; i++) {
		pthread_barrier_wait(&race->barrier);
		if (!attach(race->fd, &arg))
			race->done++;
		else if (errno != EEXIST || arg.id)
			say(race, "attach for all");
		pthread_barrier_wait(&race->barrier);
		if (arg.id && detach(race->fd, arg.id))
			say(race, "detach");
	}
	return NULL;
}

TEST_F(attach, one_for_all)
{
	static const function functions[] = {
		attach_for_all, attach_for_all, walk_both,
	};
	const long before = counter("attachments"), pins = counter("pins");
	struct race *race = make_race(self);

	run(race, functions, THREADS, 3);
	EXPECT_EQ(NULL, race->why);
	EXPECT_EQ(ROUNDS, race->done);
	EXPECT_TRUE(is_nothing_left(self->fd, before));
	EXPECT_TRUE(no_pins_are_left(pins));
	EXPECT_EQ(NO_RULE, walk_small(self->fd, self->at));
}

/*
 * Sharing a section while it is detached
 */

static void *attach_and_detach(void *data)
{
	struct race *race = data;
	struct sframe_unwind_attach arg = race->arg;
	int i;

	arg.flags = INODE;
	for (i = 0; i < ROUNDS; i++) {
		if (attach(race->fd, &arg))
			say(race, "attach");
		race->id = arg.id;
		pthread_barrier_wait(&race->barrier);
		if (detach(race->fd, arg.id))
			say(race, "detach");
		pthread_barrier_wait(&race->barrier);
	}
	return NULL;
}

static void *share_and_detach(void *data)
{
	struct race *race = data;
	struct sframe_unwind_attach arg = race->arg;
	struct sframe_unwind_list_attached list;
	const int fd = open_client(0);
	unsigned char *at = map_elf(race->other_file);
	enum outcome outcome;
	int i;

	arg.flags = INODE | SHARE;
	arg.elf_fd = race->other_file;
	arg.sframe_fd = -1;
	arg.sframe_size = 0;
	for (i = 0; i < ROUNDS; i++) {
		pthread_barrier_wait(&race->barrier);
		arg.share_id = race->id;
		outcome = NO_RULE;
		if (!attach(race->fd, &arg)) {
			race->done++;
			outcome = CALLER;
		} else if (errno != ENOENT || arg.id) {
			say(race, "share");
		}
		pthread_barrier_wait(&race->barrier);
		if (walk_small(fd, at) != outcome)
			say(race, "what is shared");
		if (arg.id && (list_attached(race->fd, arg.id, NULL, 0, &list) ||
			       list.memory < sizeof(struct elf_sframe)))
			say(race, "memory of what is shared");
		if (arg.id && detach(race->fd, arg.id))
			say(race, "detach what is shared");
	}
	if (walk_small(fd, at) != NO_RULE)
		say(race, "what is not shared any more");
	close(fd);
	return NULL;
}

TEST_F(attach, shared_while_detached)
{
	static const function functions[] = {
		attach_and_detach, share_and_detach, walk_both,
	};
	const long before = counter("attachments"), pins = counter("pins");
	const long images = counter("images");
	struct race *race = make_race(self);

	run(race, functions, THREADS, 3);
	EXPECT_EQ(NULL, race->why);
	TH_LOG("%u of %u were shared", race->done, ROUNDS);
	EXPECT_TRUE(is_nothing_left(self->fd, before));
	EXPECT_TRUE(no_pins_are_left(pins));
	EXPECT_EQ(NO_RULE, walk_small(self->fd, self->at));
	/* Images of earlier tests may be freed meanwhile. */
	EXPECT_GE(images, counter("images"));
}

/*
 * Files are created and deleted while sections are attached to them
 */

/* Files of this thread, deleted before, during and after detaching. */
static void *delete_files(void *data)
{
	struct race *race = data;
	struct sframe_unwind_attach arg = race->arg;
	const int fd = open_client(0);
	unsigned char *at;
	char path[64];
	int i, file;

	arg.flags = INODE;
	for (i = 0; i < ROUNDS && !race->why; i++) {
		snprintf(path, sizeof(path), "%s/%d-%d", race->dir, gettid(),
			 i % 8);
		file = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0755);
		if (pwrite(file, &race->elf, sizeof(race->elf), 0) !=
		    sizeof(race->elf))
			say(race, "write");
		at = map_elf(file);
		if (i >= 8 && walk_small(fd, at) != NO_RULE)
			say(race, "attached to a file that is gone");
		arg.elf_fd = file;
		if (attach(race->fd, &arg))
			say(race, "attach");
		if (walk_small(fd, at) != CALLER)
			say(race, "what has been attached");
		race->id = arg.id;
		if (unlink(path))
			say(race, "unlink");
		unmap_elf(at);
		close(file);
		if (i % 3)
			detach(race->fd, arg.id);
	}
	close(fd);
	return NULL;
}

/* Detach the latest section, before or after its file is deleted. */
static void *detach_last(void *data)
{
	struct race *race = data;

	while (!race->stop)
		detach(race->fd, race->id);
	return NULL;
}

static bool mount_own(char *dir)
{
	return !geteuid() && mkdtemp(dir) && !unshare(CLONE_NEWNS) &&
	       !mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
	       !mount("none", dir, "tmpfs", 0, NULL);
}

/*
 * Run in a file system of its own; nothing of the attachments may be left
 * afterwards.
 */
static void race_in_own(struct __test_metadata *_metadata,
			FIXTURE_DATA(attach) *self, const function *functions)
{
	char dir[] = "/tmp/attach_race.XXXXXX";
	const long before = counter("attachments"), pins = counter("pins");
	struct race *race = make_race(self);

	if (!mount_own(dir))
		SKIP(return, "cannot mount");
	race->dir = dir;
	run(race, functions, 2, 4);
	EXPECT_EQ(NULL, race->why);
	close(self->fd);
	self->fd = open_client(0);
	EXPECT_TRUE(is_nothing_left(self->fd, before));
	EXPECT_TRUE(no_pins_are_left(pins));
	EXPECT_EQ(0, umount(dir));
	rmdir(dir);
}

TEST_F(attach, deleted)
{
	static const function functions[] = {
		delete_files, delete_files, detach_last, walk_both,
	};

	race_in_own(_metadata, self, functions);
}

/* Repeatedly mount a file system, attach to a file in it, and unmount it. */
static void *unmount(void *data)
{
	struct race *race = data;
	struct sframe_unwind_attach arg = race->arg;
	char dir[64], path[80];
	int i, j, file;

	arg.flags = INODE;
	snprintf(dir, sizeof(dir), "%s/%d", race->dir, gettid());
	mkdir(dir, 0755);
	snprintf(path, sizeof(path), "%s/file", dir);
	for (i = 0; i < ROUNDS / 4 && !race->why; i++) {
		if (mount("none", dir, "tmpfs", 0, NULL))
			say(race, "mount");
		file = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0755);
		if (pwrite(file, &race->elf, sizeof(race->elf), 0) !=
		    sizeof(race->elf))
			say(race, "write");
		arg.elf_fd = file;
		for (j = 0; j < 3; j++) {
			if (attach(race->fd, &arg))
				say(race, "attach");
			race->id = arg.id;
		}
		close(file);
		if (umount(dir))
			say(race, "umount");
		if (i % 2)
			detach(race->fd, arg.id);
	}
	rmdir(dir);
	return NULL;
}

TEST_F(attach, unmounted)
{
	static const function functions[] = {
		unmount, unmount, detach_last, walk_both,
	};

	race_in_own(_metadata, self, functions);
}

/*
 * Many attachments to one inode: its pin is created and freed
 */

static void *pin_and_unpin(void *data)
{
	struct race *race = data;
	struct sframe_unwind_attach arg = race->arg;
	const int fd = open_client(0);
	int i;

	for (i = 0; i < ROUNDS && !race->why; i++) {
		arg.flags = INODE | (i % 2 ? SYSTEM | REPLACE : 0);
		if (attach(fd, &arg))
			say(race, "attach");
		if (walk_small(fd, race->at) != CALLER)
			say(race, "what has been attached");
		if (detach(fd, arg.id))
			say(race, "detach");
	}
	close(fd);
	return NULL;
}

TEST_F(attach, one_inode)
{
	static const function functions[] = {
		pin_and_unpin, pin_and_unpin, pin_and_unpin, walk_both,
	};
	const long before = counter("attachments"), pins = counter("pins");
	struct race *race = make_race(self);

	run(race, functions, 3, 4);
	EXPECT_EQ(NULL, race->why);
	EXPECT_TRUE(is_nothing_left(self->fd, before));
	EXPECT_TRUE(no_pins_are_left(pins));
	EXPECT_EQ(NO_RULE, walk_small(self->fd, self->at));
}

TEST_HARNESS_MAIN
