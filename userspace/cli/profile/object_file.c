// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "cli/profile/object_file.h"
#include "lib/memory_file.h"

/* Most bytes of a file: these, and SIZE_RATIO for each stored one, as file systems compress. */
#define SIZE_FREE	(64ULL << 20)
#define SIZE_RATIO	8u

bool object_file_may_hang(const struct open_file *found)
{
	struct statfs status;

	return found->flags & OPEN_FILE_MAY_BLOCK &&
	       !fstatfs(found->fd, &status) &&
	       status.f_type == FUSE_SUPER_MAGIC;
}

/* --- trust */

void object_file_path(int fd, char path[PATH_MAX])
{
	char link[32];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, path, PATH_MAX - 1);
	path[length > 0 ? length : 0] = '\0';
}

static bool look(const char *path, struct statx *status)
{
	return !statx(AT_FDCWD, path,
		      AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT |
		      AT_STATX_DONT_SYNC, STATX_BASIC_STATS, status);
}

/*
 * Returns whether only root and this user can change what is in a directory; @is_above:
 * or at least cannot replace what is theirs.
 */
static bool is_directory_ours(const struct statx *status, bool is_above)
{
	const uid_t user = geteuid();
	/* Users have groups of their own; root's may have many members. */
	const mode_t others = user ? S_IWOTH : S_IWGRP | S_IWOTH;

	return S_ISDIR(status->stx_mode) &&
	       (!status->stx_uid || status->stx_uid == user) &&
	       (!(status->stx_mode & others) ||
		(is_above && status->stx_mode & S_ISVTX));
}

/* Returns whether the file is at a path that is ours. */
static bool is_path_ours(const struct open_file *found)
{
	struct statx status;
	char path[PATH_MAX], *slash;

	object_file_path(found->fd, path);
	if (path[0] != '/' || !look("/", &status) ||
	    !is_directory_ours(&status, true))
		return false;
	for (slash = strchr(path + 1, '/'); slash;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (!look(path, &status) ||
		    !is_directory_ours(&status, strchr(slash + 1, '/')))
			return false;
		*slash = '/';
	}
	/* The path may be one of another mount namespace, and another file here. */
	return look(path, &status) && status.stx_ino == found->inode &&
	       makedev(status.stx_dev_major, status.stx_dev_minor) ==
	       found->device;
}

bool object_file_is_ours(const struct open_file *found)
{
	const uid_t user = geteuid();

	if (user && found->owner == user)
		return !(found->mode & S_IWOTH) &&
		       !object_file_may_hang(found) && is_path_ours(found);
	return open_file_is_trusted(found, getpid()) &&
	       open_file_is_of_system(found) && is_path_ours(found);
}

/* --- opening */

/* An overlay that is mounted here was mounted by an administrator, with what is below it. */
static bool may_block(const struct open_file *found, pid_t pid)
{
	struct statfs status;

	return found->flags & OPEN_FILE_MAY_BLOCK &&
	       (fstatfs(found->fd, &status) ||
		status.f_type != OVERLAYFS_SUPER_MAGIC ||
		!open_file_is_here(found, pid));
}

/*
 * What may block is not opened: it would ask its server to open the file, and closing it
 * would ask once more.
 */
static int open_found(const struct object_file *file,
		      const struct open_file *found)
{
	if (file->may_block && !file->is_ours)
		return fcntl(found->fd, F_DUPFD_CLOEXEC, 3);
	return open_file_to_read(found);
}

/* Open for reading what @path_fd, which is closed, refers to; @pid has it mounted. */
static bool take(struct object_file *file, int path_fd, bool is_of_others,
		 pid_t pid)
{
	struct open_file found;

	*file = (struct object_file){ .fd = -1 };
	if (path_fd < 0)
		return false;
	if (!open_path_file(path_fd, &found)) {
		file->device = found.device;
		file->inode = found.inode;
		file->size = found.size;
		file->stored = found.allocated;
		file->owner = found.owner;
		file->user = found.owner;
		file->is_ours = object_file_is_ours(&found);
		file->may_hang = object_file_may_hang(&found);
		file->may_block = may_block(&found, pid);
		if (!is_of_others || !file->may_hang)
			file->fd = open_found(file, &found);
		close(found.fd);
	}
	close(path_fd);
	return file->fd >= 0;
}

