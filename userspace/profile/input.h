/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Bytes of a file through a buffer, not a mapping: files that are truncated
 * meanwhile must not raise SIGBUS.
 */
#ifndef PROFILE_INPUT_H
#define PROFILE_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Most bytes that can be asked for at once. */
#define INPUT_MAX	65536u

/**
 * struct input - a file
 *
 * @fd: the file.
 * @is_own: whether @fd is a copy of a pipe's contents, to be closed.
 * @size: bytes of the file when it was opened.
 * @start: offset of @buffer's first byte.
 * @filled: bytes in @buffer.
 * @room: bytes that @buffer has room for.
 * @buffer: the bytes.
 */
struct input {
	int fd;
	bool is_own;
	uint64_t size;
	uint64_t start;
	size_t filled;
	size_t room;
	unsigned char *buffer;
};

/* Returns 0 or -errno; then sfu_input_close() does nothing. */
int sfu_input_open(struct input *input, int fd);

void sfu_input_close(struct input *input);

/*
 * Returns the address of @size bytes, at most INPUT_MAX, from @offset, valid
 * until the next call. Else NULL, and in *@error 0 if the file ends before, or
 * -errno.
 */
const void *sfu_input_get(struct input *input, uint64_t offset, size_t size,
			  int *error);

#endif /* PROFILE_INPUT_H */
