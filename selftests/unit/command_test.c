// SPDX-License-Identifier: GPL-2.0
/*
 * The program that "record", "top" and "trace" run: how it is ended.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli_stub.h"
#include "tap.h"
#include "userspace/cli/cli.h"
#include "userspace/cli/profile/command.h"

static const volatile sig_atomic_t is_interrupted;

/* Not asked for. */
void command_map_files(const char *name)
{
	(void)name;
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec / 1e9;
}

/*
 * Start a shell that executes @script, with the object @preload or NULL, and wait until that has
 * said something. Sets @first to what.
 */
static bool start(struct command *command, char *script, const char *preload, char *first)
{
	char *argv[] = { "sh", "-c", script, NULL };
	int pipes[2], output;
	bool has_begun;

	said[0] = '\0';
	if (pipe(pipes))
		return false;
	output = dup(STDOUT_FILENO);
	dup2(pipes[1], STDOUT_FILENO);
	*command = (struct command){ 0 };
	has_begun = command_start(command, "test", argv, false, preload,
				  &is_interrupted) == CLI_OK;
	dup2(output, STDOUT_FILENO);
	close(output);
	close(pipes[1]);
	command_go(command);
	has_begun = has_begun && read(pipes[0], first, 1) == 1;
	close(pipes[0]);
	return has_begun;
}

/* A program that takes its time to end is waited for. */
static void ends(void)
{
	struct command command;
	pid_t pid;
	char byte;

	EXPECT(start(&command, "trap 'sleep 0.2; exit' TERM; echo; while :; do sleep 0.01; done",
		     NULL, &byte));
	pid = command.pid;
	command_end(&command);
	EXPECT(kill(pid, 0));
	EXPECT_EQ(strlen(said), 0);
}

/* One that does not end is left alone. */
static void ignores(void)
{
	struct command command;
	double begin;
	pid_t pid;
	char byte;

	EXPECT(start(&command, "trap '' TERM; echo; exec sleep 60", NULL, &byte));
	pid = command.pid;
	begin = now();
	command_end(&command);
	EXPECT(now() - begin < 10);
	EXPECT(strstr(said, "has not ended"));
	EXPECT_EQ(kill(pid, SIGKILL), 0);
	EXPECT_EQ(waitpid(pid, NULL, 0), pid);
}

/* Its object is in front of those that are preloaded anyway; ours is not affected. */
static void preloads(void)
{
	struct command command;
	char byte;

	EXPECT_EQ(setenv("LD_PRELOAD", "", 1), 0);
	EXPECT(start(&command, "[ \"$LD_PRELOAD\" = libm.so.6 ] && echo y || echo n",
		     "libm.so.6", &byte));
	command_end(&command);
	EXPECT_EQ(byte, 'y');
	EXPECT_EQ(strcmp(getenv("LD_PRELOAD"), ""), 0);
	EXPECT_EQ(setenv("LD_PRELOAD", "libc.so.6", 1), 0);
	EXPECT(start(&command, "[ \"$LD_PRELOAD\" = libm.so.6:libc.so.6 ] && echo y || echo n",
		     "libm.so.6", &byte));
	command_end(&command);
	EXPECT_EQ(byte, 'y');
	EXPECT_EQ(unsetenv("LD_PRELOAD"), 0);
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(ends),
		TAP_TEST(ignores),
		TAP_TEST(preloads),
	};

	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	return tap_done();
}
