/* SPDX-License-Identifier: GPL-2.0 */
/* Files in memory, and a system that fails when it is told to. */
#ifndef SFU_MEMORY_FILE_H
#define SFU_MEMORY_FILE_H

#include <stddef.h>
#include <stdint.h>

/* A memfd with these bytes; ends the process if it cannot be made. */
int memory_file(const void *bytes, size_t size);

/* Bytes of storage that @fd takes. */
uint64_t memory_file_storage(int fd);

/*
 * Reads that the code under test made, by pread(2), while @watched is the file:
 * a bitmap of bytes for the first WATCHED_BYTES, their number, and whether a
 * byte was read twice.
 */
#define WATCHED_BYTES (1 << 20)

extern int watched;
extern uint64_t watched_bytes;
extern int watched_twice;
extern unsigned char watched_map[WATCHED_BYTES];

/* Watch another file from now on. */
void watch_reads(int fd);

/*
 * What fails or lies: the read with this number, from 1, with EIO; blocks that
 * fstat(2) tells, if not -1; no holes.
 */
extern unsigned int watched_fail_at;
extern long watched_blocks;
extern int watched_no_holes;

/* What fstat(2) and fstatfs(2) say of @watched, if not NULL. */
struct stat;
struct statfs;
extern struct stat *watched_stat;
extern struct statfs *watched_fs;

/* Bytes that write(2) takes before the disk is full; -1: never. */
extern long room_to_write;

/* Seconds by which the clock is ahead. */
extern long clock_ahead;

#endif /* SFU_MEMORY_FILE_H */
