/* SPDX-License-Identifier: GPL-2.0 */
/* For tests of record_changes.c: the rings of two CPUs, and what the kernel writes to them. */
#ifndef SELFTESTS_UNIT_RINGS_H
#define SELFTESTS_UNIT_RINGS_H

#include <stdint.h>

/* Where all files are mapped. */
#define RINGS_CODE	0x7f0000000000UL

/*
 * In the ring of @cpu: process @pid maps a file without a build ID at @time, which has this
 * inode number and generation; executes a program; is forked from @parent.
 */
void rings_map(uint32_t cpu, uint32_t pid, uint64_t time, const char *name, uint64_t inode,
	       uint64_t generation);
void rings_exec(uint32_t cpu, uint32_t pid, uint64_t time, const char *name);
void rings_fork(uint32_t cpu, uint32_t pid, uint64_t time, uint32_t parent);

/* When record_changes_close() was called. */
void rings_free(void);

#endif /* SELFTESTS_UNIT_RINGS_H */
