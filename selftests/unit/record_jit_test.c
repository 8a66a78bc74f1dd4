// SPDX-License-Identifier: GPL-2.0
/*
 * Which files "record" keeps that name code made at run time, and what the profile tells of
 * them.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli_stub.h"
#include "record_jit_scene.h"
#include "tap.h"
#include "userspace/cli/profile/inspect.h"
#include "userspace/cli/profile/jit_files.h"

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
		TAP_TEST(link_to_another_file),
		TAP_TEST(no_regular_file),
		TAP_TEST(too_large),
		TAP_TEST(no_home),
		TAP_TEST(home_of_others),
		TAP_TEST(link_in_cache),
		TAP_TEST(names_of_folders),
	};

	scene_begin();
	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	scene_end();
	return tap_done();
}
