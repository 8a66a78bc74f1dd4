/* SPDX-License-Identifier: GPL-2.0 */
/*
 * "record --build-id": keep the files that samples are in, by build ID, where report and
 * perf look for them.
 */
#ifndef CLI_PROFILE_RECORD_FILES_H
#define CLI_PROFILE_RECORD_FILES_H

#include <signal.h>
#include <stdbool.h>

#include "include/sframe_unwind_profile.h"

struct record_files;

/*
 * Open the folder where files are kept. @is_interrupted: ends record_files_use() and
 * record_files_keep() at once. Returns an exit status, after a message if it is not CLI_OK;
 * *@files is to be freed in any case.
 */
int record_files_create(struct record_files **files,
			const volatile sig_atomic_t *is_interrupted);

/*
 * Fill in the build ID of a mapping that the kernel did not know, if the process still has
 * it; or had a mapping of the same file before. @device, @inode: of the mapping.
 * @generation: with these, tells which file it is, also after another one has got its place.
 * What this and record_files_open() may do for one user is limited by the rounds of
 * inspect_begin().
 */
void record_files_complete(struct record_files *files,
			   struct sframe_unwind_profile_record *record,
			   dev_t device, uint64_t inode, uint64_t generation);

/* Note the file of a mapping. Other records are ignored. */
void record_files_add(struct record_files *files,
		      const struct sframe_unwind_profile_record *record);

/* Open what was noted, which may be deleted or replaced later. */
void record_files_open(struct record_files *files);

/*
 * Note which files the samples of profile @path are in. Returns an exit status, after a
 * message if it is not CLI_OK.
 */
int record_files_use(struct record_files *files, const char *path);

/* Keep those, and print how many. Returns an exit status. */
int record_files_keep(struct record_files *files, bool is_quiet);

void record_files_free(struct record_files *files);

#endif /* CLI_PROFILE_RECORD_FILES_H */
