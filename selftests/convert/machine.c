// SPDX-License-Identifier: GPL-2.0
#include <dwarf.h>

#include "machine.h"
#include "module/decode/sframe_format.h"

#define MAX_DEPTH 32

static uint64_t mix(uint64_t value)
{
	value ^= value >> 31;
	value *= 0x7fb5d329728ea185;
	value ^= value >> 27;
	value *= 0x81dadef4bc2dd44d;
	return value ^ value >> 33;
}

static uint64_t memory(uint64_t address)
{
	return mix(address + 0x9e3779b97f4a7c15);
}

void machine_init(struct machine *machine, uint64_t pc)
{
	for (unsigned int i = 0; i < NR_REGS; i++)
		/* So that addresses near a register do not wrap around. */
		machine->regs[i] = mix(i + 1) >> 2;
	machine->regs[16] = pc;
}

struct stack {
	uint64_t words[MAX_DEPTH];
	unsigned int depth;
	bool is_bad;
};

static void push(struct stack *stack, uint64_t word)
{
	if (stack->depth == MAX_DEPTH)
		stack->is_bad = true;
	else
		stack->words[stack->depth++] = word;
}

static uint64_t pop(struct stack *stack)
{
	if (stack->depth)
		return stack->words[--stack->depth];
	stack->is_bad = true;
	return 0;
}

static uint64_t reg(const struct machine *machine, struct stack *stack,
		    uint64_t number)
{
	if (number < NR_REGS)
		return machine->regs[number];
	stack->is_bad = true;
	return 0;
}

static uint64_t operate(unsigned int atom, uint64_t a, uint64_t b, bool *is_bad)
{
	switch (atom) {
	case DW_OP_plus: return a + b;
	case DW_OP_minus: return a - b;
	case DW_OP_mul: return a * b;
	case DW_OP_and: return a & b;
	case DW_OP_or: return a | b;
	case DW_OP_xor: return a ^ b;
	case DW_OP_shl: return b < 64 ? a << b : 0;
	case DW_OP_shr: return b < 64 ? a >> b : 0;
	case DW_OP_shra: return (int64_t)a >> (b < 64 ? b : 63);
	case DW_OP_eq: return a == b;
	case DW_OP_ne: return a != b;
	case DW_OP_lt: return (int64_t)a < (int64_t)b;
	case DW_OP_le: return (int64_t)a <= (int64_t)b;
	case DW_OP_gt: return (int64_t)a > (int64_t)b;
	case DW_OP_ge: return (int64_t)a >= (int64_t)b;
	}
	*is_bad = true;
	return 0;
}

static void step(const struct machine *machine, struct stack *stack,
		 const Dwarf_Op *op, uint64_t cfa)
{
	const unsigned int atom = op->atom;
	uint64_t a, b;

	if (atom >= DW_OP_lit0 && atom <= DW_OP_lit31) {
		push(stack, atom - DW_OP_lit0);
		return;
	}
	if (atom >= DW_OP_breg0 && atom <= DW_OP_breg31) {
		push(stack, reg(machine, stack, atom - DW_OP_breg0) +
			    op->number);
		return;
	}
	switch (atom) {
	case DW_OP_nop:
		return;
	case DW_OP_addr:
	case DW_OP_const1u: case DW_OP_const1s:
	case DW_OP_const2u: case DW_OP_const2s:
	case DW_OP_const4u: case DW_OP_const4s:
	case DW_OP_const8u: case DW_OP_const8s:
	case DW_OP_constu: case DW_OP_consts:
		push(stack, op->number);
		return;
	case DW_OP_bregx:
		push(stack, reg(machine, stack, op->number) + op->number2);
		return;
	case DW_OP_call_frame_cfa:
		push(stack, cfa);
		return;
	case DW_OP_deref:
		push(stack, memory(pop(stack)));
		return;
	case DW_OP_plus_uconst:
		push(stack, pop(stack) + op->number);
		return;
	case DW_OP_dup:
		a = pop(stack);
		push(stack, a);
		push(stack, a);
		return;
	case DW_OP_drop:
		pop(stack);
		return;
	case DW_OP_neg:
		push(stack, -pop(stack));
		return;
	case DW_OP_not:
		push(stack, ~pop(stack));
		return;
	default:
		b = pop(stack);
		a = pop(stack);
		push(stack, operate(atom, a, b, &stack->is_bad));
	}
}

/* Evaluate an expression. For a location, read the word there. */
static enum known evaluate(const struct machine *machine, const Dwarf_Op *ops,
			   size_t count, uint64_t cfa, bool is_location,
			   uint64_t *value)
{
	struct stack stack = { .depth = 0 };
	size_t i;

	if (count == 1 && ops->atom >= DW_OP_reg0 && ops->atom <= DW_OP_reg31) {
		*value = reg(machine, &stack, ops->atom - DW_OP_reg0);
		return stack.is_bad ? UNKNOWN : VALUE;
	}
	if (count == 1 && ops->atom == DW_OP_regx) {
		*value = reg(machine, &stack, ops->number);
		return stack.is_bad ? UNKNOWN : VALUE;
	}
	for (i = 0; i < count; i++) {
		if (ops[i].atom == DW_OP_stack_value && i + 1 == count) {
			is_location = false;
			break;
		}
		step(machine, &stack, &ops[i], cfa);
	}
	*value = pop(&stack);
	if (is_location)
		*value = memory(*value);
	return stack.is_bad ? UNKNOWN : VALUE;
}

