/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Effect: what one instruction means for unwinding: where control goes, and what happens
 * to rsp and rbp. The library Zydis decodes it.
 */
#ifndef SFRAME_UNWIND_EFFECT_H
#define SFRAME_UNWIND_EFFECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Longest instruction in bytes. */
#define EFFECT_MAX_SIZE 15

/* Where control goes. */
enum flow {
	FLOW_NEXT,	/* to the next instruction; also from a system call */
	FLOW_CALL,	/* to a function, and from there to the next instruction */
	FLOW_BRANCH,	/* to the target, or to the next instruction */
	FLOW_JUMP,	/* to the target */
	FLOW_LEAVE,	/* to an address that is not known: jmp *%rax */
	FLOW_RETURN,
	FLOW_STOP,	/* nowhere: hlt, int3, ud0 to ud2 */
};

/* What happens to rsp and rbp. */
enum change {
	CHANGE_NONE,
	CHANGE_ADD_SP,		/* @add is added to rsp */
	CHANGE_PUSH_FP,		/* push %rbp */
	CHANGE_POP_FP,		/* pop %rbp */
	CHANGE_SP_TO_FP,	/* rbp becomes rsp + @add */
	CHANGE_FP_TO_SP,	/* rsp becomes rbp + @add */
	CHANGE_LEAVE,		/* leave */
	CHANGE_WRITE_FP,	/* rbp may get another value */
	CHANGE_WRITE_SP,	/* rsp may get another value */
};

/* Where an instruction writes to the stack. */
enum store {
	STORE_ELSEWHERE,	/* or nowhere */
	STORE_SP,		/* at rsp + @store_at, after @change */
	STORE_FP,		/* at rbp + @store_at */
};

/**
 * struct effect
 *
 * @size: of the instruction, in bytes.
 * @flow: enum flow.
 * @change: enum change. What a call or return does itself is not counted.
 * @clears_fp: it is "xor %ebp, %ebp", which marks the outermost frame.
 * @by_variable: it is "jmp *disp(%rip)", to another function, or such a call.
 * @takes_address: it is "lea disp(%rip), %reg", of @target.
 * @stores_fp: it is "mov %rbp" to memory.
 * @number: to which it sets eax, maybe of a system call; 0 for others.
 * @is_syscall: it is a system call.
 * @is_inside: it copies rax, or a register that functions preserve, to another one: no
 *	function begins with it.
 * @copies_result: it copies rax to another register.
 * @is_padding: it may lie between functions: nop or int3.
 * @writes_saved: it may write rbx or r12 to r15, which functions preserve.
 * @store: enum store. What a push or call does itself is not counted.
 * @store_size: in bytes.
 * @add: see enum change.
 * @has_target: @target is known.
 * @target: of FLOW_CALL, FLOW_BRANCH and FLOW_JUMP, relative to the instruction's end;
 *	or see @takes_address.
 */
struct effect {
	uint8_t size;
	uint8_t flow;
	uint8_t change;
	bool has_target;
	bool clears_fp;
	bool by_variable;
	bool takes_address;
	bool stores_fp;
	bool is_syscall;
	bool is_inside;
	bool copies_result;
	bool is_padding;
	bool writes_saved;
	uint8_t store;
	uint16_t store_size;
	uint16_t number;
	int32_t store_at;
	int32_t add;
	int32_t target;
};

/*
 * Get the effect of the instruction at @code, of which no more than @size bytes are read.
 * Returns false if these are no instruction, or one that functions do not have: one that
 * only the kernel may execute, that goes elsewhere in another way than those of enum
 * flow, or that changes both registers in another way.
 */
bool sfu_effect_read(const unsigned char *code, size_t size,
		     struct effect *effect);

/*
 * Get only the size of the instruction at @code, and where control goes. Returns as
 * sfu_effect_read(), and false also if it may write DWARF register @reg, 0 to 15, or a
 * part of it, or if it is a system call. What a called function does is not counted.
 */
bool sfu_effect_read_kept(const unsigned char *code, size_t size, uint8_t reg,
			  struct effect *effect);

#endif /* SFRAME_UNWIND_EFFECT_H */
