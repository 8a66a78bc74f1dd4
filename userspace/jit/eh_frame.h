/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * .eh_frame in the memory of the own process, as a program passes it to
 * __register_frame(): CIEs and FDEs up to an entry of length 0; or one FDE alone, as LLVM
 * does it for its own unwinder.
 */
#ifndef SFRAME_UNWIND_JIT_EH_FRAME_H
#define SFRAME_UNWIND_JIT_EH_FRAME_H

#include "convert/base/span.h"

/**
 * struct jit_program - what the same instructions of the same CIE mean, for all functions
 *	that have them
 *
 * @cie: address of the CIE.
 * @instructions, @size: the instructions of one of the functions, with their padding.
 * @first, @count: its spans, from address 0 on, up to where the largest function ends. Code
 *	without a rule has a span with the reason.
 * @entry: for section.c: number of the entry that has all its rows, plus 1; or 0.
 */
struct jit_program {
	uint64_t cie;
	const unsigned char *instructions;
	size_t size;
	uint32_t first;
	uint32_t count;
	uint32_t entry;
};

/* The code of an FDE: [start, end), and the number of its program. */
struct jit_function {
	uint64_t start;
	uint64_t end;
	uint32_t program;
};

/**
 * struct eh_frame - what was read
 *
 * @functions: array of struct jit_function, in the order of the FDEs.
 * @programs: array of struct jit_program.
 * @spans: array of struct span.
 * @end: where the last function ends.
 * @is_unsorted: the functions are not in the order of their addresses, or overlap.
 */
struct eh_frame {
	struct buffer functions;
	struct buffer programs;
	struct buffer spans;
	uint64_t end;
	bool is_unsorted;
};

static inline size_t nr_functions(const struct eh_frame *eh_frame)
{
	return eh_frame->functions.size / sizeof(struct jit_function);
}

static inline struct jit_function *function_at(const struct eh_frame *eh_frame,
					       size_t number)
{
	return (struct jit_function *)eh_frame->functions.bytes + number;
}

static inline size_t nr_programs(const struct eh_frame *eh_frame)
{
	return eh_frame->programs.size / sizeof(struct jit_program);
}

static inline struct jit_program *program_at(const struct eh_frame *eh_frame,
					     size_t number)
{
	return (struct jit_program *)eh_frame->programs.bytes + number;
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
