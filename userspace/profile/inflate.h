/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * The records inside of compressed ones, as "perf record -z" writes them: one
 * zstd stream, cut into records at any place.
 */
#ifndef PROFILE_INFLATE_H
#define PROFILE_INFLATE_H

#include <stddef.h>

#include "profile/input.h"

/* Bytes of @plain: a whole record and some. */
#define INFLATE_PLAIN	(4 * INPUT_MAX)

/*
 * Limit of the decompressed bytes: INFLATE_FREE, and INFLATE_RATIO for each
 * compressed byte. Samples of a program that does the same all the time, each with
 * a stack of 127 frames, have been compressed to 1/100.
 */
#define INFLATE_FREE	(16u << 20)
#define INFLATE_RATIO	1024u

/*
 * A compressed record counts as at least this many bytes, because the writer compresses
 * 63 KiB to 20 bytes if they are the same as those before.
 */
#define INFLATE_LEAST	64u

/**
 * struct inflate - state of decompression; all 0 before the first use
 *
 * @stream: zstd's state; NULL if no compressed record has been seen.
 * @packed: the contents of one compressed record.
 * @packed_size: its size in bytes.
 * @packed_used: bytes of it that have been decompressed.
 * @is_drained: all that was given has been decompressed. zstd must not be called then:
 *	after some such calls it returns an error.
 * @plain: decompressed bytes.
 * @given: bytes of compressed data so far, as they count.
 * @gotten: bytes that came out of them.
 * @begin: offset in @plain of the first byte that has not been taken.
 * @end: offset in @plain of their end.
 */
struct inflate {
	struct ZSTD_DCtx_s *stream;
	unsigned char *packed;
	size_t packed_size;
	size_t packed_used;
	bool is_drained;
	unsigned char *plain;
	uint64_t given;
	uint64_t gotten;
	size_t begin;
	size_t end;
};

/*
 * Give @size bytes, at most INPUT_MAX, of compressed data, after all before has
 * been taken. Returns 0 or -ENOMEM.
 */
int sfu_inflate_give(struct inflate *inflate, const void *bytes, size_t size);

/*
 * Get at least @size bytes, at most INPUT_MAX, of decompressed data; NULL if
 * that many have not been given. Then *@error is 0, or -EINVAL for bytes that
 * zstd refuses, or that become too many; *@why is the reason.
 */
const void *sfu_inflate_get(struct inflate *inflate, size_t size, int *error,
			    const char **why);

/* The first @size bytes, of those gotten, have been used. */
void sfu_inflate_take(struct inflate *inflate, size_t size);

/* Forget all data. */
void sfu_inflate_reset(struct inflate *inflate);

void sfu_inflate_free(struct inflate *inflate);

#endif /* PROFILE_INFLATE_H */
