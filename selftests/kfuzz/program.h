/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Program: a list of calls with their arguments that the fuzzer runs. As text,
 * to be read and repeated:
 *
 *	rounds 2
 *	0 open fd=f0 flags=0x800
 *	1 fail 3 request fd=f0 ... tid=t4 ...
 *
 * A line is one call: the thread that makes it, optionally which of the
 * module's allocations and copies fails during the call, the call's name, and
 * its arguments in the order of its type (calls.c). Argument names are ignored
 * when reading.
 */
#ifndef KFUZZ_PROGRAM_H
#define KFUZZ_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define MAX_CALLS	32
#define MAX_ARGS	18
#define MAX_THREADS	4

/**
 * struct arg - a value that may depend on the results of earlier calls
 *
 * @base: what @value is added to: 'f' a file descriptor, 'i' an id, 't' a
 *	thread or process, 'm' a memory slot, 'k' the marker's address, or 0 for
 *	nothing.
 * @index: number of the descriptor, id, thread or slot.
 */
struct arg {
	char base;
	uint8_t index;
	uint64_t value;
};

struct call {
	uint8_t type;
	uint8_t thread;
	uint16_t fail;
	struct arg arg[MAX_ARGS];
};

/**
 * struct program - a list of calls
 *
 * @nr: number of calls.
 * @rounds: how often each thread executes them.
 */
struct program {
	uint32_t nr;
	uint32_t rounds;
	struct call call[MAX_CALLS];
};

/* Size that the text of any program fits into. */
#define PROGRAM_TEXT	24576

/* Write @program to @text, of PROGRAM_TEXT bytes. Returns its length. */
unsigned int program_print(const struct program *program, char *text);

/* Write @call to @text, of @size bytes. Returns its length. */
unsigned int call_print(const struct call *call, char *text, unsigned int size);

/* Read a program up to the end of @from. Exits if it is malformed. */
void program_read(struct program *program, FILE *from);

/* Number of threads of the program. */
unsigned int program_threads(const struct program *program);

#endif /* KFUZZ_PROGRAM_H */
