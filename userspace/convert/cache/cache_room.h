/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Room in the cache: list and count its files, and evict the least recently used ones,
 * those made on behalf of others first.
 */
#ifndef SFRAME_UNWIND_CACHE_ROOM_H
#define SFRAME_UNWIND_CACHE_ROOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

struct sfu_cache;

/* Default limit on the bytes of all files. */
#define CACHE_DEFAULT_LIMIT	(256ULL << 20)

/* Most files in a cache. */
#define CACHE_MAX_FILES		32768U

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
 * @is_of_others: it was made on behalf of others than the cache's user.
 * @size: bytes that it counts towards the limit.
 * @used: when it was last used.
 */
struct cache_file {
	char name[160];
	enum cache_kind kind;
	bool is_of_others;
	uint64_t size;
	struct timespec used;
};

/*
 * List all files, most recently used first. Returns 0 with *@files, to be freed,
 * and their number in *@count, or a negative errno with a message.
 */
int sfu_cache_list(const struct sfu_cache *cache, struct cache_file **files,
		   size_t *count);

/* Set @cache->limit to the stored limit, or to the default. */
void sfu_cache_read_limit(struct sfu_cache *cache);

/*
 * Make room for one more file of @size bytes. Returns 0, or -EFBIG if it is larger
 * than the limit, or another negative errno.
 */
int sfu_cache_make_room(struct sfu_cache *cache, uint64_t size);

#endif /* SFRAME_UNWIND_CACHE_ROOM_H */
