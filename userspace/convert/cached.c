// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Conversion of files: from a snapshot, and only if the cache has no result.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "convert.h"
#include "convert/base/message.h"
#include "convert/cache/cache.h"
#include "convert/cache/stamp.h"
#include "convert/snapshot/snapshot.h"

static int convert_snapshot(const struct sfu_snapshot *snapshot,
			    const struct sframe_unwind_convert_options *options,
			    struct result **result)
{
	struct image image;
	int err;

	err = sfu_image_open_fd(&image, snapshot->fd);
	if (err)
		return err;
	err = sfu_convert_image(&image, options, result);
	sfu_image_close(&image);
	return err;
}

int sframe_unwind_convert_fd(int fd, const char *name,
			     const struct sframe_unwind_convert_options *given,
			     struct sframe_unwind_converted **converted)
{
	struct sframe_unwind_convert_options options;
	struct sfu_snapshot snapshot;
	struct result *result;
	int err;

	*converted = NULL;
	sfu_message_begin(name);
	err = sfu_options_complete(given, &options);
	if (!err)
		err = sfu_snapshot_take(fd, NULL, &snapshot);
	if (err)
		return err;
	err = convert_snapshot(&snapshot, &options, &result);
	if (!err)
		*converted = &result->out;
	sfu_snapshot_free(&snapshot);
	return err;
}

/* Look for a result by the file's stamp, without reading the file. */
static void read_by_stamp(struct sfu_cache *cache, int fd,
			  const struct sframe_unwind_convert_options *options,
			  char *name,
			  struct sframe_unwind_converted **converted)
{
	struct digest content;
	struct stamp stamp;
	struct stat stat;
	int err;

	if (fstat(fd, &stat))
		return;
	err = sfu_stamp_make(&stamp, fd, &stat, 0);
	if (!err)
		err = sfu_stamp_find(cache, &stamp, &content);
	if (!err)
		err = sfu_cache_name(&content, options, name);
	if (!err)
		sfu_cache_read(cache, name, converted);
}

static void write_stamp(struct sfu_cache *cache, int fd,
			const struct sfu_snapshot *snapshot)
{
	struct stamp stamp;

	/* Without a stamp the file is read again the next time. */
	if (!sfu_stamp_make(&stamp, fd, &snapshot->stat, 0))
		sfu_stamp_write(cache, &stamp, &snapshot->digest);
}

/* Set the reason why the result is not in the cache. */
static void set_problem(struct result *result, const char *problem)
{
	result->cache_problem = strdup(problem);
	result->out.cache_problem = result->cache_problem;
}

/* Convert, and put the result into @cache. */
static int convert_into(struct sfu_cache *cache, const char *file,
			const struct sfu_snapshot *snapshot, const char *name,
			const struct sframe_unwind_convert_options *options,
			struct sframe_unwind_converted **converted)
{
	struct result *result;
	int err;

	err = convert_snapshot(snapshot, options, &result);
	if (err)
		return err;
	*converted = &result->out;
	if (sfu_cache_write(cache, name, file, *converted))
		set_problem(result, sfu_message_text());
	else
		result->out.flags |= SFRAME_UNWIND_CONVERTED_IN_CACHE;
	return 0;
}

static int convert_cached(struct sfu_cache *cache, int fd, const char *file,
			  const struct sframe_unwind_convert_options *options,
			  struct sframe_unwind_converted **converted)
{
	char name[CACHE_NAME_SIZE], *path;
	struct sfu_snapshot snapshot;
	int err;

	read_by_stamp(cache, fd, options, name, converted);
	if (!*converted) {
		err = sfu_snapshot_take(fd, NULL, &snapshot);
		if (err)
			return err;
		err = sfu_cache_name(&snapshot.digest, options, name);
		if (!err && sfu_cache_read(cache, name, converted))
			err = convert_into(cache, file, &snapshot, name,
					   options, converted);
		if (!err)
			write_stamp(cache, fd, &snapshot);
		sfu_snapshot_free(&snapshot);
		if (err)
			return err;
	}
	if ((*converted)->flags & SFRAME_UNWIND_CONVERTED_IN_CACHE &&
	    asprintf(&path, "%s/%s", sfu_cache_path(cache), name) >= 0) {
		result_of(*converted)->cache_file = path;
		(*converted)->cache_file = path;
	}
	return 0;
}

int
sframe_unwind_convert_cached(int fd, const char *name,
			     const struct sframe_unwind_convert_options *given,
			     struct sframe_unwind_converted **converted)
{
	struct sframe_unwind_convert_options options;
	struct sfu_cache *cache;
	char *problem;
	int err;

	*converted = NULL;
	sfu_message_begin(name);
	err = sfu_options_complete(given, &options);
	if (err)
		return err;
	if (sfu_cache_open(options.cache_dir, &cache)) {
		problem = strdup(sfu_message_text());
		err = sframe_unwind_convert_fd(fd, name, &options, converted);
		if (!err && problem)
			set_problem(result_of(*converted), problem);
		free(problem);
	} else {
		err = convert_cached(cache, fd, name ? name : "", &options,
				     converted);
		sfu_cache_close(cache);
	}
	/* Problems with the cache are reported by the result only. */
	if (!err)
		sfu_message_begin(name);
	return err;
}
