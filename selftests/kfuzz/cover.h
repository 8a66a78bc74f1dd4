/* SPDX-License-Identifier: GPL-2.0 */
/* Cover: which of the module's code has been reached, by the kernel's KCOV. */
#ifndef KFUZZ_COVER_H
#define KFUZZ_COVER_H

#include <stdbool.h>
#include <stdint.h>

/* Where the module's code is. */
uint64_t cover_text(void);

/* Open what is needed for all threads of all jobs. */
void cover_init(void);

/* Note from now on what the calling thread, @nr of a job's, reaches. */
void cover_enable(unsigned int job, unsigned int nr);

/* Have what @job's threads reach at hand, in the process that is the job. */
void cover_map(unsigned int job);

/*
 * Add what the job's threads, which have ended, have reached. Returns how much
 * of it is new.
 */
unsigned int cover_collect(void);

/* Write the offsets in the module's code that have been reached to a file. */
bool cover_write(const char *name);

#endif /* KFUZZ_COVER_H */
