/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Payload: what a snapshot brings along for a worker that executes its input, as
 * a broken parser would. Code in the first page, what it is to do in the second.
 */
#ifndef SELFTESTS_WORKER_PAYLOAD_H
#define SELFTESTS_WORKER_PAYLOAD_H

#include <stdint.h>

#define PAYLOAD_PAGE	4096
#define PAYLOAD_MAX	40

/* Kinds of steps besides system calls. */
#define PAYLOAD_END	0	/* exit with status 0 */
#define PAYLOAD_CALL	1	/* a system call */
#define PAYLOAD_CALL_32	2	/* one by the way of 32-bit programs */
#define PAYLOAD_SPIN	3	/* never go on */
#define PAYLOAD_FLOOD	4	/* write 64 KiB of zeroes until it fails */
#define PAYLOAD_GRAB	5	/* map and fill 1 MiB until it fails; says how many */
#define PAYLOAD_JUMP	6	/* to the stack */
#define PAYLOAD_TOUCH	7	/* read each page from here on: address, size */
#define PAYLOAD_WRITE	8	/* write bytes from here on: address, size */

/**
 * struct payload_step - one thing to do
 *
 * @kind: PAYLOAD_*.
 * @relative: bits of arguments that are offsets in the snapshot.
 * @number: of the call.
 * @arguments: of it.
 *
 * The result of all but PAYLOAD_WRITE is written, eight bytes.
 */
struct payload_step {
	uint32_t kind;
	uint32_t relative;
	uint64_t number;
	uint64_t arguments[6];
};

struct payload {
	unsigned char code[PAYLOAD_PAGE];
	struct payload_step steps[PAYLOAD_MAX];
};

/* The code, in a section of its own that needs nothing outside. */
void payload_run(const struct payload *payload);

#endif /* SELFTESTS_WORKER_PAYLOAD_H */
