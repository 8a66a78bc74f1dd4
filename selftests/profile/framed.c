// SPDX-License-Identifier: GPL-2.0
/*
 * A program with frame pointers, whose functions call each other in many ways: for
 * stacks that both perf and SFrame can unwind. It calls nothing but its own functions
 * until it is done.
 *
 * usage: framed ROUNDS
 */
#include <stdlib.h>

#define FUNCTION __attribute__((noinline, noclone))

static volatile unsigned int sum;

FUNCTION static void leaf(unsigned int n)
{
	for (unsigned int i = 0; i < n % 64; i++)
		sum += i;
}

FUNCTION static void left(unsigned int n)
{
	leaf(n);
	sum++;
}

FUNCTION static void right(unsigned int n)
{
	left(n + 1);
	leaf(n);
	sum++;
}

FUNCTION static unsigned int fibonacci(unsigned int n)
{
	unsigned int result;

	if (n < 2) {
		right(n);
		return n;
	}
	result = fibonacci(n - 1);
	left(n);
	return result + fibonacci(n - 2);
}

FUNCTION static void by_pointer(void (*function)(unsigned int), unsigned int n)
{
	function(n);
	sum++;
}

FUNCTION static void one_round(unsigned int n)
{
	sum += fibonacci(6);
	by_pointer(left, n);
	by_pointer(right, n + 3);
}

int main(int argc, char **argv)
{
	const unsigned int rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;

	for (unsigned int n = 0; n < rounds; n++)
		one_round(n);
	return 0;
}
