/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Open file: from what a mapping says of its file to the file itself, without
 * opening anything else.
 *
 * Whoever maps a file chooses what its name leads to by the time that we look:
 * a device, a FIFO, a file of /proc that is emptied by reading, a file whose
 * server never answers. So only O_PATH, which opens nothing, is used until it is
 * clear what is there.
 *
 * Each function here can wait for a file server, or for the lock of the process
 * that is looked at, both in the hands of others: call them in processes that
 * nobody waits for. See reader.h.
 */
#ifndef ATTACH_OPEN_FILE_H
#define ATTACH_OPEN_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

/**
 * struct mapped_file - what is known of a mapping, not checked in any way
 *
 * @pid: the process.
 * @start, @end: the mapping's addresses. Both 0 if they are not known.
 * @name: the file's path as the process sees it, NULL or not absolute if there
 *	is none. Bytes of any kind.
 * @device: of the file, as makedev(3) of what /proc/PID/maps and perf say.
 * @inode: its number. 0 if neither is known: then @name is not used.
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
 * MAY_BLOCK	the file is another machine's, or another process's (FUSE): open(2)
 *		and read(2) may never return, and SIGKILL may not help. virtiofs
 *		is not among them: who serves it holds the machine.
 * BY_NAME	found by the name, not by the mapping.
 */
#define OPEN_FILE_MAY_BLOCK	0x01U
#define OPEN_FILE_BY_NAME	0x02U

/**
 * struct open_file - a regular file
 *
 * @fd: the file, O_PATH, or -1.
 * @flags: OPEN_FILE_* bits.
 * @device, @inode: as stat(2) says them. On btrfs and overlayfs a mapping says
 *	others of the same file: compare only what comes from here.
 * @size: in bytes.
 * @allocated: bytes of it that are stored.
 * @changed: when its contents or its inode last changed.
 * @owner: its user.
 * @mode: its type and permissions.
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
};

/**
 * open_mapped_file() - find the file of a mapping
 * @mapped: what is known of it.
 * @file: set to what was found; @file->fd is to be closed, -1 on failure.
 *
 * By the mapping itself, /proc/PID/map_files, which needs CAP_CHECKPOINT_RESTORE
 * and is right also if the file is deleted, or in another mount namespace. Else
 * by the name below the process's root directory, if device and inode are
 * those of the mapping; the root directory is ours if the process has ended.
 *
 * Return: 0, or a negative errno:
 * -ENOENT	the process or the file is gone, and the name does not help.
 * -ESTALE	the name leads to another file by now, or through a symbolic link.
 * -ENOTSUP	not a regular file, or on a file system that stores no files, such
 *		as proc, sysfs, debugfs, tracefs, or of unknown kind.
 * -EACCES, -EPERM	one may not look.
 * another	as openat2(2) or statx(2) failed.
 */
int open_mapped_file(const struct mapped_file *mapped, struct open_file *file);

/**
 * open_path_file() - the same for a file that somebody has found
 * @fd: the file, opened in any way, O_PATH best; stays open.
 * @file: set to what it is; @file->fd is a duplicate, to be closed, -1 on failure.
 *
 * Return: 0, -ENOTSUP or another negative errno, as above.
 */
int open_path_file(int fd, struct open_file *file);

/**
 * open_file_is_trusted() - has root, and nobody else, said what is in it?
 * @file: the file.
 * @pid: a process that maps it.
 *
 * Whose the file is says its file system. That is believed where it could make
 * set-user-ID programs as well: not of media that users may mount. Nor is it of what
 * another machine or process serves, or of an overlay that a user has mounted over
 * that.
 */
bool open_file_is_trusted(const struct open_file *file, pid_t pid);

/**
 * open_file_to_read() - open for reading what has been found
 * @file: the file.
 *
 * Never waits for who holds a lease on it.
 *
 * Return: a file descriptor (O_RDONLY, O_CLOEXEC), or a negative errno:
 * -EWOULDBLOCK	somebody holds a write lease, or opens it for the first time:
 *		try again, after a second or more.
 * -EACCES	one may not read it; root may not read FUSE files of users.
 * -ESTALE	it is not the file that was found: never seen, never used.
 */
int open_file_to_read(const struct open_file *file);

#endif /* ATTACH_OPEN_FILE_H */
