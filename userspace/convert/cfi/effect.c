// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include <string.h>

#include <Zydis/Zydis.h>

#include "effect.h"

/* An instruction with its operands, also those that it does not name. */
struct decoded {
	ZydisDecodedInstruction insn;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
};

static bool decode(const unsigned char *code, size_t size, struct decoded *to)
{
	ZydisDecoderContext context;
	ZydisDecoder decoder;

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64,
			 ZYDIS_STACK_WIDTH_64);
	/*
	 * Intel's processors ignore an operand size of 16 bits in branches, AMD's do
	 * not. Decode as AMD's do, so that it can be seen, and refused.
	 */
	ZydisDecoderEnableMode(&decoder, ZYDIS_DECODER_MODE_AMD_BRANCHES,
			       ZYAN_TRUE);
	return ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, &context,
							  code, size,
							  &to->insn)) &&
	       ZYAN_SUCCESS(ZydisDecoderDecodeOperands(&decoder, &context,
						       &to->insn, to->operands,
						       ZYDIS_MAX_OPERAND_COUNT));
}

static bool is_register(const ZydisDecodedOperand *operand, ZydisRegister wanted)
{
	return operand->type == ZYDIS_OPERAND_TYPE_REGISTER &&
	       operand->reg.value == wanted;
}

/* Returns whether it may write @wanted, or a part of it. */
static bool writes(const struct decoded *d, ZydisRegister wanted)
{
	for (unsigned int i = 0; i < d->insn.operand_count; i++) {
		const ZydisDecodedOperand *operand = &d->operands[i];

		if (operand->type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE &&
		    ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64,
						     operand->reg.value) ==
			    wanted)
			return true;
	}
	return false;
}

static bool stops(ZydisMnemonic mnemonic)
{
	return mnemonic == ZYDIS_MNEMONIC_HLT || mnemonic == ZYDIS_MNEMONIC_UD0 ||
	       mnemonic == ZYDIS_MNEMONIC_UD1 || mnemonic == ZYDIS_MNEMONIC_UD2;
}

static bool is_relative_to_rip(const ZydisDecodedOperand *operand)
{
	return operand->type == ZYDIS_OPERAND_TYPE_MEMORY &&
	       operand->mem.base == ZYDIS_REGISTER_RIP;
}

static bool set_flow(const struct decoded *d, struct effect *effect)
{
	const ZydisDecodedInstruction *insn = &d->insn;
	const bool is_near = insn->meta.branch_type == ZYDIS_BRANCH_TYPE_NEAR ||
			     insn->meta.branch_type == ZYDIS_BRANCH_TYPE_SHORT;

	effect->flow = FLOW_NEXT;
	switch (insn->meta.category) {
	case ZYDIS_CATEGORY_CALL:
		effect->flow = FLOW_CALL;
		effect->by_variable = is_relative_to_rip(&d->operands[0]);
		break;
	case ZYDIS_CATEGORY_COND_BR:
		effect->flow = FLOW_BRANCH;
		break;
	case ZYDIS_CATEGORY_UNCOND_BR:
		effect->flow = insn->raw.imm[0].is_relative ? FLOW_JUMP :
							      FLOW_LEAVE;
		effect->by_variable = is_relative_to_rip(&d->operands[0]);
		break;
	case ZYDIS_CATEGORY_RET:
		/* Not iret, and not one that removes arguments. */
		effect->flow = FLOW_RETURN;
		return insn->mnemonic == ZYDIS_MNEMONIC_RET && is_near &&
		       insn->operand_width == 64 && !insn->raw.imm[0].size;
	case ZYDIS_CATEGORY_INTERRUPT:
		effect->flow = FLOW_STOP;
		return insn->mnemonic == ZYDIS_MNEMONIC_INT3;
	case ZYDIS_CATEGORY_SYSCALL:
		return insn->mnemonic == ZYDIS_MNEMONIC_SYSCALL;
	case ZYDIS_CATEGORY_SYSRET:
	case ZYDIS_CATEGORY_IO:
	case ZYDIS_CATEGORY_IOSTRINGOP:
		return false;
	default:
		if (stops(insn->mnemonic)) {
			effect->flow = FLOW_STOP;
			return true;
		}
		/* Zydis 4.0 does not know that uiret writes rip. */
		return !(insn->attributes & ZYDIS_ATTRIB_IS_PRIVILEGED) &&
		       insn->mnemonic != ZYDIS_MNEMONIC_UIRET &&
		       !writes(d, ZYDIS_REGISTER_RIP);
	}
	effect->has_target = insn->raw.imm[0].is_relative;
	effect->target = insn->raw.imm[0].value.s;
	return is_near && insn->operand_width == 64;
}

