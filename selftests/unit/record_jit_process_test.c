// SPDX-License-Identifier: GPL-2.0
/*
 * Of which processes "record" keeps what names code made at run time: those of other users,
 * in namespaces of their own, or that end; and what they announce to debuggers.
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli_stub.h"
#include "jit_announced_made.h"
#include "record_jit_scene.h"
#include "tap.h"
#include "userspace/cli/attach/clock.h"
#include "userspace/cli/profile/inspect.h"
#include "userspace/cli/profile/jit_objects.h"
#include "userspace/cli/profile/processes.h"

static uint64_t ended_at;

/*
 * Returns how many records of @kind were kept, with an object that names a function @name if
 * that is not NULL.
 */
static unsigned int find_kept(const char *name, uint32_t kind)
{
	static char bytes[65536];
	unsigned int nr = 0;
	char path[512];
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "%s/objects", kept);
	fd = open(path, O_RDONLY);
	got = fd < 0 ? 0 : read(fd, bytes, sizeof(bytes));
	close(fd);
	/* The name is the first one of the strings. */
	for (ssize_t i = sizeof(uint64_t);
	     i + (ssize_t)sizeof(struct jit_objects_record) <= got;) {
		const struct jit_objects_record *record = (void *)(bytes + i);
		const struct made_object *object = (void *)(record + 1);

		if (record->kind == JIT_OBJECTS_END)
			ended_at = record->time;
		nr += record->kind == kind &&
		      (!name || (record->stored && !strcmp(object->strings + 1, name)));
		i += sizeof(*record) + jit_objects_padded(record->stored);
	}
	return nr;
}

/* Returns the time of the last JIT_OBJECTS_END, see find_kept(). */
static uint64_t end_time(void)
{
	find_kept(NULL, JIT_OBJECTS_END);
	return ended_at;
}

static bool has_kept_object(const char *name)
{
	return find_kept(name, JIT_OBJECTS_MADE);
}

/* What a process has announced when it was looked at, and has announced at the end. */
static void objects_are_kept(void)
{
	struct announcer process;

	start();
	announcer_start(&process);
	announcer_tell(&process, "aB");
	add(process.pid, "//anon");
	record_jit_look(jit);
	announcer_tell(&process, "-c");
	EXPECT_EQ(keep(), 0);
	EXPECT(has_kept_object("a"));
	EXPECT(has_kept_object("B"));
	EXPECT(has_kept_object("c"));
	EXPECT(!has_kept_object("d"));
	/* Also in a later profile, and when the process has ended. */
	announcer_tell(&process, "d");
	EXPECT_EQ(keep(), 0);
	announcer_end(&process);
	EXPECT_EQ(keep(), 0);
	EXPECT(has_kept_object("a"));
	EXPECT(has_kept_object("d"));
	EXPECT(!said[0]);
}

/* Wait until the next look is due after one since @before: the later the longer that took. */
static void wait_until_due(uint64_t before)
{
	usleep(200000 + 30 * (now_ns() - before) / 1000);
}

/* It has ended after a look was due: what it had announced may have been replaced. */
static void objects_not_looked_at(void)
{
	struct announcer process;
	uint64_t before;

	start();
	announcer_start(&process);
	announcer_tell(&process, "a");
	add(process.pid, "//anon");
	record_jit_look(jit);
	before = now_ns();
	EXPECT_EQ(keep(), 0);
	EXPECT_EQ(find_kept(NULL, JIT_OBJECTS_END), 0);
	wait_until_due(before);
	announcer_end(&process);
	EXPECT_EQ(keep(), 0);
	EXPECT(has_kept_object("a"));
	EXPECT_EQ(find_kept(NULL, JIT_OBJECTS_END), 1);
	EXPECT_EQ(keep(), 0);
	EXPECT_EQ(find_kept(NULL, JIT_OBJECTS_END), 1);
}

