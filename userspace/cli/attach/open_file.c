// SPDX-License-Identifier: GPL-2.0
/*
 * Open file: open the file of a mapping.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "file_system.h"
#include "open_file.h"

/* Flags for statx(2) without a request to the file's server, which may never answer. */
#define LOOK (AT_EMPTY_PATH | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC)

/* A mount ID that is never reused; since Linux 6.8. */
#ifndef STATX_MNT_ID_UNIQUE
#define STATX_MNT_ID_UNIQUE 0x4000U
#endif

/* Mounts whose kind is remembered. */
#define NR_MOUNTS 64

/* --- properties of a file */

/* Returns the mount ID of @fd, or 0 if the kernel does not report it. */
static uint64_t mount_of(int fd)
{
	struct statx stat;

	if (statx(fd, "", LOOK, STATX_MNT_ID, &stat) ||
	    !(stat.stx_mask & STATX_MNT_ID))
		return 0;
	return stat.stx_mnt_id;
}

/*
 * Returns the kind of @fd's file system; @stat is that of @fd. The result is cached by
 * unique mount ID, because file_system_kind() asks the server of a served file system.
 */
static int kind_of(int fd, const struct statx *stat)
{
	static struct {
		uint64_t mount;
		int kind;
	} kinds[NR_MOUNTS];
	const uint64_t mount = stat->stx_mnt_id;
	const size_t slot = mount % NR_MOUNTS;
	int kind;

	if (!(stat->stx_mask & STATX_MNT_ID_UNIQUE))
		return file_system_kind(fd, stat->stx_mask & STATX_MNT_ID ?
					mount : 0);
	if (kinds[slot].mount == mount)
		return kinds[slot].kind;
	kind = file_system_kind(fd, mount_of(fd));
	if (kind >= 0) {
		kinds[slot].mount = mount;
		kinds[slot].kind = kind;
	}
	return kind;
}

/* Fill in @file from the descriptor that it has. */
static int describe(struct open_file *file)
{
	struct statx stat;
	int kind;

	if (statx(file->fd, "", LOOK, STATX_BASIC_STATS | STATX_MNT_ID_UNIQUE,
		  &stat))
		return -errno;
	if (!S_ISREG(stat.stx_mode))
		return -ENOTSUP;
	kind = kind_of(file->fd, &stat);
	if (kind < 0)
		return kind;
	if (kind == FILE_SYSTEM_NONE)
		return -ENOTSUP;
	if (kind == FILE_SYSTEM_SERVED)
		file->flags |= OPEN_FILE_MAY_BLOCK;
	file->device = makedev(stat.stx_dev_major, stat.stx_dev_minor);
	file->inode = stat.stx_ino;
	file->size = stat.stx_size;
	file->allocated = 512 * stat.stx_blocks;
	file->changed = (struct timespec){
		.tv_sec = stat.stx_ctime.tv_sec,
		.tv_nsec = stat.stx_ctime.tv_nsec,
	};
	file->owner = stat.stx_uid;
	file->mode = stat.stx_mode;
	file->mount = stat.stx_mask & STATX_MNT_ID_UNIQUE ? stat.stx_mnt_id : 0;
	return 0;
}

/* If @err is not 0, close the file. Returns @err. */
static int close_on_error(struct open_file *file, int err)
{
	if (err && file->fd >= 0) {
		close(file->fd);
		file->fd = -1;
	}
	return err;
}

int open_path_file(int fd, struct open_file *file)
{
	*file = (struct open_file){ .fd = fcntl(fd, F_DUPFD_CLOEXEC, 3) };
	if (file->fd < 0)
		return -errno;
	return close_on_error(file, describe(file));
}

/* --- by mapping and by name */

