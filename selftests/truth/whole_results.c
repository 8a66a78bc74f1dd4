// SPDX-License-Identifier: GPL-2.0
#include "whole_results.h"

const char *whole_verdict_name(enum whole_verdict verdict)
{
	static const char *const names[] = {
		[WHOLE_AGREES] = "agrees",
		[WHOLE_BOTH_END] = "both end",
		[WHOLE_LIBDW_FURTHER] = "libdw goes further",
		[WHOLE_GUESS_FURTHER] = "libdw guesses further",
		[WHOLE_JIT_FURTHER] = "libdw guesses in no file",
		[WHOLE_WE_FURTHER] = "we go further",
		[WHOLE_GUESS_DIFFERS] = "libdw guesses otherwise",
		[WHOLE_DIFFERENT] = "DIFFERENT",
	};

	return names[verdict];
}

bool whole_results_add(struct whole_results *results, enum method method,
		       const struct whole_judgement *judgement)
{
	results->stops[method]++;
	results->complete += judgement->complete;
	results->dark += judgement->dark;
	results->verdicts[judgement->verdict]++;
	results->frames += judgement->frames;
	results->guesses += judgement->guesses;
	results->signals += judgement->signal;
	if (judgement->frames > results->deepest)
		results->deepest = judgement->frames;
	return judgement->verdict != WHOLE_AGREES &&
	       tally_count(&results->places[judgement->verdict],
			   judgement->place) == 1;
}

unsigned long whole_results_compared(const struct whole_results *results)
{
	const unsigned long *stops = results->stops;

	return stops[METHOD_STEP] + stops[METHOD_TIMER] + stops[METHOD_BREAK];
}

double whole_results_percent(const struct whole_results *results)
{
	const unsigned long nr = whole_results_compared(results);

	return nr ? 100.0 * results->complete / nr : 0;
}

double whole_results_known_percent(const struct whole_results *results)
{
	const unsigned long nr = whole_results_compared(results) - results->dark;

	return nr ? 100.0 * results->complete / nr : 100;
}

bool whole_results_are_good(const struct whole_results *results,
			    double percent)
{
	return !results->verdicts[WHOLE_DIFFERENT] &&
	       !results->verdicts[WHOLE_LIBDW_FURTHER] &&
	       !results->verdicts[WHOLE_GUESS_FURTHER] &&
	       whole_results_known_percent(results) + 1e-6 >= percent;
}

void whole_results_print(const struct whole_results *results, const char *name,
			 unsigned long seconds)
{
	const unsigned long nr = whole_results_compared(results);
	const unsigned long *v = results->verdicts;

	printf("row|%s|%lu|%lu|%lu|%lu|%.2f|%.2f|%lu|%lu|%lu|%lu|%lu|%lu|%lu|%lu|%.1f|%lu|%lu|%lu|%lu\n",
	       name, results->stops[METHOD_STEP], results->stops[METHOD_TIMER],
	       results->stops[METHOD_BREAK], nr, whole_results_percent(results),
	       whole_results_known_percent(results),
	       v[WHOLE_BOTH_END], v[WHOLE_LIBDW_FURTHER],
	       v[WHOLE_GUESS_FURTHER], v[WHOLE_JIT_FURTHER],
	       v[WHOLE_WE_FURTHER],
	       v[WHOLE_GUESS_DIFFERS], v[WHOLE_DIFFERENT], results->frames,
	       nr ? (double)results->frames / nr : 0, results->deepest,
	       results->signals, results->disturbed, seconds);
	for (int verdict = 0; verdict < NR_WHOLE_VERDICTS; verdict++) {
		const struct tally *tally = &results->places[verdict];

		for (unsigned int i = 0; i < tally->nr; i++)
			printf("place|%s|%s|%s|%lu\n", name,
			       whole_verdict_name(verdict),
			       tally->names[i].name, tally->names[i].count);
	}
}