static enum known cfi_register(const struct machine *machine,
			       Dwarf_Frame *frame, int number, uint64_t cfa,
			       uint64_t *value)
{
	Dwarf_Op space[3], *ops;
	size_t count;

	if (dwarf_frame_register(frame, number, space, &ops, &count))
		return UNKNOWN;
	if (!count && !ops) {
		*value = machine->regs[number];
		return VALUE;
	}
	if (!count)
		return UNDEFINED;
	return evaluate(machine, ops, count, cfa, true, value);
}

void machine_by_cfi(const struct machine *machine, Dwarf_Frame *frame,
		    struct caller *caller)
{
	Dwarf_Op *ops;
	size_t count;

	*caller = (struct caller){ 0 };
	caller->has_cfa = UNKNOWN;
	dwarf_frame_info(frame, NULL, NULL, &caller->is_signal);
	caller->has_no_cfa = dwarf_frame_cfa(frame, &ops, &count);
	if (!caller->has_no_cfa)
		caller->has_cfa = count ? evaluate(machine, ops, count, 0,
						   false, &caller->cfa) :
					  UNDEFINED;
	caller->has_ra = cfi_register(machine, frame, 16, caller->cfa,
				      &caller->ra);
	caller->has_fp = cfi_register(machine, frame, 6, caller->cfa,
				      &caller->fp);
	caller->has_sp = cfi_register(machine, frame, 7, caller->cfa,
				      &caller->sp);
}

static const unsigned int saved_registers[] = { 3, 12, 13, 14, 15 };

enum known machine_saved_by_cfi(const struct machine *machine,
				Dwarf_Frame *frame, const struct caller *caller,
				unsigned int index, uint64_t *value)
{
	const unsigned int number = saved_registers[index];
	const enum known known = cfi_register(machine, frame, number,
					      caller->cfa, value);

	/* libdw takes rbx for undefined where CFI does not mention it. */
	if (known == UNDEFINED && number == 3) {
		*value = machine->regs[number];
		return VALUE;
	}
	return known;
}

enum known machine_saved_by_layout(const struct machine *machine,
				   const struct sfu_layout *layout,
				   const struct caller *caller,
				   unsigned int index, bool exact,
				   uint64_t *value)
{
	const unsigned int slot = layout->slot[index];
	const uint64_t base = layout->flags & SFRAME_EXT_LAYOUT_FP ?
			      machine->regs[6] : caller->cfa;

	if (slot == SFRAME_EXT_SLOT_UNKNOWN ||
	    (exact && layout->flags & 1 << index))
		return UNKNOWN;
	if (!slot || (exact && base - 8 * slot < machine->regs[7]))
		*value = machine->regs[saved_registers[index]];
	else
		*value = memory(base - 8 * slot);
	return VALUE;
}

static uint64_t rule_value(const struct machine *machine, u8 base, s32 offset,
			   uint64_t cfa, enum known *known)
{
	const unsigned int number = base & SFU_BASE_MASK;
	uint64_t value = cfa;

	*known = VALUE;
	if (number < NR_REGS)
		value = machine->regs[number];
	else if (number != SFU_BASE_CFA)
		*known = UNKNOWN;
	value += (int64_t)offset;
	return base & SFU_DEREF ? memory(value) : value;
}

/* The CFA, with the extensions that extended sections have. */
static uint64_t rule_cfa(const struct machine *machine,
			 const struct sfu_rule *rule, enum known *known)
{
	const unsigned int base = rule->cfa & SFU_BASE_MASK;
	int64_t first = rule->cfa_offset, more = 0;
	uint64_t value = 0;

	*known = VALUE;
	if (base < NR_REGS)
		value = machine->regs[base];
	else if (base == SFRAME_EXT_REG_SP_INDEX)
		value = machine->regs[7] + 8 * machine->regs[9];
	else
		*known = UNKNOWN;
	if (rule->cfa & SFU_ADD) {
		first = (int16_t)(rule->cfa_offset & 0xffff);
		more = rule->cfa_offset >> 16;
	}
	value += first;
	if (rule->cfa & (SFU_DEREF | SFU_ADD))
		value = memory(value);
	if (rule->cfa & SFU_ADD && !(rule->cfa & SFU_DEREF))
		value = memory(value);
	return value + more;
}

void machine_by_rule(const struct machine *machine,
		     const struct sfu_rule *rule, struct caller *caller)
{
	*caller = (struct caller){ 0 };
	caller->is_signal = rule->flags & SFU_RULE_SIGNAL;
	if (rule->flags & SFU_RULE_OUTERMOST)
		return;
	caller->cfa = rule_cfa(machine, rule, &caller->has_cfa);
	caller->sp = caller->cfa;
	caller->has_sp = caller->has_cfa;
	caller->ra = rule_value(machine, rule->ra, rule->ra_offset,
				caller->cfa, &caller->has_ra);
	caller->fp = machine->regs[6];
	caller->has_fp = VALUE;
	if (!(rule->fp & SFU_SAME))
		caller->fp = rule_value(machine, rule->fp, rule->fp_offset,
					caller->cfa, &caller->has_fp);
}
