/* SPDX-License-Identifier: GPL-2.0 */
/* The file that "record" writes, or one after the other. */
#ifndef CLI_PROFILE_RECORD_OUTPUT_H
#define CLI_PROFILE_RECORD_OUTPUT_H

#include "cli/profile/record_files.h"
#include "cli/profile/record_jit.h"
#include "cli/profile/record_options.h"

/**
 * struct record_output - the current file
 *
 * @options: what to record.
 * @files: takes note of the files that are mapped, or NULL.
 * @jit: keeps the files that name code made at run time, or NULL.
 * @copies: is to be told what is mapped when the first file begins, or NULL.
 * @is_interrupted: ends looking at what is mapped.
 * @finished: paths of the profiles that are finished.
 * @fd: the file, or -1.
 * @writer: the profile, or NULL.
 * @begun: when it was begun, in nanoseconds.
 * @before: bytes of the files before it.
 * @latest: time of the latest sample or change that has been read.
 * @round: what @latest was at the end of the last round.
 * @in_round: bytes that the file had then.
 */
struct record_output {
	const struct record_options *options;
	struct record_files *files;
	struct record_jit *jit;
	struct copies *copies;
	const volatile sig_atomic_t *is_interrupted;
	struct strings finished;
	int fd;
	struct sframe_unwind_profile_writer *writer;
	uint64_t begun;
	uint64_t before;
	uint64_t latest;
	uint64_t round;
	uint64_t in_round;
};

/* CLOCK_MONOTONIC, in nanoseconds: the clock of all times. */
uint64_t record_output_time(void);

/*
 * Begin the first file, with what the targets have mapped; @options, @files, @jit and @copies, or NULL,
 * must stay. *@is_interrupted ends that at once. All functions that return an exit status have
 * printed a message if it is not CLI_OK.
 */
int record_output_open(struct record_output *output,
		       const struct record_options *options,
		       struct record_files *files, struct record_jit *jit,
		       struct copies *copies, const volatile sig_atomic_t *is_interrupted);

/* Whether another file is to begin, by size or time. */
bool record_output_is_due(const struct record_output *output);

/* Finish the file and begin another one. Returns an exit status. */
int record_output_switch(struct record_output *output);

/*
 * What was in the buffers of all CPUs has been read. Tells readers how far they can
 * sort, if no sample that is older waits: @oldest is the time of the oldest one.
 * Returns 0 or an error of the writer.
 */
int record_output_end_round(struct record_output *output, uint64_t oldest);

/* Bytes of all files. */
uint64_t record_output_written(const struct record_output *output);

/* Finish the last file. Returns an exit status. */
int record_output_finish(struct record_output *output);

/* Free everything. What was written stays. */
void record_output_close(struct record_output *output);

#endif /* CLI_PROFILE_RECORD_OUTPUT_H */
