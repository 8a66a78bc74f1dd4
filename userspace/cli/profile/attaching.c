// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/profile/attaching.h"
#include "cli/profile/live.h"
#include "cli/profile/table.h"

/* How long to wait without a message; at most; and between looks at the time. */
#define SILENT_S	2
#define WAIT_S		120
#define POLL_MS		100

/* How long it may take to end, before it is killed and after that; and between looks. */
#define END_S		5u
#define END_NS		5000000u

/*
 * Processes in one argument, because an argument may have 128 KiB; and of the arguments,
 * because all of them may have 2 MiB. The daemon opens a file for each process.
 */
#define PIDS_IN_ARGUMENT	4096u
#define PIDS_MAX		(32 * PIDS_IN_ARGUMENT)
#define PID_TEXT		12u	/* bytes of one */
#define FILES_OTHER		4096u

/* Returns the number of arguments in @argv. One that has ended must not stop the others. */
static int add_arguments(char **argv, const struct attaching_pids *pids)
{
	uint32_t nr = 0;
	char *end = NULL;
	int argc = 0;

	for (uint32_t i = 0; i < pids->nr && nr < PIDS_MAX; i++) {
		if (kill(pids->list[i], 0) && errno == ESRCH)
			continue;
		if (!(nr++ % PIDS_IN_ARGUMENT)) {
			argv[argc++] = "-p";
			end = table_allocate(PIDS_IN_ARGUMENT * PID_TEXT);
			argv[argc++] = end;
		}
		end += sprintf(end, end == argv[argc - 1] ? "%d" : ",%d",
			       pids->list[i]);
	}
	return argc;
}

static void raise_file_limit(uint32_t nr)
{
	struct rlimit limit, all;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= nr)
		return;
	all = (struct rlimit){
		nr, limit.rlim_max > nr ? limit.rlim_max : nr,
	};
	if (!setrlimit(RLIMIT_NOFILE, &all))
		return;
	/* Only root may have more than that. */
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

__attribute__((noreturn))
static void run(pid_t parent, int ready, int code, const struct attaching_pids *pids)
{
	char fd[32], code_fd[32];
	char *argv[4 + 2 * (PIDS_MAX / PIDS_IN_ARGUMENT) + 2] = {
		"attach", "-q", fd, "--all",
	};
	int argc = 4;

	if (pids) {
		argc = 3 + add_arguments(argv + 3, pids);
		if (argc == 3)
			_exit(CLI_OK);
		raise_file_limit(pids->nr + FILES_OTHER);
	}
	if (code >= 0) {
		fcntl(code, F_SETFD, 0);
		snprintf(code_fd, sizeof(code_fd), "--code-fd=%d", code);
		argv[argc++] = code_fd;
	}
	argv[argc] = NULL;
	/* Ctrl-C ends the command; that ends the daemon. */
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	/* It may have died before. */
	if (getppid() != parent)
		_exit(CLI_OK);
	fcntl(ready, F_SETFD, 0);
	snprintf(fd, sizeof(fd), "--ready-fd=%d", ready);
	_exit(attach_main(argc, argv));
}

void attaching_wait(const char *command, int ready, bool is_quiet,
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
			break;
		}
	}
	close(ready);
}

/*
 * As attaching_begin(); @code: two connected sockets, where it is to tell announced code, and
 * where that is read; or NULL.
 */
static pid_t begin(const char *command, const struct attaching_pids *pids, const int *code,
		   int *ready)
{
	const pid_t parent = getpid();
	int pipes[2];
	pid_t pid;

	if (pipe2(pipes, O_CLOEXEC)) {
		complain("%s: %s", command, strerror(errno));
		return -1;
	}
	pid = fork();
	if (!pid) {
		if (code)
			close(code[0]);
		run(parent, pipes[1], code ? code[1] : -1, pids);
	}
	close(pipes[1]);
	*ready = pipes[0];
	if (pid < 0) {
		complain("%s: %s", command, strerror(errno));
		close(pipes[0]);
	}
	return pid;
}

pid_t attaching_begin(const char *command, const struct attaching_pids *pids,
		      int *ready)
{
	return begin(command, pids, NULL, ready);
}

pid_t attaching_start(const char *command, const struct attaching_pids *pids,
		      bool is_quiet,
		      const volatile sig_atomic_t *is_interrupted)
{
	int ready;
	const pid_t pid = attaching_begin(command, pids, &ready);

	if (pid > 0)
		attaching_wait(command, ready, is_quiet, is_interrupted);
	return pid;
}

pid_t attaching_start_telling(const char *command, int *code, bool is_quiet,
			      const volatile sig_atomic_t *is_interrupted)
{
	int sockets[2], ready;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets)) {
		complain("%s: %s", command, strerror(errno));
		return -1;
	}
	pid = begin(command, NULL, sockets, &ready);
	close(sockets[1]);
	if (pid < 0) {
		close(sockets[0]);
		return -1;
	}
	*code = sockets[0];
	attaching_wait(command, ready, is_quiet, is_interrupted);
	return pid;
}

/* Returns whether it has ended within END_S. */
static bool has_ended(pid_t pid)
{
	const struct timespec pause = { .tv_nsec = END_NS };

	for (unsigned int i = 0; i < END_S * (1000000000u / END_NS); i++) {
		if (waitpid(pid, NULL, WNOHANG))
			return true;
		nanosleep(&pause, NULL);
	}
	return false;
}

void attaching_end(pid_t pid)
{
	if (pid <= 0)
		return;
	kill(pid, SIGTERM);
	if (has_ended(pid))
		return;
	kill(pid, SIGKILL);
	has_ended(pid);
}
