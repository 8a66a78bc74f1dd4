/* SPDX-License-Identifier: GPL-2.0 */
/* Whole results: counters of the stops of a program. */
#ifndef TRUTH_WHOLE_RESULTS_H
#define TRUTH_WHOLE_RESULTS_H

#include "tally.h"
#include "whole_judge.h"

enum method {
	METHOD_STEP,
	METHOD_TIMER,
	METHOD_BREAK,
	NR_METHODS
};

struct whole_results {
	unsigned long stops[NR_METHODS];	/* compared */
	unsigned long disturbed;		/* a signal was delivered in between */
	unsigned long complete;
	unsigned long dark;			/* that end in code without CFI */
	unsigned long verdicts[NR_WHOLE_VERDICTS];
	unsigned long frames, deepest;
	unsigned long guesses;			/* frames by frame pointer */
	unsigned long signals;
	struct tally places[NR_WHOLE_VERDICTS];
};

const char *whole_verdict_name(enum whole_verdict verdict);

/* Returns true for the first difference of this kind. */
bool whole_results_add(struct whole_results *results, enum method method,
		       const struct whole_judgement *judgement);

unsigned long whole_results_compared(const struct whole_results *results);

/* Percentage of complete stacks. */
double whole_results_percent(const struct whole_results *results);

/* The same of those that do not end in code without CFI. */
double whole_results_known_percent(const struct whole_results *results);

/*
 * Whether no stack is different, libdw goes further in code of a file in none,
 * and at least @percent of those are complete that do not end in code without CFI.
 */
bool whole_results_are_good(const struct whole_results *results,
			    double percent);

/* For the script that formats the table. */
void whole_results_print(const struct whole_results *results, const char *name,
			 unsigned long seconds);

#endif /* TRUTH_WHOLE_RESULTS_H */
