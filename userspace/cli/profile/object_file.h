/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Open the files of objects. Other users may have put anything where their names
 * lead to, and may change the files while they are read.
 */
#ifndef CLI_PROFILE_OBJECT_FILE_H
#define CLI_PROFILE_OBJECT_FILE_H

#include <sys/types.h>

#include "cli/attach/open_file.h"
#include "cli/profile/history.h"

/**
 * struct object_file - a regular file
 *
 * @fd: the file, or -1.
 * @device, @inode: tell which file it is.
 * @size: in bytes.
 * @is_ours: it belongs to root or to the user of this process; others cannot
 *	change it.
 * @may_hang: see object_file_may_hang().
 */
struct object_file {
	int fd;
	dev_t device;
	ino_t inode;
	uint64_t size;
	bool is_ours;
	bool may_hang;
};

/* Whether a process of a user serves the file, and may never answer. */
bool object_file_may_hang(const struct open_file *found);

/* Open @path. Returns whether it is a regular file that can be read. */
bool object_file_open(struct object_file *file, const char *path);

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
 * Replace a file that others can change by a copy in memory. Returns whether that
 * was possible.
 */
bool object_file_copy(struct object_file *file);

void object_file_close(struct object_file *file);

#endif /* CLI_PROFILE_OBJECT_FILE_H */
