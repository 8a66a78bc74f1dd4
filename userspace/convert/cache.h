/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Cache: results of conversions by the digest of what was converted.
 *
 * A directory of files that belongs to one user, and that nobody else reads or
 * writes. A file's name is a digest of the snapshot's digest, the options and the
 * converter's version; in it is a digest of its name and its bytes, against
 * damage. Whoever cannot write to the directory cannot have anything in it that is
 * taken for a result of other contents than his own.
 *
 * Files come and go by rename(2) and unlink(2): any number of processes may read,
 * write and clean at once. When the files are larger than a limit, those not used
 * for longest go first; use is a file's time of modification.
 *
 * No libelf in here or below.
 */
#ifndef SFRAME_UNWIND_CACHE_H
#define SFRAME_UNWIND_CACHE_H

#include <stdint.h>
#include <time.h>

#include <sframe_unwind_convert.h>

#include "digest.h"

/* Bytes of all files, where nobody has said otherwise. */
#define CACHE_DEFAULT_LIMIT	(256ULL << 20)

/* Files. */
#define CACHE_MAX_FILES		32768U

/* Room for the name of a file in the cache. */
#define CACHE_NAME_SIZE		(DIGEST_TEXT_SIZE + sizeof(".section"))

/* For one thread at a time. */
struct sfu_cache;

/*
 * Open the cache, made if it's missing, in the directory @path, or for NULL in
 * the user's: see sframe_unwind_convert_options.cache_dir. Returns 0 with *@cache
 * to be closed, or a negative errno with a message that names the directory:
 * -ENOENT if there is no place for one, -EPERM if somebody else could write to it
 * or to a directory above it, -ENOTDIR or -ELOOP if it is something else, such as
 * a link; another.
 */
int sfu_cache_open(const char *path, struct sfu_cache **cache);

void sfu_cache_close(struct sfu_cache *cache);

/* The directory's path, for messages; lives as long as @cache. */
const char *sfu_cache_path(const struct sfu_cache *cache);

/*
 * The name of the file for a content, as struct sfu_snapshot has it in @digest,
 * and options, NULL for the default. Returns 0, or -EINVAL for bad options,
 * or -ENOMEM, with a message.
 */
int sfu_cache_name(const struct digest *content,
		   const struct sframe_unwind_convert_options *options,
		   char name[CACHE_NAME_SIZE]);

/*
 * Read the file @name, which counts as its use. Returns 0 with *@converted to be
 * freed, or a negative errno: -ENOENT if it is not there, -EINVAL if it is
 * damaged, -EPERM if it is not the user's own or others could have written it,
 * -ENOMEM. Whichever it is, the answer is to convert and to write.
 */
int sfu_cache_read(struct sfu_cache *cache, const char *name,
		   struct sframe_unwind_converted **converted);

/*
 * Write @converted to the file @name in one step; @file is the name of the file
 * that it was made of, for those who list the cache. Makes room before, if there
 * has to be. Returns 0, or a negative errno with a message: -EFBIG if it is
 * larger than the limit, -ENOSPC, -ENOMEM, another.
 */
int sfu_cache_write(struct sfu_cache *cache, const char *name, const char *file,
		    const struct sframe_unwind_converted *converted);

/* --- for those who look after it */

/* The limit on bytes of all files. */
uint64_t sfu_cache_limit(const struct sfu_cache *cache);

/*
 * Set the limit for all who open the cache from now on, and remove what is over
 * it. Returns 0 or a negative errno with a message.
 */
int sfu_cache_set_limit(struct sfu_cache *cache, uint64_t limit);

/*
 * Remove all files that are a cache's, those of earlier versions as well. Sets
 * *@count and *@size to their number and bytes. Returns 0 or a negative errno
 * with a message.
 */
int sfu_cache_clean(struct sfu_cache *cache, uint64_t *count, uint64_t *size);

enum cache_kind {
	CACHE_OLD,		/* of an earlier version: of no use any more */
	CACHE_TEMPORARY,	/* being written, or left by who was killed */
	CACHE_STAMP,		/* see stamp.h */
	CACHE_SECTION,
};

/**
 * struct cache_file - a file of the cache
 *
 * @name: in the directory.
 * @kind: enum cache_kind.
 * @size: what it takes of the limit, in bytes.
 * @used: when it was last used.
 */
struct cache_file {
	char name[160];
	enum cache_kind kind;
	uint64_t size;
	struct timespec used;
};

/*
 * List all files, those used last first. Returns 0 with *@files, to be freed,
 * and their number in *@count, or a negative errno with a message.
 */
int sfu_cache_list(const struct sfu_cache *cache, struct cache_file **files,
		   size_t *count);

/*
 * Read a file of kind CACHE_SECTION as sfu_cache_read(), but not as a use of it;
 * also sets *@file to the name that it was written with, to be freed.
 */
int sfu_cache_look(const struct sfu_cache *cache, const char *name,
		   char **file, struct sframe_unwind_converted **converted);

#endif /* SFRAME_UNWIND_CACHE_H */