/* The same if nobody has asked for its end yet: it has no list, but has taken nothing back. */
static void objects_of_a_zombie(void)
{
	struct announcer process;
	uint64_t before, killed_at;
	siginfo_t info;

	start();
	announcer_start(&process);
	announcer_tell(&process, "a");
	add(process.pid, "//anon");
	before = now_ns();
	record_jit_look(jit);
	wait_until_due(before);
	killed_at = now_ns();
	kill(process.pid, SIGKILL);
	waitid(P_PID, process.pid, &info, WEXITED | WNOWAIT);
	/* Looks at it do not change since when nothing is known. */
	for (int i = 0; i < 3; i++) {
		record_jit_look(jit);
		usleep(250000);
	}
	EXPECT_EQ(keep(), 0);
	EXPECT(has_kept_object("a"));
	EXPECT_EQ(find_kept(NULL, JIT_OBJECTS_GONE), 0);
	EXPECT_EQ(find_kept(NULL, JIT_OBJECTS_END), 1);
	EXPECT(end_time() < killed_at);
	EXPECT_EQ(keep(), 0);
	EXPECT_EQ(find_kept(NULL, JIT_OBJECTS_END), 1);
	announcer_end(&process);
	EXPECT_EQ(keep(), 0);
	EXPECT_EQ(find_kept(NULL, JIT_OBJECTS_END), 1);
}

/* One whose list is not read to its end is there, too. */
static void objects_of_an_endless_list(void)
{
	struct announcer process;
	uint64_t before;

	start();
	announcer_start(&process);
	announcer_tell(&process, "a!");
	add(process.pid, "//anon");
	before = now_ns();
	record_jit_look(jit);
	wait_until_due(before);
	EXPECT_EQ(keep(), 0);
	EXPECT(has_kept_object("a"));
	EXPECT_EQ(find_kept(NULL, JIT_OBJECTS_END), 0);
	announcer_end(&process);
}

/* If it is there when it is looked at again, what is known is not added once more. */
static void objects_looked_at_again(void)
{
	struct jit_objects objects = { 0 };
	struct announcer process;
	struct stat status;
	uint64_t size;

	start();
	announcer_start(&process);
	announcer_tell(&process, "aB");
	inspect_begin(&is_interrupted, 2000);
	EXPECT(jit_objects_update(&objects, process.pid,
				  processes_started(process.pid), 1 << 20));
	size = objects.size;
	for (int i = 0; i < 2; i++) {
		jit_objects_end(&objects, now_ns());
		EXPECT(!fstat(objects.fd, &status));
		EXPECT_EQ((uint64_t)status.st_size,
			  size + sizeof(struct jit_objects_record));
	}
	EXPECT(jit_objects_update(&objects, process.pid,
				  processes_started(process.pid), 1 << 20));
	EXPECT(objects.is_there);
	EXPECT_EQ(objects.size, size);
	EXPECT(!fstat(objects.fd, &status));
	EXPECT_EQ((uint64_t)status.st_size, size);
	announcer_end(&process);
	jit_objects_free(&objects);
}

/* A child has what its parent had announced; it has mapped nothing. */
static void objects_of_a_child(void)
{
	struct sframe_unwind_profile_record record = {
		.kind = SFRAME_UNWIND_PROFILE_FORK,
		.task = { .ppid = getpid(), .ptid = getpid() },
	};
	struct announcer process;
	char name[32];

	start();
	announce_letter('E');
	add(getpid(), "//anon");
	record_jit_look(jit);
	announcer_start(&process);
	announce_letter('-');
	record.pid = process.pid;
	record.tid = process.pid;
	record_jit_add(jit, &record);
	EXPECT_EQ(keep(), 0);
	announcer_end(&process);
	/* The child's is the last one. */
	snprintf(name, sizeof(name), "/%d-", record.pid);
	EXPECT(strstr(kept, name));
	EXPECT(has_kept_object("E"));
}

/* Everybody can make files of these names; the process is root's. */
static void file_of_another_user(void)
{
	start();
	write_file(map_path, "1000 10 a\n", 10);
	if (chown(map_path, 12345, 12345))
		return;
	add(child, "//anon");
	record_jit_look(jit);
	EXPECT_EQ(keep(), 0);
	EXPECT(!kept[0]);
}

