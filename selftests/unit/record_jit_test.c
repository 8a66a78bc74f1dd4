// SPDX-License-Identifier: GPL-2.0
/*
 * Which files "record" keeps that name code made at run time, and what the profile tells of
 * them.
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli_stub.h"
#include "jit_dump_made.h"
#include "tap.h"
#include "userspace/cli/profile/inspect.h"
#include "userspace/cli/profile/jit_files.h"
#include "userspace/cli/profile/processes.h"
#include "userspace/cli/profile/record_jit.h"

static char work[64], map_path[64], dump_path[128];
static volatile sig_atomic_t is_interrupted;
static struct record_jit *jit;
static char kept[256];		/* the folder that the profile tells, or "" */
static uint64_t kept_since;
static uint64_t now;		/* time of records */
static pid_t child;

static void start(void)
{
	record_jit_free(jit);
	remove_tree(work);
	mkdir(work, 0755);
	setenv("HOME", work, 1);
	unlink(map_path);
	said[0] = '\0';
	is_interrupted = 0;
	inspect_begin(&is_interrupted, 0);
	jit = record_jit_create(&is_interrupted);
}

static void write_file(const char *path, const void *bytes, size_t size)
{
	const int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0644);

	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
		exit(1);
	close(fd);
}

static void add(pid_t pid, const char *name)
{
	const struct sframe_unwind_profile_record record = {
		.kind = SFRAME_UNWIND_PROFILE_MAP,
		.time = now,
		.pid = pid,
		.tid = pid,
		.map = {
			.start = 0x1000,
			.size = 0x1000,
			.name = name,
			.is_code = 1,
		},
	};

	record_jit_add(jit, &record);
}

/* Keep what there is, and read what the profile tells. Returns 0 or an error. */
static int keep(void)
{
	static const uint64_t id = 1;
	static const struct sframe_unwind_profile_source source = {
		.name = "cpu-clock",
		.ids = &id,
		.nr_ids = 1,
		.type = 1,
		.period = 1,
	};
	const int fd = memfd_create("profile", MFD_CLOEXEC);
	const struct sframe_unwind_profile_record *record;
	struct sframe_unwind_profile_writer *writer = NULL;
	struct sframe_unwind_profile *profile = NULL;
	struct jit_files files = { 0 };
	int ret;

	kept[0] = '\0';
	ret = sframe_unwind_profile_create(&writer, fd, &source, 1, 0, 1);
	if (!ret)
		ret = record_jit_keep(jit, writer, 100);
	if (!ret)
		ret = sframe_unwind_profile_finish(writer);
	if (!ret)
		ret = sframe_unwind_profile_open(&profile, fd);
	while (!ret && sframe_unwind_profile_next(profile, &record) == 1) {
		const struct jit_file *file;

		if (record->map.is_code || record->time != 100 ||
		    !jit_files_add(&files, record, false))
			ret = -1;
		file = jit_files_find(&files, record->pid);
		if (file) {
			kept_since = file->kept_since;
			snprintf(kept, sizeof(kept), "%s/.debug/" JIT_KEPT_FOLDER "/%s",
				 work, file->kept);
		}
	}
	sframe_unwind_profile_close(profile);
	jit_files_free(&files);
	close(fd);
	return ret;
}

/* Returns whether a file that was kept has these bytes. */
static bool has_kept(const char *name, const char *bytes)
{
	char path[512], got[512] = "";
	struct stat status;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", kept, name);
	fd = open(path, O_RDONLY);
	if (fd < 0)
		return false;
	if (read(fd, got, sizeof(got) - 1) < 0 || fstat(fd, &status))
		exit(1);
	close(fd);
	return !strcmp(got, bytes) && !(status.st_mode & 077);
}

static void map_is_kept(void)
{
	start();
	add(child, "//anon");
	write_file(map_path, "1000 10 a\n", 10);
	record_jit_look(jit);
	unlink(map_path);
	EXPECT_EQ(keep(), 0);
	EXPECT(has_kept("map", "1000 10 a\n"));
	EXPECT(!said[0]);
}

