// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "convert/base/message.h"
#include "file.h"

/* Windows begin at multiples of FILE_PEEK, so that any FILE_PEEK bytes fit into one. */
#define WINDOW_SIZE (4 * FILE_PEEK)

/* Unit of st_blocks. */
#define BLOCK_SIZE 512

int sfu_file_open_fd(struct file *file, int fd)
{
	struct stat stat;

	memset(file, 0, sizeof(*file));
	file->fd = fd;
	if (fstat(fd, &stat))
		return sfu_message_fail(errno, "%s", strerror(errno));
	if (!S_ISREG(stat.st_mode))
		return sfu_message_fail(EOPNOTSUPP, "not a regular file");
	file->size = stat.st_size;
	file->budget.allocated = (uint64_t)stat.st_blocks * BLOCK_SIZE;
	return 0;
}

void sfu_file_open_memory(struct file *file, const void *bytes, size_t size)
{
	*file = (struct file){
		.fd = -1,
		.memory = bytes,
		.size = size,
		.budget = { .allocated = size },
	};
}

void sfu_file_close(struct file *file)
{
	free(file->window);
	memset(file, 0, sizeof(*file));
}

static int check_range(const struct file *file, const char *what,
		       uint64_t offset, uint64_t size)
{
	if (sfu_file_has(file, offset, size))
		return 0;
	return sfu_message_fail(EINVAL, "broken ELF file: %s at offset 0x%" PRIx64 ", 0x%" PRIx64 " bytes, is beyond the file's end",
				what, offset, size);
}

static int read_fd(const struct file *file, const char *what, uint64_t offset,
		   uint64_t size, unsigned char *to)
{
	while (size) {
		const ssize_t ret = pread(file->fd, to, size, offset);

		if (ret < 0 && errno == EINTR)
			continue;
		if (ret < 0)
			return sfu_message_fail(errno, "%s at offset 0x%" PRIx64 ": %s",
						what, offset, strerror(errno));
		if (!ret)
			return sfu_message_fail(EINVAL, "%s at offset 0x%" PRIx64 ": the file has become shorter",
						what, offset);
		to += ret;
		offset += ret;
		size -= ret;
	}
	return 0;
}

int sfu_file_read(struct file *file, const char *what, uint64_t offset,
		  uint64_t size, void *to)
{
	const int err = check_range(file, what, offset, size);

	if (err)
		return err;
	if (!file->memory)
		return read_fd(file, what, offset, size, to);
	memcpy(to, file->memory + offset, size);
	return 0;
}

int sfu_file_load(struct file *file, const char *what, uint64_t offset,
		  uint64_t size, const void **bytes)
{
	void *copy;
	int err;

	*bytes = NULL;
	err = check_range(file, what, offset, size);
	if (err)
		return err;
	if (file->memory) {
		*bytes = file->memory + offset;
		return 0;
	}
	err = sfu_budget_allocate(&file->budget, size, what, &copy);
	if (err)
		return err;
	err = read_fd(file, what, offset, size, copy);
	if (err)
		sfu_budget_free_memory(&file->budget, copy, size);
	else
		*bytes = copy;
	return err;
}

void sfu_file_unload(struct file *file, const void *bytes, uint64_t size)
{
	if (bytes && !file->memory)
		sfu_budget_free_memory(&file->budget, (void *)(uintptr_t)bytes,
				       size);
}

/* Read the window that begins at the last multiple of FILE_PEEK up to @offset. */
static int move_window(struct file *file, const char *what, uint64_t offset)
{
	const uint64_t at = offset - offset % FILE_PEEK;
	const uint64_t left = file->size - at;
	int err;

	if (!file->window)
		file->window = malloc(WINDOW_SIZE);
	if (!file->window)
		return sfu_message_fail(ENOMEM, "no memory");
	file->window_at = at;
	file->window_size = left < WINDOW_SIZE ? left : WINDOW_SIZE;
	err = read_fd(file, what, at, file->window_size, file->window);
	if (err)
		file->window_size = 0;
	return err;
}

int sfu_file_peek_window(struct file *file, const char *what, uint64_t offset,
			 size_t size, const unsigned char **bytes)
{
	int err;

	err = check_range(file, what, offset, size);
	if (err)
		return err;
	if (!file->window_size || offset < file->window_at ||
	    offset + size > file->window_at + file->window_size) {
		err = move_window(file, what, offset);
		if (err)
			return err;
	}
	*bytes = file->window + (offset - file->window_at);
	return 0;
}
