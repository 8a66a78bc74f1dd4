/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * What proofs have in common: the code that is left, functions to be looked at, and
 * rules that are added.
 */
#ifndef SFRAME_UNWIND_PROOF_SPANS_H
#define SFRAME_UNWIND_PROOF_SPANS_H

#include "convert/base/span.h"
#include "convert/file/image.h"
#include "effect.h"

/* Largest function in bytes whose size is not known. */
#define PROOF_MAX_UNKNOWN	4096

/* Functions start at a multiple of it, if they are found only by their address. */
#define PROOF_ALIGN		16

/* Most slots for functions that are called; a power of four. */
#define PROOF_MAX_CALLED	16384

/**
 * struct called - a function that is called, or whose address is taken
 *
 * @address: of its start; 0 in an empty slot.
 * @is_called: something calls it, or jumps to it as to another function, so that it
 *	surely starts there.
 * @is_start: it is called, or has a symbol: it is no part of another function.
 * @is_found: all that is known of it is that it begins with endbr64.
 * @is_queued: it is in the queue.
 * @is_known: it has been proven with its size.
 * @is_partial: it has been proven in part.
 */
struct called {
	uint64_t address;
	bool is_called;
	bool is_start;
	bool is_found;
	bool is_queued;
	bool is_known;
	bool is_partial;
};

/**
 * struct scan - code without CFI being looked at
 *
 * @cfi: gets the rules.
 * @spans: code that other sources describe.
 * @is_extended: rules are for an extended section.
 * @has_slots: the function being added saves no registers, because it changes none.
 * @has_entry: the entry point has a rule.
 * @gaps: bytes of code without a span, in places larger than padding.
 * @left: bytes of functions that may still be looked at.
 * @paths: array of struct path, for each byte of the function.
 * @work: array of uint32_t: offsets of instructions to be looked at.
 * @called, @nr_slots: hash table of functions that are called, by address.
 * @nr_called: functions in it.
 * @queue: array of uint64_t: those to be looked at.
 */
struct scan {
	struct cfi *cfi;
	struct image *image;
	const struct buffer *spans;
	bool is_extended;
	bool has_slots;
	bool has_entry;
	uint64_t gaps;
	uint64_t left;
	struct buffer paths;
	struct buffer work;
	struct called *called;
	size_t nr_slots;
	size_t nr_called;
	struct buffer queue;
};

/* Returns the number of bytes from @address on that have no span. */
uint64_t sfu_proof_uncovered(const struct scan *scan, uint64_t address);

/*
 * Get the effect of the instruction at @address, of at most @most bytes. Returns 1; 0 if
 * it is not known or not in the file; or a negative errno with a message.
 */
int sfu_proof_decode(struct scan *scan, uint64_t address, uint64_t most,
		     struct effect *effect);

/*
 * Note that a function begins at @address, if it is code without a span. @is_called: it
 * is called; otherwise its address is taken, which may be that of something else.
 * Returns 0, or -ENOMEM or -EFBIG with a message.
 */
int sfu_proof_note(struct scan *scan, uint64_t address, bool is_called);

/*
 * Note that endbr64 is at @address: at the start of a function, behind a call of
 * setjmp(), or at a label whose address is taken. Returns as sfu_proof_note().
 */
int sfu_proof_note_endbr(struct scan *scan, uint64_t address);

/* Note that a function surely starts at @address, if it is code without a span. */
void sfu_proof_note_start(struct scan *scan, uint64_t address);

/* Note whether the function at @address, noted before, @is_partial: proven in part. */
void sfu_proof_note_partial(struct scan *scan, uint64_t address,
			    bool is_partial);

/* Returns whether a function surely starts at @address. */
bool sfu_proof_is_function(const struct scan *scan, uint64_t address);

/* Returns whether it is known that @address is called: to note that again has no effect. */
bool sfu_proof_is_called(const struct scan *scan, uint64_t address);

/* Returns whether the function at @address was noted as partial. */
bool sfu_proof_is_partial(const struct scan *scan, uint64_t address);

/* The number of functions noted. */
static inline size_t proof_nr_noted(const struct scan *scan)
{
	return scan->queue.size / sizeof(uint64_t);
}

/* The address of function @number of those. */
uint64_t sfu_proof_noted_at(const struct scan *scan, size_t number);

/* Returns function @number of those; NULL if it has been proven with its size. */
const struct called *sfu_proof_noted(const struct scan *scan, size_t number);

/* Free what @scan has allocated. */
void sfu_proof_free(struct scan *scan);

/* Note that the function at @address has been proven with its size. */
void sfu_proof_note_known(struct scan *scan, uint64_t address);

/*
 * Add a rule for [@start, @end) to @scan->cfi, to the function that begins with span
 * number *@first; or end that, and begin the next one with *@first, if there is a gap.
 * Returns 0, or -ENOMEM or -EFBIG with a message.
 */
int sfu_proof_add(struct scan *scan, size_t *first, uint64_t start,
		  uint64_t end, const struct sfu_rule *rule);

/* Add the spans from number @first on as a function. Returns as sfu_proof_add(). */
int sfu_proof_end(struct scan *scan, size_t first);

#endif /* SFRAME_UNWIND_PROOF_SPANS_H */
