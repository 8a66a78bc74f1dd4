/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Told: what "attach --code-fd" tells of announced code: each section that is attached, one
 * message each, with a file that has the section. "record" completes stacks with it that were
 * cut before it was attached.
 */
#ifndef ATTACH_TOLD_H
#define ATTACH_TOLD_H

#include <stdint.h>

/**
 * struct told_code - a section
 *
 * @pid: the process.
 * @reserved: 0.
 * @start, @end: the code. Address 0 of the section is @start.
 * @from, @until: at a time between these (CLOCK_MONOTONIC, in nanoseconds) it was the code that
 *	the section is for, and in private memory that was not writable.
 * @size: bytes of the section.
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
