/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Samples in the order of time. A file has them in that order but for the
 * samples that the CPUs' buffers held at one time, so a limited number is held
 * back.
 */
#ifndef CLI_PROFILE_ORDER_H
#define CLI_PROFILE_ORDER_H

#include "cli/profile/load.h"

/* Bytes of samples that are held back. */
#define ORDER_MAX	(64u << 20)

/**
 * struct ordered - a sample with what a text has of it
 *
 * @record: the sample. Its pointers are not valid.
 * @order: its place in the file.
 * @nr: number of its frames.
 * @has_how: whether it is known how the user's frames were found.
 * @frames: the addresses; behind them, the places; behind those, if @has_how, a byte
 *	of enum sframe_unwind_frame for each of the user's frames.
 */
struct ordered {
	struct sframe_unwind_profile_record record;
	uint64_t order;
	uint32_t nr;
	bool has_how;
	uint64_t frames[];
};

/**
 * struct order - samples that are held back; all 0 at the beginning
 *
 * @heap: the samples, the earliest first.
 * @nr: number of those.
 * @room: room for those.
 * @size: their bytes.
 * @next: number of samples so far.
 */
struct order {
	struct ordered **heap;
	uint32_t nr;
	uint32_t room;
	size_t size;
	uint64_t next;
};

/* Get the next sample, to be freed, or NULL at the end. */
struct ordered *order_next(struct order *order, struct load *load);

static inline const uint32_t *ordered_places(const struct ordered *sample)
{
	return (const uint32_t *)(sample->frames + sample->nr);
}

/* NULL if it is not known. */
static inline const uint8_t *ordered_how(const struct ordered *sample)
{
	return sample->has_how ?
	       (const uint8_t *)(ordered_places(sample) + sample->nr) : NULL;
}

void order_free(struct order *order);

#endif /* CLI_PROFILE_ORDER_H */
