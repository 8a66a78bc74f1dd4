/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A scene for tests of the bookkeeping of generated code, in the world of attach_world.h:
 * the test makes the looks of readers.
 */
#ifndef SFU_UNIT_ATTACH_CODE_SCENE_H
#define SFU_UNIT_ATTACH_CODE_SCENE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "attach_world.h"
#include "tap.h"
#include "userspace/cli/attach/code.h"

#define MAX_ATTACHED	16384
#define MAX_OF_ALL	(MAX_ATTACHED / CODE_SHARE)
#define MAX_OF_USER	(MAX_OF_ALL / CODE_USER_SHARE)

#define MAX_DETACHED	(4 * CODE_MAX_RANGES)

extern struct users *users;
extern struct user *user, *other;
extern struct codes *codes;

/* The last look, and what the next one replies. */
extern struct reader_request request;
extern struct reader_reply reply;
extern struct reader_code_range ranges[CODE_MAX_RANGES];

/* Ids that were detached, and how many. */
extern uint64_t detached[MAX_DETACHED];
extern unsigned int nr_detached;

/* Limits that were told of, and the last one. */
extern unsigned int nr_told;
extern const char *told;

/* The state of the text. */
extern bool text_done, text_coming;

/* Begin anew. @has_events: changes of processes are told. */
void scene_begin(bool has_events);

/* Begin a look at a process of @of. Returns it, or NULL if none is due. */
struct code_process *look(struct user *of);

/* End it with @nr ranges, whose ids begin with @id. */
void end_look(struct code_process *process, uint64_t id, unsigned int nr);

void pass_time(uint64_t ns);

/* Enter @pid, and give it @nr ranges. Returns whether a look at it was due. */
bool attach(struct user *of, pid_t pid, uint64_t id, unsigned int nr);

/* Run all @nr tests, each with a scene of its own. Returns the exit status. */
int scene_run(const struct tap_test *tests, size_t nr);

#endif /* SFU_UNIT_ATTACH_CODE_SCENE_H */
