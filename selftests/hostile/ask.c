// SPDX-License-Identifier: GPL-2.0
/*
 * Preloaded into a program of the distribution: its first call of the C library asks
 * for its stack until that is whole, and ends it. With HOSTILE_SPIN set it uses so
 * many milliseconds of a processor instead, and asks for nothing.
 */
#include <locale.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "../wrappers.h"

/* Is every frame from here to the program's start found by SFrame? */
static bool is_whole(int client)
{
	struct sframe_unwind_request req = request_self();
	static union {
		struct sframe_unwind_stack stack;
		__u64 words[8192];
	} record;
	const struct sframe_unwind_stack *stack = &record.stack;
	const __u8 *how;

	if (request(client, &req) ||
	    read(client, &record, sizeof(record)) < (ssize_t)sizeof(*stack))
		return false;
	how = (const __u8 *)(stack->ips + stack->nr_frames);
	for (unsigned int i = 1; i < stack->nr_frames; i++)
		if (how[i] != SFRAME_UNWIND_FRAME_SFRAME)
			return false;
	/* The C library's ioctl, we two, main, and what calls it. */
	return stack->stop == SFRAME_UNWIND_STOP_COMPLETE &&
	       stack->nr_frames >= 5;
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
	/* As a profiler would, now and then. */
	while (!is_whole(client))
		usleep(5000);
	_exit(0);
}
