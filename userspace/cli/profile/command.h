/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The program that a command runs and takes samples of.
 */
#ifndef CLI_PROFILE_COMMAND_H
#define CLI_PROFILE_COMMAND_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

/**
 * struct command - a program that waits until it may begin, or has begun
 *
 * @pid: its process, or 0.
 * @socket: to tell it.
 * @failure: a pipe: a byte says that it could not be executed.
 */
struct command {
	pid_t pid;
	int socket;
	int failure;
};

/*
 * Start the process of the program @argv, which waits for command_go(). If
 * @has_files, it has mapped the files that the program begins with, so that "attach"
 * finds them there, unless *@is_interrupted. @preload: an object to preload, or NULL.
 * @name: of the command that runs it, for messages. Returns an exit status, after a message if it is not CLI_OK;
 * command_end() is to be called in any case.
 */
int command_start(struct command *command, const char *name, char **argv,
		  bool has_files, const char *preload,
		  const volatile sig_atomic_t *is_interrupted);

/* Let the program begin, unless the process has been killed meanwhile. */
void command_go(const struct command *command);

/* Returns whether the program could not be executed; the process has told why. */
bool command_has_failed(const struct command *command);

/*
 * End the process by SIGTERM, unless @pid is 0 because it has ended and was waited for. A
 * program that does not end soon is left alone, after a message.
 */
void command_end(struct command *command);

/*
 * Map the file of the program @name as execvp(3) finds it, of its interpreters and of
 * the libraries that it is linked with. What cannot be found is left out: execvp() may
 * fail, too.
 */
void command_map_files(const char *name);

#endif /* CLI_PROFILE_COMMAND_H */
