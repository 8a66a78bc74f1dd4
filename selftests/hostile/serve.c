// SPDX-License-Identifier: GPL-2.0
/*
 * The user beside the hostile ones: starts a program unknown to the daemon
 * every few seconds, and waits until its stack is complete.
 *
 * usage: serve PROGRAM OBJECT DIR SECONDS SPIN [PID]
 *   PROGRAM  to be copied to DIR, each copy with a build ID of its own
 *   OBJECT   hostile_ask.so
 *   SECONDS  how long to run
 *   SPIN     with each start another one that requests no stack, but uses that
 *            many milliseconds of CPU time; "none"
 *   PID      of the daemon; without it no stacks are requested
 * 
 * Prints each minute, and at the end, how long starts have taken: "stacks: 12
 * starts, fastest 250 ms, median 310 ms, slowest 702 ms; without: ...; daemon:
 * 5000 KiB at most". Fails if one took longer than LATE_MS.
 */
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "load.h"

/*
 * Pause between starts. The conversions of a start take less than the tenth of
 * a CPU that the daemon spends on one user, also under emulation.
 */
#define PAUSE_MS	6000

/* A start that takes longer has failed. */
#define LATE_MS		20000
#define MAX_STARTS	4096

/**
 * struct times - times of starts of one kind
 *
 * @late: one took LATE_MS, or failed.
 */
struct times {
	unsigned int nr;
	long ms[MAX_STARTS];
	unsigned int late;
};

static struct times stacks, without;

static long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Returns the time until the program exited successfully, or LATE_MS. */
static long start(const char *path, const char *object, const char *spin)
{
	const long before = now_ms();
	struct pollfd child = { .events = POLLIN };
	bool is_late;
	int status;
	pid_t pid;

	pid = fork();
	if (!pid) {
		setenv("LD_PRELOAD", object, 1);
		if (spin)
			setenv("HOSTILE_SPIN", spin, 1);
		execl(path, path, NULL);
		_exit(127);
	}
	if (pid < 0)
		return LATE_MS;
	child.fd = syscall(SYS_pidfd_open, pid, 0);
	is_late = poll(&child, 1, LATE_MS) < 1;
	if (is_late)
		kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	close(child.fd);
	return is_late || status ? LATE_MS : now_ms() - before;
}

static void start_one(struct times *times, const char *path, const char *object,
		      const char *spin)
{
	const long ms = start(path, object, spin);

	if (times->nr < MAX_STARTS)
		times->ms[times->nr++] = ms;
	times->late += ms >= LATE_MS;
}

static int compare(const void *a, const void *b)
{
	const long difference = *(const long *)a - *(const long *)b;

	return difference < 0 ? -1 : difference > 0;
}

static void print_times(const char *what, const struct times *times)
{
	static long sorted[MAX_STARTS];

	if (!times->nr)
		return;
	memcpy(sorted, times->ms, sizeof(sorted));
	qsort(sorted, times->nr, sizeof(sorted[0]), compare);
	printf("%s: %u starts, fastest %ld ms, median %ld ms, slowest %ld ms; ",
	       what, times->nr, sorted[0], sorted[times->nr / 2],
	       sorted[times->nr - 1]);
}

static long peak_of(const char *pid)
{
	char path[64], line[256];
	long peak = -1;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%s/status", pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, "VmHWM:", 6))
			peak = strtol(line + 6, NULL, 10);
	if (file)
		fclose(file);
	return peak;
}

static void print_all(const char *daemon)
{
	print_times("stacks", &stacks);
	print_times("without", &without);
	if (daemon)
		printf("daemon: %ld KiB at most", peak_of(daemon));
	putchar('\n');
	fflush(stdout);
}

int main(int argc, char **argv)
{
	const char *daemon = argc > 6 ? argv[6] : NULL;
	const long begin = now_ms();
	long next_line = begin + 60000;
	char path[PATH_MAX];
	const char *spin;
	long end;

	if (argc < 6) {
		fprintf(stderr, "serve: see the top of serve.c\n");
		return 2;
	}
	end = begin + 1000 * atol(argv[4]);
	spin = strcmp(argv[5], "none") ? argv[5] : NULL;
	snprintf(path, sizeof(path), "%s/served", argv[3]);
	while (now_ms() < end) {
		unlink(path);
		if (!make_stranger(argv[1], path)) {
			fprintf(stderr, "serve: no copy can be made\n");
			return 1;
		}
		if (daemon)
			start_one(&stacks, path, argv[2], NULL);
		if (spin)
			start_one(&without, path, argv[2], spin);
		if (now_ms() >= next_line) {
			printf("after %ld s: ", (now_ms() - begin) / 1000);
			print_all(daemon);
			next_line += 60000;
		}
		usleep(1000 * PAUSE_MS);
	}
	print_all(daemon);
	return stacks.late || without.late;
}
