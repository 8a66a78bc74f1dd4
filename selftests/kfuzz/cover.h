/* SPDX-License-Identifier: GPL-2.0 */
/* Cover: which of the module's code has been executed, by the kernel's KCOV. */
#ifndef KFUZZ_COVER_H
#define KFUZZ_COVER_H

#include <stdbool.h>
#include <stdint.h>

/* Address of the module's code. */
uint64_t cover_text(void);

/* Open KCOV for all threads of all jobs. */
void cover_init(void);

/*
 * Record the coverage of the calling thread, number @nr of the job, from now
 * on.
 */
void cover_enable(unsigned int job, unsigned int nr);

/* Map the coverage areas of @job's threads into the job's process. */
void cover_map(unsigned int job);

/*
 * Add the coverage of the job's threads, which have ended. Returns the number
 * of new places.
 */
unsigned int cover_collect(void);

/* Write the offsets in the module's code that were executed to a file. */
bool cover_write(const char *name);

#endif /* KFUZZ_COVER_H */
