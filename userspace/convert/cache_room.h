/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Room in the cache: count its files, and evict the least recently used ones.
 */
#ifndef SFRAME_UNWIND_CACHE_ROOM_H
#define SFRAME_UNWIND_CACHE_ROOM_H

#include <stdbool.h>

#include "cache.h"

/**
 * struct sfu_cache - an open cache
 *
 * @dir: descriptor of its directory.
 * @path: path of its directory.
 * @limit: limit on the bytes of all files.
 * @is_counted: the files have been counted, and the members below are valid.
 * @used: bytes of all files, without files that others have written since the count.
 * @nr_files: number of these files.
 * @written: bytes that were written through this structure since the count.
 */
struct sfu_cache {
	int dir;
	char *path;
	uint64_t limit;
	bool is_counted;
	uint64_t used;
	size_t nr_files;
	uint64_t written;
};

/* Set @cache->limit to the stored limit, or to the default. */
void sfu_cache_read_limit(struct sfu_cache *cache);

/*
 * Make room for one more file of @size bytes. Returns 0, or -EFBIG if it is larger
 * than the limit, or another negative errno.
 */
int sfu_cache_make_room(struct sfu_cache *cache, uint64_t size);

#endif /* SFRAME_UNWIND_CACHE_ROOM_H */
