/* SPDX-License-Identifier: GPL-2.0 */
/* Making a worker execute what a test wants. */
#ifndef SELFTESTS_WORKER_PLANTED_H
#define SELFTESTS_WORKER_PLANTED_H

#include "common.h"
#include "payload.h"

extern const unsigned char __start_payload[], __stop_payload[];

static struct payload payload;
static unsigned int nr_steps;
static struct worker_end end;

static inline void begin(void)
{
	memset(&payload, 0, sizeof(payload));
	memcpy(payload.code, __start_payload, __stop_payload - __start_payload);
	nr_steps = 0;
}

static inline struct payload_step *add(unsigned int kind, uint64_t number)
{
	struct payload_step *step = &payload.steps[nr_steps++];

	step->kind = kind;
	step->number = number;
	return step;
}

/* Run the steps that were added, and close the result. */
static inline void run(const struct worker_limits *limits)
{
	if (end.result_fd > 0)
		close(end.result_fd);
	if (run_worker(make_sealed(&payload, sizeof(payload)), limits, &end))
		abort();
}

static inline long result(unsigned int number)
{
	long value = 0;

	if (pread(end.result_fd, &value, sizeof(value),
		  number * sizeof(value)) != sizeof(value))
		return 0x7ead;
	return value;
}

static inline bool is_killed_by_filter(void)
{
	return end.error == -EPROTO && strstr(end.text, "signal 31 ");
}

#endif /* SELFTESTS_WORKER_PLANTED_H */
