/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Reader: read bytes sequentially, and never beyond their end. Reads beyond the end
 * return 0 and set is_bad.
 */
#ifndef SFRAME_UNWIND_READER_H
#define SFRAME_UNWIND_READER_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct reader {
	const unsigned char *at;
	const unsigned char *end;
	bool is_bad;
};

/* Skip @size bytes. Returns their address, or NULL if there are not so many. */
static inline const unsigned char *reader_skip(struct reader *reader,
					       uint64_t size)
{
	const unsigned char *at = reader->at;

	if (size > (uint64_t)(reader->end - reader->at)) {
		reader->is_bad = true;
		reader->at = reader->end;
		return NULL;
	}
	reader->at += size;
	return at;
}

/* Read an unsigned little-endian number of 1 to 8 bytes. */
static inline uint64_t reader_unsigned(struct reader *reader, unsigned int size)
{
	const unsigned char *bytes = reader_skip(reader, size);
	uint64_t value = 0;

	if (bytes)
		memcpy(&value, bytes, size);
	return le64toh(value);
}

static inline int64_t reader_signed(struct reader *reader, unsigned int size)
{
	const unsigned int shift = 64 - 8 * size;

	return (int64_t)(reader_unsigned(reader, size) << shift) >> shift;
}

/*
 * Read a LEB128 number. Bits beyond 64 are dropped. Sets *@bits to the number of bits
 * read, and *@is_negative to the sign bit.
 */
static inline uint64_t reader_leb128(struct reader *reader, unsigned int *bits,
				     bool *is_negative)
{
	uint64_t value = 0;
	unsigned char byte;

	*bits = 0;
	do {
		byte = reader_unsigned(reader, 1);
		if (*bits < 64) {
			value |= (uint64_t)(byte & 0x7f) << *bits;
			*bits += 7;
		}
	} while (byte & 0x80);
	*is_negative = byte & 0x40;
	return value;
}

static inline uint64_t reader_uleb128(struct reader *reader)
{
	unsigned int bits;
	bool is_negative;

	return reader_leb128(reader, &bits, &is_negative);
}

static inline int64_t reader_sleb128(struct reader *reader)
{
	unsigned int bits;
	bool is_negative;
	uint64_t value = reader_leb128(reader, &bits, &is_negative);

	if (is_negative && bits < 64)
		value |= UINT64_MAX << bits;
	return value;
}

#endif /* SFRAME_UNWIND_READER_H */