/* A process of @user, in a mount namespace of its own. Returns its number. */
static pid_t start_process(uid_t user)
{
	const pid_t pid = fork();
	char path[32];

	if (!pid) {
		if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
			_exit(1);
		snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
		if (!access(path, F_OK) &&
		    mount("/etc/shadow", path, NULL, MS_BIND, NULL))
			_exit(1);
		if (setresuid(user, user, user) ||
		    prctl(PR_SET_PDEATHSIG, SIGKILL))
			_exit(1);
		pause();
		_exit(0);
	}
	for (int i = 0; i < 1000; i++) {
		if (processes_user(pid) == user)
			break;
		usleep(10000);
	}
	return pid;
}

/* In a mount namespace of his own, a user can put any file of the system anywhere. */
static void file_of_root_in_its_place(void)
{
	char path[32];
	pid_t pid, other;

	start();
	if (geteuid())
		return;
	/* A number that will be used soon. */
	pid = fork();
	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
	for (pid_t next = pid + 1; next < pid + 4; next++) {
		snprintf(path, sizeof(path), "/tmp/perf-%d.map", next);
		write_file(path, "", 0);
	}
	other = start_process(12345);
	add(other, "//anon");
	record_jit_look(jit);
	EXPECT_EQ(keep(), 0);
	EXPECT(!kept[0]);
	end_process(other);
	for (pid_t next = pid + 1; next < pid + 4; next++) {
		snprintf(path, sizeof(path), "/tmp/perf-%d.map", next);
		unlink(path);
	}
}

/* A process of root, and a user's that has mapped a file of his own with the same path. */
static void dump_of_root(void)
{
	pid_t other;

	start();
	if (geteuid())
		return;
	snprintf(dump_path, sizeof(dump_path), "%s/jit-%d.dump", work, child);
	write_file(dump_path, "dump", 4);
	other = start_process(12345);
	add(other, dump_path);
	record_jit_look(jit);
	EXPECT_EQ(keep(), 0);
	EXPECT(!kept[0]);
	end_process(other);
}

static void write_map_of(pid_t pid, uid_t user, off_t size)
{
	char path[32];

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", pid);
	write_file(path, "1000 10 a\n", 10);
	if (chown(path, user, user) || (size && truncate(path, size)))
		exit(1);
}

/* Large files of one user leave room for those of another one. */
static void share_of_a_user(void)
{
	pid_t his[3], other;

	start();
	if (geteuid())
		return;
	for (int i = 0; i < 3; i++) {
		his[i] = start_process(12345);
		write_map_of(his[i], 12345, 40 << 20);
		add(his[i], "//anon");
	}
	other = start_process(12346);
	write_map_of(other, 12346, 0);
	add(other, "//anon");
	record_jit_look(jit);
	EXPECT_EQ(keep(), 0);
	EXPECT(strstr(said, "was not kept: it is too large, or there are too many"));
	/* The last one that is told. */
	EXPECT(has_kept("map", "1000 10 a\n"));
	for (int i = 0; i < 3; i++)
		end_process(his[i]);
	end_process(other);
}

/* What a profile kept before is counted once. */
static void kept_again(void)
{
	pid_t other;

	start();
	if (geteuid())
		return;
	other = start_process(12345);
	for (int i = 1; i <= 3; i++) {
		write_map_of(other, 12345, (40 << 20) + 100 * i);
		add(other, "//anon");
		record_jit_look(jit);
		EXPECT_EQ(keep(), 0);
		EXPECT(!said[0]);
	}
	end_process(other);
}

/* At the current time. */
static void note_end(pid_t pid, bool is_exec)
{
	struct sframe_unwind_profile_record record = {
		.time = now,
		.kind = is_exec ? SFRAME_UNWIND_PROFILE_COMM : SFRAME_UNWIND_PROFILE_EXIT,
		.pid = pid,
		.tid = pid,
	};

	if (is_exec)
		record.comm.is_exec = 1;
	record_jit_add(jit, &record);
}

/* Another program has what it has made since only; if its first thread ended, it is the same. */
static void number_is_used_again(void)
{
	for (int is_exec = 0; is_exec < 2; is_exec++) {
		start();
		write_file(map_path, "1000 10 old\n", 12);
		add(child, "//anon");
		record_jit_look(jit);
		unlink(map_path);
		note_end(child, is_exec);
		write_file(map_path, "1000 10 new\n", 12);
		now = 50;
		add(child, "//anon");
		now = 0;
		record_jit_look(jit);
		EXPECT_EQ(keep(), 0);
		EXPECT(has_kept("map", is_exec ? "1000 10 new\n" : "1000 10 old\n"));
		EXPECT_EQ(kept_since, is_exec ? 50 : 0);
	}
}

