/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Report: what "attach" prints.
 */
#ifndef ATTACH_REPORT_H
#define ATTACH_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach_object.h"
#include "attach_process.h"

/**
 * struct report - what is to be printed, and how far the work is
 *
 * @objects: set when they are there.
 * @is_quiet: nothing but errors.
 * @is_verbose: a line for each object.
 * @has_bar: a bar of progress.
 * @start_ms: when the command began.
 * @bar_ms: when the bar was last updated; 0 if there is none to remove.
 * @done, @whole: processes of this pass.
 */
struct report {
	const struct objects *objects;
	bool is_quiet;
	bool is_verbose;
	bool has_bar;
	uint64_t start_ms;
	uint64_t bar_ms;
	size_t done;
	size_t whole;
};

/* With the options set. */
void report_begin(struct report *report);

void report_progress(struct report *report, size_t done, size_t whole);
void report_remove_bar(struct report *report);

/* What is attached now, and how long it took. */
void report_ready(struct report *report, const struct watch *watch);

/* What was attached, and of how much use it was. */
void report_end(struct report *report, const struct watch *watch,
		struct sframe_unwind *handle);

/* For objects_create(), with a struct report as data. */
void report_object(void *data, const char *name, enum object_state state,
		   const char *text);
void report_busy(void *data, const char *name);

#endif /* ATTACH_REPORT_H */
