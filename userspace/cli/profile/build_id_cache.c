// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/profile/build_id_cache.h"
#include "convert/snapshot/snapshot.h"

#define TOP	".debug"
#define LINKS	".build-id"
#define FOLDER	"sframe-unwind"	/* for files whose path is not used */

/* Longer paths are not used: programs of other users could fill the disk with directories. */
#define PATH_PARTS_MAX	16u
#define PATH_LENGTH_MAX	1024u

#define COPY_ONCE	(16u << 20)	/* bytes, before looking for interruptions */

#define ID_TEXT	(2 * SFRAME_UNWIND_PROFILE_BUILD_ID + 1)

static void print_id(char *text, const struct history_object *known)
{
	text[0] = '\0';
	for (uint32_t i = 0; i < known->build_id_size; i++)
		snprintf(text + 2 * i, 3, "%02x", known->build_id[i]);
}

/* --- directories */

/* Returns whether only root and the user of this process can change a directory. */
static bool is_ours(const struct stat *status)
{
	return (!status->st_uid || status->st_uid == geteuid()) &&
	       !(status->st_mode & (S_IWGRP | S_IWOTH));
}

/* Returns a descriptor of a directory, or -errno; -EPERM if others may change it. */
static int open_ours(int at, const char *name, int flags)
{
	const int fd = openat(at, name, O_DIRECTORY | O_CLOEXEC | flags);
	struct stat status;
	int ret = 0;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &status))
		ret = -errno;
	else if (!is_ours(&status))
		ret = -EPERM;
	if (ret)
		close(fd);
	return ret ? ret : fd;
}

/* The same; the directory is made if there is none. */
static int make_ours(int at, const char *name, int flags)
{
	if (mkdirat(at, name, 0700) && errno != EEXIST)
		return -errno;
	return open_ours(at, name, flags);
}

/*
 * Returns a descriptor of a directory below the cache's, whose path is relative; or -errno.
 * Links in the path are not followed.
 */
static int make_path(const struct build_id_cache *cache, const char *path)
{
	int fd = fcntl(cache->top, F_DUPFD_CLOEXEC, 3);
	char part[NAME_MAX + 1];

	if (fd < 0)
		return -errno;
	while (*path) {
		const size_t length = strcspn(path, "/");
		const int at = fd;

		if (length > NAME_MAX) {
			fd = -ENAMETOOLONG;
		} else {
			memcpy(part, path, length);
			part[length] = '\0';
			fd = make_ours(at, part, O_NOFOLLOW);
		}
		close(at);
		if (fd < 0)
			return fd;
		path += length;
		path += *path == '/';
	}
	return fd;
}

int build_id_cache_open(struct build_id_cache *cache, const char *command,
			const char *home)
{
	int fd;

	if (!home || !*home)
		return complain("%s: --build-id: HOME is not set", command);
	cache->home = home;
	fd = open_ours(AT_FDCWD, home, 0);
	if (fd >= 0) {
		/* If this is a link, it is ours. */
		cache->top = make_ours(fd, TOP, 0);
		close(fd);
	}
	if (fd == -EPERM || (fd >= 0 && cache->top == -EPERM))
		return complain("%s: --build-id: other users may change what is in %s%s: set HOME to a folder of your own",
				command, home, fd >= 0 ? "/" TOP : "");
	if (fd < 0 || cache->top < 0)
		return complain("%s: --build-id: %s%s: %s", command, home,
				fd >= 0 ? "/" TOP : "",
				strerror(fd < 0 ? -fd : -cache->top));
	return CLI_OK;
}

int build_id_cache_try(struct build_id_cache *cache, const char *home)
{
	int fd;

	cache->top = -1;
	if (!home || !*home)
		return -EDESTADDRREQ;
	cache->home = home;
	fd = open_ours(AT_FDCWD, home, 0);
	if (fd < 0)
		return fd;
	cache->top = make_ours(fd, TOP, 0);
	close(fd);
	return cache->top < 0 ? cache->top : 0;
}

void build_id_cache_close(struct build_id_cache *cache)
{
	if (cache->top >= 0)
		close(cache->top);
	cache->top = -1;
}

/* --- files */

/* Check the build ID: the file may not be the mapped one, or change while it is copied. */
static bool is_wanted(int fd, const struct history_object *known)
{
	struct sfu_snapshot headers;

	return !sfu_snapshot_headers(fd, &headers) && !headers.elf_status &&
	       headers.elf.build_id_size == known->build_id_size &&
	       !memcmp(headers.elf.build_id, known->build_id,
		       known->build_id_size);
}

static bool has_file(int at, const char *path,
		     const struct history_object *known)
{
	const int fd = openat(at, path, O_RDONLY | O_NONBLOCK | O_NOCTTY |
					O_CLOEXEC);
	struct stat status;
	bool is_good;

	if (fd < 0)
		return false;
	is_good = !fstat(fd, &status) && S_ISREG(status.st_mode) &&
		  is_wanted(fd, known);
	close(fd);
	return is_good;
}

bool build_id_cache_has(const struct build_id_cache *cache,
			const struct history_object *known)
{
	char id[ID_TEXT], path[sizeof(LINKS) + ID_TEXT + 8];

	print_id(id, known);
	snprintf(path, sizeof(path), LINKS "/%.2s/%s/elf", id, id + 2);
	return has_file(cache->top, path, known);
}

