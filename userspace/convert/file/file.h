/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * File: read the bytes of a hostile file with pread(2), no more than needed; or access
 * those of a file in memory. Files are not mapped, because others may truncate them.
 */
#ifndef SFRAME_UNWIND_FILE_H
#define SFRAME_UNWIND_FILE_H

#include <stdbool.h>

#include "convert/base/budget.h"

/* Most bytes that sfu_file_peek() returns. */
#define FILE_PEEK	4096

/**
 * struct file - an open file
 *
 * @fd: the file, or -1 for a file in memory.
 * @memory: the bytes of a file in memory, else NULL.
 * @size: its size in bytes.
 * @budget: limit on memory. A file in memory counts with its full size.
 * @window: the last bytes read by sfu_file_peek(), or NULL.
 * @window_at: their offset in the file.
 * @window_size: their number.
 */
struct file {
	int fd;
	const unsigned char *memory;
	uint64_t size;
	struct budget budget;
	unsigned char *window;
	uint64_t window_at;
	size_t window_size;
};

/*
 * Open a regular file. @fd still belongs to the caller. Returns 0 with @file, to be
 * closed, or a negative errno with a message: -EOPNOTSUPP if it is no regular file.
 */
int sfu_file_open_fd(struct file *file, int fd);
void sfu_file_open_memory(struct file *file, const void *bytes, size_t size);

void sfu_file_close(struct file *file);

/* Returns whether the file has @size bytes at @offset. */
static inline bool sfu_file_has(const struct file *file, uint64_t offset,
				uint64_t size)
{
	return offset <= file->size && size <= file->size - offset;
}

/*
 * Copy bytes. Returns 0, or a negative errno with a message about @what:
 * -EINVAL if they are beyond the file's end.
 */
int sfu_file_read(struct file *file, const char *what, uint64_t offset,
		  uint64_t size, void *to);

/*
 * Get bytes in memory: those of the file if it is in memory, else a copy. Returns 0
 * with *@bytes, to be passed to sfu_file_unload(), or an error as sfu_file_read(), or
 * -EFBIG if the budget does not suffice.
 */
int sfu_file_load(struct file *file, const char *what, uint64_t offset,
		  uint64_t size, const void **bytes);
void sfu_file_unload(struct file *file, const void *bytes, uint64_t size);

/* sfu_file_peek() for a file that is not in memory, or bytes that it does not have. */
int sfu_file_peek_window(struct file *file, const char *what, uint64_t offset,
			 size_t size, const unsigned char **bytes);

/*
 * Get 1 to FILE_PEEK bytes. Bytes near the last ones are cached. Returns as
 * sfu_file_read(); *@bytes is valid until the next call.
 */
static inline int sfu_file_peek(struct file *file, const char *what,
				uint64_t offset, size_t size,
				const unsigned char **bytes)
{
	if (!file->memory || !sfu_file_has(file, offset, size))
		return sfu_file_peek_window(file, what, offset, size, bytes);
	*bytes = file->memory + offset;
	return 0;
}

#endif /* SFRAME_UNWIND_FILE_H */
