// SPDX-License-Identifier: GPL-2.0
/*
 * A program without SFrame data and without frame pointers, whose stack goes
 * through libc. For the tests of "sframe-unwind attach".
 *
 * usage: attach_program          take stacks until one is complete; exit status 0
 *        attach_program wait     first print a line and wait for one on stdin
 *        attach_program map FILE...
 *                                map each FILE executable, print a line, and wait
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../../include/whole.h"

static int client;

static int compare(const void *a, const void *b)
{
	struct sframe_unwind_request req = request_self();

	request(client, &req);
	return *(const int *)a - *(const int *)b;
}

/* compare, libc's sort, try, main, and libc's start code below main. */
#define LEAST_FRAMES 6

static __attribute__((noinline)) bool try(void)
{
	int numbers[2] = { 2, 1 };

	qsort(numbers, 2, sizeof(numbers[0]), compare);
	return read_whole(client, LEAST_FRAMES);
}

static void wait_for_word(void)
{
	char byte;

	puts("running");
	fflush(stdout);
	if (read(0, &byte, 1) != 1)
		exit(1);
}

int main(int argc, char **argv)
{
	if (argc > 2) {
		for (int i = 2; i < argc; i++) {
			const int file = open(argv[i], O_RDONLY | O_CLOEXEC);

			if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE,
				 file, 0) == MAP_FAILED)
				return 1;
			close(file);
		}
		wait_for_word();
		return 0;
	}
	if (argc > 1)
		wait_for_word();
	client = open_client(0);
	if (client < 0)
		return 1;
	while (!try())
		;
	return 0;
}
