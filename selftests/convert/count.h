/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counting what a program does, where it is the same in every run: the basic
 * blocks that it executes and the bytes that it moves or reads, and its memory,
 * that of libraries with it. It is compiled with -fsanitize-coverage=trace-pc,
 * and linked with count.c and $(COUNT_LDFLAGS) of the Makefile.
 */
#ifndef SFU_CONVERT_COUNT_H
#define SFU_CONVERT_COUNT_H

#include <stdint.h>

/**
 * struct count - what has been done since count_begin()
 *
 * @steps: basic blocks, and words of 8 bytes that were copied or read.
 * @peak: bytes of memory at one time, beyond those of the beginning.
 */
struct count {
	uint64_t steps;
	uint64_t peak;
};

void count_begin(void);
struct count count_end(void);

#endif /* SFU_CONVERT_COUNT_H */
