/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For tests of stacks that "record" completes by their copies: a section of the library's
 * writer, and a copy.
 */
#ifndef SFU_UNIT_COPY_SCENE_H
#define SFU_UNIT_COPY_SCENE_H

#include <stddef.h>
#include <stdint.h>

#include "tap.h"
#include "userspace/cli/profile/copy_walk.h"

#define TEXT	0x401000UL	/* three functions of 256 bytes, and two more */
#define SIGNAL	0x401400UL	/* a signal trampoline */
#define KEEPS	0x401500UL	/* code that keeps frame pointers */
#define MARKED	0x401600UL	/* code marked as a signal trampoline, with a rule */
#define SWITCH	0x401700UL	/* the caller's stack is where the top of this one says */
#define STACK	0x7ffd00000000UL

/* The section, and the same for code at 0: TEXT is its address. */
extern unsigned char *section_bytes, *section_at_zero;
extern size_t section_size;
extern struct sfu_table table;

/* A copy, in memory of just its size. */
extern struct sframe_unwind_stack_copy *copy;

/* A frame at TEXT + 16, a return address, and @words words of stack, all 0. */
void make_copy(uint32_t words);

/* Run all @nr tests. Returns the exit status. */
int copy_scene_run(const struct tap_test *tests, size_t nr);

#endif /* SFU_UNIT_COPY_SCENE_H */
