/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * .eh_frame in the memory of the own process, as a program passes it to
 * __register_frame(): CIEs and FDEs up to an entry of length 0; or one FDE alone, as LLVM
 * does it for its own unwinder.
 */
#ifndef SFRAME_UNWIND_JIT_EH_FRAME_H
#define SFRAME_UNWIND_JIT_EH_FRAME_H

#include "jit/programs.h"
#include "lib/writer.h"

/**
 * struct jit_run - functions that follow each other and have the same program
 *
 * @count: number of these functions, at least 1.
 * @program: number of the program.
 * @gaps: the sizes of all gaps between them, ored: if it is below a power of two, so is each of
 *	them. UINT64_MAX if a function ends where the last row of the program begins, or in front
 *	of that.
 */
struct jit_run {
	size_t count;
	uint32_t program;
	uint64_t gaps;
};

/**
 * struct eh_frame - what was read
 *
 * @functions: array of struct code, in the order of the FDEs.
 * @runs: array of struct jit_run, which has each of them once, in the same order.
 * @programs: theirs, and others of earlier announcements.
 * @start, @end: where the lowest function starts, and the highest one ends; if there are any.
 * @is_unsorted: the functions are not in the order of their addresses, or overlap.
 */
struct eh_frame {
	struct buffer functions;
	struct buffer runs;
	struct programs programs;
	uint64_t start;
	uint64_t end;
	bool is_unsorted;
};

static inline size_t nr_functions(const struct eh_frame *eh_frame)
{
	return eh_frame->functions.size / sizeof(struct code);
}

static inline const struct code *function_at(const struct eh_frame *eh_frame, size_t number)
{
	return (const struct code *)eh_frame->functions.bytes + number;
}

static inline size_t nr_runs(const struct eh_frame *eh_frame)
{
	return eh_frame->runs.size / sizeof(struct jit_run);
}

static inline const struct jit_run *run_at(const struct eh_frame *eh_frame, size_t number)
{
	return (const struct jit_run *)eh_frame->runs.bytes + number;
}

/*
 * Read what is at @begin. It is trusted as far as libgcc's unwinder trusts it, which
 * follows the same lengths and pointers. Returns 0, or a negative errno with a message:
 * -EINVAL if an entry is malformed, -ENOMEM or -EFBIG; then there are no functions. @to is
 * zeroed, or was read by the same @budget. Free it in any case.
 */
int sfu_eh_frame_read(const unsigned char *begin, struct budget *budget,
		      struct eh_frame *to);

/*
 * Set @spans to all code, sorted, without overlaps. Returns 0, or -ENOMEM or -EFBIG with a
 * message. Free @spans in any case, by sfu_budget_free().
 */
int sfu_eh_frame_spans(const struct eh_frame *eh_frame, struct budget *budget,
		       struct buffer *spans);

void sfu_eh_frame_free(struct eh_frame *eh_frame, struct budget *budget);

/* Returns the address of the first function there, or 0. */
uint64_t sfu_eh_frame_first(const unsigned char *begin);

#endif /* SFRAME_UNWIND_JIT_EH_FRAME_H */