static bool add(uint8_t change, int64_t by, struct effect *effect)
{
	effect->change = change;
	effect->add = by;
	return effect->add == by;
}

/* lea between rsp and rbp, without an index */
static bool set_lea(const struct decoded *d, struct effect *effect)
{
	const bool to_sp = is_register(&d->operands[0], ZYDIS_REGISTER_RSP);
	const bool to_fp = is_register(&d->operands[0], ZYDIS_REGISTER_RBP);
	const ZydisDecodedOperandMem *from = &d->operands[1].mem;

	if (from->index != ZYDIS_REGISTER_NONE)
		return false;
	if (to_sp && from->base == ZYDIS_REGISTER_RSP)
		return add(CHANGE_ADD_SP, from->disp.value, effect);
	if (to_sp && from->base == ZYDIS_REGISTER_RBP)
		return add(CHANGE_FP_TO_SP, from->disp.value, effect);
	if (to_fp && from->base == ZYDIS_REGISTER_RSP)
		return add(CHANGE_SP_TO_FP, from->disp.value, effect);
	return false;
}

/* Returns whether it is one of those that change rsp or rbp in a known way. */
static bool set_known_change(const struct decoded *d, struct effect *effect)
{
	const ZydisDecodedOperand *to = &d->operands[0];
	const ZydisDecodedOperand *from = &d->operands[1];
	const bool is_sp = is_register(to, ZYDIS_REGISTER_RSP);
	const bool is_fp = is_register(to, ZYDIS_REGISTER_RBP);

	/* "pop %rsp" is none, nor are those of 16 bits. */
	if (d->insn.operand_width != 64)
		return false;
	switch (d->insn.mnemonic) {
	case ZYDIS_MNEMONIC_PUSH:
		return add(is_fp ? CHANGE_PUSH_FP : CHANGE_ADD_SP, -8, effect);
	case ZYDIS_MNEMONIC_PUSHFQ:
		return add(CHANGE_ADD_SP, -8, effect);
	case ZYDIS_MNEMONIC_POP:
		return !is_sp &&
		       add(is_fp ? CHANGE_POP_FP : CHANGE_ADD_SP, 8, effect);
	case ZYDIS_MNEMONIC_POPFQ:
		return add(CHANGE_ADD_SP, 8, effect);
	case ZYDIS_MNEMONIC_ADD:
		return is_sp && from->type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
		       add(CHANGE_ADD_SP, from->imm.value.s, effect);
	case ZYDIS_MNEMONIC_SUB:
		return is_sp && from->type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
		       add(CHANGE_ADD_SP, -from->imm.value.s, effect);
	case ZYDIS_MNEMONIC_MOV:
		if (is_fp && is_register(from, ZYDIS_REGISTER_RSP))
			return add(CHANGE_SP_TO_FP, 0, effect);
		if (is_sp && is_register(from, ZYDIS_REGISTER_RBP))
			return add(CHANGE_FP_TO_SP, 0, effect);
		return false;
	case ZYDIS_MNEMONIC_LEA:
		return set_lea(d, effect);
	case ZYDIS_MNEMONIC_LEAVE:
		return add(CHANGE_LEAVE, 0, effect);
	default:
		return false;
	}
}

static bool set_change(const struct decoded *d, struct effect *effect)
{
	const bool writes_sp = writes(d, ZYDIS_REGISTER_RSP);
	const bool writes_fp = writes(d, ZYDIS_REGISTER_RBP);

	if (effect->flow != FLOW_NEXT || (!writes_sp && !writes_fp))
		return true;
	if (set_known_change(d, effect))
		return true;
	effect->change = writes_sp ? CHANGE_WRITE_SP : CHANGE_WRITE_FP;
	return !(writes_sp && writes_fp);
}

