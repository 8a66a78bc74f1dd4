/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What BPF programs and the tests that load them share.
 */
#ifndef SELFTESTS_BPF_STACKS_H
#define SELFTESTS_BPF_STACKS_H

/* The target calls itself so often, and then the function where events occur. */
#define LEVELS		12
#define FRAMES		(LEVELS + 1)	/* of each stack that are checked */

#define NR_ERRORS	128
#define NR_SLOTS	4096

/* What a program does at an event. */
enum {
	DO_REQUEST,
	DO_GET_STACK,		/* and request it, if that is not possible */
	DO_GET_STACK_FAULTABLE,
};

#endif /* SELFTESTS_BPF_STACKS_H */