/* What is appended while it is open is kept, too, also in a later profile. */
static void map_grows(void)
{
	start();
	write_file(map_path, "1000 10 a\n", 10);
	add(child, "//anon");
	record_jit_look(jit);
	write_file(map_path, "2000 10 b\n", 10);
	EXPECT_EQ(keep(), 0);
	EXPECT(has_kept("map", "1000 10 a\n2000 10 b\n"));
	write_file(map_path, "3000 10 c\n", 10);
	EXPECT_EQ(keep(), 0);
	EXPECT(has_kept("map", "1000 10 a\n2000 10 b\n3000 10 c\n"));
}

/* It is looked for at the end, once more. */
static void map_is_late(void)
{
	start();
	add(child, "/memfd:code (deleted)");
	record_jit_look(jit);
	write_file(map_path, "1000 10 a\n", 10);
	EXPECT_EQ(keep(), 0);
	EXPECT(has_kept("map", "1000 10 a\n"));
}

static void dump_is_kept(void)
{
	start();
	snprintf(dump_path, sizeof(dump_path), "%s/jit-%d.dump", work, child);
	write_file(dump_path, "dump", 4);
	add(child, dump_path);
	record_jit_look(jit);
	unlink(dump_path);
	EXPECT_EQ(keep(), 0);
	EXPECT(has_kept("dump", "dump"));
	EXPECT(!has_kept("map", ""));
}

static void add_record(void *data,
		       const struct sframe_unwind_profile_record *record)
{
	unsigned int *nr = data;

	++*nr;
	record_jit_add(jit, record);
}

/* A process that exists already: taking note of what it has must not disturb looking at it. */
static void existing_process(void)
{
	unsigned int nr = 0, all = 0;
	int ready[2];
	pid_t pid;
	char c;

	start();
	EXPECT(!pipe(ready));
	pid = fork();
	if (!pid) {
		int fd;

		snprintf(dump_path, sizeof(dump_path), "%s/jit-%d.dump", work,
			 getpid());
		fd = open(dump_path, O_RDWR | O_CREAT, 0644);
		if (write(fd, "dump", 4) != 4 ||
		    mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED ||
		    mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
			 -1, 0) == MAP_FAILED || write(ready[1], "", 1) != 1)
			_exit(1);
		pause();
	}
	EXPECT_EQ(read(ready[0], &c, 1), 1);
	close(ready[0]);
	close(ready[1]);
	if (!inspect_process(pid, false, add_record, &nr))
		tap_fail("it was not looked at");
	record_jit_free(jit);
	jit = record_jit_create(&is_interrupted);
	inspect_process(pid, false, add_record, &all);
	record_jit_look(jit);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	EXPECT(nr == all && nr > 4);
	EXPECT_EQ(keep(), 0);
	EXPECT(has_kept("dump", "dump"));
}

/* Code of files says nothing of code that is made. */
static void others_are_not_looked_for(void)
{
	start();
	write_file(map_path, "1000 10 a\n", 10);
	add(child, "/usr/bin/true");
	add(child, "[vdso]");
	add(child, "[stack]");
	record_jit_look(jit);
	EXPECT_EQ(keep(), 0);
	EXPECT(!kept[0]);
}

