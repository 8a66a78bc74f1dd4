/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Fuzz targets. A target is a function that takes arbitrary bytes and ends the
 * process if a check fails. libFuzzer calls it (libfuzzer.c), and so does
 * unit/fuzz_regress_test.c for the inputs kept in regress/.
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
void fuzz_functions(const u8 *data, size_t size);
void fuzz_jit(const u8 *data, size_t size);
void fuzz_object(const u8 *data, size_t size);
void fuzz_profile(const u8 *data, size_t size);
void fuzz_snapshot(const u8 *data, size_t size);
void fuzz_validate(const u8 *data, size_t size);

/* Check a condition; the message is printed if it is false. */
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
 * Take the parameters of a target, such as an address, from the end of the
 * input: the bytes before can then be mutated without moving. Returns false if
 * the input is shorter than @tail_size; else removes the tail from @size and
 * copies it to @tail.
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