bool object_file_open(struct object_file *file, const char *path)
{
	/* A name may lead through /proc/PID/root to what a user has mounted. */
	const struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_NO_MAGICLINKS,
	};

	/* Root does not wait for the process of a user that serves a file system. */
	return take(file, syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how)),
		    !geteuid(), getpid());
}

bool object_file_open_again(struct object_file *file, int fd)
{
	return take(file, fcntl(fd, F_DUPFD_CLOEXEC, 0), false, getpid());
}

bool object_file_open_mapped(struct object_file *file,
			     const struct history_object *known)
{
	const struct mapped_file mapped = {
		.pid = known->pid,
		.start = known->start,
		.end = known->end,
	};
	struct open_file found;

	*file = (struct object_file){ .fd = -1 };
	if (!known->is_live || open_mapped_file(&mapped, &found))
		return false;
	return take(file, found.fd, true, known->pid);
}

bool object_file_open_in_root(struct object_file *file,
			      const struct history_object *known)
{
	const struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS |
			   RESOLVE_NO_SYMLINKS,
	};
	char path[64];
	int root, fd;

	*file = (struct object_file){ .fd = -1 };
	snprintf(path, sizeof(path), "/proc/%u/root", known->pid);
	root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return false;
	fd = syscall(SYS_openat2, root, known->name, &how, sizeof(how));
	close(root);
	return take(file, fd, true, known->pid);
}

/* --- copying */

uint64_t object_file_size_max(const struct object_file *file)
{
	return SIZE_FREE + SIZE_RATIO * file->stored;
}

/* Copy @size bytes at @offset, to the same offset. */
static bool copy_part(struct object_file *file, int from, int copy,
		      off_t offset, off_t size)
{
	file->stored += size;
	if (lseek(copy, offset, SEEK_SET) != offset)
		return false;
	while (size) {
		const ssize_t got = sendfile(copy, from, &offset, size);

		if (got <= 0)
			return false;
		size -= got;
	}
	return true;
}

/* Copy what is not in holes. */
static bool copy_parts(struct object_file *file, int from, int copy)
{
	const off_t size = file->size;
	off_t hole = 0, data;

	file->stored = 0;
	if (ftruncate(copy, size))
		return false;
	while (hole < size) {
		data = lseek(from, hole, SEEK_DATA);
		if (data < 0)
			return errno == ENXIO;	/* a hole up to the end */
		hole = lseek(from, data, SEEK_HOLE);
		/* Equal if there is a hole by now: the file is being changed. */
		if (hole <= data)
			return false;
		hole = hole < size ? hole : size;
		if (data < hole &&
		    !copy_part(file, from, copy, data, hole - data))
			return false;
	}
	return true;
}

/* Returns a descriptor to read from, or a negative one. */
static int open_to_copy(int fd)
{
	const int flags = fcntl(fd, F_GETFL);
	struct open_file found;
	int ret;

	if (flags < 0 || !(flags & O_PATH))
		return fcntl(fd, F_DUPFD_CLOEXEC, 3);
	ret = open_path_file(fd, &found);
	if (ret)
		return ret;
	ret = open_file_to_read(&found);
	close(found.fd);
	return ret;
}

/* Files that are written to have grown since they were opened. */
static void look_again(struct object_file *file, int from)
{
	struct stat status;

	if (!fstat(from, &status) && (uint64_t)status.st_size > file->size &&
	    (uint64_t)status.st_size <= SIZE_FREE)
		file->size = status.st_size;
}

bool object_file_copy(struct object_file *file)
{
	const int from = open_to_copy(file->fd);
	const int copy = memory_file_create("object");
	bool is_copied;

	if (from >= 0)
		look_again(file, from);
	is_copied = from >= 0 && copy >= 0 && copy_parts(file, from, copy) &&
		    !fcntl(copy, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW |
			   F_SEAL_SHRINK | F_SEAL_SEAL);
	if (from >= 0)
		close(from);
	if (!is_copied) {
		if (copy >= 0)
			close(copy);
		return false;
	}
	close(file->fd);
	file->fd = copy;
	return true;
}

void object_file_close(struct object_file *file)
{
	if (file->fd >= 0)
		close(file->fd);
	file->fd = -1;
}
