// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Supports all DWARF call frame instructions that are used on AMD64. Remembered states
 * may nest to any depth up to MAX_REMEMBERED.
 */
#include <dwarf.h>
#include <sframe_unwind_convert.h>

#include "convert/base/message.h"
#include "module/arch/arch.h"
#include "program.h"

#ifndef DW_CFA_MIPS_advance_loc8
#define DW_CFA_MIPS_advance_loc8 0x1d
#endif

/* Limit on the bytes of remembered states; no honest file comes near it. */
#define MAX_REMEMBERED (1U << 20)

static struct column *find_column(struct program *program, struct state *state,
				  uint64_t number)
{
	if (number == program->ra_column)
		return &state->columns[STATE_RA];
	if (number == SFU_REG_FP)
		return &state->columns[STATE_FP];
	if (number == SFU_REG_SP)
		return &state->columns[STATE_SP];
	return NULL;
}

/* Returns the slot for a preserved register whose rule that is. */
static uint8_t slot_of(enum column_kind kind, const struct value *value)
{
	const int64_t most = -8 * (SFRAME_EXT_SLOT_UNKNOWN - 1);

	if (kind == COLUMN_UNSPECIFIED || kind == COLUMN_SAME)
		return 0;
	if (kind != COLUMN_VALUE || !value->is_memory ||
	    value_is_extended(value) ||
	    (value->base != BASE_CFA && value->base != SFU_REG_FP) ||
	    value->offset % 8 || value->offset >= 0 || value->offset < most)
		return SFRAME_EXT_SLOT_UNKNOWN;
	return -value->offset / 8;
}

static void set_slot(struct state *state, unsigned int index,
		     enum column_kind kind, const struct value *value)
{
	const uint8_t slot = slot_of(kind, value);

	state->slots[index] = slot;
	state->slots_fp &= ~(1U << index);
	if (slot && slot != SFRAME_EXT_SLOT_UNKNOWN && value->base != BASE_CFA)
		state->slots_fp |= 1U << index;
}

static void set_column(struct program *program, uint64_t number,
		       enum column_kind kind, struct value value)
{
	struct column *column = find_column(program, &program->state, number);
	const int index = program->is_extended && number < 16 ?
			  sfu_arch_saved_index(number) : -1;

	if (index >= 0)
		set_slot(&program->state, index, kind, &value);
	if (column)
		*column = (struct column){ .kind = kind, .value = value };
}

static void set_kind(struct program *program, uint64_t number,
		     enum column_kind kind)
{
	set_column(program, number, kind, (struct value){ 0 });
}

/* Set a column to the word at CFA + offset, or to CFA + offset itself. */
static void set_offset(struct program *program, uint64_t number,
		       int64_t offset, bool is_memory)
{
	set_column(program, number, COLUMN_VALUE,
		   (struct value){ .offset = offset, .base = BASE_CFA,
				   .is_memory = is_memory });
}

static void set_register(struct program *program, uint64_t number,
			 uint64_t other)
{
	if (other == number)
		set_kind(program, number, COLUMN_SAME);
	else if (other > 15)
		set_kind(program, number, COLUMN_NO_FORM);
	else
		set_column(program, number, COLUMN_VALUE,
			   (struct value){ .base = other });
}

/* Set a column to the value of an expression, or to the word at that address. */
static int set_expression(struct program *program, uint64_t number,
			  bool is_memory, struct reader *reader)
{
	const uint64_t size = reader_uleb128(reader);
	const unsigned char *bytes = reader_skip(reader, size);
	struct value value;

	if (!bytes)
		return -EINVAL;
	if (!find_column(program, &program->state, number) &&
	    (!program->is_extended || number > 15 || sfu_arch_saved_index(number) < 0))
		return 0;
	if (!sfu_expression_evaluate(bytes, size, true, &value) ||
	    value_is_extended(&value) || (is_memory && value.is_memory)) {
		set_kind(program, number, COLUMN_NO_FORM);
		return 0;
	}
	value.is_memory |= is_memory;
	set_column(program, number, COLUMN_VALUE, value);
	return 0;
}

