/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Insn: decode one instruction, as far as it matters for unwinding: where control goes,
 * and what happens to rsp and rbp. Instructions that are not known are refused.
 */
#ifndef SFRAME_UNWIND_INSN_H
#define SFRAME_UNWIND_INSN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Longest instruction in bytes. */
#define INSN_MAX 15

/* Where control goes from an instruction. */
enum insn_flow {
	INSN_NEXT,	/* to the next one; also from a system call */
	INSN_CALL,	/* to a function, and from there to the next one */
	INSN_BRANCH,	/* to the target, or to the next one */
	INSN_JUMP,	/* to the target */
	INSN_LEAVE,	/* to an address that is not known: jmp *%rax */
	INSN_RETURN,
	INSN_STOP,	/* nowhere: hlt, ud2, int3 */
};

/* What an instruction does to rsp and rbp. */
enum insn_effect {
	INSN_NONE,
	INSN_ADD_SP,		/* adds @add to rsp */
	INSN_PUSH_FP,		/* push %rbp */
	INSN_POP_FP,		/* pop %rbp */
	INSN_SP_TO_FP,		/* mov %rsp, %rbp */
	INSN_FP_TO_SP,		/* mov %rbp, %rsp */
	INSN_LEAVE_FRAME,	/* leave */
	INSN_WRITE_FP,		/* rbp may get another value */
	INSN_WRITE_SP,		/* rsp may get another value */
};

/**
 * struct insn
 *
 * @size: in bytes.
 * @flow: enum insn_flow.
 * @effect: enum insn_effect.
 * @add: see INSN_ADD_SP.
 * @has_target: @target is known.
 * @target: of INSN_CALL, INSN_BRANCH and INSN_JUMP, relative to the instruction's end.
 */
struct insn {
	uint8_t size;
	uint8_t flow;
	uint8_t effect;
	bool has_target;
	int32_t add;
	int32_t target;
};

/* Decode the instruction at @code. Returns false if it is not known or cut off. */
bool sfu_insn_decode(const unsigned char *code, size_t size, struct insn *insn);

#endif /* SFRAME_UNWIND_INSN_H */
