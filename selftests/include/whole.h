/* SPDX-License-Identifier: GPL-2.0 */
/* Stacks that reach from the requesting thread to the start of the program. */
#ifndef SELFTESTS_WHOLE_H
#define SELFTESTS_WHOLE_H

#include <stdbool.h>
#include <unistd.h>

#include "wrappers.h"

/*
 * Read the next record of @client. Returns whether it is a complete stack of at
 * least @least frames that were all found by SFrame.
 */
static inline bool read_whole(int client, unsigned int least)
{
	static union {
		struct sframe_unwind_stack stack;
		__u64 words[8192];
	} record;
	const struct sframe_unwind_stack *stack = &record.stack;
	const __u8 *how;
	unsigned int i;

	if (read(client, &record, sizeof(record)) < (ssize_t)sizeof(*stack))
		return false;
	how = (const __u8 *)(stack->ips + stack->nr_frames);
	for (i = 1; i < stack->nr_frames; i++) {
		if (how[i] != SFRAME_UNWIND_FRAME_SFRAME)
			return false;
	}
	return stack->stop == SFRAME_UNWIND_STOP_COMPLETE &&
	       stack->nr_frames >= least;
}

#endif /* SELFTESTS_WHOLE_H */