static int copy_bytes(const struct build_id_cache *cache, int to,
		      const struct object_file *file)
{
	uint64_t left = file->size;
	off_t offset = 0;

	while (left) {
		ssize_t got;

		if (*cache->is_interrupted)
			return -EINTR;
		got = sendfile(to, file->fd, &offset,
			       left < COPY_ONCE ? left : COPY_ONCE);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got ? -errno : -ESTALE;
		left -= got;
	}
	return 0;
}

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
	       a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* Without @known, the file may grow meanwhile, and need not be an ELF file. */
static int copy_file(const struct build_id_cache *cache, int to,
		     const struct history_object *known,
		     const struct object_file *file)
{
	struct stat before, after;
	int ret;

	if (fstat(file->fd, &before))
		return -errno;
	ret = copy_bytes(cache, to, file);
	if (ret)
		return ret;
	if (fstat(file->fd, &after))
		return -errno;
	if (known && (!is_same(&before, &after) ||
		      (uint64_t)after.st_size != file->size ||
		      !is_wanted(to, known)))
		return -ESTALE;
	/* Some file systems tell only now that there is no room. There may be very many others. */
	return known && fsync(to) ? -errno : 0;
}

/* A name that no other recorder uses. */
static int print_temporary(char *name, size_t size)
{
	uint64_t number;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return -errno;
	snprintf(name, size, "new.%016llx", (unsigned long long)number);
	return 0;
}

/* Copy a file to a name of its own, and only then to the one in the cache. */
static int store(const struct build_id_cache *cache, int at, const char *name,
		 const struct history_object *known,
		 const struct object_file *file)
{
	char temporary[32];
	int fd, ret = print_temporary(temporary, sizeof(temporary));

	if (ret)
		return ret;
	fd = openat(at, temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	ret = copy_file(cache, fd, known, file);
	if (!ret && renameat(at, temporary, at, name))
		ret = -errno;
	if (ret)
		unlinkat(at, temporary, 0);
	close(fd);
	return ret;
}

/* Put a file into a folder of the cache. Returns 0 or -errno. */
static int store_in(const struct build_id_cache *cache, const char *folder,
		    const struct history_object *known,
		    const struct object_file *file)
{
	const int at = make_path(cache, folder);
	int ret;

	if (at < 0)
		return at;
	/* Another recorder may have been faster, or was ended before it made the link. */
	ret = has_file(at, "elf", known) ? 0 : store(cache, at, "elf", known, file);
	close(at);
	return ret;
}

/* Replace what is in the link's place, at once: a file in it may be looked for just now. */
static int replace_link(int at, const char *to, const char *name)
{
	char temporary[32];
	int ret = print_temporary(temporary, sizeof(temporary));

	if (!ret && symlinkat(to, at, temporary))
		ret = -errno;
	if (!ret && renameat(at, temporary, at, name)) {
		ret = -errno;
		unlinkat(at, temporary, 0);
	}
	return ret;
}

static int make_link(const struct build_id_cache *cache, const char *folder,
		     const char *id)
{
	char to[PATH_LENGTH_MAX + ID_TEXT + 8], path[sizeof(LINKS) + 4];
	int at, ret;

	snprintf(to, sizeof(to), "../../%s", folder);
	snprintf(path, sizeof(path), LINKS "/%.2s", id);
	at = make_path(cache, path);
	if (at < 0)
		return at;
	ret = symlinkat(to, at, id + 2) ? -errno : 0;
	/* It leads to no file with the build ID, or another recorder has made the same. */
	if (ret == -EEXIST)
		ret = replace_link(at, to, id + 2);
	close(at);
	return ret;
}

/*
 * Returns whether a name can be a path below the cache, where it means nothing else. It
 * cannot if the file is deleted, as the kernel then puts something behind the name.
 */
static bool is_path(const char *name)
{
	static const char deleted[] = " (deleted)";
	const size_t length = strlen(name);
	unsigned int parts = 0;

	if (*name != '/' || length > PATH_LENGTH_MAX ||
	    !strncmp(name, "/" FOLDER "/", strlen("/" FOLDER "/")) ||
	    !strncmp(name, "/" LINKS "/", strlen("/" LINKS "/")) ||
	    (length > strlen(deleted) &&
	     !strcmp(name + length - strlen(deleted), deleted)))
		return false;
	while (*name == '/') {
		const size_t part = strcspn(++name, "/");

		if (!part || part > NAME_MAX || ++parts > PATH_PARTS_MAX ||
		    (part <= 2 && !strncmp(name, "..", part)))
			return false;
		name += part;
	}
	return true;
}

int build_id_cache_put(const struct build_id_cache *cache,
		       const struct history_object *known,
		       const struct object_file *file)
{
	char id[ID_TEXT], folder[PATH_LENGTH_MAX + ID_TEXT];
	int ret = -ENOTDIR;

	print_id(id, known);
	if (is_path(known->name)) {
		snprintf(folder, sizeof(folder), "%s/%s", known->name + 1, id);
		ret = store_in(cache, folder, known, file);
	}
	/* Other things may be in the way, such as the file of a path that was a folder's. */
	if (ret == -ENOTDIR || ret == -EISDIR || ret == -EPERM ||
	    ret == -ENAMETOOLONG) {
		snprintf(folder, sizeof(folder), FOLDER "/%s", id);
		ret = store_in(cache, folder, known, file);
	}
	return ret ? ret : make_link(cache, folder, id);
}

int build_id_cache_put_as(const struct build_id_cache *cache, const char *folder,
			  const char *name, const struct object_file *file)
{
	const int at = make_path(cache, folder);
	int ret;

	if (at < 0)
		return at;
	ret = store(cache, at, name, NULL, file);
	close(at);
	return ret;
}
