// SPDX-License-Identifier: GPL-2.0
/*
 * What it costs to look at what many processes have mapped, when users make it dear; and
 * that nobody has to wait for it after a signal.
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli_stub.h"
#include "fuse_overlay.h"
#include "tap.h"
#include "userspace/cli/attach/child.h"
#include "userspace/cli/profile/inspect.h"
#include "userspace/cli/profile/processes.h"

#define PROCESSES	40u
#define OTHER_USER	65534u

static volatile sig_atomic_t is_interrupted;
static pid_t pids[PROCESSES];
static unsigned int nr_pids;

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec / 1e9;
}

/* Map @nr times code that is not merged. Returns the address of the first one. */
static char *map_code(unsigned int nr)
{
	const long page = sysconf(_SC_PAGESIZE);
	char *pages = mmap(NULL, 2 * nr * page, PROT_NONE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (pages == MAP_FAILED)
		return NULL;
	for (unsigned int i = 0; i < nr; i++)
		if (mprotect(pages + 2 * i * page, page, PROT_READ | PROT_EXEC))
			return NULL;
	return pages;
}

/* With a name of its own, if @data has one. */
static int wait_for_end(void *data)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (data)
		prctl(PR_SET_NAME, data);
	for (;;)
		pause();
	return 0;
}

/* Start a process that shares this process's memory, or has a copy of it. */
static bool start(bool is_shared)
{
	static char stacks[PROCESSES][16384], names[PROCESSES][16];
	char *name = names[nr_pids];
	pid_t pid;

	snprintf(name, sizeof(names[0]), "process-%u", nr_pids);
	pid = is_shared ? clone(wait_for_end, stacks[nr_pids] + sizeof(stacks[0]),
				CLONE_VM | SIGCHLD, name) : fork();
	if (!pid)
		wait_for_end(name);
	pids[nr_pids++] = pid;
	return pid > 0;
}

/* Wait until a process has a name of its own. */
static bool wait_for_name(pid_t pid)
{
	char path[64], name[32] = "";

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	for (unsigned int i = 0; i < 10000; i++) {
		FILE *file = fopen(path, "re");

		if (!file)
			return false;
		if (fgets(name, sizeof(name), file) &&
		    !strncmp(name, "process-", 8)) {
			fclose(file);
			return true;
		}
		fclose(file);
		usleep(1000);
	}
	return false;
}

static void end_all(void)
{
	while (nr_pids) {
		kill(pids[--nr_pids], SIGKILL);
		waitpid(pids[nr_pids], NULL, 0);
	}
}

/**
 * struct seen - records
 *
 * @maps, @forks, @names: their numbers.
 * @history: where to add them, or NULL.
 * @enough: after so many mappings, it is enough.
 * @signal: after so many, a signal arrives.
 */
struct seen {
	unsigned int maps;
	unsigned int forks;
	unsigned int names;
	struct history *history;
	unsigned int enough;
	unsigned int signal;
};

static void see(void *data, const struct sframe_unwind_profile_record *record)
{
	struct seen *seen = data;

	if (seen->history)
		history_add(seen->history, record);
	seen->maps += record->kind == SFRAME_UNWIND_PROFILE_MAP;
	seen->forks += record->kind == SFRAME_UNWIND_PROFILE_FORK;
	seen->names += record->kind == SFRAME_UNWIND_PROFILE_COMM;
	if (seen->enough && seen->maps == seen->enough)
		inspect_enough();
	if (seen->signal && seen->maps == seen->signal)
		is_interrupted = 1;
}

/* Processes with the same memory are read once, and all of them have what is mapped. */
static void same_space(void)
{
	const unsigned int nr = 2000;
	struct seen seen = { .history = history_create(1u << 30) };
	char *code = map_code(nr);

	end_all();
	EXPECT(code);
	for (unsigned int i = 0; i < PROCESSES; i++)
		EXPECT(start(i % 4));
	for (unsigned int i = 0; i < PROCESSES; i++)
		EXPECT(wait_for_name(pids[i]));
	inspect_begin(NULL, 0);
	for (unsigned int i = 0; i < PROCESSES; i++)
		inspect_in_round(pids[i], true, see, &seen);
	/* Every fourth one has a copy of its own. */
	EXPECT_EQ(seen.forks, PROCESSES * 3 / 4 - 1);
	EXPECT_EQ(seen.names, PROCESSES);
	EXPECT(seen.maps > nr * (PROCESSES / 4 + 1));
	EXPECT(seen.maps < (nr + 200) * (PROCESSES / 4 + 1));
	history_update(seen.history);
	for (unsigned int i = 0; i < PROCESSES; i++) {
		char name[16];
		uint64_t version;
		struct process *process = history_process(seen.history, pids[i],
							  1, &version);

		EXPECT(process_find(process, (uintptr_t)code));
		snprintf(name, sizeof(name), "process-%u", i);
		EXPECT(!strcmp(history_comm(seen.history, pids[i], pids[i], 1),
			       name));
	}
	history_free(seen.history);
	/* Another round, and what asks for one process, read everything. */
	memset(&seen, 0, sizeof(seen));
	inspect_begin(NULL, 0);
	EXPECT(inspect_in_round(pids[1], false, see, &seen));
	EXPECT(inspect_process(pids[2], false, see, &seen));
	EXPECT_EQ(seen.forks, 0);
	EXPECT(seen.maps > 2 * nr);
	end_all();
	munmap(code, 2 * nr * sysconf(_SC_PAGESIZE));
}

