// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"
#include "file.h"
#include "lib/memory_file.h"

#define OPEN_FLAGS (O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)

/* How often to try again while another process holds a lease, and the interval. */
#define LEASE_TRIES 20
#define LEASE_STEP_MS 50

static int fail(const char *name, int error)
{
	return -complain("%s: %s", name, strerror(error));
}

/* Copy standard input to @fd. Returns 0, or prints a message and returns a negated status. */
static int copy_stdin(int fd)
{
	static char buffer[1 << 16];
	uint64_t whole = 0;
	ssize_t got;

	while ((got = read(STDIN_FILENO, buffer, sizeof(buffer)))) {
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return fail("standard input", errno);
		whole += got;
		if (whole > FILE_MAX_STDIN)
			return -complain_as(CLI_UNSUITABLE,
					    "standard input: more than %llu MiB, which is the limit",
					    FILE_MAX_STDIN >> 20);
		if (write(fd, buffer, got) != got)
			return fail("standard input, in memory", errno);
	}
	return 0;
}

static int open_stdin(void)
{
	const int fd = memory_file_create("stdin");
	int err;

	if (fd < 0)
		return fail("standard input", errno);
	err = copy_stdin(fd);
	if (err) {
		close(fd);
		return err;
	}
	return fd;
}

static const char *kind_name(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFDIR:
		return "a directory";
	case S_IFIFO:
		return "a FIFO";
	case S_IFSOCK:
		return "a socket";
	case S_IFCHR:
	case S_IFBLK:
		return "a device";
	default:
		return "of an unknown kind";
	}
}

/*
 * Open the file of the O_PATH descriptor @path for reading. /proc/self/fd leads to the
 * same file that was checked, even if its name is another file by now. Returns the
 * descriptor or a negative errno.
 */
static int reopen(int path)
{
	const struct timespec step = { .tv_nsec = LEASE_STEP_MS * 1000000 };
	char link[40];
	int fd, tries = LEASE_TRIES;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", path);
	while ((fd = open(link, OPEN_FLAGS)) < 0 && errno == EWOULDBLOCK &&
	       tries--)
		nanosleep(&step, NULL);
	return fd < 0 ? -errno : fd;
}

static int open_regular(const char *name)
{
	struct stat stat;
	int path, fd;

	path = open(name, O_PATH | O_CLOEXEC);
	if (path < 0)
		return fail(name, errno);
	if (fstat(path, &stat)) {
		fd = fail(name, errno);
	} else if (!S_ISREG(stat.st_mode)) {
		fd = -complain_as(CLI_UNSUITABLE, "%s: %s, not a regular file",
				  name, kind_name(stat.st_mode));
	} else {
		fd = reopen(path);
		if (fd == -EWOULDBLOCK)
			fd = -complain("%s: another process has a lease on it",
				       name);
		else if (fd == -ENOENT)
			fd = -complain("%s: cannot be opened without /proc",
				       name);
		else if (fd < 0)
			fd = fail(name, -fd);
	}
	close(path);
	return fd;
}

int file_open(const char *name, struct stat *stat)
{
	const int fd = strcmp(name, "-") ? open_regular(name) : open_stdin();
	int err;

	if (fd >= 0 && fstat(fd, stat)) {
		err = errno;
		close(fd);
		return fail(name, err);
	}
	return fd;
}
