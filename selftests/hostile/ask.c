// SPDX-License-Identifier: GPL-2.0
/*
 * Preloaded into a program of the distribution: its first call of setlocale()
 * requests the program's stack until that is complete, and exits. With
 * HOSTILE_SPIN set it uses that many milliseconds of CPU time instead.
 */
#include <locale.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "../include/whole.h"

/* libc's ioctl, two functions of this file, main, and its caller. */
#define LEAST_FRAMES 5

static bool has_whole_stack(int client)
{
	struct sframe_unwind_request req = request_self();

	return !request(client, &req) && read_whole(client, LEAST_FRAMES);
}

static void spin(long ms)
{
	struct timespec used;

	do {
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	} while (used.tv_sec * 1000 + used.tv_nsec / 1000000 < ms);
}

char *setlocale(int category, const char *locale)
{
	const char *control = getenv("HOSTILE_SPIN");
	int client;

	(void)category;
	(void)locale;
	if (control) {
		spin(atol(control));
		_exit(0);
	}
	client = open_client(0);
	if (client < 0)
		_exit(1);
	/* Repeated now and then, as a profiler would. */
	while (!has_whole_stack(client))
		usleep(5000);
	_exit(0);
}
