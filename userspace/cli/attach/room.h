/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Room: when the kernel takes no more attachments, those that are not in use are
 * given up: a pass through /proc finds out which are.
 */
#ifndef ATTACH_ROOM_H
#define ATTACH_ROOM_H

#include <stdbool.h>
#include <stdint.h>

#include "job.h"
#include "pass.h"

/* How long what was refused for want of room stays so, at least. */
#define ROOM_MIN_NS (10 * SECOND)

/**
 * struct room
 *
 * @is_wanted: a pass is being made for it, which is number @pass of all.
 * @since: what is in use has been seen since then.
 * @next_at: not before that.
 */
struct room {
	bool is_wanted;
	unsigned int pass;
	uint64_t since;
	uint64_t next_at;
};

/* To be called now and then: have a pass made if room is wanted, and make it. */
void room_check(struct room *room, struct jobs *jobs, struct pass *pass);

#endif /* ATTACH_ROOM_H */