/* Restore the CIE's rule. In a CIE itself this instruction is malformed. */
static int restore_column(struct program *program, uint64_t number)
{
	struct column *column = find_column(program, &program->state, number);
	const int index = number < 16 ? sfu_arch_saved_index(number) : -1;

	if (!program->spans)
		return -EINVAL;
	if (column)
		*column = *find_column(program, &program->initial, number);
	if (index >= 0) {
		program->state.slots[index] = program->initial.slots[index];
		program->state.slots_fp &= ~(1U << index);
		program->state.slots_fp |= program->initial.slots_fp &
					   1U << index;
	}
	return 0;
}

static int remember(struct program *program)
{
	if (program->remembered.size > MAX_REMEMBERED)
		return -EINVAL;
	if (buffer_reserve(&program->remembered, sizeof(program->state)))
		return sfu_message_fail(ENOMEM, "no memory");
	buffer_put(&program->remembered, &program->state,
		   sizeof(program->state));
	return 0;
}

static int restore(struct program *program)
{
	struct buffer *remembered = &program->remembered;

	if (!remembered->size)
		return -EINVAL;
	remembered->size -= sizeof(program->state);
	memcpy(&program->state, remembered->bytes + remembered->size,
	       sizeof(program->state));
	program->is_nested |= remembered->size != 0;
	return 0;
}

static int define_cfa(struct program *program, uint64_t base, int64_t offset)
{
	program->state.cfa = (struct cfa){ .kind = CFA_REGISTER, .base = base,
					   .offset = offset };
	return 0;
}

/*
 * CFA instructions after a CFA expression behave as in libgcc's unwinder, which is
 * the one that programs are tested with: an expression keeps the old offset, and a
 * new register uses that offset again; a new offset alone does not replace the
 * expression.
 */
static int change_cfa_base(struct program *program, uint64_t base)
{
	if (program->state.cfa.kind == CFA_NONE)
		return -EINVAL;
	program->state.cfa.kind = CFA_REGISTER;
	program->state.cfa.base = base;
	return 0;
}

static int change_cfa_offset(struct program *program, int64_t offset)
{
	if (program->state.cfa.kind == CFA_NONE)
		return -EINVAL;
	program->state.cfa.offset = offset;
	return 0;
}

static int define_cfa_expression(struct program *program,
				 struct reader *reader)
{
	const uint64_t size = reader_uleb128(reader);
	const unsigned char *bytes = reader_skip(reader, size);
	struct cfa *cfa = &program->state.cfa;

	if (!bytes || !size)
		return -EINVAL;
	cfa->plt_push = sfu_expression_plt(bytes, size);
	if (cfa->plt_push)
		cfa->kind = CFA_PLT;
	else if (sfu_expression_evaluate(bytes, size, false,
					 &cfa->expression) &&
		 (cfa->expression.base <= 15 ||
		  cfa->expression.base == SFRAME_EXT_REG_SP_INDEX))
		cfa->kind = CFA_EXPRESSION;
	else
		cfa->kind = CFA_NO_FORM;
	return 0;
}

/* Fill @span, up to @to, except for what depends on the state. */
static inline void begin_span(const struct program *program, uint64_t to,
			      struct span *span)
{
	*span = (struct span){ .start = program->at, .end = to };
	if (nr_spans(program->spans) == program->first)
		span->flags |= SPAN_ENTRY;
	if (program->is_nested)
		span->flags |= SPAN_NESTED;
	if (program->is_signal)
		span->rule.flags |= SFU_RULE_SIGNAL;
}

static int add_span(struct program *program, uint64_t to)
{
	struct span span;

	if (!program->spans || program->at >= to)
		return 0;
	begin_span(program, to, &span);
	if (program->ra_column != SFU_REG_RA)
		span.reason = SFRAME_UNWIND_LEFT_OUT_RA_COLUMN;
	else
		sfu_state_translate(&program->state, program->is_extended,
				    &span);
	return sfu_span_add(program->budget, program->spans, program->first,
			    &span);
}

static int advance_to(struct program *program, uint64_t to)
{
	int err;

	if (to < program->at)
		return -EINVAL;
	if (to > program->end)
		to = program->end;
	err = add_span(program, to);
	program->at = to;
	return err;
}

static int advance(struct program *program, uint64_t delta)
{
	uint64_t bytes;

	if (__builtin_mul_overflow(delta, program->code_align, &bytes) ||
	    bytes > UINT64_MAX - program->at)
		bytes = UINT64_MAX - program->at;
	return advance_to(program, program->at + bytes);
}

static int64_t factored(const struct program *program, int64_t offset)
{
	return (uint64_t)offset * program->data_align;
}

