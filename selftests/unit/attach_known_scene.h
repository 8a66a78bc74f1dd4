/* SPDX-License-Identifier: GPL-2.0 */
/* For tests of the files that "sframe-unwind attach" knows: a table, and files for it. */
#ifndef SFU_UNIT_ATTACH_KNOWN_SCENE_H
#define SFU_UNIT_ATTACH_KNOWN_SCENE_H

#include <stddef.h>
#include <stdint.h>

#include "attach_world.h"
#include "tap.h"
#include "userspace/cli/attach/known.h"

extern struct known_files *files;

/* Ids that were detached. */
extern uint64_t detached[8];
extern unsigned int nr_detached;

/* Begin anew. */
void scene_begin(void);

/* A file on device 9 whose mappings report device 1; and one that is attached. */
struct known file(uint64_t inode, enum file_state state);
struct known attached(uint64_t inode, uint64_t id);

/* Enter it. Returns what is in the table. */
struct known *set(struct known known);

/* Find it by what mappings report. */
struct known *find(uint64_t device, uint64_t inode);

/* Run all @nr tests, each with a scene of its own. Returns the exit status. */
int scene_run(const struct tap_test *tests, size_t nr);

#endif /* SFU_UNIT_ATTACH_KNOWN_SCENE_H */
