/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Report: what "attach" prints. What cannot be printed at once is not: nobody
 * shall wait for a reader of it.
 */
#ifndef ATTACH_REPORT_H
#define ATTACH_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "known.h"

/* Reasons that are told apart; of others there are no lines. */
#define REPORT_MAX_REASONS 24

struct jobs;

/**
 * struct report - what is to be printed, and how far the work is
 *
 * @known: set when it is there.
 * @is_quiet: nothing but errors.
 * @is_verbose: a line for each file.
 * @has_bar: a bar of progress.
 * @start_ns: when the command began.
 * @bar_ns: when the bar was last updated; 0 if there is none to remove.
 * @done, @whole: processes of this pass.
 * @unprinted: lines that could not be printed at once.
 * @refused: reasons, and the last file that was refused for each.
 */
struct report {
	const struct known_files *known;
	bool is_quiet;
	bool is_verbose;
	bool has_bar;
	uint64_t start_ns;
	uint64_t bar_ns;
	size_t done;
	size_t whole;
	unsigned int unprinted;
	struct {
		const char *reason;
		char name[MAPPING_NAME_SIZE];
	} refused[REPORT_MAX_REASONS];
};

/* With the options set. */
void report_begin(struct report *report);

/* A bar, with the name of what is being worked on. */
void report_progress(struct report *report, const char *name);
void report_remove_bar(struct report *report);

/* What became of a file, and what there is to say of it. */
void report_file(struct report *report, const char *name,
		 enum file_state state, const char *text);

/* A file was refused, for a constant @reason. */
void report_refused(struct report *report, const char *name,
		    const char *reason);

/* What is attached now, and how long it took. */
void report_ready(struct report *report, const struct jobs *jobs);

/* What was attached, and, by the client @device, of how much use it was. */
void report_end(struct report *report, const struct jobs *jobs, int device);

#endif /* ATTACH_REPORT_H */
