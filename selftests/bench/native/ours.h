/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Ours: the unmodified decode, step and cache of the module, on a stack in
 * memory.
 */
#ifndef BENCH_OURS_H
#define BENCH_OURS_H

#include "decode/cache.h"
#include "decode/sframe.h"
#include "decode/step.h"

/**
 * struct ours - a section and its cached rules
 *
 * @table: the section.
 * @start, @end: addresses of its code.
 * @cache: rules.
 */
struct ours {
	struct sfu_table table;
	u64 start;
	u64 end;
	struct sfu_cache cache;
};

/*
 * Open the table for address @address; its @size bytes are at @bytes. Exits on
 * failure.
 */
void ours_open(struct ours *ours, u64 address, const void *bytes, u64 size,
	       u64 start, u64 end);

/*
 * Find the callers of @frame, at most @max, up to the first one outside of the
 * code. Without cached rules, or with all rules cached that were used before.
 */
u32 ours_cold(struct ours *ours, const struct sfu_frame *frame,
	      const struct sfu_stack *stack, u64 *ip, u32 max);
u32 ours_cached(struct ours *ours, const struct sfu_frame *frame,
		const struct sfu_stack *stack, u64 *ip, u32 max);

#endif /* BENCH_OURS_H */
