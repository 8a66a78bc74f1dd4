/* SPDX-License-Identifier: GPL-2.0 */
/*
 * "record": keep the files in which processes name the functions that they make at run time.
 * They are opened while the process runs, and copied at the end of each profile, into
 * ~/.debug: see jit_files.h.
 */
#ifndef CLI_PROFILE_RECORD_JIT_H
#define CLI_PROFILE_RECORD_JIT_H

#include <signal.h>
#include <stdbool.h>

#include "include/sframe_unwind_profile.h"

struct record_jit;

/* @is_interrupted: ends record_jit_look() and record_jit_keep() at once. */
struct record_jit *record_jit_create(const volatile sig_atomic_t *is_interrupted);

/*
 * Take note of a mapping of a process. Other records are ignored. An inspect_fn may call this:
 * no file is opened.
 */
void record_jit_add(struct record_jit *jit,
		    const struct sframe_unwind_profile_record *record);

/*
 * Look for files that processes may have made since. What this may do for one user is limited
 * by the rounds of inspect_begin().
 */
void record_jit_look(struct record_jit *jit);

/*
 * Copy the files, and tell @writer. @time: of the record that tells it. Prints messages about
 * files that were not kept. Returns 0 or an error of the writer.
 */
int record_jit_keep(struct record_jit *jit,
		    struct sframe_unwind_profile_writer *writer, uint64_t time);

void record_jit_free(struct record_jit *jit);

#endif /* CLI_PROFILE_RECORD_JIT_H */
