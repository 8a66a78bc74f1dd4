// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/profile/command.h"

__attribute__((noreturn))
static void run(const char *name, char **argv, bool has_files, int socket,
		int failure)
{
	static const int signals[] = {
		SIGINT, SIGTERM, SIGHUP, SIGCHLD, SIGUSR2,
	};
	char byte = 0;

	for (unsigned int i = 0; i < 5; i++)
		signal(signals[i], SIG_DFL);
	if (has_files)
		command_map_files(argv[0]);
	if (send(socket, &byte, 1, MSG_NOSIGNAL) != 1 ||
	    read(socket, &byte, 1) != 1)
		_exit(127);
	execvp(argv[0], argv);
	complain("%s: %s: %s", name, argv[0], strerror(errno));
	_exit(write(failure, "", 1) == 1 ? 127 : 126);
}

int command_start(struct command *command, const char *name, char **argv,
		  bool has_files, const volatile sig_atomic_t *is_interrupted)
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
		run(name, argv, has_files, sockets[1], failures[1]);
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

void command_end(struct command *command)
{
	if (command->pid > 0)
		kill(command->pid, SIGTERM);
	if (command->socket)
		close(command->socket);
	if (command->failure)
		close(command->failure);
	while (command->pid > 0 && waitpid(command->pid, NULL, 0) < 0 &&
	       errno == EINTR)
		;
	*command = (struct command){ 0 };
}