/* A process that has most of the mappings that it may have is read as a whole. */
static void large(void)
{
	const unsigned int nr = 30000;
	struct seen seen = { 0 };
	char *code = map_code(nr);

	EXPECT(code);
	inspect_begin(NULL, 0);
	EXPECT(inspect_in_round(getpid(), true, see, &seen));
	EXPECT(seen.maps > nr);
	said[0] = '\0';
	inspect_complain();
	EXPECT_EQ(strlen(said), 0);
	munmap(code, 2 * nr * sysconf(_SC_PAGESIZE));
}

static void begin_as_other(unsigned int nr)
{
	if (!map_code(nr) || setresuid(OTHER_USER, OTHER_USER, OTHER_USER))
		_exit(1);
}

/* Start a process of another user, and wait until it has @nr mappings. */
static bool start_other(unsigned int nr)
{
	int pipes[2];
	char byte;
	bool has_begun;

	if (pipe(pipes))
		return false;
	pids[nr_pids] = fork();
	if (!pids[nr_pids++]) {
		begin_as_other(nr);
		if (write(pipes[1], "", 1) == 1)
			wait_for_end(NULL);
		_exit(1);
	}
	close(pipes[1]);
	has_begun = read(pipes[0], &byte, 1) == 1;
	close(pipes[0]);
	return has_begun;
}

/*
 * All processes of another user have memory of their own, and as much as possible of it:
 * only some are read, and then those of this user.
 */
static void of_another(void)
{
	const unsigned int nr = 30000;
	struct seen seen = { 0 }, own = { 0 };

	end_all();
	for (unsigned int i = 0; i < 10; i++)
		EXPECT(start_other(nr));
	EXPECT(start(false));
	inspect_begin(NULL, 0);
	for (unsigned int i = 0; i < 10; i++)
		inspect_in_round(pids[i], true, see, &seen);
	EXPECT(seen.maps > 6 * nr);
	EXPECT(seen.maps < 8 * nr);
	EXPECT(inspect_in_round(pids[10], true, see, &own));
	EXPECT(own.maps > 0);
	inspect_complain();
	EXPECT(strstr(said, "too much mapped"));
	/* The next round counts anew. */
	memset(&seen, 0, sizeof(seen));
	inspect_begin(NULL, 0);
	EXPECT(inspect_in_round(pids[9], true, see, &seen));
	EXPECT(seen.maps > nr);
	end_all();
}

/* Other requests are counted, too, for each user. */
static void counted(void)
{
	unsigned int nr = 0;

	end_all();
	for (unsigned int i = 0; i < 2; i++) {
		pids[nr_pids] = fork();
		if (!pids[nr_pids++]) {
			const uid_t user = OTHER_USER - i;

			if (setresuid(user, user, user))
				_exit(1);
			wait_for_end("process-x");
		}
		EXPECT(wait_for_name(pids[i]));
	}
	inspect_begin(NULL, 0);
	while (nr < 100000 && inspect_count(pids[0]))
		nr++;
	EXPECT(nr > 100);
	EXPECT(nr < 10000);
	EXPECT(inspect_count(pids[1]));
	EXPECT(inspect_count(getpid()));
	inspect_begin(NULL, 0);
	EXPECT(inspect_count(pids[0]));
	end_all();
}

/* Who has no room for more reads no more. */
static void enough(void)
{
	struct seen seen = { .enough = 100 };
	const unsigned int nr = 2000;
	char *code = map_code(nr);

	EXPECT(code);
	inspect_begin(NULL, 0);
	EXPECT(!inspect_in_round(getpid(), true, see, &seen));
	EXPECT_EQ(seen.maps, 100);
	EXPECT(!inspect_in_round(getppid(), true, see, &seen));
	EXPECT_EQ(seen.maps, 100);
	/* It is not the end of anything else. */
	EXPECT(inspect_process(getpid(), true, see, &seen));
	EXPECT(seen.maps > nr);
	munmap(code, 2 * nr * sysconf(_SC_PAGESIZE));
}

static void full(void)
{
	const struct record_targets targets = {
		.tids = (pid_t[]){ getpid(), getppid() }, .nr = 2,
	};
	const unsigned int nr = 20000;
	struct history *history = history_create(1 << 20);
	char *code = map_code(nr);
	struct rusage before, after;

	EXPECT(code);
	getrusage(RUSAGE_SELF, &before);
	processes_inspect(&targets, NULL, processes_add_record, history);
	getrusage(RUSAGE_SELF, &after);
	EXPECT(history_is_full(history));
	EXPECT(after.ru_maxrss - before.ru_maxrss < 4096);
	history_free(history);
	munmap(code, 2 * nr * sysconf(_SC_PAGESIZE));
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
static char work[] = "/tmp/inspect_test.XXXXXX";

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
		TAP_TEST(same_space),
		TAP_TEST(large),
		TAP_TEST(enough),
		TAP_TEST(full),
		TAP_TEST(stuck),
		TAP_TEST(interrupted),
	};
	static const struct tap_test root[] = {
		TAP_TEST(of_another),
		TAP_TEST(counted),
		TAP_TEST(late),
		TAP_TEST(unclosed),
		TAP_TEST(slow),
		TAP_TEST(not_found),
	};

	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	end_all();
	if (geteuid()) {
		tap_skip("of_another", "not root");
		tap_skip("counted", "not root");
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
