/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * File: the bytes of a file that is hostile, read by pread(2), as few as are
 * needed; or of one in memory. Nothing is mapped: others may make files shorter.
 */
#ifndef SFRAME_UNWIND_FILE_H
#define SFRAME_UNWIND_FILE_H

#include <stdbool.h>

#include "budget.h"

/* The most bytes that sfu_file_peek() gives. */
#define FILE_PEEK	4096

/**
 * struct file - an open file
 *
 * @fd: the file; or -1:
 * @memory: its bytes.
 * @size: bytes of it.
 * @budget: what reading it may cost. A file in memory has all of its size.
 * @window: bytes seen last, @window_size of them, at @window_at of the file;
 *	NULL for none.
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
 * Open what can be read at any place. @fd stays the caller's. Returns 0 with
 * @file to be closed, or a negative errno with a message: -EOPNOTSUPP if it is
 * no regular file.
 */
int sfu_file_open_fd(struct file *file, int fd);
void sfu_file_open_memory(struct file *file, const void *bytes, size_t size);

void sfu_file_close(struct file *file);

/* Are there @size bytes at @offset? */
bool sfu_file_has(const struct file *file, uint64_t offset, uint64_t size);

/*
 * Copy bytes. Returns 0, or a negative errno with a message about @what:
 * -EINVAL if they are beyond the file's end.
 */
int sfu_file_read(struct file *file, const char *what, uint64_t offset,
		  uint64_t size, void *to);

/*
 * Have bytes in memory: the file's own if it is there, a copy otherwise. Returns
 * 0 with *@bytes, to be given to sfu_file_unload(), or as sfu_file_read(), or
 * -EFBIG if the budget does not suffice.
 */
int sfu_file_load(struct file *file, const char *what, uint64_t offset,
		  uint64_t size, const void **bytes);
void sfu_file_unload(struct file *file, const void *bytes, uint64_t size);

/*
 * Look at 1 to FILE_PEEK bytes, which neighbours of those seen last are at no
 * cost. Returns as sfu_file_read(), *@bytes being valid until the next look.
 */
int sfu_file_peek(struct file *file, const char *what, uint64_t offset,
		  size_t size, const unsigned char **bytes);

#endif /* SFRAME_UNWIND_FILE_H */
