// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * First check that only root and the user can change the directories from the root
 * down to the cache's. Then nobody else can replace any of them, and opening the path
 * later opens the directory that was checked.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "cache_dir.h"
#include "convert/base/message.h"

#define ROOT_DIR	"/var/cache/sframe_unwind/sections"
#define USER_DIR	"sframe_unwind/sections"

/* Files made on behalf of others are read-only, which tells them from the others. */
#define MODE		0600
#define MODE_OF_OTHERS	0400

/* More than any section can have. */
#define MAX_FILE_SIZE	(1ULL << 33)

int sfu_cache_dir_path(const char *given, char **path)
{
	const char *cache = secure_getenv("XDG_CACHE_HOME");
	const char *home = secure_getenv("HOME");
	int length;

	if (given)
		length = asprintf(path, "%s", given);
	else if (!geteuid())
		length = asprintf(path, "%s", ROOT_DIR);
	else if (cache && cache[0] == '/')
		length = asprintf(path, "%s/%s", cache, USER_DIR);
	else if (home && home[0] == '/')
		length = asprintf(path, "%s/.cache/%s", home, USER_DIR);
	else
		return sfu_message_fail(ENOENT, "no cache: neither XDG_CACHE_HOME nor HOME is an absolute path");
	if (length < 0)
		return sfu_message_fail(ENOMEM, "no memory");
	/* With a trailing slash lstat() and open() would follow a symbolic link. */
	while (length > 1 && (*path)[length - 1] == '/')
		(*path)[--length] = '\0';
	return 0;
}

static int fail_errno(const char *path, int error)
{
	return sfu_message_fail(error, "%s: %s", path, strerror(error));
}

/* Returns whether a directory above @path ends just before @at. */
static bool is_above(const char *path, const char *at)
{
	return at > path && *at == '/' && at[-1] != '/';
}

/* Create all missing directories of @path. */
static int make_dirs(const char *path)
{
	const mode_t above = geteuid() ? 0700 : 0755;
	char *copy = strdup(path);
	int err = 0;

	if (!copy)
		return sfu_message_fail(ENOMEM, "no memory");
	for (char *at = copy; !err && *at; at++) {
		if (!is_above(copy, at))
			continue;
		*at = '\0';
		if (mkdir(copy, above) && errno != EEXIST)
			err = fail_errno(copy, errno);
		*at = '/';
	}
	if (!err && mkdir(copy, 0700) && errno != EEXIST)
		err = fail_errno(copy, errno);
	free(copy);
	return err;
}

/* Returns whether only root and this user can rename or remove files in a directory. */
static bool is_safe_above(const struct stat *stat)
{
	if (stat->st_uid && stat->st_uid != geteuid())
		return false;
	/* In sticky directories only the owner of a file can rename or remove it. */
	if (S_ISLNK(stat->st_mode) || stat->st_mode & S_ISVTX)
		return true;
	return !(stat->st_mode & S_IWOTH) &&
	       (!(stat->st_mode & S_IWGRP) || !stat->st_gid ||
		stat->st_gid == getegid());
}

static int check_above(const char *path)
{
	char *copy = strdup(path);
	struct stat stat;
	int err = 0;

	if (!copy)
		return sfu_message_fail(ENOMEM, "no memory");
	if (lstat("/", &stat) || !is_safe_above(&stat))
		err = sfu_message_fail(EPERM, "%s: others can write to /", path);
	for (char *at = copy; !err && *at; at++) {
		if (!is_above(copy, at))
			continue;
		*at = '\0';
		if (lstat(copy, &stat))
			err = fail_errno(copy, errno);
		else if (!is_safe_above(&stat))
			err = sfu_message_fail(EPERM, "%s: others can write to %s above it",
					       path, copy);
		*at = '/';
	}
	free(copy);
	return err;
}

bool sfu_cache_dir_is_ours(const struct stat *stat)
{
	return stat->st_uid == geteuid() && !(stat->st_mode & 022);
}

bool sfu_cache_dir_is_of_others(const struct stat *stat)
{
	return !(stat->st_mode & S_IWUSR);
}

/* Open the directory, whose path has been checked by check_above(). */
static int open_checked(const char *path)
{
	struct stat stat;
	int dir;

	dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0)
		return fail_errno(path, errno);
	if (fstat(dir, &stat) || !sfu_cache_dir_is_ours(&stat)) {
		close(dir);
		return sfu_message_fail(EPERM, "%s: belongs to another user, or others can write to it",
					path);
	}
	/* Earlier versions made it readable by others. */
	if (stat.st_mode & 077 && fchmod(dir, 0700)) {
		const int error = errno;

		close(dir);
		return fail_errno(path, error);
	}
	return dir;
}

int sfu_cache_dir_open(const char *path)
{
	struct stat stat;
	char *real;
	int err;

	if (lstat(path, &stat)) {
		err = errno == ENOENT ? make_dirs(path) :
					fail_errno(path, errno);
		if (err)
			return err;
		if (lstat(path, &stat))
			return fail_errno(path, errno);
	}
	if (S_ISLNK(stat.st_mode))
		return sfu_message_fail(ELOOP, "%s: is a link", path);
	/* Check the path as given, with its symbolic links, and then the resolved one. */
	err = path[0] == '/' ? check_above(path) : 0;
	if (err)
		return err;
	real = realpath(path, NULL);
	if (!real)
		return fail_errno(path, errno);
	err = check_above(real);
	if (!err)
		err = open_checked(real);
	free(real);
	return err;
}

/* --- files */

static size_t read_all(int fd, unsigned char *bytes, size_t size)
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

int sfu_cache_dir_read(int dir, const char *name, enum cache_use use,
		       unsigned char **bytes, size_t *size)
{
	const int fd = openat(dir, name,
			      O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat stat;
	int err = 0;

	*bytes = NULL;
	if (fd < 0)
		return -errno;
	if (fstat(fd, &stat))
		err = -errno;
	else if (!S_ISREG(stat.st_mode) || !sfu_cache_dir_is_ours(&stat))
		err = -EPERM;
	else if ((uint64_t)stat.st_size > MAX_FILE_SIZE)
		err = -EFBIG;
	if (!err) {
		*bytes = malloc(stat.st_size + 1);
		err = *bytes ? 0 : -ENOMEM;
	}
	if (!err)
		*size = read_all(fd, *bytes, stat.st_size);
	/* If this fails, the file is only evicted earlier. */
	if (!err && use != CACHE_LOOK)
		futimens(fd, NULL);
	if (!err && use == CACHE_USE && sfu_cache_dir_is_of_others(&stat) &&
	    fchmod(fd, MODE))
		errno = 0;
	close(fd);
	return err;
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

int sfu_cache_dir_write(int dir, const char *name, const void *bytes,
			size_t size, bool is_of_others)
{
	char temporary[sizeof(CACHE_TEMPORARY_PREFIX) + 16];
	uint64_t number;
	int fd, err;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return -EIO;
	snprintf(temporary, sizeof(temporary),
		 CACHE_TEMPORARY_PREFIX "%016" PRIx64, number);
	fd = openat(dir, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
		    is_of_others ? MODE_OF_OTHERS : MODE);
	if (fd < 0)
		return -errno;
	err = write_all(fd, bytes, size);
	if (close(fd) && !err)
		err = -errno;
	/* No fsync(): a file that a crash damages is detected by its digest. */
	if (!err && renameat(dir, temporary, dir, name))
		err = -errno;
	if (err)
		unlinkat(dir, temporary, 0);
	return err;
}
