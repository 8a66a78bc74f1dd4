/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reader look: the mappings of a process that runs, or announces, generated code. Part of
 * READER_CODE.
 */
#ifndef ATTACH_READER_LOOK_H
#define ATTACH_READER_LOOK_H

#include <stdbool.h>
#include <stdint.h>

#include "clock.h"
#include "reader_task.h"
#include "runtimes.h"

/*
 * Real time for one look, attaching included, because others can make each system call
 * wait. What comes then is left out. The reply must come before READER_MAX_NS.
 */
#define LOOK_NS SECOND

/* Runtimes of one process. */
#define LOOK_MAX_RUNTIMES 4

/* A line of /proc/PID/maps. */
struct reader_mapped {
	uint64_t start;
	uint64_t end;
	uint64_t offset;
	struct file_key key;
	bool is_executable;
	bool is_anonymous;
	bool is_shared;
	const char *name;
};

/* A range to be attached to, of @nr_mappings anonymous mappings, or of one of a file. */
struct reader_wanted {
	uint64_t start;
	uint64_t end;
	uint64_t id;
	bool switches;
	unsigned int nr_mappings;
	bool is_new;
};

/**
 * struct reader_look - the mappings of a process
 *
 * @runtimes, @nr_runtimes: whose files it maps.
 * @follows: code that is announced is wanted, too, but not in @wanted.
 * @announces: it maps a file that announces code, or may do so.
 * @is_excluded: it also maps a file that one of them must not be together with.
 * @text: the largest mapping of a runtime's file that has_text; its end is 0 if there
 *	is none.
 * @has_text: mappings of this file are wanted.
 * @switches: functions that generated code calls may be on another stack.
 * @is_shared: generated code is only in memory that is shared: so says one of @runtimes, in
 *	whose processes other code, also of others of them, cannot be told apart.
 * @memory: /proc/PID/mem while files of runtimes with a frame are looked at.
 * @head: then, the beginning of the last file; its end is 0 if its code has been found.
 * @frames: a bit for each of @runtimes: it has no frame, or that of its file is kept.
 * @lacks_frame: there is a file whose frame is not kept.
 * @wanted, @nr: what is to be attached to, by address.
 * @is_full: there is more.
 * @is_cut: there may be more: the time to read was over.
 * @read_to: end of the last executable mapping that was read.
 * @ends_at: when all time is over.
 */
struct reader_look {
	const struct runtime *runtimes[LOOK_MAX_RUNTIMES];
	unsigned int nr_runtimes;
	bool follows;
	bool announces;
	bool is_excluded;
	struct reader_mapped text;
	bool has_text;
	bool switches;
	bool is_shared;
	int memory;
	struct reader_mapped head;
	unsigned int frames;
	bool lacks_frame;
	struct reader_wanted wanted[CODE_MAX_PLACES];
	unsigned int nr;
	bool is_full;
	bool is_cut;
	uint64_t read_to;
	uint64_t ends_at;
};

/*
 * Look at the process. @code->text is the runtime's file, if it has a section; @text is set
 * to the one that was found. Returns 0 with @look->nr_runtimes 0 if it is none of a runtime,
 * or a negative errno: -ESRCH if it has ended, -ETIME if that could not be found out.
 */
int reader_look(int process, const struct reader_code *code,
		struct reader_code_text *text, struct reader_look *look);

#endif /* ATTACH_READER_LOOK_H */
