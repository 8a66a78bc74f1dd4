/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Files named on the command line.
 */
#ifndef FILE_H
#define FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/* The most that is read of standard input: 1 GiB. */
#define FILE_MAX_STDIN (1ULL << 30)

/*
 * Open @name for reading: a regular file, or "-", whose bytes up to the end of
 * standard input lie in a file in memory then. What is no regular file is
 * refused at once, without opening it: a FIFO would wait for its writer, and a
 * device may act. Nor does a file wait later: it is opened non-blocking.
 *
 * Returns the descriptor with *@stat filled, or, having complained, a negated
 * CLI_* status.
 */
int file_open(const char *name, struct stat *stat);

/*
 * The most bytes that are kept of a file at one time: 8 times what is allocated
 * to it, as file systems compress, and 64 MiB. A file that is larger by holes
 * costs its maker nothing.
 */
static inline uint64_t file_budget(const struct stat *stat)
{
	return stat->st_blocks * 512ULL * 8 + (64ULL << 20);
}

#endif /* FILE_H */
