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
#include "worker/protocol.h"

/* Places of the object to preload, relative to the directory of this program. */
static const char * const preload_places[] = {
	"/sframe_unwind/preload.so",		/* not installed */
	"/../lib/sframe_unwind/preload.so",	/* installed, perhaps moved since */
};

int exec_find_preload(char *path, size_t size)
{
	return find_installed(preload_places, SFRAME_UNWIND_LIBDIR
			      "/sframe_unwind/preload.so", R_OK, path, size);
}

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

/* The dynamic linker splits LD_PRELOAD at blanks and colons, and has no escapes. */
static int set_preload(const char *path)
{
	const char *old = getenv("LD_PRELOAD");
	char *value;
	int err;

	if (strpbrk(path, " :")) {
		complain("%s: a path with a blank or colon cannot be preloaded",
			 path);
		return -1;
	}
	if (asprintf(&value, "%s%s%s", path, old && *old ? ":" : "",
		     old ? old : "") < 0)
		return -1;
	err = setenv("LD_PRELOAD", value, 1);
	free(value);
	return err;
}

/* In the child: execute the program. If that fails, write the errno to @failure. */
__attribute__((noreturn))
static void run(const struct exec_setup *setup, const sigset_t *mask,
		const char *preload, char **command, int failure)
{
	char text[256];
	int err;

	exec_setup_print(setup, text, sizeof(text));
	if (setenv(EXEC_VARIABLE, text, 1) || set_preload(preload))
		_exit(EXEC_FAILED);
	sigprocmask(SIG_SETMASK, mask, NULL);
	execvp(command[0], command);
	err = errno;
	if (write(failure, &err, sizeof(err)) != sizeof(err))
		_exit(EXEC_FAILED);
	_exit(err == ENOENT ? EXEC_NOT_FOUND : EXEC_CANNOT_RUN);
}

pid_t exec_start(const struct exec_setup *setup, const sigset_t *mask,
		 const char *preload, char **command)
{
	int failure[2], err;
	pid_t child;

	if (pipe2(failure, O_CLOEXEC)) {
		complain("%s", strerror(errno));
		return -1;
	}
	child = fork();
	if (!child)
		run(setup, mask, preload, command, failure[1]);
	if (child < 0)
		complain("fork: %s", strerror(errno));
	close(failure[1]);
	/* The pipe is closed by a successful execve(). */
	if (read(failure[0], &err, sizeof(err)) == sizeof(err))
		complain("%s: %s", command[0], strerror(err));
	close(failure[0]);
	return child;
}
