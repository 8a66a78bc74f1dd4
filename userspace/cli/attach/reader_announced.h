/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reader task: the part of READER_CODE for code that a process announces to debuggers.
 */
#ifndef ATTACH_READER_ANNOUNCED_H
#define ATTACH_READER_ANNOUNCED_H

#include <stdbool.h>

#include "reader_task.h"

/**
 * struct announced_ranges - ranges of announced code that have a section
 *
 * @ranges, @nr: the ranges.
 * @weight: the sum of their weights.
 */
struct announced_ranges {
	struct reader_code_range ranges[CODE_MAX_RANGES];
	unsigned int nr;
	unsigned int weight;
};

/*
 * Look at what the process of @request announces; @process is its directory in /proc.
 * Detaches what it does not announce any more, and attaches what is new. Sets what
 * concerns this in reply->code, is_quiet as if it were of no runtime, and @ranges.
 */
void reader_announced(int process, const struct reader_request *request,
		      struct reader_reply *reply,
		      struct announced_ranges *ranges);

/* Detach @id, and returns whether the attachment @id is still used: see reader_code.c. */
void reader_code_detach(uint64_t id);
bool reader_code_is_alive(uint64_t id);

#endif /* ATTACH_READER_ANNOUNCED_H */