/* A magic link to the mapped file, even if it is deleted or in another namespace. */
static int open_mapping(const struct mapped_file *mapped)
{
	char path[96];
	int fd;

	snprintf(path, sizeof(path),
		 "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)mapped->pid,
		 mapped->start, mapped->end);
	fd = open(path, O_PATH | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int open_root(pid_t pid)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/root", (int)pid);
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 && (errno == ENOENT || errno == ESRCH))
		fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/*
 * Paths of mappings contain no symbolic links. If there is one now, it was created
 * later, so refuse it.
 */
static int open_name(const struct mapped_file *mapped)
{
	const struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS |
			   RESOLVE_NO_SYMLINKS,
	};
	const int root = open_root(mapped->pid);
	int fd, err;

	if (root < 0)
		return root;
	fd = syscall(SYS_openat2, root, mapped->name, &how, sizeof(how));
	err = -errno;
	close(root);
	if (fd >= 0)
		return fd;
	return err == -ELOOP ? -ESTALE : err;
}

/*
 * Returns whether @file is the mapped file. Mappings report the device of the file
 * system, which on btrfs differs from the file's st_dev.
 */
static bool is_mapped(const struct open_file *file,
		      const struct mapped_file *mapped)
{
	dev_t device;

	if (file->inode != mapped->inode)
		return false;
	return file->device == mapped->device ||
	       (!file_system_device(mapped->pid, mount_of(file->fd),
				    &device) &&
		device == mapped->device);
}

int open_mapped_file(const struct mapped_file *mapped, struct open_file *file)
{
	int err;

	*file = (struct open_file){ .fd = -ENOENT };
	if (mapped->start < mapped->end)
		file->fd = open_mapping(mapped);
	if (file->fd >= 0)
		return close_on_error(file, describe(file));
	err = file->fd;
	file->fd = -1;
	if (!mapped->name || mapped->name[0] != '/' || !mapped->inode)
		return err;
	*file = (struct open_file){
		.fd = open_name(mapped),
		.flags = OPEN_FILE_BY_NAME,
	};
	if (file->fd < 0) {
		err = file->fd;
		file->fd = -1;
		return err;
	}
	err = describe(file);
	if (!err && !is_mapped(file, mapped))
		err = -ESTALE;
	return close_on_error(file, err);
}

/* --- trust */

bool open_file_is_here(const struct open_file *file, pid_t pid)
{
	return file_system_is_here(pid, mount_of(file->fd));
}

bool open_file_is_trusted(const struct open_file *file, pid_t pid)
{
	struct statfs stat;

	if (file->owner || file->mode & (S_IWGRP | S_IWOTH) ||
	    fstatfs(file->fd, &stat))
		return false;
	/* A user can mount the same file system once more with nosuid. */
	if (stat.f_flags & ST_NOSUID &&
	    !file_system_is_suid_here(pid, mount_of(file->fd)))
		return false;
	return !(file->flags & OPEN_FILE_MAY_BLOCK) ||
	       (stat.f_type == OVERLAYFS_SUPER_MAGIC &&
		open_file_is_here(file, pid));
}

bool open_file_is_of_system(const struct open_file *file)
{
	static const char *const places[] = { "/", "/usr" };
	const uint64_t mount = mount_of(file->fd);
	struct statx stat;

	for (size_t i = 0; mount && i < sizeof(places) / sizeof(places[0]); i++)
		if (!statx(AT_FDCWD, places[i],
			   AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC, STATX_MNT_ID,
			   &stat) &&
		    stat.stx_mask & STATX_MNT_ID && stat.stx_mnt_id == mount)
			return true;
	return false;
}

/* --- reading */

int open_file_to_read(const struct open_file *file)
{
	struct stat stat;
	char path[32];
	int fd, err = 0;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", file->fd);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	/* O_NONBLOCK was for leases only: reads must wait for the disk. */
	if (fcntl(fd, F_SETFL, 0) || fstat(fd, &stat))
		err = -errno;
	else if (stat.st_ino != file->inode || stat.st_dev != file->device)
		err = -ESTALE;
	if (err)
		close(fd);
	return err ? err : fd;
}
