/* SPDX-License-Identifier: GPL-2.0 */
/*
 * File system: its kind, and whether an administrator has mounted it.
 */
#ifndef ATTACH_FILE_SYSTEM_H
#define ATTACH_FILE_SYSTEM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Kinds of file systems.
 *
 * NONE		stores no files: proc, sysfs, debugfs and others that generate
 *		contents on read; or an unknown type.
 * LOCAL	stores files on this machine, or gets them from the machine's host.
 * SERVED	gets files from another machine, or from a process on this one
 *		(FUSE), which may never answer. An overlay counts as SERVED, because
 *		one may lie below it.
 */
enum file_system_kind {
	FILE_SYSTEM_NONE,
	FILE_SYSTEM_LOCAL,
	FILE_SYSTEM_SERVED,
};

/**
 * file_system_kind() - kind of an open file's file system
 * @fd: the file, O_PATH or not.
 * @mount: ID of its mount, from statx(2), or 0.
 *
 * Calls fstatfs(2), which may never return if the file system is SERVED.
 *
 * Return: enum file_system_kind, or a negative errno of fstatfs(2).
 */
int file_system_kind(int fd, uint64_t mount);

/**
 * file_system_device() - device number of a mounted file system
 * @pid: a process with the mount in its namespace; if it has ended, the mount is
 *	looked up in ours.
 * @mount: ID of the mount.
 * @device: set to the device number. stat(2) returns another one for files in
 *	subvolumes.
 *
 * Return: 0, or -ENOENT if there is no such mount.
 */
int file_system_device(pid_t pid, uint64_t mount, dev_t *device);

/*
 * Returns whether the file system of @pid's mount is also mounted in our namespace.
 * Then an administrator has mounted it: mounts that users make in their own user
 * namespaces do not propagate here.
 */
bool file_system_is_here(pid_t pid, uint64_t mount);

/*
 * Returns whether it is also mounted here without nosuid. Then whoever controls its
 * contents could become root by a set-user-ID program, and is as trusted as root.
 */
bool file_system_is_suid_here(pid_t pid, uint64_t mount);

#endif /* ATTACH_FILE_SYSTEM_H */
