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
 * least recently used ones are removed. A file's mtime is the time of its last use.
 *
 * This code and what it calls must not use libelf.
 */
#ifndef SFRAME_UNWIND_CACHE_H
#define SFRAME_UNWIND_CACHE_H

#include <stdint.h>
#include <time.h>

#include <sframe_unwind_convert.h>

#include "digest.h"

/* Default limit on the bytes of all files. */
#define CACHE_DEFAULT_LIMIT	(256ULL << 20)

/* Most files in a cache. */
#define CACHE_MAX_FILES		32768U

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

/* --- management */

/* The limit on bytes of all files. */
uint64_t sfu_cache_limit(const struct sfu_cache *cache);

/*
 * Store a new limit, for all processes that use the cache, and remove files that
 * exceed it. Returns 0 or a negative errno with a message.
 */
int sfu_cache_set_limit(struct sfu_cache *cache, uint64_t limit);

/*
 * Remove all files of the cache, including those of earlier versions. Sets *@count and
 * *@size to their number and bytes. Returns 0 or a negative errno with a message.
 */
int sfu_cache_clean(struct sfu_cache *cache, uint64_t *count, uint64_t *size);

enum cache_kind {
	CACHE_OLD,		/* of an earlier version: not used any more */
	CACHE_TEMPORARY,	/* being written, or left by a killed process */
	CACHE_STAMP,		/* see stamp.h */
	CACHE_SECTION,
};

/**
 * struct cache_file - a file of the cache
 *
 * @name: name in the directory.
 * @kind: enum cache_kind.
 * @size: bytes that it counts towards the limit.
 * @used: when it was last used.
 */
struct cache_file {
	char name[160];
	enum cache_kind kind;
	uint64_t size;
	struct timespec used;
};

/*
 * List all files, most recently used first. Returns 0 with *@files, to be freed,
 * and their number in *@count, or a negative errno with a message.
 */
int sfu_cache_list(const struct sfu_cache *cache, struct cache_file **files,
		   size_t *count);

/*
 * Read a file of kind CACHE_SECTION as sfu_cache_read() does, but without updating its
 * time of use. Also sets *@file to the name of the converted file, to be freed.
 */
int sfu_cache_look(const struct sfu_cache *cache, const char *name,
		   char **file, struct sframe_unwind_converted **converted);

#endif /* SFRAME_UNWIND_CACHE_H */