static int step_extended(struct program *program, struct reader *reader,
			 unsigned int instruction)
{
	uint64_t number;

	switch (instruction) {
	case DW_CFA_nop:
		return 0;
	case DW_CFA_advance_loc1:
		return advance(program, reader_unsigned(reader, 1));
	case DW_CFA_advance_loc2:
		return advance(program, reader_unsigned(reader, 2));
	case DW_CFA_advance_loc4:
		return advance(program, reader_unsigned(reader, 4));
	case DW_CFA_MIPS_advance_loc8:
		return advance(program, reader_unsigned(reader, 8));
	case DW_CFA_remember_state:
		return remember(program);
	case DW_CFA_restore_state:
		return restore(program);
	case DW_CFA_def_cfa_expression:
		return define_cfa_expression(program, reader);
	case DW_CFA_def_cfa_offset:
		return change_cfa_offset(program, reader_uleb128(reader));
	case DW_CFA_def_cfa_offset_sf:
		return change_cfa_offset(program,
					 factored(program,
						  reader_sleb128(reader)));
	case DW_CFA_GNU_args_size:
		reader_uleb128(reader);
		return 0;
	}

	/* The first operand of all others is a register number. */
	number = reader_uleb128(reader);
	switch (instruction) {
	case DW_CFA_def_cfa:
		return define_cfa(program, number, reader_uleb128(reader));
	case DW_CFA_def_cfa_sf:
		return define_cfa(program, number,
				  factored(program, reader_sleb128(reader)));
	case DW_CFA_def_cfa_register:
		return change_cfa_base(program, number);
	case DW_CFA_offset_extended:
		set_offset(program, number,
			   factored(program, reader_uleb128(reader)), true);
		return 0;
	case DW_CFA_offset_extended_sf:
		set_offset(program, number,
			   factored(program, reader_sleb128(reader)), true);
		return 0;
	case DW_CFA_GNU_negative_offset_extended:
		set_offset(program, number,
			   -factored(program, reader_uleb128(reader)), true);
		return 0;
	case DW_CFA_val_offset:
		set_offset(program, number,
			   factored(program, reader_uleb128(reader)), false);
		return 0;
	case DW_CFA_val_offset_sf:
		set_offset(program, number,
			   factored(program, reader_sleb128(reader)), false);
		return 0;
	case DW_CFA_restore_extended:
		return restore_column(program, number);
	case DW_CFA_undefined:
		set_kind(program, number, COLUMN_UNDEFINED);
		return 0;
	case DW_CFA_same_value:
		set_kind(program, number, COLUMN_SAME);
		return 0;
	case DW_CFA_register:
		set_register(program, number, reader_uleb128(reader));
		return 0;
	case DW_CFA_expression:
		return set_expression(program, number, true, reader);
	case DW_CFA_val_expression:
		return set_expression(program, number, false, reader);
	default:
		/* Includes DW_CFA_set_loc, which no toolchain of AMD64 writes. */
		return -EINVAL;
	}
}

static int step(struct program *program, struct reader *reader)
{
	const unsigned int instruction = reader_unsigned(reader, 1);
	const unsigned int operand = instruction & 0x3f;

	switch (instruction & 0xc0) {
	case DW_CFA_advance_loc:
		return advance(program, operand);
	case DW_CFA_offset:
		set_offset(program, operand,
			   factored(program, reader_uleb128(reader)), true);
		return 0;
	case DW_CFA_restore:
		return restore_column(program, operand);
	default:
		return step_extended(program, reader, instruction);
	}
}

int sfu_program_run(struct program *program, struct reader *reader)
{
	program->remembered.size = 0;
	program->is_nested = false;
	while (reader->at < reader->end) {
		int err;

		/* The remaining instructions apply to no code of the function. */
		if (program->spans && program->at >= program->end)
			break;
		err = step(program, reader);
		if (!err && reader->is_bad)
			err = -EINVAL;
		if (err)
			return err;
	}
	return 0;
}

int sfu_program_finish(struct program *program)
{
	return advance_to(program, program->end);
}

int sfu_program_leave_out(struct program *program, uint64_t to, uint8_t reason)
{
	struct span span;

	begin_span(program, to, &span);
	span.reason = reason;
	program->at = to;
	return sfu_span_add(program->budget, program->spans, program->first,
			    &span);
}
