// SPDX-License-Identifier: GPL-2.0
/*
 * Looking at processes: nobody has to wait for who does not answer, nor for anything after a
 * signal.
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "cli_stub.h"
#include "fuse_overlay.h"
#include "inspect_scene.h"
#include "tap.h"
#include "userspace/cli/attach/child.h"

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec / 1e9;
}

static void interrupt(int signal)
{
	(void)signal;
	is_interrupted = 1;
}

static void interrupt_in(unsigned int ms)
{
	const struct itimerval timer = { .it_value.tv_usec = ms * 1000 };
	const struct sigaction action = { .sa_handler = interrupt };

	is_interrupted = 0;
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
}

static unsigned int nr_got;

/* Stop the child, the latest one, as if it waited for another process. */
static void stop_child(void *data, const struct sframe_unwind_profile_record *record)
{
	FILE *children;
	char path[64];
	pid_t pid;

	(void)record;
	(void)data;
	if (nr_got++)
		return;
	snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	children = fopen(path, "re");
	/* Those that are looked at need not run. */
	while (children && fscanf(children, "%d", &pid) == 1)
		kill(pid, SIGSTOP);
	if (children)
		fclose(children);
}

/* A signal, or the end of the time that a round may take, ends a request that is stuck. */
static void stuck(void)
{
	const unsigned int nr = 2000;
	char *code = map_code(nr);
	struct seen seen = { 0 };
	double begin;

	EXPECT(code);
	nr_got = 0;
	inspect_begin(&is_interrupted, 0);
	interrupt_in(100);
	begin = now();
	EXPECT(!inspect_process(getpid(), false, stop_child, NULL));
	EXPECT(now() - begin < 1.8);
	/* Nothing more is asked. */
	EXPECT(!inspect_in_round(getpid(), false, see, &seen));
	EXPECT_EQ(seen.maps, 0);
	said[0] = '\0';
	inspect_complain();
	EXPECT_EQ(strlen(said), 0);
	is_interrupted = 0;
	EXPECT(inspect_process(getpid(), false, see, &seen));

	nr_got = 0;
	inspect_begin(&is_interrupted, 200);
	begin = now();
	EXPECT(!inspect_process(getpid(), false, stop_child, NULL));
	EXPECT(now() - begin < 1.8);
	EXPECT(!inspect_process(getpid(), false, see, &seen));
	inspect_begin(&is_interrupted, 0);
	EXPECT(inspect_process(getpid(), false, see, &seen));
	munmap(code, 2 * nr * sysconf(_SC_PAGESIZE));
}

/* A signal ends a round at once, also in the middle of a process. */
static void interrupted(void)
{
	struct seen seen = { .signal = 100 };
	const unsigned int nr = 2000;
	char *code = map_code(nr);

	EXPECT(code);
	is_interrupted = 0;
	inspect_begin(&is_interrupted, 0);
	EXPECT(!inspect_in_round(getpid(), true, see, &seen));
	EXPECT_EQ(seen.maps, 100);
	EXPECT(!inspect_in_round(getppid(), true, see, &seen));
	EXPECT_EQ(seen.maps, 100);
	is_interrupted = 0;
	munmap(code, 2 * nr * sysconf(_SC_PAGESIZE));
}

/* A user whose processes make others wait is refused after a few times, and only he is. */
static void late(void)
{
	struct seen seen = { 0 };
	const unsigned int nr = 2000;
	char *code = map_code(nr);
	double begin;

	end_all();
	EXPECT(code);
	EXPECT(start_other(nr));
	inspect_begin(NULL, 0);
	begin = now();
	for (unsigned int i = 0; i < 6; i++) {
		nr_got = 0;
		EXPECT(!inspect_process(pids[0], false, stop_child, NULL));
		EXPECT(nr_got);
	}
	EXPECT(now() - begin < 7);
	/* Others have as much time as before. */
	nr_got = 0;
	begin = now();
	EXPECT(!inspect_process(getpid(), false, stop_child, NULL));
	EXPECT(now() - begin > 0.4);
	begin = now();
	nr_got = 0;
	for (unsigned int i = 0; i < 100; i++)
		EXPECT(!inspect_process(pids[0], false, stop_child, NULL));
	EXPECT_EQ(nr_got, 0);
	EXPECT(now() - begin < 1);
	EXPECT(inspect_process(getpid(), false, see, &seen));
	EXPECT(seen.maps > 0);
	said[0] = '\0';
	inspect_complain();
	EXPECT(strstr(said, "makes others wait"));
	end_all();
	munmap(code, 2 * nr * sysconf(_SC_PAGESIZE));
}

/* Where file systems are mounted; they end with this process. */
static char work[] = "/tmp/inspect_waiting_test.XXXXXX";

static bool prepare_mounts(void)
{
	return !unshare(CLONE_NEWNS) &&
	       !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
	       mkdtemp(work) && !chmod(work, 0755);
}

static bool open_served(struct object_file *file,
			const struct fuse_overlay *overlay, unsigned int number)
{
	const uintptr_t start = (uintptr_t)overlay->start +
				2 * number * FUSE_PAGE;
	const struct history_object known = {
		.name = "/nowhere",
		.is_live = true,
		.pid = overlay->pid,
		.start = start,
		.end = start + FUSE_PAGE,
	};

	return inspect_open_mapped(file, &known);
}

