/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Room in the cache: what its files take, and which go first.
 */
#ifndef SFRAME_UNWIND_CACHE_ROOM_H
#define SFRAME_UNWIND_CACHE_ROOM_H

#include <stdbool.h>

#include "cache.h"

/**
 * struct sfu_cache - an open cache
 *
 * @dir: its directory, named @path.
 * @limit: bytes of all files.
 * @is_counted: has anybody counted, by which these hold?
 * @used: bytes of files; what others have written since is not in it.
 * @nr_files: number of them.
 * @written: bytes that we have written since.
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

/* Set @cache->limit to what has been stored, or to the default. */
void sfu_cache_read_limit(struct sfu_cache *cache);

/*
 * Make room for one more file of @size bytes. Returns 0, -EFBIG if that is more
 * than the limit, or another negative errno.
 */
int sfu_cache_make_room(struct sfu_cache *cache, uint64_t size);

#endif /* SFRAME_UNWIND_CACHE_ROOM_H */
