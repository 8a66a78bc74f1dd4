// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include <dwarf.h>
#include <string.h>

#include "expression.h"
#include "module/arch/arch.h"
#include "reader.h"

#define REG_R9 9

/* Depth of the stack. Expressions in CFI have only a few operations. */
#define MAX_DEPTH 8

struct stack {
	struct value values[MAX_DEPTH];
	unsigned int depth;
};

static bool push(struct stack *stack, uint8_t base, int64_t offset)
{
	if (stack->depth == MAX_DEPTH)
		return false;
	stack->values[stack->depth++] = (struct value){
		.offset = offset,
		.base = base,
	};
	return true;
}

static bool push_number(struct stack *stack, int64_t number)
{
	return push(stack, BASE_NONE, number);
}

static bool add(struct value *value, int64_t number)
{
	int64_t *const to = value->is_memory ? &value->more : &value->offset;

	*to = (uint64_t)*to + number;
	return true;
}

static bool is_number(const struct value *value)
{
	return value->base == BASE_NONE && !value->is_memory;
}

/* Multiply two values: only r9 by 8 has a form. */
static bool multiply(struct stack *stack)
{
	struct value *a, *b;

	if (stack->depth < 2)
		return false;
	b = &stack->values[--stack->depth];
	a = &stack->values[stack->depth - 1];
	if (a->base != REG_R9 || a->is_memory || a->offset || !is_number(b) ||
	    b->offset != 8)
		return false;
	a->base = BASE_8_R9;
	return true;
}

/* Add rsp + @a and 8 * r9 + @b. */
static bool add_index(struct value *a, const struct value *b)
{
	if (a->base != SFU_REG_SP || a->is_memory ||
	    b->base != BASE_8_R9 || b->is_memory)
		return false;
	a->base = SFRAME_EXT_REG_SP_INDEX;
	return add(a, b->offset);
}

static bool operate(struct stack *stack, unsigned int operation)
{
	struct value *a, *b;

	if (stack->depth < 2)
		return false;
	b = &stack->values[--stack->depth];
	a = &stack->values[stack->depth - 1];
	if (operation == DW_OP_minus)
		return is_number(b) && add(a, -(uint64_t)b->offset);
	if (is_number(b))
		return add(a, b->offset);
	if (add_index(a, b))
		return true;
	if (!is_number(a) || !add(b, a->offset))
		return false;
	*a = *b;
	return true;
}

static bool dereference(struct stack *stack)
{
	struct value *top;

	if (!stack->depth)
		return false;
	top = &stack->values[stack->depth - 1];
	if (top->base == BASE_NONE || top->base == BASE_8_R9 || top->is_twice ||
	    top->more)
		return false;
	/* A word of memory at an address in a word of memory. */
	top->is_twice = top->is_memory;
	top->is_memory = true;
	return true;
}

static bool push_register(struct stack *stack, uint64_t number, int64_t offset)
{
	return number <= 16 && push(stack, number, offset);
}

static bool step(struct stack *stack, struct reader *reader)
{
	const unsigned int operation = reader_unsigned(reader, 1);

	if (operation >= DW_OP_lit0 && operation <= DW_OP_lit31)
		return push_number(stack, operation - DW_OP_lit0);
	if (operation >= DW_OP_breg0 && operation <= DW_OP_breg31)
		return push_register(stack, operation - DW_OP_breg0,
				     reader_sleb128(reader));
	switch (operation) {
	case DW_OP_nop:
		return true;
	case DW_OP_bregx: {
		const uint64_t number = reader_uleb128(reader);

		return push_register(stack, number, reader_sleb128(reader));
	}
	case DW_OP_const1u:
		return push_number(stack, reader_unsigned(reader, 1));
	case DW_OP_const1s:
		return push_number(stack, reader_signed(reader, 1));
	case DW_OP_const2u:
		return push_number(stack, reader_unsigned(reader, 2));
	case DW_OP_const2s:
		return push_number(stack, reader_signed(reader, 2));
	case DW_OP_const4u:
		return push_number(stack, reader_unsigned(reader, 4));
	case DW_OP_const4s:
		return push_number(stack, reader_signed(reader, 4));
	case DW_OP_const8u:
	case DW_OP_const8s:
		return push_number(stack, reader_unsigned(reader, 8));
	case DW_OP_constu:
		return push_number(stack, reader_uleb128(reader));
	case DW_OP_consts:
		return push_number(stack, reader_sleb128(reader));
	case DW_OP_plus_uconst: {
		const uint64_t number = reader_uleb128(reader);

		return stack->depth &&
		       add(&stack->values[stack->depth - 1], number);
	}
	case DW_OP_plus:
	case DW_OP_minus:
		return operate(stack, operation);
	case DW_OP_mul:
		return multiply(stack);
	case DW_OP_deref:
		return dereference(stack);
	default:
		return false;
	}
}

bool sfu_expression_evaluate(const unsigned char *bytes, size_t size,
			     bool has_cfa, struct value *value)
{
	struct reader reader = { bytes, bytes + size, false };
	struct stack stack = { .depth = 0 };

	if (has_cfa)
		push(&stack, BASE_CFA, 0);
	while (reader.at < reader.end)
		if (!step(&stack, &reader) || reader.is_bad)
			return false;
	if (!stack.depth)
		return false;
	*value = stack.values[stack.depth - 1];
	return value->base != BASE_8_R9;
}

unsigned int sfu_expression_plt(const unsigned char *bytes, size_t size)
{
	/* rsp + 8 + ((rip & 15) >= N) * 8, in the form that linkers write */
	static const unsigned char before[] = {
		DW_OP_breg7, 8, DW_OP_breg16, 0, DW_OP_lit15, DW_OP_and
	};
	static const unsigned char after[] = {
		DW_OP_ge, DW_OP_lit3, DW_OP_shl, DW_OP_plus
	};
	const size_t at = sizeof(before);

	if (size != at + 1 + sizeof(after) || memcmp(bytes, before, at) ||
	    memcmp(bytes + at + 1, after, sizeof(after)) ||
	    bytes[at] <= DW_OP_lit0 || bytes[at] > DW_OP_lit15)
		return 0;
	return bytes[at] - DW_OP_lit0;
}
