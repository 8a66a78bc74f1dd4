/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What truth says to the object that it preloads into a program, and hears.
 */
#ifndef TRUTH_AGENT_H
#define TRUTH_AGENT_H

#include <stdint.h>

/* Environment: two file descriptors, "DEVICE SOCKET" in decimal. */
#define AGENT_FILES	"SFRAME_TRUTH_FILES"

/* Request the main thread's stack. */
struct agent_order {
	uint64_t user_data;
	uint32_t max_depth;
	uint32_t reserved;
};

/*
 * 0 or a negative errno. One comes without an order, from the start: the number
 * of objects registered, or a negative errno.
 */
struct agent_answer {
	int64_t result;
};

#endif /* TRUTH_AGENT_H */
