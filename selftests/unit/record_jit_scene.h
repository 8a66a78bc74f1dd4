/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A scene for tests of which files "record" keeps that name code made at run time: a home
 * directory of its own, a process that waits, and records that tell of processes.
 */
#ifndef SELFTESTS_UNIT_RECORD_JIT_SCENE_H
#define SELFTESTS_UNIT_RECORD_JIT_SCENE_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "userspace/cli/profile/record_jit.h"

/* The home directory; the perf map of the child; and room for the path of a jitdump. */
extern char work[64], map_path[64], dump_path[128];

extern volatile sig_atomic_t is_interrupted;
extern struct record_jit *jit;

/* The folder that the last profile tells, or ""; and since when the process has its files. */
extern char kept[256];
extern uint64_t kept_since;

/* Time of records. */
extern uint64_t now;

/* A process that waits. */
extern pid_t child;

void scene_begin(void);
void scene_end(void);

/* Begin to record, with nothing kept. */
void start(void);

/* Append to a file. */
void write_file(const char *path, const void *bytes, size_t size);

/* A record: the process has mapped code of that name. */
void add(pid_t pid, const char *name);

/* Keep what there is, and read what the profile tells. Returns 0 or an error. */
int keep(void);

/* Returns whether a file that was kept has these bytes. */
bool has_kept(const char *name, const char *bytes);

/* Kill a process, and remove its perf map. */
void end_process(pid_t pid);

#endif /* SELFTESTS_UNIT_RECORD_JIT_SCENE_H */
