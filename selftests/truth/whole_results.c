// SPDX-License-Identifier: GPL-2.0
#include "whole_results.h"

/*
 * Maximum percentage of rounds in which a stack may end because SFrame cannot
 * express a rule: node's program hashes in 2 % of its time. Rounds instead of
 * stops, because all steps of a round are likely to be in the same code.
 */
#define MAX_NO_FORM	5

const char *whole_verdict_name(enum whole_verdict verdict)
{
	static const char *const names[] = {
		[WHOLE_AGREES] = "agrees",
		[WHOLE_NOT_COMPLETE] = "not complete in either",
		[WHOLE_GIVES_UP] = "eu-stack gives up",
		[WHOLE_NO_CFI] = "code without .eh_frame",
		[WHOLE_EXPLAINED] = "no form in SFrame",
		[WHOLE_UNEXPLAINED] = "UNEXPLAINED",
	};

	return names[verdict];
}

bool whole_results_add(struct whole_results *results, enum method method,
		       const struct whole_judgement *judgement)
{
	results->stops[method]++;
	if (method != METHOD_STEP)
		results->no_form_in_round = false;
	if (judgement->verdict == WHOLE_EXPLAINED && !results->no_form_in_round) {
		results->no_form_in_round = true;
		results->no_form_rounds++;
	}
	results->complete += judgement->complete;
	results->can_be_complete += judgement->complete &&
				    judgement->verdict != WHOLE_NO_CFI &&
				    judgement->verdict != WHOLE_EXPLAINED;
	results->verdicts[judgement->verdict]++;
	results->guess_differs += judgement->guess_differs;
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

bool whole_results_are_good(const struct whole_results *results,
			    double percent)
{
	const unsigned long nr = whole_results_compared(results);
	const unsigned long rounds = nr - results->stops[METHOD_STEP];
	const unsigned long can_be = nr - results->verdicts[WHOLE_EXPLAINED] -
				     results->verdicts[WHOLE_NO_CFI];

	return !results->verdicts[WHOLE_UNEXPLAINED] &&
	       (can_be - results->can_be_complete) * 100.0 <=
	       nr * (100.0 - percent) + 1e-6 &&
	       results->no_form_rounds * 100 <= rounds * MAX_NO_FORM;
}

void whole_results_print(const struct whole_results *results, const char *name,
			 unsigned long seconds)
{
	const unsigned long nr = whole_results_compared(results);
	const unsigned long *v = results->verdicts;

	printf("row|%s|%lu|%lu|%lu|%lu|%.2f|%lu|%.1f|%lu|%lu|%lu|%lu|%lu|%lu|%lu|%lu|%lu\n",
	       name, results->stops[METHOD_STEP], results->stops[METHOD_TIMER],
	       results->stops[METHOD_BREAK], nr, whole_results_percent(results),
	       results->frames, nr ? (double)results->frames / nr : 0,
	       results->deepest, results->signals, results->disturbed,
	       v[WHOLE_GIVES_UP], v[WHOLE_NOT_COMPLETE], v[WHOLE_NO_CFI],
	       v[WHOLE_EXPLAINED], v[WHOLE_UNEXPLAINED], seconds);
	for (int verdict = 0; verdict < NR_WHOLE_VERDICTS; verdict++) {
		const struct tally *tally = &results->places[verdict];

		for (unsigned int i = 0; i < tally->nr; i++)
			printf("place|%s|%s|%s|%lu\n", name,
			       whole_verdict_name(verdict),
			       tally->names[i].name, tally->names[i].count);
	}
	if (results->guesses)
		printf("guess|%s|%lu|%lu\n", name, results->guesses,
		       results->guess_differs);
}
