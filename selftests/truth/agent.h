/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Messages between truth and the object that it preloads into a program.
 */
#ifndef TRUTH_AGENT_H
#define TRUTH_AGENT_H

#include <stdint.h>

/* Environment variable with two file descriptors, "DEVICE SOCKET" in decimal. */
#define AGENT_FILES	"SFRAME_TRUTH_FILES"

/* Order: request the main thread's stack. */
struct agent_order {
	uint64_t user_data;
	uint32_t max_depth;
	uint32_t reserved;
};

/*
 * Answer: 0 or a negative errno. The first answer, without an order, is the
 * number of objects registered, or a negative errno.
 */
struct agent_answer {
	int64_t result;
};

#endif /* TRUTH_AGENT_H */
