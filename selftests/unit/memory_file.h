/* SPDX-License-Identifier: GPL-2.0 */
/* Files in memory, and system calls that fail on request. */
#ifndef SFU_MEMORY_FILE_H
#define SFU_MEMORY_FILE_H

#include <stddef.h>
#include <stdint.h>

/* Create a memfd with these bytes; ends the process on failure. */
int memory_file(const void *bytes, size_t size);

/* Bytes of storage allocated to @fd. */
uint64_t memory_file_storage(int fd);

/*
 * pread(2) calls on the file @watched: a bitmap of the bytes read among the
 * first WATCHED_BYTES, the number of calls, and whether a byte was read twice.
 */
#define WATCHED_BYTES (1 << 20)

extern int watched;
extern uint64_t watched_bytes;
extern int watched_twice;
extern unsigned char watched_map[WATCHED_BYTES];

/* Watch another file from now on. */
void watch_reads(int fd);

/*
 * Failures and lies: number of the read that fails with EIO, starting from 1;
 * blocks that fstat(2) reports, if not -1; whether holes are reported as data.
 */
extern unsigned int watched_fail_at;
extern long watched_blocks;
extern int watched_no_holes;

/* Results of fstat(2) and fstatfs(2) for @watched, if not NULL. */
struct stat;
struct statfs;
extern struct stat *watched_stat;
extern struct statfs *watched_fs;

/* Bytes that write(2) accepts before the disk is full; -1: no limit. */
extern long room_to_write;

/* Seconds added to the time of day. */
extern long clock_ahead;

#endif /* SFU_MEMORY_FILE_H */
