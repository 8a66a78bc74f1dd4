/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Object: an ELF object that a program has announced to debuggers, for code that it has
 * generated. It is relocatable, with the addresses of its sections in the process; its
 * relocations are not applied. The converter takes linked files, so one is made from it
 * that has its .eh_frame, with relocations, and says where its code is.
 *
 * The object must contain the code, so that it can be found out whether the process still
 * has it there. LLVM's do, but relocations are applied to the code in the process only:
 * what these may change need not be the same. They do not change what a function does to
 * its stack.
 */
#ifndef WORKER_OBJECT_H
#define WORKER_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol.h"

/* Most bytes from the first code of an object to its last. */
#define OBJECT_MAX_CODE (64ULL << 20)

/**
 * struct object - the file that was made
 *
 * @bytes, @size: the file, to be freed. Its addresses begin with 0 at @start.
 * @start, @code_size: where the code is in the process.
 * @same, @nr_same: parts of the object that are in the code: all of it, except for what
 *	relocations may change; to be freed.
 * @lacks_memory: there was not enough memory to make it.
 */
struct object {
	unsigned char *bytes;
	size_t size;
	uint64_t start;
	uint64_t code_size;
	struct worker_same *same;
	uint32_t nr_same;
	bool lacks_memory;
};

/*
 * Make @object from @size bytes of an announced object, less than 4 GiB. Reads nothing
 * outside of these, whatever they are. Returns NULL, or what is wrong with them, a constant
 * string.
 */
const char *object_make(const unsigned char *bytes, size_t size,
			struct object *object);

/* Free what @object has. */
void object_free(struct object *object);

#endif /* WORKER_OBJECT_H */