/* Who serves a file does not answer when it is closed; nor can he choose who answers for it. */
static void unclosed(void)
{
	const double begin = now();
	struct fuse_overlay overlay;
	struct object_file file;

	if (!fuse_overlay_start(&overlay, work, FUSE_NO_CLOSE, OTHER_USER - 1)) {
		fuse_overlay_stop(&overlay);
		printf("# no overlay of FUSE\n");
		return;
	}
	inspect_begin(NULL, 0);
	EXPECT(open_served(&file, &overlay, 0));
	EXPECT(file.may_block);
	EXPECT_EQ(file.owner, 0);
	EXPECT_EQ(file.user, OTHER_USER - 1);
	EXPECT(!inspect_copy(&file, overlay.pid));
	object_file_close(&file);
	EXPECT(now() - begin < FUSE_SECONDS / 2);
	fuse_overlay_stop(&overlay);
	/* It can be copied if it can be closed. */
	EXPECT(fuse_overlay_start(&overlay, work, FUSE_ANSWERS, OTHER_USER - 1));
	EXPECT(open_served(&file, &overlay, 1));
	EXPECT(inspect_copy(&file, overlay.pid));
	EXPECT_EQ(file.user, OTHER_USER - 1);
	EXPECT(!(fcntl(file.fd, F_GETFL) & O_PATH));
	object_file_close(&file);
	fuse_overlay_stop(&overlay);
}

/* Each answer is in time, but all together take too much of it. */
static void slow(void)
{
	unsigned int nr_tried = 0;
	struct fuse_overlay overlay;
	struct object_file file;
	double begin, took;

	if (!fuse_overlay_start(&overlay, work, FUSE_NO_READ, OTHER_USER - 2)) {
		fuse_overlay_stop(&overlay);
		printf("# no overlay of FUSE\n");
		return;
	}
	inspect_begin(NULL, 0);
	for (unsigned int i = 0; i < FUSE_FILES; i++) {
		if (!open_served(&file, &overlay, i))
			continue;
		begin = now();
		EXPECT(!inspect_copy(&file, overlay.pid));
		took = now() - begin;
		nr_tried += took > FUSE_READ_MS / 1000.0;
		begin = now();
		for (unsigned int j = 0; j < 3; j++)
			EXPECT(!inspect_copy(&file, overlay.pid));
		EXPECT(now() - begin < FUSE_READ_MS / 1000.0);
		object_file_close(&file);
	}
	EXPECT(nr_tried > 3);
	EXPECT(nr_tried < FUSE_FILES - 1);
	said[0] = '\0';
	inspect_complain();
	EXPECT(strstr(said, "makes others wait"));
	fuse_overlay_stop(&overlay);
}

static void try_names(pid_t pid)
{
	for (unsigned int i = 0; i < 70; i++) {
		struct object_file file;
		char path[64];

		snprintf(path, sizeof(path), "%s/name-%u", work, i);
		EXPECT(!inspect_open(&file, path, pid));
	}
}

/* Names that are never found, of processes that have ended, or of a user. */
static void not_found(void)
{
	const char *program = "/usr/bin/env";
	struct object_file file;
	struct seen seen = { 0 };
	pid_t server;

	end_all();
	server = fuse_directory_start(work, FUSE_NO_LOOKUP);
	if (server < 0) {
		printf("# no FUSE\n");
		return;
	}
	EXPECT(start_other(1));
	/* In sixteen rounds, one of this user that was late is forgotten. */
	for (unsigned int i = 0; i < 16; i++)
		inspect_begin(NULL, 0);
	try_names(0);
	EXPECT(children_left_of_all() > 2);
	EXPECT(children_left_of_all() < 9);
	said[0] = '\0';
	inspect_complain();
	EXPECT(strstr(said, "process has ended"));
	/* Nobody else has to suffer. */
	EXPECT(inspect_process(getpid(), false, see, &seen));
	EXPECT(inspect_open(&file, program, 0));
	object_file_close(&file);
	EXPECT(inspect_open(&file, program, pids[0]));
	object_file_close(&file);
	try_names(pids[0]);
	EXPECT(children_left_of_all() < 17);
	said[0] = '\0';
	inspect_complain();
	EXPECT(strstr(said, "makes others wait"));
	EXPECT(!inspect_open(&file, program, pids[0]));
	EXPECT(inspect_open(&file, program, 0));
	object_file_close(&file);
	EXPECT(inspect_open(&file, program, getpid()));
	object_file_close(&file);
	fuse_end(server);
	umount2(work, MNT_DETACH);
	end_all();
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(stuck),
		TAP_TEST(interrupted),
	};
	static const struct tap_test root[] = {
		TAP_TEST(late),
		TAP_TEST(unclosed),
		TAP_TEST(slow),
		TAP_TEST(not_found),
	};

	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	end_all();
	if (geteuid()) {
		tap_skip("late", "not root");
		tap_skip("unclosed", "not root");
		tap_skip("slow", "not root");
		tap_skip("not_found", "not root");
	} else if (!prepare_mounts()) {
		return 2;
	} else {
		tap_run(root, sizeof(root) / sizeof(root[0]));
		rmdir(work);
	}
	end_all();
	return tap_done();
}
