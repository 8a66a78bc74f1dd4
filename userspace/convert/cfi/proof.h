/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Proof: prove the rules of one function from its instructions.
 */
#ifndef SFRAME_UNWIND_PROOF_H
#define SFRAME_UNWIND_PROOF_H

#include "convert/base/span.h"
#include "convert/file/image.h"
#include "effect.h"

/* Largest function in bytes whose size is not known. */
#define PROOF_MAX_UNKNOWN	4096

/* Slots for functions that are called; a power of two. */
#define PROOF_MAX_CALLED	16384

/**
 * struct scan - code without CFI being looked at
 *
 * @cfi: gets the rules.
 * @spans: code that other sources describe.
 * @is_extended: rules are for an extended section.
 * @has_slots: the function being added saves no registers, because it changes none.
 * @gaps: bytes of code without a span, in places larger than padding.
 * @left: bytes of functions that may still be looked at.
 * @paths: array of struct path, for each byte of the function.
 * @work: array of uint32_t: offsets of instructions to be looked at.
 * @called: hash table of functions that are called, by address.
 * @queue: array of uint64_t: functions of @called to be looked at.
 */
struct scan {
	struct cfi *cfi;
	struct image *image;
	const struct buffer *spans;
	bool is_extended;
	bool has_slots;
	uint64_t gaps;
	uint64_t left;
	struct buffer paths;
	struct buffer work;
	uint64_t called[PROOF_MAX_CALLED];
	uint64_t queue[PROOF_MAX_CALLED];
	size_t nr_queued;
};

/* Returns the number of bytes from @address on that have no span. */
uint64_t sfu_proof_uncovered(const struct scan *scan, uint64_t address);

/*
 * Get the effect of the instruction at @address, of at most @most bytes. Returns 1; 0 if
 * it is not known or not in the file; or a negative errno with a message.
 */
int sfu_proof_decode(struct scan *scan, uint64_t address, uint64_t most,
		     struct effect *effect);

/* Note that a function begins at @address, if it is code without a span. */
void sfu_proof_note(struct scan *scan, uint64_t address);

/*
 * Prove the function at @start, and add its rules; @size is 0 if it is not known. Notes
 * the functions that it calls. Returns 0, or a negative errno with a message.
 */
int sfu_proof_function(struct scan *scan, uint64_t start, uint64_t size);

/*
 * Add a rule for [@start, @end) to @scan->cfi, to the function that begins with span
 * number *@first; or end that, and begin the next one with *@first, if there is a gap.
 * Returns 0, or -ENOMEM or -EFBIG with a message.
 */
int sfu_proof_add(struct scan *scan, size_t *first, uint64_t start,
		  uint64_t end, const struct sfu_rule *rule);

/* Add the spans from number @first on as a function. Returns as sfu_proof_add(). */
int sfu_proof_end(struct scan *scan, size_t first);

#endif /* SFRAME_UNWIND_PROOF_H */
