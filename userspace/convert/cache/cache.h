/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Cache: results of conversions, by the digest of what was converted.
 *
 * The cache is a directory that belongs to one user and that nobody else can read or
 * write. The name of a file in it is a digest of the snapshot's digest, the options
 * and the converter's version. The file contains a digest of its name and its bytes,
 * to detect damage. A user who cannot write to the directory cannot make the cache
 * return a result that was made from other contents.
 *
 * Files are created by rename(2) and removed by unlink(2): any number of processes
 * may read, write and clean at the same time. When the files exceed a limit, the
 * least recently used ones are removed: first those made on behalf of others than the
 * cache's user, which are read-only. A file's mtime is the time of its last use.
 *
 * This code and what it calls must not use libelf.
 */
#ifndef SFRAME_UNWIND_CACHE_H
#define SFRAME_UNWIND_CACHE_H

#include <stdbool.h>

#include <sframe_unwind_convert.h>

#include "convert/base/digest.h"

/* Room for the name of a file in the cache. */
#define CACHE_NAME_SIZE		(DIGEST_TEXT_SIZE + sizeof(".section"))

/* An open cache, for one thread at a time. */
struct sfu_cache;

/*
 * Open the cache in the directory @path, or for NULL in the default directory: see
 * sframe_unwind_convert_options.cache_dir. Creates the directory if it is missing.
 * Returns 0 with *@cache, to be closed, or a negative errno with a message that names
 * the directory: -ENOENT if there is no default directory, -EPERM if somebody else can
 * write to it or to a directory above it, -ENOTDIR or -ELOOP if it is no directory but,
 * for instance, a symbolic link; or another error.
 */
int sfu_cache_open(const char *path, struct sfu_cache **cache);

void sfu_cache_close(struct sfu_cache *cache);

/*
 * Set whether sections are read and written from now on on behalf of others than the
 * cache's user, who can have as many as they like. Such sections are removed before all
 * others, until one is read on behalf of the user. Not set in a cache just opened.
 */
void sfu_cache_set_of_others(struct sfu_cache *cache, bool is_of_others);

/* The directory's path, for messages; lives as long as @cache. */
const char *sfu_cache_path(const struct sfu_cache *cache);

/*
 * Make the name of the file for @content, the digest of a snapshot, and @options,
 * NULL for the default. Returns 0, or -EINVAL for bad options, or -ENOMEM, with a
 * message.
 */
int sfu_cache_name(const struct digest *content,
		   const struct sframe_unwind_convert_options *options,
		   char name[CACHE_NAME_SIZE]);

/*
 * Read the file @name, and update its time of use. Returns 0 with *@converted, to be
 * freed, or a negative errno: -ENOENT if it does not exist, -EINVAL if it is damaged,
 * -EPERM if it belongs to another user or others could have written it, -ENOMEM. In
 * all of these cases convert, and write the file.
 */
int sfu_cache_read(struct sfu_cache *cache, const char *name,
		   struct sframe_unwind_converted **converted);

/*
 * Write @converted atomically to the file @name; @file is the name of the file that
 * was converted, for listings of the cache. Makes room first, if needed. Returns 0, or
 * a negative errno with a message: -EFBIG if it is larger than the limit, -ENOSPC,
 * -ENOMEM, or another error.
 */
int sfu_cache_write(struct sfu_cache *cache, const char *name, const char *file,
		    const struct sframe_unwind_converted *converted);

/*
 * Read the file @name as sfu_cache_read() does, but without updating its time of use.
 * Also sets *@file to the name of the converted file, to be freed.
 */
int sfu_cache_look(const struct sfu_cache *cache, const char *name,
		   char **file, struct sframe_unwind_converted **converted);

#endif /* SFRAME_UNWIND_CACHE_H */
