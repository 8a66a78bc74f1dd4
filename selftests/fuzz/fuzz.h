/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Fuzz targets. A target is a function that takes any bytes, and ends the process
 * if something does not hold for them. libFuzzer calls it (libfuzzer.c), and the
 * unit tests for the inputs that are kept in regress/ (regress_test.c).
 */
#ifndef SFU_FUZZ_H
#define SFU_FUZZ_H

#include <stdio.h>
#include <stdlib.h>

#include "env.h"

void fuzz_cache(const u8 *data, size_t size);
void fuzz_compare(const u8 *data, size_t size);
void fuzz_convert(const u8 *data, size_t size);
void fuzz_decode(const u8 *data, size_t size);
void fuzz_elf(const u8 *data, size_t size);
void fuzz_snapshot(const u8 *data, size_t size);
void fuzz_validate(const u8 *data, size_t size);

/* What has to hold; the words say what is wrong if it does not. */
#define FUZZ_CHECK(condition, ...) do {					\
	if (!(condition)) {						\
		fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__,	\
			#condition);					\
		fprintf(stderr, __VA_ARGS__);				\
		fputc('\n', stderr);					\
		abort();						\
	}								\
} while (0)

/*
 * Targets take what is beside the bytes to examine, such as an address, from
 * the end of the input: what is in front can then be mutated without moving.
 * Returns whether the input has an end of @tail_size bytes, which are taken off
 * @size and copied to @tail.
 */
static inline bool fuzz_take_tail(const u8 *data, size_t *size, void *tail,
				  size_t tail_size)
{
	if (*size < tail_size)
		return false;
	*size -= tail_size;
	memcpy(tail, data + *size, tail_size);
	return true;
}

#endif /* SFU_FUZZ_H */
