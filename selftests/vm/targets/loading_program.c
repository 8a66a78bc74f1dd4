// SPDX-License-Identifier: GPL-2.0
/*
 * A program without SFrame data that loads one library after the other, and is busy below a
 * function of each at once, for some milliseconds.
 *
 * usage: loading_program [-d] LIBRARY...
 *   -d  delete each library when it is loaded, and exit a second after the last one
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BUSY_NS	60000000L

static long used_ns(void)
{
	struct timespec used;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	return used.tv_sec * 1000000000L + used.tv_nsec;
}

__attribute__((noipa)) static int spin(void)
{
	const long until = used_ns() + BUSY_NS;
	volatile int n = 0;

	do
		for (int i = 0; i < 10000; i++)
			n += i;
	while (used_ns() < until);
	return n & 1;
}

static void spin_in_handler(int signal)
{
	(void)signal;
	spin();
}

__attribute__((noipa)) static int raise_below(void)
{
	return raise(SIGUSR1);
}

int main(int argc, char **argv)
{
	int (*call)(int (*fn)(void));
	int first = 1, sum = 0;
	void *library;

	signal(SIGUSR1, spin_in_handler);
	if (argc > 1 && !strcmp(argv[1], "-d"))
		first++;
	for (int i = first; i < argc; i++) {
		library = dlopen(argv[i], RTLD_NOW);
		if (!library) {
			fprintf(stderr, "%s\n", dlerror());
			return 2;
		}
		*(void **)&call = dlsym(library, "fresh_call");
		if (first > 1)
			unlink(argv[i]);
		sum += call(spin);
		sum += call(raise_below);
	}
	if (first > 1)
		sleep(1);
	return sum < 0;
}
