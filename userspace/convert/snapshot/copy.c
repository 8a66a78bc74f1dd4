// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "convert/base/message.h"
#include "copy.h"
#include "lib/memory_file.h"

#define SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

static int write_file(const struct copy *copy, uint64_t offset,
		      const unsigned char *bytes, size_t size)
{
	size_t done = 0;

	while (done < size) {
		const ssize_t put = pwrite(copy->fd, bytes + done, size - done,
					   offset + done);

		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return sfu_message_fail(put ? errno : EIO, "no memory for a copy of 0x%zx bytes at offset 0x%" PRIx64 ": %s",
						size, offset,
						strerror(put ? errno : EIO));
		done += put;
	}
	return 0;
}

/* Create the memory file, and move the pieces to it. */
static int open_file(struct copy *copy)
{
	const unsigned char *at = copy->room;
	int err = 0;

	copy->fd = memory_file_create("snapshot");
	if (copy->fd < 0)
		return sfu_message_fail(errno, "no memory file for a copy: %s",
					strerror(errno));
	if (ftruncate(copy->fd, copy->size))
		return sfu_message_fail(errno, "no memory file of 0x%" PRIx64 " bytes for a copy: %s",
					copy->size, strerror(errno));
	for (unsigned int i = 0; !err && i < copy->nr_pieces; i++) {
		err = write_file(copy, copy->pieces[i].offset, at,
				 copy->pieces[i].size);
		at += copy->pieces[i].size;
	}
	return err;
}

int sfu_copy_begin(struct copy *copy, uint64_t size, void *room,
		   size_t room_size)
{
	int err;

	copy->size = size;
	copy->fd = -1;
	copy->room = room;
	copy->room_size = room_size;
	copy->used = 0;
	copy->nr_pieces = 0;
	if (room)
		return 0;
	err = open_file(copy);
	if (err)
		sfu_copy_end(copy);
	return err;
}

unsigned char *sfu_copy_room(const struct copy *copy, size_t size)
{
	return copy->fd < 0 && size <= copy->room_size - copy->used ?
	       copy->room + copy->used : NULL;
}

int sfu_copy_add(struct copy *copy, uint64_t offset, const void *bytes,
		 size_t size)
{
	struct copy_piece *last = copy->nr_pieces ?
				  &copy->pieces[copy->nr_pieces - 1] : NULL;
	int err;

	if (copy->fd < 0 && (size > copy->room_size - copy->used ||
			     copy->nr_pieces == COPY_MAX_PIECES)) {
		err = open_file(copy);
		if (err)
			return err;
	}
	if (copy->fd >= 0)
		return write_file(copy, offset, bytes, size);
	if (bytes != copy->room + copy->used)
		memcpy(copy->room + copy->used, bytes, size);
	copy->used += size;
	/* Neighbours are one piece: one system call less for the memory file. */
	if (last && last->offset + last->size == offset) {
		last->size += size;
		return 0;
	}
	copy->pieces[copy->nr_pieces].offset = offset;
	copy->pieces[copy->nr_pieces].size = size;
	copy->nr_pieces++;
	return 0;
}

/*
 * Copy the part of the piece [@start, @end), which is at @bytes, that lies in
 * [@offset, @offset + @size).
 */
static void get_part(const unsigned char *bytes, uint64_t start, uint64_t end,
		     uint64_t offset, unsigned char *to, size_t size)
{
	const uint64_t from = start > offset ? start : offset;
	const uint64_t until = end < offset + size ? end : offset + size;

	if (from < until)
		memcpy(to + (from - offset), bytes + (from - start),
		       until - from);
}

int sfu_copy_get(const struct copy *copy, uint64_t offset, void *to,
		 size_t size)
{
	const unsigned char *at = copy->room;
	ssize_t got;

	if (offset > copy->size || size > copy->size - offset)
		return -EFAULT;
	if (copy->fd >= 0) {
		got = pread(copy->fd, to, size, offset);
		if (got < 0)
			return sfu_message_fail(errno, "its copy cannot be read: %s",
						strerror(errno));
		return (size_t)got == size ? 0 : -EFAULT;
	}
	memset(to, 0, size);
	for (unsigned int i = 0; i < copy->nr_pieces; i++) {
		const uint64_t start = copy->pieces[i].offset;

		get_part(at, start, start + copy->pieces[i].size, offset, to,
			 size);
		at += copy->pieces[i].size;
	}
	return 0;
}

int sfu_copy_take(struct copy *copy)
{
	const int err = copy->fd < 0 ? open_file(copy) : 0;
	const int fd = copy->fd;

	if (err)
		return err;
	if (fcntl(fd, F_ADD_SEALS, SEALS))
		return sfu_message_fail(errno, "its copy cannot be sealed: %s",
					strerror(errno));
	copy->fd = -1;
	return fd;
}

void sfu_copy_end(struct copy *copy)
{
	if (copy->fd >= 0)
		close(copy->fd);
	copy->fd = -1;
}
