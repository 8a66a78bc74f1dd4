/* SPDX-License-Identifier: GPL-2.0 */
/* Job: a process that generates programs and runs them, one after the other. */
#ifndef KFUZZ_JOB_H
#define KFUZZ_JOB_H

#include <stdbool.h>

/* Open files in @dir for the recent programs of each job. */
void job_init(const char *dir);

/* Run the job's current program in a child process. Returns false if it hangs. */
bool job_run_program(unsigned int nr);

/* Generate and run programs for @seconds. */
void job_run(unsigned int nr, unsigned int seconds);

#endif /* KFUZZ_JOB_H */
