/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Copy: parts of a file at their offsets, zeroes between them. In memory that the
 * caller has, as long as that is enough, and then in a memory file.
 */
#ifndef SFRAME_UNWIND_COPY_H
#define SFRAME_UNWIND_COPY_H

#include <stddef.h>
#include <stdint.h>

/* Pieces in the caller's memory. */
#define COPY_MAX_PIECES 256

/**
 * struct copy
 *
 * @size: of the file, in bytes.
 * @fd: memory file of that size; -1 as long as there is none.
 * @room, @room_size: the caller's memory, of which @used are.
 * @pieces, @nr_pieces: what lies in it, one behind the other.
 */
struct copy {
	uint64_t size;
	int fd;
	unsigned char *room;
	size_t room_size;
	size_t used;
	struct {
		uint64_t offset;
		size_t size;
	} pieces[COPY_MAX_PIECES];
	unsigned int nr_pieces;
};

/*
 * Begin an empty one of a file of @size bytes. @room is the caller's until
 * sfu_copy_end(); without it there is a memory file at once. Returns 0, or a
 * negative errno with a message.
 */
int sfu_copy_begin(struct copy *copy, uint64_t size, void *room,
		   size_t room_size);

/*
 * Add @size bytes at @offset, where nothing has been added before. Returns 0, or a
 * negative errno with a message.
 */
int sfu_copy_add(struct copy *copy, uint64_t offset, const void *bytes,
		 size_t size);

/*
 * Read @size bytes. Returns 0; -EFAULT, without a message, if the file is not so
 * long; or another with a message.
 */
int sfu_copy_get(const struct copy *copy, uint64_t offset, void *to,
		 size_t size);

/*
 * Have all of it in a memory file, sealed against changes, and give that away:
 * nothing of it is left but to be ended. Returns the file, or a negative errno
 * with a message.
 */
int sfu_copy_take(struct copy *copy);

/* Free what is left of it. */
void sfu_copy_end(struct copy *copy);

#endif /* SFRAME_UNWIND_COPY_H */
