/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Cache directory: where it is, whose it is, and files of it read and replaced.
 */
#ifndef SFRAME_UNWIND_CACHE_DIR_H
#define SFRAME_UNWIND_CACHE_DIR_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/* What names of files that are being written begin with. */
#define CACHE_TEMPORARY_PREFIX ".new."

/*
 * The path of the directory, by options->cache_dir if that is not NULL. Returns 0
 * with *@path to be freed, or -ENOENT or -ENOMEM with a message.
 */
int sfu_cache_dir_path(const char *given, char **path);

/*
 * Open it, made if it's missing. Returns a file descriptor, or a negative errno
 * with a message: see sfu_cache_open().
 */
int sfu_cache_dir_open(const char *path);

/* Does it belong to the user, and can nobody else write to it? */
bool sfu_cache_dir_is_ours(const struct stat *stat);

/*
 * Read the file @name. Returns 0 with its bytes, to be freed, or a negative errno:
 * -ENOENT if it is not there, -ELOOP if it is a link, -EPERM if it is no file or
 * somebody else could have written it, -ENOMEM, another. With @is_use its time of
 * modification becomes now.
 */
int sfu_cache_dir_read(int dir, const char *name, bool is_use,
		       unsigned char **bytes, size_t *size);

/*
 * Make @name a file with these bytes, in one step: whoever opens it sees it
 * complete, before and after. Returns 0 or a negative errno.
 */
int sfu_cache_dir_write(int dir, const char *name, const void *bytes,
			size_t size);

#endif /* SFRAME_UNWIND_CACHE_DIR_H */
