/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Open file: open the file of a mapping, and nothing else.
 *
 * The process that maps a file controls what its name refers to when the name is
 * looked up: a device, a FIFO, a file in /proc that reading empties, a file whose
 * server never answers. So use only O_PATH, which has no side effects, until the
 * file has been checked.
 *
 * Each function here can block on a file server or on the mmap lock of the observed
 * process, for as long as other users like. The daemon calls them only in readers, see
 * reader.h.
 */
#ifndef ATTACH_OPEN_FILE_H
#define ATTACH_OPEN_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

/**
 * struct mapped_file - unchecked description of a mapping
 *
 * @pid: the process.
 * @start, @end: the mapping's addresses. Both 0 if they are not known.
 * @name: the file's path as the process sees it; NULL or not absolute if there is
 *	none. Can contain any bytes.
 * @device: device of the file, makedev(3) of the numbers in /proc/PID/maps and perf
 *	events.
 * @inode: inode number; 0 if device and inode are not known, then @name is not used.
 */
struct mapped_file {
	pid_t pid;
	uint64_t start;
	uint64_t end;
	const char *name;
	dev_t device;
	ino_t inode;
};

/*
 * Bits of @flags of struct open_file.
 *
 * MAY_BLOCK	another machine or a process (FUSE) serves the file: open(2) and
 *		read(2) may never return, even after SIGKILL. Not set for virtiofs:
 *		its server is the machine's host.
 * BY_NAME	the file was found by its name, not by the mapping.
 */
#define OPEN_FILE_MAY_BLOCK	0x01U
#define OPEN_FILE_BY_NAME	0x02U

/**
 * struct open_file - a regular file
 *
 * @fd: the file, O_PATH, or -1.
 * @flags: OPEN_FILE_* bits.
 * @device, @inode: as in stat(2). On btrfs and overlayfs they differ from those of
 *	mappings of the same file: compare them only with each other.
 * @size: in bytes.
 * @allocated: bytes allocated on disk.
 * @changed: time of the last change of contents or inode (ctime).
 * @owner: owner.
 * @mode: type and permissions.
 * @mount: ID of the mount that it was found in, which is never used again; 0 if the
 *	kernel does not report it.
 */
struct open_file {
	int fd;
	unsigned int flags;
	dev_t device;
	ino_t inode;
	uint64_t size;
	uint64_t allocated;
	struct timespec changed;
	uid_t owner;
	mode_t mode;
	uint64_t mount;
};

/**
 * open_mapped_file() - find the file of a mapping
 * @mapped: description of the mapping.
 * @file: filled; @file->fd is to be closed by the caller, -1 on failure.
 *
 * Opens the file through /proc/PID/map_files, which needs CAP_CHECKPOINT_RESTORE and
 * also works for deleted files and other mount namespaces. If that fails, opens the
 * name below the process's root directory, or below ours if the process has ended,
 * and checks that device and inode are those of the mapping.
 *
 * Return: 0, or a negative errno:
 * -ENOENT	the process or the file is gone, and the name was not found.
 * -ESTALE	the name is another file by now, or its path has a symbolic link.
 * -ENOTSUP	not a regular file, or on a file system that stores no files, such
 *		as proc, sysfs, debugfs, tracefs, or of unknown type.
 * -EACCES, -EPERM	no permission.
 * other	error of openat2(2) or statx(2).
 */
int open_mapped_file(const struct mapped_file *mapped, struct open_file *file);

/**
 * open_path_file() - describe a file that was found before
 * @fd: the file, opened in any mode, preferably O_PATH; stays open.
 * @file: filled; @file->fd is a duplicate, to be closed by the caller, -1 on failure.
 *
 * Return: 0, -ENOTSUP or another negative errno, as above.
 */
int open_path_file(int fd, struct open_file *file);

/**
 * open_file_is_trusted() - tell whether only root can have written a file
 * @file: the file.
 * @pid: a process that maps it.
 *
 * Believes the owner and the mode that the file system reports only where the file
 * system could also provide set-user-ID programs, so not for media that users may
 * mount. Does not trust files that another machine or process serves, nor an overlay
 * that a user has mounted.
 *
 * Return: whether the file is trusted.
 */
bool open_file_is_trusted(const struct open_file *file, pid_t pid);

/*
 * Returns whether the file system of a file that @pid maps is also mounted here: then an
 * administrator has mounted it.
 */
bool open_file_is_here(const struct open_file *file, pid_t pid);

/*
 * Returns whether a trusted file is in the mount of / or /usr of this process. Elsewhere,
 * as in the root of a container, root may have put what strangers have made.
 */
bool open_file_is_of_system(const struct open_file *file);

/**
 * open_file_to_read() - open a file that was found for reading
 * @file: the file.
 *
 * Does not wait for the holder of a lease.
 *
 * Return: a file descriptor (O_RDONLY, O_CLOEXEC), or a negative errno:
 * -EWOULDBLOCK	another process holds a write lease, or is just opening the file:
 *		try again after a second or more.
 * -EACCES	no permission; root may not read FUSE files of other users.
 * -ESTALE	another file was opened. Not expected; the file is not used.
 */
int open_file_to_read(const struct open_file *file);

#endif /* ATTACH_OPEN_FILE_H */