/* Records of another CPU are read later. */
static void records_out_of_order(void)
{
	start();
	write_file(map_path, "1000 10 a\n", 10);
	now = 30;
	add(child, "//anon");
	record_jit_look(jit);
	unlink(map_path);
	now = 40;
	note_end(child, true);
	now = 20;
	add(child, "//anon");
	now = 10;
	note_end(child, true);
	now = 0;
	EXPECT_EQ(keep(), 0);
	EXPECT(has_kept("map", "1000 10 a\n"));
	EXPECT_EQ(kept_since, 20);
}

/* It has ended, and its parent has not asked for that yet. */
static void process_is_zombie(void)
{
	pid_t pid = fork();
	siginfo_t info;
	char path[32];

	if (!pid) {
		pause();
		_exit(0);
	}
	start();
	add(pid, "//anon");
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", pid);
	write_file(path, "1000 10 a\n", 10);
	kill(pid, SIGKILL);
	waitid(P_PID, pid, &info, WEXITED | WNOWAIT);
	note_end(pid, false);
	EXPECT_EQ(keep(), 0);
	EXPECT(has_kept("map", "1000 10 a\n"));
	end_process(pid);
}

/* A process as in a container: its /tmp is an overlay, in a mount namespace of its own. */
static pid_t start_in_overlay(void)
{
	int ready[2];
	pid_t pid;
	char c = 0;

	if (pipe(ready))
		exit(1);
	pid = fork();
	if (!pid) {
		c = !unshare(CLONE_NEWNS) &&
		    !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
		    !mount("tmpfs", "/tmp", "tmpfs", 0, NULL) &&
		    !mkdir("/tmp/l", 0755) && !mkdir("/tmp/u", 01777) &&
		    !mkdir("/tmp/w", 0755) &&
		    !mount("overlay", "/tmp", "overlay", 0,
			   "lowerdir=/tmp/l,upperdir=/tmp/u,workdir=/tmp/w");
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (write(ready[1], &c, 1) == 1)
			pause();
		_exit(0);
	}
	if (read(ready[0], &c, 1) != 1)
		exit(1);
	close(ready[0]);
	close(ready[1]);
	if (c)
		return pid;
	end_process(pid);
	return 0;
}

/* Such a file is copied to memory at the end, with what was appended since it was found. */
static void map_in_overlay_grows(void)
{
	char path[64];
	pid_t pid;

	start();
	pid = geteuid() ? 0 : start_in_overlay();
	if (!pid)
		return;
	snprintf(path, sizeof(path), "/proc/%d/root/tmp/perf-%d.map", pid, pid);
	write_file(path, "1000 10 a\n", 10);
	add(pid, "//anon");
	record_jit_look(jit);
	write_file(path, "2000 10 b\n", 10);
	EXPECT_EQ(keep(), 0);
	EXPECT(has_kept("map", "1000 10 a\n2000 10 b\n"));
	write_file(path, "3000 10 c\n", 10);
	EXPECT_EQ(keep(), 0);
	EXPECT(has_kept("map", "1000 10 a\n2000 10 b\n3000 10 c\n"));
	end_process(pid);
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(objects_are_kept),
		TAP_TEST(objects_not_looked_at),
		TAP_TEST(objects_of_a_zombie),
		TAP_TEST(objects_of_an_endless_list),
		TAP_TEST(objects_looked_at_again),
		TAP_TEST(objects_of_a_child),
		TAP_TEST(file_of_another_user),
		TAP_TEST(file_of_root_in_its_place),
		TAP_TEST(dump_of_root),
		TAP_TEST(share_of_a_user),
		TAP_TEST(kept_again),
		TAP_TEST(number_is_used_again),
		TAP_TEST(records_out_of_order),
		TAP_TEST(process_is_zombie),
		TAP_TEST(map_in_overlay_grows),
	};

	scene_begin();
	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	scene_end();
	return tap_done();
}
