// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/profile/attaching.h"
#include "cli/profile/live.h"

/* How long to wait without a message; at most; and between looks at the time. */
#define SILENT_S	2
#define WAIT_S		120
#define POLL_MS		100

__attribute__((noreturn))
static void run(pid_t parent, int ready, const char *pids)
{
	char fd[32];
	char *argv[] = {
		"attach", "-q", fd, pids ? "-p" : "--all", (char *)pids, NULL,
	};

	/* Ctrl-C ends the command; that ends the daemon. */
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	/* It may have died before. */
	if (getppid() != parent)
		_exit(CLI_OK);
	fcntl(ready, F_SETFD, 0);
	snprintf(fd, sizeof(fd), "--ready-fd=%d", ready);
	_exit(attach_main(pids ? 5 : 4, argv));
}

/* Wait until the daemon has written to @ready, or has ended. */
static void wait_until_ready(const char *command, int ready, bool is_quiet,
			     const volatile sig_atomic_t *is_interrupted)
{
	struct pollfd file = { .fd = ready, .events = POLLIN };
	const double start = live_now();
	bool is_told = is_quiet;

	while (!*is_interrupted && poll(&file, 1, POLL_MS) <= 0) {
		const double waited = live_now() - start;

		if (waited > SILENT_S && !is_told) {
			complain("%s: waiting until what is mapped has SFrame data",
				 command);
			is_told = true;
		}
		if (waited > WAIT_S) {
			complain("%s: not waiting for \"attach\" any more: stacks may be cut",
				 command);
			return;
		}
	}
}

pid_t attaching_start(const char *command, const char *pids, bool is_quiet,
		      const volatile sig_atomic_t *is_interrupted)
{
	const pid_t parent = getpid();
	int pipes[2];
	pid_t pid;

	if (pipe2(pipes, O_CLOEXEC)) {
		complain("%s: %s", command, strerror(errno));
		return -1;
	}
	pid = fork();
	if (!pid)
		run(parent, pipes[1], pids);
	close(pipes[1]);
	if (pid < 0)
		complain("%s: %s", command, strerror(errno));
	else
		wait_until_ready(command, pipes[0], is_quiet, is_interrupted);
	close(pipes[0]);
	return pid;
}

void attaching_end(pid_t pid)
{
	if (pid <= 0)
		return;
	kill(pid, SIGTERM);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}
