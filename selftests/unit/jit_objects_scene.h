/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Files of announced objects that are made for tests, and the functions that are parsed of
 * them.
 */
#ifndef SELFTESTS_UNIT_JIT_OBJECTS_SCENE_H
#define SELFTESTS_UNIT_JIT_OBJECTS_SCENE_H

#include <string.h>

#include "jit_objects_made.h"
#include "tap.h"
#include "userspace/cli/profile/jit_parse.h"
#include "userspace/cli/profile/jit_table.h"

#define CODE	0x7f1234567000

/* What the last file has told, and what is wrong in it. */
extern struct jit_table table;
extern struct jit_result result;

/* Parse @size bytes of @fd, or a file that was made. */
void parse_fd(int fd, uint64_t size);
void parse(const struct made_objects *file);

/* Returns the name of the function, or "none". */
const char *name_at(uint64_t address, uint64_t time);

#define EXPECT_NAME(address, time, name)	\
	EXPECT(!strcmp(name_at(address, time), name))

#endif /* SELFTESTS_UNIT_JIT_OBJECTS_SCENE_H */
