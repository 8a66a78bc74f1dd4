// SPDX-License-Identifier: GPL-2.0
/*
 * A program without SFrame data that is busy from its beginning on, below a function
 * of a library that it is linked with: for "sframe-unwind record" of what has never
 * been seen before. Built as the library with FRESH_LIBRARY.
 */
#include <time.h>

int fresh_call(int (*fn)(void));

#ifdef FRESH_LIBRARY
int fresh_call(int (*fn)(void))
{
	return fn() + 1;
}
#else
static int spin(void)
{
	struct timespec used;
	volatile int n = 0;

	do {
		for (int i = 0; i < 10000; i++)
			n += i;
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	} while (!used.tv_sec);
	return n & 1;
}

int main(void)
{
	return fresh_call(spin) < 0;
}
#endif
