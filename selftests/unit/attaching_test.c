// SPDX-License-Identifier: GPL-2.0
/*
 * What "stack" gives "attach" to do: many processes, some of which have ended.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli_stub.h"
#include "tap.h"
#include "userspace/cli/cli.h"
#include "userspace/cli/profile/attaching.h"
#include "userspace/cli/profile/live.h"

#define NR	40000u

/**
 * struct got - what the daemon was given, in memory shared with it
 *
 * @nr: number of processes.
 * @has_all: whether it is for all.
 * @has_own: whether this process is among them.
 * @has_ended: whether one that has ended is.
 * @files: files that the daemon may open.
 * @has_told: whether it could tell announced code.
 * @is_deaf: set for the daemon: it does not end when it is told to.
 */
static struct got {
	unsigned int nr;
	bool has_all;
	bool has_own;
	bool has_ended;
	rlim_t files;
	bool has_told;
	bool is_deaf;
} *got;

static pid_t parent, ended;

double live_now(void)
{
	return 0;
}

static void take_list(char *list)
{
	for (char *word = strtok(list, ","); word; word = strtok(NULL, ",")) {
		const pid_t pid = atoi(word);

		got->nr++;
		got->has_own |= pid == parent;
		got->has_ended |= pid == ended;
	}
}

/* In place of the daemon, which is executed. */
int attach_main(int argc, char **argv)
{
	struct rlimit limit;

	if (argv[argc])
		return CLI_USAGE;
	if (got->is_deaf) {
		signal(SIGTERM, SIG_IGN);
		/* It is ready. */
		close(atoi(strchr(argv[2], '=') + 1));
		for (;;)
			pause();
	}
	if (!getrlimit(RLIMIT_NOFILE, &limit))
		got->files = limit.rlim_cur;
	for (int i = 0; i < argc; i++) {
		got->has_all |= !strcmp(argv[i], "--all");
		if (!strncmp(argv[i], "--code-fd=", 10))
			got->has_told |= send(atoi(argv[i] + 10), "code", 4, 0) == 4;
		if (!strcmp(argv[i], "-p") && strlen(argv[i + 1]) < 128 << 10)
			take_list(argv[i + 1]);
	}
	return CLI_OK;
}

/* Start the daemon and wait for its end. Returns whether it ended well. */
static bool attach(const struct attaching_pids *pids)
{
	static const volatile sig_atomic_t is_interrupted;
	int status = -1;
	pid_t pid;

	*got = (struct got){ 0 };
	pid = attaching_start("test", pids, true, &is_interrupted);
	return pid > 0 && waitpid(pid, &status, 0) == pid && !status;
}

static void all(void)
{
	EXPECT(attach(NULL));
	EXPECT(got->has_all);
	EXPECT_EQ(got->nr, 0);
}

static void telling(void)
{
	static const volatile sig_atomic_t is_interrupted;
	int code = -1, status = -1;
	char text[8] = "";
	pid_t pid;

	*got = (struct got){ 0 };
	pid = attaching_start_telling("test", &code, true, &is_interrupted);
	EXPECT(pid > 0 && waitpid(pid, &status, 0) == pid && !status);
	EXPECT(got->has_all);
	EXPECT(got->has_told);
	EXPECT_EQ(recv(code, text, sizeof(text), MSG_DONTWAIT), 4);
	EXPECT(!strcmp(text, "code"));
	/* Nobody else has it open. */
	EXPECT_EQ(recv(code, text, sizeof(text), MSG_DONTWAIT), 0);
	close(code);
	EXPECT(attach(NULL));
	EXPECT(!got->has_told);
}

static void one(void)
{
	struct attaching_pids pids = { .list = &parent, .nr = 1 };

	EXPECT(attach(&pids));
	EXPECT(!got->has_all);
	EXPECT_EQ(got->nr, 1);
	EXPECT(got->has_own);
}

static void one_has_ended(void)
{
	struct attaching_pids pids = {
		.list = (pid_t[]){ ended, parent, ended }, .nr = 3,
	};

	EXPECT(attach(&pids));
	EXPECT(!got->has_all);
	EXPECT_EQ(got->nr, 1);
	EXPECT(got->has_own);
	EXPECT(!got->has_ended);
	pids.nr = 1;
	EXPECT(attach(&pids));
	EXPECT(!got->has_all);
	EXPECT_EQ(got->nr, 0);
}

/* More than one argument may have, and more than the usual limit of open files. */
static void many(void)
{
	static pid_t list[NR];
	const struct attaching_pids pids = { .list = list, .nr = NR };
	struct rlimit limit, low;

	for (unsigned int i = 0; i < NR; i++)
		list[i] = parent;
	EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
	low = limit;
	low.rlim_cur = 1024;
	EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
	EXPECT(attach(&pids));
	EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
	EXPECT_EQ(got->nr, NR);
	EXPECT(got->has_own);
	EXPECT(got->files > NR || got->files == limit.rlim_max);
}

/* A daemon that waits for ever does not make its command wait for ever. */
static void deaf(void)
{
	static const volatile sig_atomic_t is_interrupted;
	pid_t pid;

	*got = (struct got){ .is_deaf = true };
	pid = attaching_start("test", NULL, true, &is_interrupted);
	EXPECT(pid > 0);
	alarm(20);
	attaching_end(pid);
	alarm(0);
	EXPECT(kill(pid, 0) && errno == ESRCH);
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(all),
		TAP_TEST(telling),
		TAP_TEST(one),
		TAP_TEST(one_has_ended),
		TAP_TEST(many),
		TAP_TEST(deaf),
	};

	got = mmap(NULL, sizeof(*got), PROT_READ | PROT_WRITE,
		   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (got == MAP_FAILED)
		return 1;
	parent = getpid();
	ended = fork();
	if (!ended)
		_exit(0);
	waitpid(ended, NULL, 0);
	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	return tap_done();
}
