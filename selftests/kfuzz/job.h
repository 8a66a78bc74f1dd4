/* SPDX-License-Identifier: GPL-2.0 */
/* Job: a process that makes programs, one after the other, and has them run. */
#ifndef KFUZZ_JOB_H
#define KFUZZ_JOB_H

#include <stdbool.h>

/* Files in @dir for what each job runs; the last ones are kept. */
void job_init(const char *dir);

/* Run the program that is there in a process of its own. False if it hangs. */
bool job_run_program(unsigned int nr);

/* Make and run programs for so long. */
void job_run(unsigned int nr, unsigned int seconds);

#endif /* KFUZZ_JOB_H */
