// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "profile/input.h"

#define INPUT_BUFFER	(1u << 20)

static int write_all(int fd, const unsigned char *bytes, size_t size)
{
	while (size) {
		const ssize_t written = write(fd, bytes, size);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return -errno;
		bytes += written;
		size -= written;
	}
	return 0;
}

/* Returns a new file without a name, or -errno. */
static int temporary_file(void)
{
	const char *directory = getenv("TMPDIR");
	int fd;

	if (!directory || directory[0] != '/')
		directory = "/var/tmp";
	fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, 0600);
	return fd < 0 ? -errno : fd;
}

/* Half of what is free: other users need the file system, too. */
static uint64_t copy_max(int fd)
{
	struct statvfs status;

	return fstatvfs(fd, &status) ? UINT64_MAX :
	       (uint64_t)status.f_bavail * status.f_frsize / 2;
}

/* Replace @input->fd, a pipe, by a file with its contents. */
static int copy_pipe(struct input *input)
{
	const int from = input->fd, to = temporary_file();
	uint64_t max;
	int ret = 0;

	if (to < 0)
		return to;
	max = copy_max(to);
	while (!ret) {
		const ssize_t got = read(from, input->buffer, input->room);

		if (got < 0 && errno == EINTR)
			continue;
		if (!got)
			break;
		ret = got < 0 ? -errno : write_all(to, input->buffer, got);
		if (!ret)
			input->size += got;
		if (!ret && input->size > max)
			ret = -EFBIG;
	}
	if (ret) {
		close(to);
		return ret;
	}
	input->fd = to;
	input->is_own = true;
	return 0;
}

int sfu_input_open(struct input *input, int fd)
{
	struct stat status;
	int ret = 0;

	*input = (struct input){ .fd = fd };
	if (fstat(fd, &status))
		return -errno;
	if (S_ISDIR(status.st_mode))
		return -EISDIR;
	if (S_ISREG(status.st_mode))
		input->size = status.st_size;
	input->room = input->size && input->size < INPUT_BUFFER ?
		      input->size + INPUT_MAX : INPUT_BUFFER;
	input->buffer = malloc(input->room);
	if (!input->buffer)
		return -ENOMEM;
	if (!S_ISREG(status.st_mode))
		ret = copy_pipe(input);
	if (ret)
		sfu_input_close(input);
	return ret;
}

void sfu_input_close(struct input *input)
{
	if (input->is_own)
		close(input->fd);
	input->is_own = false;
	free(input->buffer);
	input->buffer = NULL;
}

/* Fill the buffer from @offset with at least @size bytes. */
static int fill(struct input *input, uint64_t offset, size_t size)
{
	const uint64_t skip = offset - input->start;

	/* Keep what has been read already. */
	if (offset >= input->start && skip < input->filled) {
		memmove(input->buffer, input->buffer + skip,
			input->filled - skip);
		input->filled -= skip;
	} else {
		input->filled = 0;
	}
	input->start = offset;
	while (input->filled < size) {
		const ssize_t got = pread(input->fd,
					  input->buffer + input->filled,
					  input->room - input->filled,
					  offset + input->filled);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (!got)
			break;
		input->filled += got;
	}
	return 0;
}

const void *sfu_input_get(struct input *input, uint64_t offset, size_t size,
			  int *error)
{
	*error = 0;
	if (offset < input->start ||
	    offset - input->start > input->filled ||
	    input->filled - (offset - input->start) < size) {
		if (offset > INT64_MAX - INPUT_BUFFER)
			return NULL;
		*error = fill(input, offset, size);
		if (*error || input->filled < size)
			return NULL;
	}
	return input->buffer + (offset - input->start);
}
