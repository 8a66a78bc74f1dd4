// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "exec_start.h"
#include "installed.h"
#include "preload.h"
#include "worker/protocol.h"

/* Places of the worker's program. */
static const char * const worker_places[] = {
	"/libexec/" WORKER_PROGRAM,
	"/../libexec/sframe_unwind/" WORKER_PROGRAM,
};

int exec_find_worker(char *path, size_t size)
{
	return find_installed(worker_places, SFRAME_UNWIND_LIBEXECDIR
			      "/" WORKER_PROGRAM, X_OK, path, size);
}

/* In the child: execute the program. If that fails, write the errno to @failure. */
__attribute__((noreturn))
static void run(const struct exec_setup *setup, const sigset_t *mask,
		const char *const preloads[2], char **command, int failure)
{
	char text[256];
	int err;

	exec_setup_print(setup, text, sizeof(text));
	if (setenv(EXEC_VARIABLE, text, 1))
		_exit(EXEC_FAILED);
	for (int i = 0; i < 2; i++)
		if (preloads[i] && preload_set(preloads[i]))
			_exit(EXEC_FAILED);
	sigprocmask(SIG_SETMASK, mask, NULL);
	execvp(command[0], command);
	err = errno;
	if (write(failure, &err, sizeof(err)) != sizeof(err))
		_exit(EXEC_FAILED);
	_exit(err == ENOENT ? EXEC_NOT_FOUND : EXEC_CANNOT_RUN);
}

pid_t exec_start(const struct exec_setup *setup, const sigset_t *mask,
		 const char *const preloads[2], char **command)
{
	int failure[2], err;
	pid_t child;

	if (pipe2(failure, O_CLOEXEC)) {
		complain("%s", strerror(errno));
		return -1;
	}
	child = fork();
	if (!child)
		run(setup, mask, preloads, command, failure[1]);
	if (child < 0)
		complain("fork: %s", strerror(errno));
	close(failure[1]);
	/* The pipe is closed by a successful execve(). */
	if (read(failure[0], &err, sizeof(err)) == sizeof(err))
		complain("%s: %s", command[0], strerror(err));
	close(failure[0]);
	return child;
}
