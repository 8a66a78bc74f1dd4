/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * What the files of the library share. Nothing here is exported.
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
 * @fd: set once, so that any thread and signal handler may use it. The first
 *	member in all versions: what "sframe-unwind exec" preloads, which may be
 *	of another version, makes requests with it.
 * @owns_fd: close it with the handle?
 * @record_space: smallest buffer that a read is sure to succeed with.
 * @buffer: what was read; allocated by the first read. This and the members
 *	below belong to the one thread that reads.
 * @size: bytes that @buffer can hold.
 * @filled: bytes of records in @buffer.
 * @next: offset of the first record there that was not returned yet.
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
 * The message buffer of this thread, made empty and said to belong to @handle.
 * The kernel may write to it.
 */
char *sfu_error_begin(const struct sframe_unwind *handle);

/*
 * End a failed call with -@error. What the kernel wrote to the buffer since
 * sfu_error_begin() stays; else the message is @what and the text of @error.
 */
int sfu_error_end(int error, const char *what);

/*
 * The text of @error, in English. Not strerror(), whose locks a child of fork()
 * may find taken.
 */
const char *sfu_error_text(int error);

/* Replace the message. Returns -@error. */
__attribute__((format(printf, 3, 4)))
int sfu_error_set(const struct sframe_unwind *handle, int error,
		  const char *format, ...);

#endif /* SFRAME_UNWIND_HANDLE_H */
