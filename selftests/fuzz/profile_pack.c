// SPDX-License-Identifier: GPL-2.0
#include <stdbool.h>
#include <stdlib.h>
#include <zstd.h>

#include "profile_pack.h"
#include "userspace/profile/format.h"

/* Larger inputs are not compressed. */
#define MAX_PLAIN	16384u

/* A part of the stream in each record, which has a size in front in the newer form. */
static uint8_t packed[32 * MAX_PLAIN];
static size_t packed_size;

static void put(const void *from, size_t size)
{
	if (!size)
		return;
	if (size > sizeof(packed) - packed_size)
		abort();
	memcpy(packed + packed_size, from, size);
	packed_size += size;
}

static void put_part(const uint8_t *stream, size_t size, bool is_newer)
{
	const size_t padding = is_newer ? -size % 8 : 0;
	const uint64_t word = size;
	const struct perf_event_header header = {
		.type = is_newer ? RECORD_COMPRESSED2 : RECORD_COMPRESSED,
		.size = sizeof(header) + size + padding +
			(is_newer ? sizeof(word) : 0),
	};

	put(&header, sizeof(header));
	if (is_newer)
		put(&word, sizeof(word));
	put(stream, size);
	put("\0\0\0\0\0\0\0", padding);
}

/*
 * Put records between the parts of a stream: so many that zstd would fail if it were
 * called for each of them without new input.
 */
static void put_others(uint8_t how)
{
	const struct perf_event_header round = {
		.type = RECORD_FINISHED_ROUND,
		.size = sizeof(round),
	};

	for (unsigned int i = 0; i < 20 && how & 64; i++) {
		put(&round, sizeof(round));
		if (how & 128)
			put_part(NULL, 0, how & 32);
	}
}

/* Compress @size bytes. @how: where the stream is cut. */
static void put_packed(const uint8_t *plain, size_t size, uint8_t how)
{
	static uint8_t stream[2 * MAX_PLAIN];
	const size_t step = how % 16 ? how % 16 * 29 : 8192;
	const bool is_flushed = how & 16;
	ZSTD_CCtx *context = ZSTD_createCCtx();
	ZSTD_outBuffer out = { stream, sizeof(stream), 0 };
	size_t at;

	for (at = 0; at < size; at += step) {
		ZSTD_inBuffer in = { plain + at, size - at < step ? size - at : step, 0 };

		if (ZSTD_isError(ZSTD_compressStream2(context, &out, &in,
				is_flushed ? ZSTD_e_flush :
				at + step < size ? ZSTD_e_continue : ZSTD_e_end)))
			abort();
		if (is_flushed) {
			put_part(stream, out.pos, how & 32);
			put_others(how);
			out.pos = 0;
		}
	}
	for (at = 0; at < out.pos; at += step) {
		put_part(stream + at, out.pos - at < step ? out.pos - at : step, how & 32);
		put_others(how);
	}
	ZSTD_freeCCtx(context);
}

/* Whether no record is one that means something else when it is compressed. */
static bool can_be_packed(const uint8_t *at, uint64_t left)
{
	while (left >= sizeof(struct perf_event_header)) {
		const uint32_t size = get_u16(at + 6);

		if (get_u32(at) >= RECORD_USER)
			return false;
		if (size < sizeof(struct perf_event_header) || size > left)
			break;
		at += size;
		left -= size;
	}
	return true;
}

size_t profile_pack(const uint8_t *data, size_t size, const void **file)
{
	struct file_header header;
	size_t end, table = 0;

	if (size < sizeof(header) || size > MAX_PLAIN)
		return 0;
	memcpy(&header, data, sizeof(header));
	if (header.size != sizeof(header) || !header.data.size ||
	    header.data.offset > size ||
	    header.data.size > size - header.data.offset ||
	    !can_be_packed(data + header.data.offset, header.data.size))
		return 0;
	/* Behind records is a table of what else there is. */
	end = header.data.offset + header.data.size;
	for (uint32_t i = 0; i < FEATURE_LAST / 64; i++)
		table += __builtin_popcountll(header.features[i]) *
			 sizeof(struct file_section);
	packed_size = 0;
	put(data, size);
	put_packed(data + header.data.offset, header.data.size, data[size - 1]);
	header.data.offset = size;
	header.data.size = packed_size - size;
	put(data + end, table < size - end ? table : size - end);
	memcpy(packed, &header, sizeof(header));
	*file = packed;
	return packed_size;
}