/* "or $0" and "add $0" to memory, with a lock prefix: the barrier of compilers and musl. */
static bool is_barrier(const struct decoded *d)
{
	return (d->insn.mnemonic == ZYDIS_MNEMONIC_OR ||
		d->insn.mnemonic == ZYDIS_MNEMONIC_ADD) &&
	       d->operands[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
	       !d->operands[1].imm.value.u;
}

/* Not of an array on the stack: its end is not known. */
static void set_store(const struct decoded *d, struct effect *effect)
{
	for (unsigned int i = 0; i < d->insn.operand_count_visible; i++) {
		const ZydisDecodedOperand *to = &d->operands[i];

		if (to->type != ZYDIS_OPERAND_TYPE_MEMORY ||
		    !(to->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) ||
		    to->mem.index != ZYDIS_REGISTER_NONE)
			continue;
		if (to->mem.base == ZYDIS_REGISTER_RSP)
			effect->store = STORE_SP;
		else if (to->mem.base == ZYDIS_REGISTER_RBP)
			effect->store = STORE_FP;
		effect->store_at = to->mem.disp.value;
		effect->store_size = to->size / 8;
	}
}

static bool writes_saved(const struct decoded *d)
{
	return writes(d, ZYDIS_REGISTER_RBX) || writes(d, ZYDIS_REGISTER_R12) ||
	       writes(d, ZYDIS_REGISTER_R13) || writes(d, ZYDIS_REGISTER_R14) ||
	       writes(d, ZYDIS_REGISTER_R15);
}

static bool clears_fp(const struct decoded *d)
{
	return d->insn.mnemonic == ZYDIS_MNEMONIC_XOR &&
	       ((is_register(&d->operands[0], ZYDIS_REGISTER_EBP) &&
		 is_register(&d->operands[1], ZYDIS_REGISTER_EBP)) ||
		(is_register(&d->operands[0], ZYDIS_REGISTER_RBP) &&
		 is_register(&d->operands[1], ZYDIS_REGISTER_RBP)));
}

static void set_copy(const struct decoded *d, struct effect *effect)
{
	const ZydisDecodedOperand *to = &d->operands[0], *from = &d->operands[1];

	if (d->insn.mnemonic != ZYDIS_MNEMONIC_MOV || d->insn.operand_width < 32 ||
	    to->type != ZYDIS_OPERAND_TYPE_REGISTER ||
	    from->type != ZYDIS_OPERAND_TYPE_REGISTER)
		return;
	switch (ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64,
						 from->reg.value)) {
	case ZYDIS_REGISTER_RAX:
		effect->copies_result = true;
		effect->is_inside = true;
		break;
	case ZYDIS_REGISTER_RBX:
	case ZYDIS_REGISTER_RBP:
	case ZYDIS_REGISTER_R12:
	case ZYDIS_REGISTER_R13:
	case ZYDIS_REGISTER_R14:
	case ZYDIS_REGISTER_R15:
		effect->is_inside = true;
		break;
	default:
		break;
	}
}

/* Returns the number that eax is set to, or 0. */
static uint16_t number(const struct decoded *d)
{
	if (d->insn.mnemonic != ZYDIS_MNEMONIC_MOV ||
	    (!is_register(&d->operands[0], ZYDIS_REGISTER_EAX) &&
	     !is_register(&d->operands[0], ZYDIS_REGISTER_RAX)) ||
	    d->operands[1].type != ZYDIS_OPERAND_TYPE_IMMEDIATE ||
	    d->operands[1].imm.value.u > UINT16_MAX)
		return 0;
	return d->operands[1].imm.value.u;
}

bool sfu_effect_read(const unsigned char *code, size_t size,
		     struct effect *effect)
{
	struct decoded decoded;

