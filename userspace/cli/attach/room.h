/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Room: when the kernel's limits are reached, detach sections that are not in use. A
 * pass through /proc finds those in use.
 */
#ifndef ATTACH_ROOM_H
#define ATTACH_ROOM_H

#include <stdbool.h>
#include <stdint.h>

#include "job.h"
#include "pass.h"

/* Minimum time before files that were refused for want of room are tried again. */
#define ROOM_MIN_NS (10 * SECOND)

/* Longest time to wait, after the pass, for users whose processes are looked at. */
#define ROOM_MAX_NS (10 * SECOND)

/**
 * struct room
 *
 * @is_wanted: room is to be made when pass number @pass is complete.
 * @since: files not used since then are detached.
 * @passed_at: when the pass was seen to be complete; 0: it was not.
 * @next_at: do not make room again before this time.
 */
struct room {
	bool is_wanted;
	unsigned int pass;
	uint64_t since;
	uint64_t passed_at;
	uint64_t next_at;
};

/* Call it periodically: requests a pass if room is wanted, then makes room. */
void room_check(struct room *room, struct jobs *jobs, struct pass *pass);

#endif /* ATTACH_ROOM_H */
