/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Stacks: recorded from a program as it ran, with its registers, in a file.
 *
 * The file is a struct stacks_head and its stacks, each a struct stack and its
 * bytes.
 */
#ifndef BENCH_STACKS_H
#define BENCH_STACKS_H

#include <stdint.h>

#define NR_REGISTERS	17	/* DWARF registers of AMD64; 16 is the address */
#define REGISTER_FP	6
#define REGISTER_SP	7
#define REGISTER_IP	16

/* Bytes recorded of a stack, at the most. */
#define MAX_BYTES	262144

/* Frames of one that anybody asks for. */
#define MAX_FRAMES	1024

/**
 * struct stacks_head
 *
 * @path: the program.
 * @base: where it was loaded.
 * @nr: stacks.
 */
struct stacks_head {
	char path[256];
	uint64_t base;
	uint64_t nr;
};

struct stack {
	uint64_t reg[NR_REGISTERS];
	uint64_t size;		/* bytes that follow, from the stack pointer on */
	unsigned char bytes[];
};

/* Stacks read back. */
struct stacks {
	struct stacks_head head;
	struct stack **stack;
};

/* Exits with a message if the file cannot be read. */
void stacks_read(struct stacks *stacks, const char *path);

/* Read a word at @address of @stack. Returns 0, or -1 if it was not recorded. */
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
