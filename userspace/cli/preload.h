/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Objects that are preloaded into the programs that commands run.
 */
#ifndef PRELOAD_H
#define PRELOAD_H

#include <stddef.h>

/* enum preload_object - what "exec" needs; what announces generated code */
enum preload_object { PRELOAD_EXEC, PRELOAD_JIT };

/*
 * Find an object. Returns 0 with its path in @path of @size bytes, or prints a message and
 * returns what complain() returns: also if the path has a blank or colon, at which the
 * dynamic linker would split LD_PRELOAD, which has no escapes.
 */
int preload_find(enum preload_object object, char *path, size_t size);

/* Put @path in front of LD_PRELOAD. Returns 0, or -1 without memory. */
int preload_set(const char *path);

#endif /* PRELOAD_H */
