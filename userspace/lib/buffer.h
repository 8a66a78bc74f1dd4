/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Growing byte buffer.
 */
#ifndef SFRAME_UNWIND_BUFFER_H
#define SFRAME_UNWIND_BUFFER_H

#include <endian.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/*
 * Under AddressSanitizer, arrays of at most so many bytes move whenever room is asked for:
 * tests and fuzzers find pointers that were kept across that.
 */
#if defined(__SANITIZE_ADDRESS__)
#define BUFFER_MOVES	4096u
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define BUFFER_MOVES	4096u
#endif
#endif
#ifndef BUFFER_MOVES
#define BUFFER_MOVES	0u
#endif

struct buffer {
	unsigned char *bytes;
	size_t size;
	size_t space;
};

/* Returns the allocation size needed to append @more bytes; 0 on overflow. */
static inline size_t buffer_space(const struct buffer *buffer, size_t more)
{
	size_t space = buffer->space ? buffer->space : 256;

	if (more > SIZE_MAX / 4 - buffer->size)
		return 0;
	while (space < buffer->size + more)
		space *= 2;
	return space;
}

/* Reallocate to @space bytes; @space 0 means overflow. Returns 0 or -ENOMEM. */
static inline int buffer_resize(struct buffer *buffer, size_t space)
{
	void *bytes = space ? realloc(buffer->bytes, space) : NULL;

	if (!bytes)
		return -ENOMEM;
	buffer->bytes = bytes;
	buffer->space = space;
	return 0;
}

/* Make room to append @more bytes. Returns 0 or -ENOMEM. */
static inline int buffer_reserve(struct buffer *buffer, size_t more)
{
	if (buffer->bytes && more <= buffer->space - buffer->size &&
	    buffer->space > BUFFER_MOVES)
		return 0;
	return buffer_resize(buffer, buffer_space(buffer, more));
}

/* Append. The caller has reserved the room. */
static inline void buffer_put(struct buffer *buffer, const void *bytes,
			      size_t size)
{
	if (size)
		memcpy(buffer->bytes + buffer->size, bytes, size);
	buffer->size += size;
}

/* Store the low @size bytes of @value, at most 8, in little-endian order. */
static inline void put_le(unsigned char *to, uint64_t value, unsigned int size)
{
	value = htole64(value);
	memcpy(to, &value, size);
}

/* Append a number in little-endian order. The caller has reserved the room. */
static inline void buffer_put_le(struct buffer *buffer, uint64_t value,
				 unsigned int size)
{
	put_le(buffer->bytes + buffer->size, value, size);
	buffer->size += size;
}

static inline void buffer_free(struct buffer *buffer)
{
	free(buffer->bytes);
	memset(buffer, 0, sizeof(*buffer));
}

#endif /* SFRAME_UNWIND_BUFFER_H */
