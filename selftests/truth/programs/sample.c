// SPDX-License-Identifier: GPL-2.0
/* Never ends. Recursion, sorting with a function, a handler of signals, printing, memory. For several libcs and ways of linking. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static volatile long sink;

__attribute__((noinline)) static long depth(int n)
{
	char text[64];

	if (n) {
		const long below = depth(n - 1);

		return below + n;
	}
	snprintf(text, sizeof(text), "%ld %s %.3f", sink, "text", sink / 7.0);
	return strlen(text);
}

static void handle(int signal)
{
	sink += depth(signal % 7);
}

static int compare(const void *a, const void *b)
{
	const int *x = a, *y = b;

	sink += depth(*x & 3);
	return (*x > *y) - (*x < *y);
}

static void sort(void)
{
	int *numbers = malloc(200 * sizeof(*numbers));

	for (int i = 0; i < 200; i++)
		numbers[i] = rand() % 1000;
	qsort(numbers, 200, sizeof(*numbers), compare);
	sink += numbers[100];
	free(numbers);
}

int main(void)
{
	const struct timespec moment = { .tv_nsec = 100000 };

	signal(SIGUSR1, handle);
	for (;;) {
		char name[64];
		FILE *file;

		sort();
		sink += depth(20);
		file = fopen("/proc/self/stat", "r");
		if (file) {
			if (fgets(name, sizeof(name), file))
				sink += name[0];
			fclose(file);
		}
		raise(SIGUSR1);
		nanosleep(&moment, NULL);
		sink += time(NULL);
	}
}
