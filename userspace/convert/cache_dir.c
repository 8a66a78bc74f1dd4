// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cache_dir.h"

#define ROOT_DIR	"/var/cache/sframe_unwind/sections"
#define USER_DIR	"sframe_unwind/sections"

/* More than a section can have. */
#define MAX_FILE_SIZE	(1ULL << 33)

char *sfu_cache_dir_path(const char *given)
{
	const char *cache = secure_getenv("XDG_CACHE_HOME");
	const char *home = secure_getenv("HOME");
	char *path;
	int ret;

	if (given)
		return strdup(given);
	if (!geteuid())
		return strdup(ROOT_DIR);
	if (cache && cache[0] == '/')
		ret = asprintf(&path, "%s/%s", cache, USER_DIR);
	else if (home && home[0] == '/')
		ret = asprintf(&path, "%s/.cache/%s", home, USER_DIR);
	else
		return NULL;
	return ret < 0 ? NULL : path;
}

/* Make all directories of @path that are missing. */
static int make_dirs(const char *path)
{
	const mode_t mode = geteuid() ? 0700 : 0755;
	char *copy = strdup(path);
	int err = 0;

	if (!copy)
		return -ENOMEM;
	for (char *at = copy + 1; !err; at++) {
		const char end = *at;

		if (end && end != '/')
			continue;
		*at = '\0';
		if (mkdir(copy, mode) && errno != EEXIST)
			err = -errno;
		*at = end;
		if (!end)
			break;
	}
	free(copy);
	return err;
}

static bool is_ours(const struct stat *stat)
{
	return stat->st_uid == geteuid() && !(stat->st_mode & 022);
}

int sfu_cache_dir_open(const char *path)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
	struct stat stat;
	int dir, err;

	dir = open(path, flags);
	if (dir < 0 && errno == ENOENT) {
		err = make_dirs(path);
		if (err)
			return err;
		dir = open(path, flags);
	}
	if (dir < 0)
		return -errno;
	if (!fstat(dir, &stat) && is_ours(&stat))
		return dir;
	close(dir);
	return -EPERM;
}

static ssize_t read_all(int fd, unsigned char *bytes, size_t size)
{
	size_t at = 0;

	while (at < size) {
		const ssize_t ret = read(fd, bytes + at, size - at);

		if (ret < 0 && errno == EINTR)
			continue;
		if (ret <= 0)
			break;
		at += ret;
	}
	return at;
}

unsigned char *sfu_cache_dir_read(int dir, const char *name, size_t *size)
{
	const int fd = openat(dir, name,
			      O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	unsigned char *bytes = NULL;
	struct stat stat;

	if (fd < 0)
		return NULL;
	if (!fstat(fd, &stat) && S_ISREG(stat.st_mode) && is_ours(&stat) &&
	    (uint64_t)stat.st_size < MAX_FILE_SIZE)
		bytes = malloc(stat.st_size + 1);
	if (bytes)
		*size = read_all(fd, bytes, stat.st_size);
	close(fd);
	return bytes;
}

static int write_all(int fd, const void *bytes, size_t size)
{
	const char *at = bytes;

	while (size) {
		const ssize_t ret = write(fd, at, size);

		if (ret < 0 && errno == EINTR)
			continue;
		if (ret < 0)
			return -errno;
		at += ret;
		size -= ret;
	}
	return 0;
}

int sfu_cache_dir_write(int dir, const char *name, const void *header,
			size_t header_size, const void *bytes, size_t size)
{
	char temporary[256];
	uint64_t number;
	int fd, err;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return -EIO;
	snprintf(temporary, sizeof(temporary), ".%.200s.%016" PRIx64, name,
		 number);
	fd = openat(dir, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
		    0644);
	if (fd < 0)
		return -errno;
	err = write_all(fd, header, header_size);
	if (!err)
		err = write_all(fd, bytes, size);
	if (close(fd) && !err)
		err = -errno;
	/* No fsync(): what a crash leaves of it is seen to be damaged. */
	if (!err && renameat(dir, temporary, dir, name))
		err = -errno;
	if (err)
		unlinkat(dir, temporary, 0);
	return err;
}
