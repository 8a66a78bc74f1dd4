/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Report: the output of "attach". Lines that cannot be printed at once are dropped,
 * so that the daemon never waits for the reader of its output.
 */
#ifndef ATTACH_REPORT_H
#define ATTACH_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "known.h"

/* Reasons that get a line of their own; files with further reasons are not listed. */
#define REPORT_MAX_REASONS 24

struct jobs;

/**
 * struct report - options and state of the output
 *
 * @known: the table of files; set by the caller when it has been created.
 * @is_quiet: print nothing but errors.
 * @is_verbose: print a line for each file.
 * @has_bar: print a progress bar.
 * @start_ns: when the command started.
 * @bar_ns: when the bar was last updated; 0 if no bar is on the screen.
 * @done, @whole: processes seen in this pass, and in the last one.
 * @unprinted: number of dropped lines.
 * @refused: reasons, each with the last file that was refused for it.
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

/* Start the report. The caller has set the options. */
void report_begin(struct report *report);

/* Update the progress bar; @name is the current file. */
void report_progress(struct report *report, const char *name);
void report_remove_bar(struct report *report);

/* With --verbose, print the result for a file, with details in @text. */
void report_file(struct report *report, const char *name,
		 enum file_state state, const char *text);

/* Print that a limit of generated code was reached: @what is a constant string. */
void report_limit(struct report *report, const char *what, pid_t pid);

/* Note that a file was refused, for a constant @reason. */
void report_refused(struct report *report, const char *name,
		    const char *reason);

/* Print the totals of attached files, and how long it took. */
void report_ready(struct report *report, const struct jobs *jobs);

/* Print the totals, and how much the attachments of client @device were used. */
void report_end(struct report *report, const struct jobs *jobs, int device);

#endif /* ATTACH_REPORT_H */
