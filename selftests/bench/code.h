/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Code: generated functions in files of their own, with SFrame sections, and
 * chains of calls through them.
 */
#ifndef BENCH_CODE_H
#define BENCH_CODE_H

#include <linux/sframe_unwind.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What functions save, and what their rows are based on. */
enum rows {
	ROWS_SP,	/* frame pointer saved; rows by the stack pointer */
	ROWS_FP,	/* the same code; rows by the frame pointer */
	ROWS_NO_FP,	/* no frame pointer saved */
};

#define NR_OBJECTS	4	/* of one world */
#define MAX_CHAINS	32
#define CHAIN_LENGTH	130

/* A file mapped like a shared object: code, and its section. */
struct object {
	unsigned char *text;
	unsigned char *section;
	struct sframe_unwind_register reg;
};

/* Some objects, and chains of calls through all of them. */
struct world {
	struct object object[NR_OBJECTS];
	uintptr_t chain[MAX_CHAINS];
};

struct world_spec {
	unsigned int functions;		/* of each object */
	unsigned int chains;
	enum rows rows;
	unsigned int rows_before;	/* before the row that is looked up; at least 2 */
};

/* Create a world; exits on failure. Each chain ends with a call of @end. */
void world_create(struct world *world, const struct world_spec *spec,
		  uintptr_t end);
void world_register(int fd, struct world *world);
void world_unregister(int fd, struct world *world);

/*
 * @nr functions of JIT_TEXT bytes, each with a section of its own. Fills @reg,
 * an array of @nr registrations.
 */
#define JIT_TEXT	64
#define JIT_SECTION	64

void make_jit(struct sframe_unwind_batch_entry *entry, unsigned int nr);

/* Map @size bytes of a new file twice: with @prot, and as *@writable. */
void *map_file(size_t size, int prot, unsigned char **writable);

void __attribute__((noreturn, format(printf, 1, 2))) die(const char *format, ...);

#endif /* BENCH_CODE_H */