static void nothing_there(void)
{
	start();
	add(child, "//anon");
	record_jit_look(jit);
	EXPECT_EQ(keep(), 0);
	EXPECT(!kept[0] && !said[0]);
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

static void end_process(pid_t pid)
{
	char path[32];

	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", pid);
	unlink(path);
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

static void link_to_another_file(void)
{
	start();
	EXPECT(!symlink("/etc/passwd", map_path));
	add(child, "//anon");
	record_jit_look(jit);
	EXPECT_EQ(keep(), 0);
	EXPECT(!kept[0]);
}

static void no_regular_file(void)
{
	start();
	EXPECT(!mkfifo(map_path, 0644));
	add(child, "//anon");
	record_jit_look(jit);
	EXPECT_EQ(keep(), 0);
	EXPECT(!kept[0]);
}

static void too_large(void)
{
	start();
	write_file(map_path, "", 0);
	EXPECT(!truncate(map_path, (256 << 20) + 1));
	add(child, "//anon");
	record_jit_look(jit);
	EXPECT_EQ(keep(), 0);
	EXPECT(!kept[0]);
	EXPECT(strstr(said, "was not kept: it is too large"));
}

static void no_home(void)
{
	start();
	unsetenv("HOME");
	write_file(map_path, "1000 10 a\n", 10);
	add(child, "//anon");
	record_jit_look(jit);
	EXPECT_EQ(keep(), 0);
	EXPECT(!kept[0]);
	EXPECT(strstr(said, "HOME is not set"));
}

static void home_of_others(void)
{
	start();
	chmod(work, 0777);
	write_file(map_path, "1000 10 a\n", 10);
	add(child, "//anon");
	record_jit_look(jit);
	EXPECT_EQ(keep(), 0);
	EXPECT(!kept[0]);
	EXPECT(strstr(said, "other users may change"));
}

/* A folder of copies that leads elsewhere. */
static void link_in_cache(void)
{
	char path[128];

	start();
	snprintf(path, sizeof(path), "%s/.debug", work);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/.debug/" JIT_KEPT_FOLDER, work);
	EXPECT(!symlink("/tmp", path));
	write_file(map_path, "1000 10 a\n", 10);
	add(child, "//anon");
	record_jit_look(jit);
	EXPECT_EQ(keep(), 0);
	EXPECT(!kept[0]);
	EXPECT(strstr(said, "was not kept"));
}

/* Names that a profile may tell; others are no copies of ours. */
static void names_of_folders(void)
{
	static const char *const bad[] = {
		"//sframe-unwind-jit/", "//sframe-unwind-jit/..",
		"//sframe-unwind-jit/1-a/..", "//sframe-unwind-jit/1-A",
		"//sframe-unwind-jit/1-a ", "/sframe-unwind-jit/1-a", "//anon",
		"//sframe-unwind-jit/0123456789012345678901234567890123456789012345678901234567890123",
	};
	struct jit_files files = { 0 };
	struct sframe_unwind_profile_record record = { .pid = 7 };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		record.map.name = bad[i];
		EXPECT(!jit_files_add(&files, &record, false));
	}
	EXPECT(!jit_files_find(&files, 7));
	record.map.name = "//sframe-unwind-jit/7-1a";
	EXPECT(jit_files_add(&files, &record, false));
	EXPECT(!strcmp(jit_files_find(&files, 7)->kept, "7-1a"));
	jit_files_free(&files);
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(map_is_kept),
		TAP_TEST(map_grows),
		TAP_TEST(map_is_late),
		TAP_TEST(dump_is_kept),
		TAP_TEST(existing_process),
		TAP_TEST(others_are_not_looked_for),
		TAP_TEST(nothing_there),
		TAP_TEST(file_of_another_user),
		TAP_TEST(file_of_root_in_its_place),
		TAP_TEST(dump_of_root),
		TAP_TEST(share_of_a_user),
		TAP_TEST(kept_again),
		TAP_TEST(number_is_used_again),
		TAP_TEST(records_out_of_order),
		TAP_TEST(process_is_zombie),
		TAP_TEST(map_in_overlay_grows),
		TAP_TEST(link_to_another_file),
		TAP_TEST(no_regular_file),
		TAP_TEST(too_large),
		TAP_TEST(no_home),
		TAP_TEST(home_of_others),
		TAP_TEST(link_in_cache),
		TAP_TEST(names_of_folders),
	};

	child = fork();
	if (!child) {
		pause();
		_exit(0);
	}
	snprintf(work, sizeof(work), "/tmp/record_jit_test.%d", getpid());
	snprintf(map_path, sizeof(map_path), "/tmp/perf-%d.map", child);
	umask(022);
	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	record_jit_free(jit);
	remove_tree(work);
	unlink(map_path);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return tap_done();
}
