// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/profile/attaching.h"

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

pid_t attaching_start(const char *command, const char *pids,
		      const volatile sig_atomic_t *is_interrupted)
{
	const pid_t parent = getpid();
	int pipes[2];
	char byte;
	pid_t pid;

	if (pipe2(pipes, O_CLOEXEC)) {
		complain("%s: %s", command, strerror(errno));
		return -1;
	}
	pid = fork();
	if (!pid)
		run(parent, pipes[1], pids);
	close(pipes[1]);
	while (pid > 0 && read(pipes[0], &byte, 1) < 0 && errno == EINTR &&
	       !*is_interrupted)
		;
	close(pipes[0]);
	if (pid < 0)
		complain("%s: %s", command, strerror(errno));
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
