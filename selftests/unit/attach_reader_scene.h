/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For tests of readers that look at generated code: this process is the one that is looked at,
 * with code in some places and files of runtimes. The module, the clock, announced code and
 * frames are as the test says.
 */
#ifndef SFU_UNIT_ATTACH_READER_SCENE_H
#define SFU_UNIT_ATTACH_READER_SCENE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach_world.h"
#include "tap.h"
#include "userspace/cli/attach/reader.h"
#include "userspace/cli/attach/reader_announced.h"

/*
 * Code is in pages 0, 2, 4, ... of @places. A file of a runtime is in page 1, and one of a
 * runtime that announces code in page 3.
 */
#define PLACES 40U

extern size_t page;
extern char *places;

/* The look, and what it replies. */
extern struct reader_request request;
extern struct reader_reply reply;
extern unsigned char entries[READER_MAX_REPLY];

/* Time that each attachment takes, and each line of the mappings, or one of them. */
extern uint64_t attach_ns, line_ns, slow_ns, slow_cpu_ns;
extern unsigned int nr_lines, slow_line;

/* Error of attaching after @NR_BEFORE_ERROR, or 0. */
#define NR_BEFORE_ERROR 3U

extern int attach_error;
extern unsigned int nr_attached, nr_extended, nr_detached;

/* When so many are attached, the process is not one of a runtime any more; 0: never. */
extern unsigned int ends_after;

/* When the mappings have been read once, this one is not executable any more; or NULL. */
extern void *goes;

/* What is announced; how that is found out is another test's. */
extern struct announced_ranges announced;
extern bool nothing_is_announced;

/*
 * Whether frames are kept, which is another test's, and where they are not; and the last one
 * that was asked for.
 */
extern bool no_frame;
extern uint64_t no_frame_at;
extern unsigned int nr_frames;
extern uint64_t frame_at;

/* Begin anew. */
void scene_begin(void);

/* Look at all places, in time. */
void look(void);

/* Look again at what the last look has left. */
void look_again(void);

/*
 * Map a page of an executable file of this name at @at, and if @data is not NULL, as data
 * there. Returns whether that is possible. Which runtime's it is says configure(); those named
 * "node" are of one that the daemon knows.
 */
bool map_file_twice(const char *name, void *at, void *data);
bool map_file(const char *name, void *at);

/* Run all @nr tests, each with a scene of its own. Returns the exit status. */
int scene_run(const struct tap_test *tests, size_t nr);

#endif /* SFU_UNIT_ATTACH_READER_SCENE_H */
