/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Names of functions that a process made at run time: from its jitdump and the objects that it
 * announces to debuggers, which tell the life of each, and from its perf map,
 * /tmp/perf-PID.map, which does not.
 *
 * All are looked for among the copies that "record" has kept, then as jit_open.h tells, or, if
 * the process is live, as jit_objects.h; and are read by jit_reader.h.
 */
#ifndef CLI_PROFILE_JIT_H
#define CLI_PROFILE_JIT_H

#include "cli/profile/jit_files.h"
#include "cli/profile/jit_parse.h"
#include "cli/profile/jit_table.h"
#include "cli/profile/object_owner.h"

struct jit;

/**
 * struct jit_memory - what names take; all 0 at the beginning
 *
 * @own: those of processes of this user.
 * @others: those of other users' processes.
 * @users: numbers of these users.
 * @of_user: what each of them has of @others.
 * @room: room for those.
 */
struct jit_memory {
	uint64_t own;
	uint64_t others;
	struct pairs users;
	uint64_t *of_user;
	uint32_t room;
};

void jit_memory_free(struct jit_memory *memory);

/*
 * Read what there is for process @pid; @file: as the profile tells, or NULL. @is_live: the
 * profile is one of running processes. @old: the same when it was read before, or NULL; loses
 * what has not changed since. Never fails.
 */
struct jit *jit_open(struct readers *readers, struct jit_memory *memory,
		     uint32_t pid, const struct jit_file *file, bool is_live,
		     struct jit *old);

/* Whether no file was read, as none has changed. */
bool jit_is_unchanged(const struct jit *jit);

/*
 * Returns the name of the function that was at @address at @time, and where it begins; or
 * NULL. A perf map is asked only for addresses that the others never had. @time: JIT_NOW if
 * it is of another clock than CLOCK_MONOTONIC, or not known.
 */
const char *jit_find(const struct jit *jit, uint64_t address, uint64_t time,
		     uint64_t *start);

/* A number that is equal at two times if all addresses have the same names. */
uint32_t jit_version(const struct jit *jit, uint64_t time);

/* Whether the times of functions matter. */
bool jit_has_times(const struct jit *jit);

/* Number of functions. */
uint32_t jit_functions(const struct jit *jit);

/* What is wrong with a file, by enum jit_kind, or NULL. */
const char *jit_why(const struct jit *jit, unsigned int file);
#define JIT_FILES	3u

/* When it was read, in nanoseconds of CLOCK_MONOTONIC, and how long that took. */
uint64_t jit_read_at(const struct jit *jit);
uint64_t jit_took_ns(const struct jit *jit);

/* Whether what process @pid had then can be named: it is the same, or has ended. */
bool jit_is_same_process(const struct jit *jit, uint32_t pid);

/* Set the former, if the files were looked at again, and nothing came of it. */
void jit_set_read_at(struct jit *jit, uint64_t time);

void jit_close(struct jit_memory *memory, struct jit *jit);

#endif /* CLI_PROFILE_JIT_H */
