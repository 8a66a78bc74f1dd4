/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Open cache: what the files of this folder know about it.
 */
#ifndef SFRAME_UNWIND_OPEN_CACHE_H
#define SFRAME_UNWIND_OPEN_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * struct sfu_cache - an open cache
 *
 * @dir: descriptor of its directory.
 * @path: path of its directory.
 * @limit: limit on the bytes of all files.
 * @is_of_others: see sfu_cache_set_of_others().
 * @is_counted: the files have been counted, and the members below are valid.
 * @used: bytes of all files, without files that others have written since the count.
 * @nr_files: number of these files.
 * @written: bytes that were written through this structure since the count.
 */
struct sfu_cache {
	int dir;
	char *path;
	uint64_t limit;
	bool is_of_others;
	bool is_counted;
	uint64_t used;
	size_t nr_files;
	uint64_t written;
};

#endif /* SFRAME_UNWIND_OPEN_CACHE_H */
