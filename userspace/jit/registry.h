/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Registry: the sections of this process that were made from announced .eh_frames.
 *
 * All functions may be called by any thread, and by children of fork(). None changes errno, is
 * a cancellation point, or calls malloc() or prints with the lock held, which signal handlers
 * cannot interrupt: see registry.c.
 */
#ifndef SFRAME_UNWIND_JIT_REGISTRY_H
#define SFRAME_UNWIND_JIT_REGISTRY_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Open the device. Without it, the functions below do nothing. @is_verbose: tell on standard
 * error what cannot be converted or registered.
 */
void sfu_jit_open(bool is_verbose);

/*
 * Convert the .eh_frames at @begins, an array that ends with NULL, and register their code.
 * @key: what sfu_jit_remove() will be called with; what was added with it before is removed,
 * and so is all code in the same places, whose memory the program has reused without telling.
 * Code that is not executable yet is registered by sfu_jit_protected(). Calls malloc().
 */
void sfu_jit_add(const void *key, const void *const *begins);

/* Unregister what was added with @key, if there is something. Calls free(). */
void sfu_jit_remove(const void *key);

/*
 * [start, start + size) has become executable: register code there that waits for it.
 * Async-signal-safe.
 */
void sfu_jit_protected(const void *start, size_t size);

#endif /* SFRAME_UNWIND_JIT_REGISTRY_H */
