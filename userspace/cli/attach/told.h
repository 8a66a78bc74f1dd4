/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Told: what "attach --code-fd" tells of announced code: each section that is attached, one
 * message each, with a file that has the section. "record" completes stacks with it that were
 * cut before it was attached.
 */
#ifndef ATTACH_TOLD_H
#define ATTACH_TOLD_H

#include <fcntl.h>
#include <stdint.h>

/* Larger sections are not told: messages that nobody reads keep their files. */
#define TOLD_BYTES_MAX	(256u << 10)

/* What nobody can do to the file of a section. */
#define TOLD_SEALS	(F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW)

/**
 * struct told_code - a section
 *
 * @pid: the process.
 * @reserved: 0.
 * @start, @end: the code. Address 0 of the section is @start.
 * @from, @until: at a time between these (CLOCK_MONOTONIC, in nanoseconds) it was the code that
 *	the section is for, and in private memory that was not writable.
 * @size: bytes of the section, and of the file, which has TOLD_SEALS.
 */
struct told_code {
	uint32_t pid;
	uint32_t reserved;
	uint64_t start;
	uint64_t end;
	uint64_t from;
	uint64_t until;
	uint64_t size;
};

#endif /* ATTACH_TOLD_H */
