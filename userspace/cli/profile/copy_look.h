/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Look again at what processes have mapped, when what happened to them was lost: they are known
 * from then on.
 */
#ifndef CLI_PROFILE_COPY_LOOK_H
#define CLI_PROFILE_COPY_LOOK_H

#include <stdint.h>

#include "cli/profile/history.h"

struct copy_look;

struct copy_look *copy_look_create(void);

void copy_look_free(struct copy_look *look);

/* All was forgotten. Before that, nothing is looked at: it is known. */
void copy_look_begin(struct copy_look *look);

/*
 * Look at process @pid, unless it was seen since all was forgotten, or not long ago in vain. What
 * one user's processes may cost is limited, also by the rounds of inspect_begin().
 */
void copy_look_at(struct copy_look *look, uint32_t pid);

/* What happens to processes: what was seen may be neither what was there before, nor after. */
void copy_look_follow(struct copy_look *look,
		      const struct sframe_unwind_profile_record *record);

/*
 * Add what was seen to @history, as of the time when it had been read, unless the process has
 * changed meanwhile. All that happened until @until must have been followed.
 */
void copy_look_take(struct copy_look *look, struct history *history, uint64_t until);

#endif /* CLI_PROFILE_COPY_LOOK_H */
