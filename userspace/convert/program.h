/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Program: call frame instructions, run to make a state at each address.
 */
#ifndef SFRAME_UNWIND_PROGRAM_H
#define SFRAME_UNWIND_PROGRAM_H

#include "reader.h"
#include "state.h"

/**
 * struct program - instructions of a CIE and of its FDEs being run
 *
 * @code_align, @data_align: factors of the CIE.
 * @ra_column: number of the column with the return address.
 * @initial: state after the CIE's instructions, for DW_CFA_restore.
 * @state: state now.
 * @remembered: array of struct state.
 * @is_nested: has a state been restored that was remembered inside another?
 * @is_signal: of a signal frame?
 * @at: address that @state holds from.
 * @end: of the code.
 * @spans: where spans go, from number @first on; NULL while a CIE is run.
 * @budget: for them.
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
	uint64_t at;
	uint64_t end;
	struct buffer *spans;
	size_t first;
	struct budget *budget;
};

/*
 * Run instructions from the state @program->state on, up to the end of the
 * code. Returns 0; -EINVAL, without a message, if they are malformed: then the
 * code from @program->at on is in no span; -ENOMEM or -EFBIG with a message.
 */
int sfu_program_run(struct program *program, struct reader *reader);

/*
 * End the code: the last state holds up to its end. Returns 0, or -ENOMEM or
 * -EFBIG with a message.
 */
int sfu_program_finish(struct program *program);

/*
 * Add a span from @program->at to @to with a reason for having no rule. Returns
 * as sfu_program_finish().
 */
int sfu_program_leave_out(struct program *program, uint64_t to, uint8_t reason);

#endif /* SFRAME_UNWIND_PROGRAM_H */
