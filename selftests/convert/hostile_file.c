// SPDX-License-Identifier: GPL-2.0
/*
 * Write a hostile file, or run a command on it.
 *
 * usage: hostile_file list
 *        hostile_file NAME SIZE FILE
 *        hostile_file run COMMAND ARGUMENT...
 * 
 * "list" prints name, command, full size, and unit of each construction.
 * "run" prints seconds, peak MiB of memory, and the exit status or the signal
 * that ended the command; it is killed after a minute.
 */
#include <err.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "hostile.h"

/* Limits of the command: time, and memory that this machine can spare. */
#define SECONDS 60
#define MEMORY ((rlim_t)6 << 30)

static int run(char **argv)
{
	const struct rlimit memory = { MEMORY, MEMORY };
	struct timespec start, end;
	struct rusage usage;
	int status;
	pid_t pid;

	clock_gettime(CLOCK_MONOTONIC, &start);
	pid = fork();
	if (!pid) {
		setrlimit(RLIMIT_AS, &memory);
		alarm(SECONDS);
		execvp(argv[0], argv);
		err(127, "%s", argv[0]);
	}
	if (pid < 0 || wait4(pid, &status, 0, &usage) < 0)
		err(2, "%s", argv[0]);
	clock_gettime(CLOCK_MONOTONIC, &end);
	printf("%.2f\t%ld\t%s%d\n", end.tv_sec - start.tv_sec +
	       (end.tv_nsec - start.tv_nsec) / 1e9, usage.ru_maxrss / 1024,
	       WIFSIGNALED(status) ? "signal " : "status ",
	       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 2 && !strcmp(argv[1], "run"))
		return run(argv + 2);
	for (unsigned int i = 0; i < nr_hostiles; i++) {
		const struct hostile *hostile = &hostiles[i];
		int fd;

		if (argc == 2 && !strcmp(argv[1], "list"))
			printf("%s\t%s\t%" PRIu64 "\t%s\n", hostile->name,
			       hostile->command, hostile->full, hostile->what);
		if (argc != 4 || strcmp(argv[1], hostile->name))
			continue;
		fd = open(argv[3], O_RDWR | O_CREAT | O_TRUNC, 0600);
		if (fd < 0)
			err(2, "%s", argv[3]);
		hostile->make(fd, strtoull(argv[2], NULL, 0));
		return 0;
	}
	return argc == 2 ? 0 : 2;
}
