/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Cache directory: where it is, and files of it read and replaced.
 */
#ifndef SFRAME_UNWIND_CACHE_DIR_H
#define SFRAME_UNWIND_CACHE_DIR_H

#include <stddef.h>

/*
 * Returns the path of the directory, by options->cache_dir if that is not NULL,
 * to be freed; NULL if there is none or no memory.
 */
char *sfu_cache_dir_path(const char *given);

/*
 * Open it, made if it's missing. Returns a file descriptor, or a negative errno:
 * -EPERM if somebody else could write to it.
 */
int sfu_cache_dir_open(const char *path);

/*
 * Read the file @name. Returns its bytes, to be freed, or NULL if it is not
 * there, cannot be read, or somebody else could have written it.
 */
unsigned char *sfu_cache_dir_read(int dir, const char *name, size_t *size);

/*
 * Make @name a file with these two runs of bytes, in one step: whoever opens it
 * sees it complete, before and after. Returns 0 or a negative errno.
 */
int sfu_cache_dir_write(int dir, const char *name, const void *header,
			size_t header_size, const void *bytes, size_t size);

#endif /* SFRAME_UNWIND_CACHE_DIR_H */
