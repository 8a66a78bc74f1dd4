// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/preload.h"
#include "cli/profile/command.h"

/* A program that SIGTERM does not end is waited for so long, and looked at so often. */
#define END_MS		1000
#define END_STEP_MS	10

__attribute__((noreturn))
static void run(const char *name, char **argv, bool has_files,
		const char *preload, int socket, int failure)
{
	static const int signals[] = {
		SIGINT, SIGTERM, SIGHUP, SIGCHLD, SIGUSR2,
	};
	char byte = 0;

	for (unsigned int i = 0; i < 5; i++)
		signal(signals[i], SIG_DFL);
	if (has_files)
		command_map_files(argv[0]);
	if (preload && preload_set(preload))
		_exit(127);
	if (send(socket, &byte, 1, MSG_NOSIGNAL) != 1 ||
	    read(socket, &byte, 1) != 1)
		_exit(127);
	execvp(argv[0], argv);
	complain("%s: %s: %s", name, argv[0], strerror(errno));
	_exit(write(failure, "", 1) == 1 ? 127 : 126);
}

int command_start(struct command *command, const char *name, char **argv,
		  bool has_files, const char *preload,
		  const volatile sig_atomic_t *is_interrupted)
{
	int sockets[2], failures[2];
	char byte;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets))
		return complain("%s: %s", name, strerror(errno));
	command->socket = sockets[0];
	if (pipe2(failures, O_CLOEXEC | O_NONBLOCK)) {
		close(sockets[1]);
		return complain("%s: %s", name, strerror(errno));
	}
	command->failure = failures[0];
	command->pid = fork();
	if (!command->pid) {
		close(sockets[0]);
		run(name, argv, has_files, preload, sockets[1], failures[1]);
	}
	close(sockets[1]);
	close(failures[1]);
	if (command->pid < 0)
		return complain("%s: %s", name, strerror(errno));
	while (read(command->socket, &byte, 1) < 0 && errno == EINTR &&
	       !*is_interrupted)
		;
	return CLI_OK;
}

void command_go(const struct command *command)
{
	/* If it is dead, SIGCHLD has told so. */
	send(command->socket, "", 1, MSG_NOSIGNAL);
}

bool command_has_failed(const struct command *command)
{
	char byte;

	return read(command->failure, &byte, 1) == 1;
}

/* Returns whether the program has ended soon. */
static bool wait_until_ended(pid_t pid)
{
	unsigned int waited = 0;
	pid_t ended;

	while ((!(ended = waitpid(pid, NULL, WNOHANG)) && waited < END_MS) ||
	       (ended < 0 && errno == EINTR)) {
		poll(NULL, 0, END_STEP_MS);
		waited += END_STEP_MS;
	}
	return ended;
}

void command_end(struct command *command)
{
	if (command->pid > 0)
		kill(command->pid, SIGTERM);
	if (command->socket)
		close(command->socket);
	if (command->failure)
		close(command->failure);
	if (command->pid > 0 && !wait_until_ended(command->pid))
		complain("process %d has not ended by SIGTERM: it is left alone",
			 command->pid);
	*command = (struct command){ 0 };
}
