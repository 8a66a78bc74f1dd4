/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Whole stop: a program's stack at one stop, from the module and from libdw.
 *
 * Nothing is preloaded into the program: its stack is requested from here. The
 * stack is taken when the thread continues, before it executes an instruction,
 * so it is the stack of this stop, which libdw has unwound by then.
 */
#ifndef TRUTH_WHOLE_STOP_H
#define TRUTH_WHOLE_STOP_H

#include "code.h"
#include "target.h"
#include "whole_results.h"

#define MAX_RECENT	256

struct whole_stop {
	const char *name;		/* of the program */
	const char *attached;		/* output of sframe-unwind attach -v */
	unsigned long deadline;		/* of CLOCK_MONOTONIC */
	int device;
	uint32_t record_size;
	struct sframe_unwind_stack *record;
	uint64_t sequence;
	uint64_t random;
	struct image image;
	struct code code;
	struct whole_judge judge;
	uint64_t recent[MAX_RECENT];	/* addresses seen on stacks */
	struct whole_results results;
};

/* Monotonic time, in seconds and microseconds. */
unsigned long whole_now(void);
uint64_t whole_usec(void);

/* Exits with a message on failure. */
void whole_stop_open(struct whole_stop *stop);

/*
 * Examine the mappings of the stopped @target, and wait until sections have
 * been attached to all files. Returns false after printing a message.
 */
bool whole_stop_load(struct whole_stop *stop, struct target *target);

/*
 * Compare the stack at this stop, which takes one step. Returns false if the
 * thread cannot be stepped from there.
 */
bool whole_stop_examine(struct whole_stop *stop, struct target *target,
			enum method method);

#endif /* TRUTH_WHOLE_STOP_H */
