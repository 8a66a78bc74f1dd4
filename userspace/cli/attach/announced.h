/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Announced: code that a process announces to debuggers, by the interface of GDB: a list
 * of objects in its memory, which begins at __jit_debug_descriptor.
 *
 * All of it is read from the memory of another user's process, which may have anything
 * there and may change it meanwhile. Reading can also take for ever. So it is for readers.
 */
#ifndef ATTACH_ANNOUNCED_H
#define ATTACH_ANNOUNCED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Most entries of a list that are read, and bytes of one object. */
#define ANNOUNCED_MAX_ENTRIES	65536U
#define ANNOUNCED_MAX_SIZE	(8ULL << 20)

/**
 * struct announced - an entry of the list
 *
 * @entry: its address.
 * @object, @size: the object.
 */
struct announced {
	uint64_t entry;
	uint64_t object;
	uint64_t size;
};

/* Read [@address, @address + @size) from @memory, a /proc/PID/mem. Returns whether all. */
bool announced_read(int memory, uint64_t address, void *to, size_t size);

/*
 * Find the descriptor in the file that is mapped from @base on, by its dynamic symbols.
 * Returns its address, or 0.
 */
uint64_t announced_find(int memory, uint64_t base);

/*
 * Call @fn for the entries of the list, until it returns false. Returns 0 if the list was
 * read to its end, or @fn has ended it; or a negative errno: -EINVAL if there is no list,
 * -EAGAIN if it is being changed, is in a circle or has too many entries, -ETIME if
 * @ends_at (CLOCK_MONOTONIC) has come, -EFAULT if it cannot be read.
 */
int announced_list(int memory, uint64_t descriptor, uint64_t ends_at,
		   bool (*fn)(void *data, const struct announced *announced),
		   void *data);

#endif /* ATTACH_ANNOUNCED_H */
