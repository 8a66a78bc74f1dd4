/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Read a perf map, a jitdump or objects in a child, in the sandbox of object_sandbox.h and
 * with the limits of object_owner.h. What the child tells is checked.
 */
#ifndef CLI_PROFILE_JIT_READER_H
#define CLI_PROFILE_JIT_READER_H

#include "cli/profile/jit_parse.h"
#include "cli/profile/jit_table.h"
#include "cli/profile/object_owner.h"

struct object_file;

/* Largest file. */
#define JIT_FILE_MAX	(4ULL << 30)

/**
 * struct jit_reading - what is read, and how that ended
 *
 * @table: gets the functions, and is finished. What was told before something went wrong
 *	stays.
 * @kind: what the file is.
 * @pid: of the process, as the jitdump must have it.
 * @result: what is wrong in the file.
 * @was_tried: whether something has begun to read it; otherwise it may be tried later.
 * @why: why it was not read, or not to its end; or NULL.
 */
struct jit_reading {
	struct jit_table *table;
	enum jit_kind kind;
	uint32_t pid;
	struct jit_result result;
	bool was_tried;
	const char *why;
};

/* Read @file, which stays open. */
void jit_read(struct readers *readers, const struct object_file *file,
	      struct jit_reading *reading);

#endif /* CLI_PROFILE_JIT_READER_H */
