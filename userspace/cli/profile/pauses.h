/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Pauses: the last times that a thread did not run, for --off-cpu.
 */
#ifndef SFRAME_UNWIND_CLI_PAUSES_H
#define SFRAME_UNWIND_CLI_PAUSES_H

#include <stdbool.h>
#include <stdint.h>

/* Most of them: those for which there may be a sample that has not been read. */
#define PAUSES_MAX	64u

/**
 * struct pause - a time that a thread did not run
 *
 * @from: when it began, a little later than the sample.
 * @until: when it ended, or 0.
 * @is_blocked: whether the thread waited for something.
 */
struct pause {
	uint64_t from;
	uint64_t until;
	bool is_blocked;
};

/**
 * struct pauses - a ring of those; all 0 is an empty one
 *
 * @ring: the pauses.
 * @room: how many there may be, a power of two.
 * @first: number of the first one.
 * @next: number of the next one.
 * @forgotten: when the last one began that was forgotten.
 */
struct pauses {
	struct pause *ring;
	uint32_t room;
	uint32_t first;
	uint32_t next;
	uint64_t forgotten;
};

/* Add a pause; the first one of PAUSES_MAX is forgotten. */
void pauses_add(struct pauses *pauses, const struct pause *pause);

static inline uint32_t pauses_nr(const struct pauses *pauses)
{
	return pauses->next - pauses->first;
}

/* These two need a ring that is not empty. */
static inline struct pause *pauses_first(const struct pauses *pauses)
{
	return &pauses->ring[pauses->first % pauses->room];
}

static inline struct pause *pauses_last(const struct pauses *pauses)
{
	return &pauses->ring[(pauses->next - 1) % pauses->room];
}

#endif /* SFRAME_UNWIND_CLI_PAUSES_H */
