// SPDX-License-Identifier: GPL-2.0
/*
 * Measure the start of "sframe-unwind attach --all", without a module: see attach_cost.
 *
 * usage: attach_cost_run DEVICE ROUNDS COMMAND... -- FILE...
 *
 * Starts, in a PID namespace of its own where ten processes map the FILEs, each COMMAND in
 * turn, ROUNDS times: once without its cache, and once with it. Prints, for each start, the
 * number of the command, "cold" or "warm", CPU milliseconds of all its processes until
 * they have ended, those of them in user mode, and milliseconds until it was ready.
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PROCESSES	10

/* Where the command's cache is; an empty file system is mounted there. */
#define CACHE		"/var/cache"

/* Time for the last section to get into the cache, after the command is ready. */
#define REST_US		100000

__attribute__((noreturn))
static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1e3 + time.tv_nsec / 1e6;
}

static double ms_of(const struct timeval *time)
{
	return time->tv_sec * 1e3 + time->tv_usec / 1e3;
}

/* Start a process that maps @nr files until it is killed. */
static void start_mapper(char **files, int nr)
{
	int ready[2];
	char byte;

	if (pipe2(ready, O_CLOEXEC))
		fail("pipe");
	if (fork()) {
		close(ready[1]);
		if (read(ready[0], &byte, 1) != 1)
			fail("mapper");
		close(ready[0]);
		return;
	}
	for (int i = 0; i < nr; i++) {
		const int fd = open(files[i], O_RDONLY);

		if (fd < 0 || mmap(NULL, 4096, PROT_READ | PROT_EXEC,
				   MAP_PRIVATE, fd, 0) == MAP_FAILED)
			fail(files[i]);
		close(fd);
	}
	if (write(ready[1], "", 1) != 1)
		fail("write");
	for (;;)
		pause();
}

/* Become the command. Descriptor 9 is the write end of @ready. */
__attribute__((noreturn))
static void become(const char *device, const char *command, const int ready[2])
{
	const int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	setenv("LD_PRELOAD", device, 1);
	if (dup2(ready[1], 9) < 0 || dup2(null, STDIN_FILENO) < 0 ||
	    dup2(null, STDOUT_FILENO) < 0)
		fail("dup2");
	execl(command, command, "attach", "--all", "--ready-fd=9",
	      "--poll=3600", NULL);
	fail(command);
}

/* Start the command and end it when it is ready. Its orphans become our children. */
static void start(const char *device, const char *command, const char *name,
		  int number)
{
	const double began = now();
	struct rusage used;
	int ready[2];
	double ended;
	pid_t child;
	char byte;

	if (prctl(PR_SET_CHILD_SUBREAPER, 1) || pipe2(ready, O_CLOEXEC))
		fail("pipe");
	child = fork();
	if (!child)
		become(device, command, ready);
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 1) {
		fprintf(stderr, "%s: ended before it was ready\n", command);
		_exit(1);
	}
	ended = now();
	usleep(REST_US);
	kill(child, SIGTERM);
	while (wait(NULL) > 0)
		;
	getrusage(RUSAGE_CHILDREN, &used);
	printf("%d %s %.1f %.1f %.1f\n", number, name,
	       ms_of(&used.ru_utime) + ms_of(&used.ru_stime),
	       ms_of(&used.ru_utime), ended - began);
	fflush(stdout);
}

/* The same in a process of its own, so that nothing else is counted. */
static void run(const char *device, const char *command, const char *name,
		int number)
{
	const pid_t child = fork();
	int status;

	if (!child) {
		start(device, command, name, number);
		_exit(0);
	}
	if (waitpid(child, &status, 0) < 0 || status)
		exit(1);
}

int main(int argc, char **argv)
{
	int first = 3, nr;
	int status;

	while (first < argc && strcmp(argv[first], "--"))
		first++;
	nr = argc - first - 1;
	if (first < 4 || nr < 1) {
		fputs("usage: attach_cost_run DEVICE ROUNDS COMMAND... -- FILE...\n", stderr);
		return 2;
	}
	if (unshare(CLONE_NEWPID | CLONE_NEWNS) ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		fail("unshare");
	if (fork()) {
		wait(&status);
		return !WIFEXITED(status) || WEXITSTATUS(status);
	}
	if (mount("proc", "/proc", "proc", 0, NULL))
		fail("/proc");
	for (int i = 0; i < PROCESSES; i++) {
		const int from = i * nr / PROCESSES;

		start_mapper(argv + first + 1 + from,
			     (i + 1) * nr / PROCESSES - from);
	}
	for (int round = atoi(argv[2]); round; round--) {
		for (int i = 3; i < first; i++) {
			if (mount("none", CACHE, "tmpfs", 0, NULL))
				fail(CACHE);
			run(argv[1], argv[i], "cold", i - 2);
			run(argv[1], argv[i], "warm", i - 2);
			if (umount(CACHE))
				fail(CACHE);
		}
	}
	return 0;
}
