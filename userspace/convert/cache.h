/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Cache: results of conversions by the digest of what was converted.
 *
 * A directory of files that belongs to one user, is written by nobody else, and
 * is read by nobody else. A file's name is a digest of the snapshot's digest, the
 * options and the converter's version; it ends with a digest of its own bytes,
 * against damage. Who can write neither to the directory nor to the memory of
 * those who do cannot put anything there that is taken for another content's.
 *
 * Files come and go by rename(2) and unlink(2): any number of processes may read,
 * write and clean at once. When the files are larger than a limit, those not used
 * for longest go first; use is a file's time of modification.
 *
 * No libelf in here or below.
 */
#ifndef SFRAME_UNWIND_CACHE_H
#define SFRAME_UNWIND_CACHE_H

#include <sframe_unwind_convert.h>

#include "digest.h"

/* Bytes of all files, where nobody has said otherwise, and the least. */
#define CACHE_DEFAULT_LIMIT	(512ULL << 20)

/* Name of a file in the cache, and room for it. */
#define CACHE_NAME_SUFFIX	".section"
#define CACHE_NAME_SIZE		(DIGEST_TEXT_SIZE + sizeof(CACHE_NAME_SUFFIX))

struct sfu_cache;

/*
 * Open the cache, made if it's missing, in the directory @path, or for NULL in
 * the user's: see sframe_unwind_convert_options.cache_dir. Returns 0 with *@cache
 * to be closed, or a negative errno with a message that names the directory:
 * -ENOENT if there is no place for one, -EPERM if somebody else could write to it
 * or to a directory above it, -ENOTDIR or -ELOOP if it is something else.
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

#endif /* SFRAME_UNWIND_CACHE_H */
