/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counting the work of a program in a reproducible way: basic blocks executed,
 * bytes moved or read, and memory used, including that of libraries. The
 * program is compiled with -fsanitize-coverage=trace-pc, and linked with
 * count.c and $(COUNT_LDFLAGS) of the Makefile.
 */
#ifndef SFU_CONVERT_COUNT_H
#define SFU_CONVERT_COUNT_H

#include <stdint.h>

/**
 * struct count - work done since count_begin()
 *
 * @steps: basic blocks, and 8-byte words copied or read.
 * @peak: maximum bytes of memory, in addition to those at the start.
 */
struct count {
	uint64_t steps;
	uint64_t peak;
};

void count_begin(void);
struct count count_end(void);

#endif /* SFU_CONVERT_COUNT_H */
