/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Compressed records, as "perf record -z" writes them: see inflate.h.
 */
#ifndef PROFILE_DEFLATE_H
#define PROFILE_DEFLATE_H

#include <stddef.h>
#include <stdint.h>

/*
 * Most bytes that are compressed into one record. They must fit even if zstd cannot
 * make them smaller. perf is told the maximum.
 */
#define DEFLATE_PLAIN	(63u << 10)
#define DEFLATE_PLAIN_MAX	(64u << 10)	/* what perf is told: whole pages */

#define DEFLATE_LEVEL_MAX	22u	/* zstd's */

/**
 * struct deflate - state of compression; all 0 before the first use
 *
 * @stream: zstd's state.
 * @level: zstd's level.
 * @record: the last compressed record, with its header.
 * @size: its size in bytes.
 * @given: bytes that were compressed so far.
 * @gotten: bytes that they became.
 */
struct deflate {
	struct ZSTD_CCtx_s *stream;
	uint32_t level;
	unsigned char *record;
	size_t size;
	uint64_t given;
	uint64_t gotten;
};

/*
 * Returns 0, -ENOMEM, or -EINVAL for a level above DEFLATE_LEVEL_MAX. sfu_deflate_free() is
 * to be called in any case.
 */
int sfu_deflate_start(struct deflate *deflate, uint32_t level);

/*
 * Compress @size bytes, at most DEFLATE_PLAIN, into @deflate->record: all of them can be
 * decompressed when it and the records before it have been read. Returns 0, or -EIO if
 * zstd refuses.
 */
int sfu_deflate(struct deflate *deflate, const void *bytes, size_t size);

void sfu_deflate_free(struct deflate *deflate);

#endif /* PROFILE_DEFLATE_H */
