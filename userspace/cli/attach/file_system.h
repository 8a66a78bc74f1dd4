/* SPDX-License-Identifier: GPL-2.0 */
/*
 * File system: whether it stores files, and who answers for it.
 */
#ifndef ATTACH_FILE_SYSTEM_H
#define ATTACH_FILE_SYSTEM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * What a file system is.
 *
 * NONE		stores no files: proc, sysfs, debugfs and what else makes up their
 *		contents when they are read; or of a kind that is not known.
 * LOCAL	stores files on this machine, or has them from the machine's host.
 * SERVED	has them from another machine, or from a process on this one (FUSE):
 *		it answers when they like to. So may what lies below an overlay.
 */
enum file_system_kind {
	FILE_SYSTEM_NONE,
	FILE_SYSTEM_LOCAL,
	FILE_SYSTEM_SERVED,
};

/**
 * file_system_kind() - of an open file
 * @fd: the file, O_PATH or not.
 * @mount: ID of its mount, as statx(2) tells it, or 0.
 *
 * Asks the file system: those that are served may never answer.
 *
 * Return: enum file_system_kind, or a negative errno of fstatfs(2).
 */
int file_system_kind(int fd, uint64_t mount);

/**
 * file_system_device() - device number of a mounted file system
 * @pid: a process that has it mounted; ours is asked if that has ended.
 * @mount: ID of the mount.
 * @device: set to it. stat(2) says another one of files in subvolumes.
 *
 * Return: 0, or -ENOENT if there is no such mount.
 */
int file_system_device(pid_t pid, uint64_t mount, dev_t *device);

/*
 * Is what @pid has mounted there mounted here, too? Then by an administrator: what
 * others mount, in user namespaces of theirs, does not come here.
 */
bool file_system_is_here(pid_t pid, uint64_t mount);

/*
 * And so that set-user-ID programs in it count? Whoever says what is in it could be
 * root by them.
 */
bool file_system_is_suid_here(pid_t pid, uint64_t mount);

#endif /* ATTACH_FILE_SYSTEM_H */
