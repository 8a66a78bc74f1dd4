/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Internals that the files of the library share. Nothing here is exported.
 */
#ifndef SFRAME_UNWIND_HANDLE_H
#define SFRAME_UNWIND_HANDLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sframe_unwind.h>

/**
 * struct sframe_unwind - an open device
 *
 * @fd: set once, so that any thread and signal handler may use it. Must be the
 *	first member in all versions: the object that "sframe-unwind exec"
 *	preloads makes requests with it and may be of another version.
 * @owns_fd: closing the handle closes @fd.
 * @record_space: smallest buffer size with which read(2) never fails for want of
 *	space.
 * @buffer: records that were read; allocated by the first read. This and the
 *	members below are used only by the one thread that reads.
 * @size: size of @buffer in bytes.
 * @filled: bytes of records in @buffer.
 * @next: offset in @buffer of the first record that was not returned yet.
 */
struct sframe_unwind {
	int fd;
	bool owns_fd;
	uint32_t record_space;
	unsigned char *buffer;
	size_t size;
	size_t filled;
	size_t next;
};

_Static_assert(!offsetof(struct sframe_unwind, fd), "fd is not first");

#define ERROR_SIZE 256

/*
 * Empty this thread's message buffer and assign it to @handle. Returns the
 * buffer, ERROR_SIZE bytes, for the kernel to write its message to.
 */
char *sfu_error_begin(const struct sframe_unwind *handle);

/*
 * End a failed call. Keeps the message that the kernel wrote since
 * sfu_error_begin(); without one, sets it to @what and the text of @error.
 * Returns -@error.
 */
int sfu_error_end(int error, const char *what);

/*
 * The text of @error, in English. Does not use strerror(), which takes locks
 * that may be held forever in a child of fork().
 */
const char *sfu_error_text(int error);

/* Replace the message. Returns -@error. */
__attribute__((format(printf, 3, 4)))
int sfu_error_set(const struct sframe_unwind *handle, int error,
		  const char *format, ...);

#endif /* SFRAME_UNWIND_HANDLE_H */
