/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Program: run call frame instructions to get the state at each address.
 */
#ifndef SFRAME_UNWIND_PROGRAM_H
#define SFRAME_UNWIND_PROGRAM_H

#include "reader.h"
#include "state.h"

/**
 * struct program - run of the instructions of a CIE or FDE
 *
 * @code_align, @data_align: alignment factors of the CIE.
 * @ra_column: number of the column with the return address.
 * @initial: state after the CIE's instructions, for DW_CFA_restore.
 * @state: current state.
 * @remembered: stack of struct state, for DW_CFA_remember_state.
 * @is_nested: a nested remembered state has been restored.
 * @is_signal: the function is a signal frame.
 * @is_extended: spans are for an extended section.
 * @at: address from which @state holds.
 * @end: end of the function.
 * @spans: spans are appended here; NULL while a CIE's instructions are run.
 * @first: number of the function's first span.
 * @budget: charged for @spans.
 */
struct program {
	uint64_t code_align;
	int64_t data_align;
	uint64_t ra_column;
	struct state initial;
	struct state state;
	struct buffer remembered;
	bool is_nested;
	bool is_signal;
	bool is_extended;
	uint64_t at;
	uint64_t end;
	struct buffer *spans;
	size_t first;
	struct budget *budget;
};

/*
 * Run instructions, beginning with @program->state, up to the function's end. Returns
 * 0; -EINVAL, without a message, if they are malformed: then the code from
 * @program->at on has no span yet; -ENOMEM or -EFBIG with a message.
 */
int sfu_program_run(struct program *program, struct reader *reader);

/*
 * End the function: the last state holds up to its end. Returns 0, or -ENOMEM or
 * -EFBIG with a message.
 */
int sfu_program_finish(struct program *program);

/*
 * Add a span from @program->at to @to that has no rule, with the reason. Returns as
 * sfu_program_finish().
 */
int sfu_program_leave_out(struct program *program, uint64_t to, uint8_t reason);

#endif /* SFRAME_UNWIND_PROGRAM_H */
