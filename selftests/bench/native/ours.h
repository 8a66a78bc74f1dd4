/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Ours: the module's decode, step and cache, as they are, on a stack in memory.
 */
#ifndef BENCH_OURS_H
#define BENCH_OURS_H

#include "decode/cache.h"
#include "decode/sframe.h"
#include "decode/step.h"

/**
 * struct ours
 *
 * @table: the section.
 * @start, @end: addresses of the code that it is for.
 * @cache: rules.
 */
struct ours {
	struct sfu_table table;
	u64 start;
	u64 end;
	struct sfu_cache cache;
};

/* A table of @size bytes at @address, which lie at @bytes. Exits on failure. */
void ours_open(struct ours *ours, u64 address, const void *bytes, u64 size,
	       u64 start, u64 end);

/*
 * The callers of @frame, at most @max, up to the first one outside of the code.
 * With nothing remembered, or with every rule that has been used before.
 */
u32 ours_cold(struct ours *ours, const struct sfu_frame *frame,
	      const struct sfu_stack *stack, u64 *ip, u32 max);
u32 ours_cached(struct ours *ours, const struct sfu_frame *frame,
		const struct sfu_stack *stack, u64 *ip, u32 max);

#endif /* BENCH_OURS_H */
