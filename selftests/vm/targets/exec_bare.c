// SPDX-License-Identifier: GPL-2.0
/*
 * A program without call frame information for its own functions, which sends itself
 * SIGUSR1. Built for examples_test.
 *
 * usage: exec_bare N: N times, with pauses of half a second
 */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((noipa))
static int ask(int n)
{
	for (int i = 0; i < n; i++) {
		raise(SIGUSR1);
		usleep(500000);
	}
	return n;
}

int main(int argc, char **argv)
{
	return ask(argc > 1 ? atoi(argv[1]) : 1) < 0;
}
