/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Stacks: recorded from a running program, with its registers, in a file.
 *
 * The file consists of a struct stacks_head and the stacks, each of which is a
 * struct stack followed by its bytes.
 */
#ifndef BENCH_STACKS_H
#define BENCH_STACKS_H

#include <stdint.h>

#define NR_REGISTERS	17	/* DWARF registers of AMD64; 16 is the instruction pointer */
#define REGISTER_FP	6
#define REGISTER_SP	7
#define REGISTER_IP	16

/* Maximum bytes recorded of a stack. */
#define MAX_BYTES	262144

/* Maximum frames found in a stack. */
#define MAX_FRAMES	1024

/**
 * struct stacks_head - start of the file
 *
 * @path: the program.
 * @base: address where it was loaded.
 * @nr: number of stacks.
 */
struct stacks_head {
	char path[256];
	uint64_t base;
	uint64_t nr;
};

struct stack {
	uint64_t reg[NR_REGISTERS];
	uint64_t size;		/* bytes that follow, starting at the stack pointer */
	unsigned char bytes[];
};

/* Stacks read from a file. */
struct stacks {
	struct stacks_head head;
	struct stack **stack;
};

/* Exits with a message if the file cannot be read. */
void stacks_read(struct stacks *stacks, const char *path);

/* Read the word at @address of @stack. Returns 0, or -1 if it was not recorded. */
static inline int stack_word(const struct stack *stack, uint64_t address,
			     uint64_t *word)
{
	const uint64_t offset = address - stack->reg[REGISTER_SP];

	if (offset >= stack->size || stack->size - offset < sizeof(*word))
		return -1;
	__builtin_memcpy(word, stack->bytes + offset, sizeof(*word));
	return 0;
}

#endif /* BENCH_STACKS_H */
