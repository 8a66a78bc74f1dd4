/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Paths: what is known about each instruction of a function, and the rules that follow.
 */
#ifndef SFRAME_UNWIND_PATHS_H
#define SFRAME_UNWIND_PATHS_H

#include "proof_spans.h"

/* Calls of a function that are found not to return. */
#define MAX_LOST	8

/**
 * struct path - what is known where paths meet
 *
 * @depth: bytes between the stack pointer and the return address.
 * @saved: depth at which rbp was saved, right after the push; 0 if rbp is the caller's.
 * @base: depth at which rsp was copied to rbp; 0 if rbp is something else.
 * @has_sp: @depth is known.
 * @is_outermost: there is no caller. Then nothing else is known, not even @depth.
 * @is_parent: here are both the caller of clone(), with the function's stack, and the
 *	new thread.
 * @is_known: a path leads here.
 * @target: offset of the instruction to which this one may jump; 0 if there is none.
 * @other: start of another function that is called or jumped to, or whose address is
 *	taken, from the start of this one; 0 if there is none.
 * @behind: offset, plus 1, of a call that returns if control gets here; 0 if there is
 *	none.
 * @size: of the instruction here; 0 if it was not looked at.
 * @is_inside: inside an instruction.
 * @is_call: it is a call.
 * @is_padding: it may lie between functions.
 * @is_by_pointer: it is a call by a pointer, which is none to a function that does not
 *	return.
 * @begins_none: no function begins with it.
 * @copies_result: see struct effect.
 * @calls: control gets to @other: its address is not only taken.
 * @jumps: a jump gets to @other, with the stack as at the start.
 * @continues: control gets to the next instruction.
 * @change: enum change of the instruction.
 * @is_return: it is a return.
 * @returns: control gets from here to a return.
 * @sp_is_sure, @fp_is_sure: @depth, or @base, is right also if calls in front of it do
 *	not return: another path leads here, or control gets from here to the end of the
 *	function with the stack pointer where this says. If @is_outermost, the first one
 *	says that of all.
 */
struct path {
	int32_t depth;
	int32_t saved;
	int32_t base;
	uint32_t target;
	int32_t other;
	uint32_t behind;
	bool has_sp;
	bool is_outermost;
	bool is_parent;
	bool is_known;
	uint8_t size;
	bool is_inside;
	bool is_call;
	bool is_padding;
	bool is_by_pointer;
	bool begins_none;
	bool copies_result;
	bool calls;
	bool jumps;
	bool continues;
	uint8_t change;
	bool is_return;
	bool returns;
	bool sp_is_sure;
	bool fp_is_sure;
};

/**
 * struct area - a function being looked at
 *
 * @start: its address.
 * @size: in bytes; at most so many if @is_open.
 * @extent: bytes, from the start on, that have a struct path.
 * @is_open: its end is not known.
 * @is_found: it may begin inside another function.
 * @is_taken: only its address is taken, maybe that of a label inside another function.
 * @is_closed: its end is found: nothing but its code and padding is in front of what
 *	surely is the next function.
 * @is_partial: instructions to which paths lead have no rule.
 * @is_left: it jumps to addresses that are not known, maybe in itself.
 * @writes_saved: see struct effect.
 * @stores_fp: see struct effect.
 * @keeps_fp: it stores the caller's rbp to memory, maybe to change it behind a call that
 *	is not trusted.
 * @has_syscall: it has a system call.
 * @has_clone: it sets eax to the number of clone() or clone3().
 * @is_marked: a path marks the outermost frame.
 * @lost, @nr_lost: offsets of calls that do not return.
 * @culprit: see @behind of struct path, of the impossible path.
 * @other_culprit: that of another path, if either may be the one; or 0.
 */
struct area {
	uint64_t start;
	uint64_t size;
	uint64_t extent;
	bool is_open;
	bool is_found;
	bool is_taken;
	bool is_closed;
	bool is_partial;
	bool is_left;
	bool writes_saved;
	bool stores_fp;
	bool keeps_fp;
	bool has_syscall;
	bool has_clone;
	bool is_marked;
	uint32_t lost[MAX_LOST];
	unsigned int nr_lost;
	uint32_t culprit;
	uint32_t other_culprit;
};

static inline struct path *path_at(const struct scan *scan, uint64_t offset)
{
	return (struct path *)scan->paths.bytes + offset;
}

/*
 * Returns 1 if no instruction of @area to which no path leads writes rbp, or saves it in
 * another way than by a push: such code could lead to other code of the function, where
 * rbp would not be what it seems to be. Returns 0, or a negative errno with a message.
 */
int sfu_paths_spare_fp(struct scan *scan, const struct area *area);

/*
 * All paths of @area agree. Find out which of them are proven, add their rules, and note
 * what they lead to. Returns 0, or a negative errno with a message.
 */
int sfu_paths_add(struct scan *scan, struct area *area);

#endif /* SFRAME_UNWIND_PATHS_H */
