/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Proof: prove the rules of one function from its instructions.
 */
#ifndef SFRAME_UNWIND_PROOF_H
#define SFRAME_UNWIND_PROOF_H

#include "proof_spans.h"

/*
 * Prove the function at @start, and add its rules; @size is 0 if it is not known. Notes
 * the functions that it calls or takes the address of.
 *
 * If it @surely starts there, a path behind a call that leads to something impossible
 * shows that the call does not return. Otherwise it shows that there is no function.
 *
 * Returns 0, or a negative errno with a message.
 */
int sfu_proof_function(struct scan *scan, uint64_t start, uint64_t size,
		       bool surely);

/* Prove function @number of those noted. Returns as sfu_proof_function(). */
int sfu_proof_called(struct scan *scan, size_t number);

#endif /* SFRAME_UNWIND_PROOF_H */
