/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Open files named on the command line.
 */
#ifndef FILE_H
#define FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/* Most bytes that are read from standard input: 1 GiB. */
#define FILE_MAX_STDIN (1ULL << 30)

/*
 * Open @name for reading: a regular file, or "-" for standard input, which is copied to
 * a memory file up to its end. Other kinds of files are refused without being opened:
 * opening a FIFO would wait for its writer, and opening a device can have side effects.
 * Files are opened non-blocking, because of leases.
 *
 * Returns the descriptor with *@stat filled, or prints a message and returns a negated
 * CLI_* status.
 */
int file_open(const char *name, struct stat *stat);

/*
 * Most bytes of a file that are kept in memory: 8 times the bytes allocated to it, as
 * file systems compress, and 64 MiB. The file's size is no measure, because holes cost
 * its author nothing.
 */
static inline uint64_t file_budget(const struct stat *stat)
{
	return stat->st_blocks * 512ULL * 8 + (64ULL << 20);
}

#endif /* FILE_H */
