/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Descriptors of ours in a program that does not know of them, and may close them, or use their
 * numbers for other files. System calls are made as registry.c says.
 */
#ifndef SFRAME_UNWIND_JIT_DESCRIPTORS_H
#define SFRAME_UNWIND_JIT_DESCRIPTORS_H

/*
 * Returns the device; or -1 with errno if it is not open, or is not any more, and cannot be opened
 * now. With the registry's lock held, or before there are threads. Async-signal-safe.
 */
int sfu_jit_device(void);

/* Keep standard error as it is now, for sfu_jit_tell(). */
void sfu_jit_keep_standard_error(void);

/*
 * Write a line about what was announced with @key to the standard error that is kept, if there is
 * one. Not with the lock held: it may be a pipe that is full.
 */
__attribute__((format(printf, 2, 3)))
void sfu_jit_tell(const void *key, const char *format, ...);

#endif /* SFRAME_UNWIND_JIT_DESCRIPTORS_H */
