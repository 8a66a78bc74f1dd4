/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Open the files of objects. Other users may have put anything where their names
 * lead to, and may change the files while they are read.
 */
#ifndef CLI_PROFILE_OBJECT_FILE_H
#define CLI_PROFILE_OBJECT_FILE_H

#include <limits.h>
#include <sys/types.h>

#include "cli/attach/open_file.h"
#include "cli/profile/history.h"

/**
 * struct object_file - a regular file
 *
 * @fd: the file, or -1. O_PATH if it may block and is not ours: closing any other
 *	descriptor may never return, either.
 * @device, @inode: tell which file it is.
 * @size: in bytes.
 * @stored: bytes of that on the disk; with object_file_copy(), what was copied.
 * @owner: its owner, if one can believe that.
 * @user: who has to answer for it: its owner; or if it may block and is not ours, the
 *	user of the process that it was opened for, because who serves a file may say
 *	that anyone owns it. Only inspect_open() and so on know that one.
 * @is_ours: see object_file_is_ours().
 * @is_copy: its owner has it from someone else, who is not known.
 * @may_hang: see object_file_may_hang().
 * @may_block: reading it may never return: another machine, or a process, or an overlay
 *	that a user has mounted over one of these. Those of others are read by
 *	inspect_copy() only.
 */
struct object_file {
	int fd;
	dev_t device;
	ino_t inode;
	uint64_t size;
	uint64_t stored;
	uid_t owner;
	uid_t user;
	bool is_ours;
	bool is_copy;
	bool may_hang;
	bool may_block;
};

/* Whether a process of a user serves the file, and may never answer. */
bool object_file_may_hang(const struct open_file *found);

/*
 * Whether only the user of this process and those he has to trust can have written the
 * file, and can change it or what is beside it: it may be read in this process, and the
 * debug files that it names, too.
 *
 * The owner of a file alone says little: root may have a file that all can write, a
 * file system may be a medium that someone has brought along, and the owner in one
 * that a process serves is what that says. So it must be a file of the system, or of
 * the user if that is not root; and nobody else may change a directory of its path.
 */
bool object_file_is_ours(const struct open_file *found);

/* Find the path of a descriptor, "" if there is none. Files that were removed have one. */
void object_file_path(int fd, char path[PATH_MAX]);

/* Bytes that a file may have for what is stored of it: holes cost its author nothing. */
uint64_t object_file_size_max(const struct object_file *file);

/*
 * Open @path, which does not lead through files of /proc that stand for others. Returns
 * whether it is a regular file that can be read, as far as that is known without asking
 * who serves it.
 */
bool object_file_open(struct object_file *file, const char *path);

/* The same for a file that is open. */
bool object_file_open_again(struct object_file *file, int fd);

/*
 * Open what a running process has mapped, by /proc/PID/map_files. Only for objects
 * that the history has as live.
 */
bool object_file_open_mapped(struct object_file *file,
			     const struct history_object *known);

/*
 * Open the object's name below the root directory of its process, as long as that
 * exists, without following symbolic links: names of mappings have none.
 */
bool object_file_open_in_root(struct object_file *file,
			      const struct history_object *known);

/*
 * Replace a file that others can change by a copy in memory, with the same holes. What is
 * O_PATH is opened for that, and closed. What was appended since is copied, too, if it has no
 * more than 64 MiB then. Returns whether that was possible.
 */
bool object_file_copy(struct object_file *file);

void object_file_close(struct object_file *file);

#endif /* CLI_PROFILE_OBJECT_FILE_H */