	memset(effect, 0, sizeof(*effect));
	if (!decode(code, size, &decoded))
		return false;
	effect->size = decoded.insn.length;
	effect->clears_fp = clears_fp(&decoded);
	effect->writes_saved = writes_saved(&decoded);
	effect->stores_fp = decoded.insn.mnemonic == ZYDIS_MNEMONIC_MOV &&
			    decoded.operands[0].type == ZYDIS_OPERAND_TYPE_MEMORY &&
			    is_register(&decoded.operands[1], ZYDIS_REGISTER_RBP);
	effect->number = number(&decoded);
	effect->is_syscall = decoded.insn.mnemonic == ZYDIS_MNEMONIC_SYSCALL;
	set_copy(&decoded, effect);
	effect->is_padding = decoded.insn.mnemonic == ZYDIS_MNEMONIC_NOP ||
			     decoded.insn.mnemonic == ZYDIS_MNEMONIC_INT3;
	if (!is_barrier(&decoded))
		set_store(&decoded, effect);
	if (decoded.insn.mnemonic == ZYDIS_MNEMONIC_LEA &&
	    decoded.insn.operand_width == 64 &&
	    is_relative_to_rip(&decoded.operands[1])) {
		effect->takes_address = true;
		effect->target = decoded.operands[1].mem.disp.value;
	}
	return set_flow(&decoded, effect) && set_change(&decoded, effect);
}

/*
 * Returns whether all registers that it writes are known: of instructions that programs
 * have, Zydis knows those that are not named, too. It does not know that scas changes
 * rdi.
 */
static bool is_well_known(const struct decoded *d)
{
	if (d->insn.meta.category == ZYDIS_CATEGORY_STRINGOP)
		return false;
	switch (d->insn.meta.isa_ext) {
	case ZYDIS_ISA_EXT_ADOX_ADCX:
	case ZYDIS_ISA_EXT_AES:
	case ZYDIS_ISA_EXT_AVX:
	case ZYDIS_ISA_EXT_AVX2:
	case ZYDIS_ISA_EXT_AVX2GATHER:
	case ZYDIS_ISA_EXT_AVX512EVEX:
	case ZYDIS_ISA_EXT_AVX512VEX:
	case ZYDIS_ISA_EXT_AVXAES:
	case ZYDIS_ISA_EXT_BASE:
	case ZYDIS_ISA_EXT_BMI1:
	case ZYDIS_ISA_EXT_BMI2:
	case ZYDIS_ISA_EXT_CET:
	case ZYDIS_ISA_EXT_FMA:
	case ZYDIS_ISA_EXT_GFNI:
	case ZYDIS_ISA_EXT_LONGMODE:
	case ZYDIS_ISA_EXT_LZCNT:
	case ZYDIS_ISA_EXT_MMX:
	case ZYDIS_ISA_EXT_MOVBE:
	case ZYDIS_ISA_EXT_PAUSE:
	case ZYDIS_ISA_EXT_PCLMULQDQ:
	case ZYDIS_ISA_EXT_SHA:
	case ZYDIS_ISA_EXT_SSE:
	case ZYDIS_ISA_EXT_SSE2:
	case ZYDIS_ISA_EXT_SSE3:
	case ZYDIS_ISA_EXT_SSE4:
	case ZYDIS_ISA_EXT_SSSE3:
	case ZYDIS_ISA_EXT_VAES:
	case ZYDIS_ISA_EXT_VPCLMULQDQ:
	case ZYDIS_ISA_EXT_X87:
		return true;
	default:
		return false;
	}
}

bool sfu_effect_read_kept(const unsigned char *code, size_t size, uint8_t reg,
			  struct effect *effect)
{
	static const ZydisRegister registers[] = {
		ZYDIS_REGISTER_RAX, ZYDIS_REGISTER_RDX, ZYDIS_REGISTER_RCX,
		ZYDIS_REGISTER_RBX, ZYDIS_REGISTER_RSI, ZYDIS_REGISTER_RDI,
		ZYDIS_REGISTER_RBP, ZYDIS_REGISTER_RSP, ZYDIS_REGISTER_R8,
		ZYDIS_REGISTER_R9, ZYDIS_REGISTER_R10, ZYDIS_REGISTER_R11,
		ZYDIS_REGISTER_R12, ZYDIS_REGISTER_R13, ZYDIS_REGISTER_R14,
		ZYDIS_REGISTER_R15,
	};
	struct decoded decoded;

	memset(effect, 0, sizeof(*effect));
	if (reg >= sizeof(registers) / sizeof(registers[0]) ||
	    !decode(code, size, &decoded) || !is_well_known(&decoded) ||
	    decoded.insn.mnemonic == ZYDIS_MNEMONIC_SYSCALL ||
	    writes(&decoded, registers[reg]))
		return false;
	effect->size = decoded.insn.length;
	return set_flow(&decoded, effect);
}
