/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Clock: how long something takes when nothing else interferes.
 */
#ifndef BENCH_CLOCK_H
#define BENCH_CLOCK_H

#include <stdio.h>
#include <time.h>

/* Returns the number of frames found. */
typedef unsigned long (*timed_fn)(void *data);

static inline double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

struct walker {
	const char *name;
	timed_fn walk;
	double ns;		/* out: minimum for a frame */
};

/* Number of rounds in which each walker has one turn, and seconds of a turn. */
#define CLOCK_ROUNDS	8
#define CLOCK_TURN	0.1

static inline void take_turn(struct walker *walker, void *data)
{
	const double start = now_ns();
	unsigned long frames;
	double from, to;

	walker->walk(data);
	do {
		from = now_ns();
		frames = walker->walk(data);
		to = now_ns();
		if (frames && (!walker->ns || (to - from) / frames < walker->ns))
			walker->ns = (to - from) / frames;
	} while (to < start + CLOCK_TURN * 1e9);
}

/* In turn, so that other load on the machine affects all of them. */
static inline void take_turns(struct walker *walkers, unsigned int nr,
			      void *data)
{
	unsigned int i, round;

	for (round = 0; round < CLOCK_ROUNDS; round++) {
		for (i = 0; i < nr; i++)
			take_turn(&walkers[i], data);
	}
}

static inline void report(const char *name, const char *what, double value)
{
	printf("%s.%s\t%.3f\n", name, what, value);
	fflush(stdout);
}

#endif /* BENCH_CLOCK_H */
