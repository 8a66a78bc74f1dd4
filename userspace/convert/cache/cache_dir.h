/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Cache directory: find and check it, read and replace its files.
 */
#ifndef SFRAME_UNWIND_CACHE_DIR_H
#define SFRAME_UNWIND_CACHE_DIR_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/* Prefix of the names of files that are being written. */
#define CACHE_TEMPORARY_PREFIX ".new."

/*
 * The path of the directory: @given, or the default if that is NULL. Returns 0 with
 * *@path, to be freed, or -ENOENT or -ENOMEM with a message.
 */
int sfu_cache_dir_path(const char *given, char **path);

/*
 * Open the directory; create it if it is missing. Returns a file descriptor, or a
 * negative errno with a message: see sfu_cache_open().
 */
int sfu_cache_dir_open(const char *path);

/* Returns whether it belongs to the user and nobody else can write to it. */
bool sfu_cache_dir_is_ours(const struct stat *stat);

/* Returns whether a file of the directory was made on behalf of others. */
bool sfu_cache_dir_is_of_others(const struct stat *stat);

/*
 * What a file is read for.
 *
 * LOOK		to be shown
 * USE		to be used by the user: its mtime is set to now, and it is not one made on
 *		behalf of others any more
 * USE_BY_OTHERS	to be used by others: only its mtime is set
 */
enum cache_use {
	CACHE_LOOK,
	CACHE_USE,
	CACHE_USE_BY_OTHERS,
};

/*
 * Read the file @name. Returns 0 with its bytes, to be freed, or a negative errno:
 * -ENOENT if it does not exist, -ELOOP if it is a symbolic link, -EPERM if it is no
 * regular file or somebody else could have written it, -EFBIG, -ENOMEM, or another
 * error.
 */
int sfu_cache_dir_read(int dir, const char *name, enum cache_use use,
		       unsigned char **bytes, size_t *size);

/*
 * Write a file @name atomically: readers get the old file or the complete new one.
 * @is_of_others: it is made on behalf of others. Returns 0 or a negative errno.
 */
int sfu_cache_dir_write(int dir, const char *name, const void *bytes,
			size_t size, bool is_of_others);

#endif /* SFRAME_UNWIND_CACHE_DIR_H */
