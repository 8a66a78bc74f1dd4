/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Copy: parts of a file at their offsets, with zeroes between them. Kept in memory of
 * the caller as long as there is room, then in a memory file.
 */
#ifndef SFRAME_UNWIND_COPY_H
#define SFRAME_UNWIND_COPY_H

#include <stddef.h>
#include <stdint.h>

/* Pieces in the caller's memory. */
#define COPY_MAX_PIECES 256

/* A part of the file in the caller's memory. */
struct copy_piece {
	uint64_t offset;
	size_t size;
};

/**
 * struct copy
 *
 * @size: size of the file in bytes.
 * @fd: memory file of that size; -1 as long as there is none.
 * @room, @room_size: the caller's memory.
 * @used: bytes of it that are in use.
 * @pieces, @nr_pieces: offsets and sizes of the parts in it, one after the other.
 */
struct copy {
	uint64_t size;
	int fd;
	unsigned char *room;
	size_t room_size;
	size_t used;
	struct copy_piece pieces[COPY_MAX_PIECES];
	unsigned int nr_pieces;
};

/*
 * Begin an empty copy of a file of @size bytes. @room is in use until sfu_copy_end();
 * if it is NULL, a memory file is created at once. Returns 0, or a negative errno with
 * a message.
 */
int sfu_copy_begin(struct copy *copy, uint64_t size, void *room,
		   size_t room_size);

/*
 * Returns where to put the next @size bytes to spare sfu_copy_add() a copy of them, or
 * NULL if there is no room.
 */
unsigned char *sfu_copy_room(const struct copy *copy, size_t size);

/*
 * Add @size bytes at @offset; nothing may have been added there before. @bytes may be
 * what sfu_copy_room() returned. Returns 0, or a negative errno with a message.
 */
int sfu_copy_add(struct copy *copy, uint64_t offset, const void *bytes,
		 size_t size);

/*
 * Read @size bytes at @offset. Returns 0; or -EFAULT, without a message, if that is
 * beyond the file's end; or another negative errno with a message.
 */
int sfu_copy_get(const struct copy *copy, uint64_t offset, void *to,
		 size_t size);

/*
 * Move the copy to a memory file, seal that against changes, and pass it to the
 * caller. Afterwards only sfu_copy_end() may be called. Returns the file, or a
 * negative errno with a message.
 */
int sfu_copy_take(struct copy *copy);

/* Free the copy. */
void sfu_copy_end(struct copy *copy);

#endif /* SFRAME_UNWIND_COPY_H */
