/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For tests of passes of "sframe-unwind attach": one over the processes of attach_world.h.
 */
#ifndef SFU_UNIT_ATTACH_PASS_SCENE_H
#define SFU_UNIT_ATTACH_PASS_SCENE_H

#include <stddef.h>

#include "attach_world.h"
#include "tap.h"
#include "userspace/cli/attach/pass.h"

#define UID 1000

/* @user is that with UID. */
extern struct users *users;
extern struct user *user;
extern struct watch watch;
extern struct pass pass;

/* Begin anew, with all processes watched. */
void pass_scene_begin(void);

/* Make a whole pass. Returns the number of steps. */
unsigned int pass_make(void);

/* Make the passes that are wanted until @end, as the periodic work does. */
void pass_time(uint64_t end);

/*
 * Take all processes of the user's queue. Returns their PIDs as digits of a
 * number.
 */
long taken(struct user *from);

/* Run each test in a scene of its own. Returns the exit status. */
int pass_scene_run(const struct tap_test *tests, size_t nr);

#endif /* SFU_UNIT_ATTACH_PASS_SCENE_H */
