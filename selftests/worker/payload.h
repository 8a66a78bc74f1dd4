/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Payload: part of a snapshot for a worker that executes its input, as a broken
 * parser might. Code in the first page, the steps to execute in the second.
 */
#ifndef SELFTESTS_WORKER_PAYLOAD_H
#define SELFTESTS_WORKER_PAYLOAD_H

#include <stdint.h>

#define PAYLOAD_PAGE	4096
#define PAYLOAD_MAX	40

/* Kinds of steps. */
#define PAYLOAD_END	0	/* exit with status 0 */
#define PAYLOAD_CALL	1	/* a system call */
#define PAYLOAD_CALL_32	2	/* a 32-bit system call */
#define PAYLOAD_SPIN	3	/* loop forever */
#define PAYLOAD_FLOOD	4	/* write 64 KiB of zeroes until it fails */
#define PAYLOAD_GRAB	5	/* map and fill 1 MiB until it fails; returns how often */
#define PAYLOAD_JUMP	6	/* jump to the stack */
#define PAYLOAD_TOUCH	7	/* read each page of a range: address, size */
#define PAYLOAD_WRITE	8	/* write bytes of a range: address, size */

/**
 * struct payload_step - one step
 *
 * @kind: PAYLOAD_*.
 * @relative: one bit for each argument that is an offset in the snapshot.
 * @number: of the system call.
 * @arguments: of the system call.
 *
 * Eight bytes with the result are written for each step except PAYLOAD_WRITE.
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

/* The code, in a section of its own that references nothing outside. */
void payload_run(const struct payload *payload);

#endif /* SELFTESTS_WORKER_PAYLOAD_H */
