// SPDX-License-Identifier: GPL-2.0
/*
 * Ours: the unmodified decode, step and cache of the module, on a stack in
 * memory.
 */
#include <err.h>
#include <stdlib.h>

#include "ours.h"
#include "decode/sframe_find.h"

/* The module's largest size. */
#define SET_BITS	12

#define EPOCH		1

static const struct sfu_epochs epochs = { EPOCH, EPOCH };

void ours_open(struct ours *ours, u64 address, const void *bytes, u64 size,
	       u64 start, u64 end)
{
	const struct sfu_bytes section = {
		.address = address,
		.size = size,
		.copy = bytes,
	};
	void *memory;
	struct sfu_defect defect;

	if (!bytes || sfu_table_open(&ours->table, &section, &defect))
		errx(1, "not a good section");
	ours->start = start;
	ours->end = end;
	memory = calloc(1, sfu_cache_bytes(SET_BITS));
	if (!memory)
		err(1, "cache");
	sfu_cache_init(&ours->cache, SET_BITS, memory);
}

static bool has(const struct ours *ours, u64 ip)
{
	return ip >= ours->start && ip < ours->end;
}

static int look_up(const struct ours *ours, const struct sfu_frame *frame,
		   struct sfu_rule *rule)
{
	const struct sfu_fde_range all = { .high = ours->table.num_fdes };
	const u64 pc = sfu_frame_pc(frame);
	struct sfu_defect defect;
	struct sfu_match match;
	struct sfu_fde fde;
	u32 budget = ~0U;
	int ret;

	if (sfu_table_find_rule(&ours->table, ours->table.bytes.copy, all, pc,
				&budget, &match)) {
		*rule = match.rule;
		return 0;
	}
	ret = sfu_table_find(&ours->table, pc, &fde, &defect);
	if (ret)
		return ret;
	return sfu_fde_find_rule(&ours->table, &fde, pc, &budget, rule,
				 &defect);
}

u32 ours_cold(struct ours *ours, const struct sfu_frame *frame,
	      const struct sfu_stack *stack, u64 *ip, u32 max)
{
	struct sfu_frame now = *frame;
	struct sfu_rule rule;
	u32 nr = 0;

	while (nr < max && has(ours, now.ip) && !look_up(ours, &now, &rule) &&
	       !sfu_step_rule(&now, &rule, stack))
		ip[nr++] = now.ip;
	return nr;
}

u32 ours_cached(struct ours *ours, const struct sfu_frame *frame,
		const struct sfu_stack *stack, u64 *ip, u32 max)
{
	struct sfu_frame now = *frame;
	u32 nr = 0;

	for (;;) {
		const struct sfu_cache_entry *entry;
		struct sfu_rule rule;

		nr += sfu_cache_follow(&ours->cache, epochs, &now, stack,
				       ip + nr, max - nr).nr;
		if (nr == max || !has(ours, now.ip))
			return nr;
		entry = sfu_cache_find(&ours->cache, sfu_cache_key(&now));
		if (entry) {
			rule = entry->rule;
		} else {
			if (look_up(ours, &now, &rule))
				return nr;
			sfu_cache_insert(&ours->cache, sfu_cache_key(&now),
					 EPOCH, 0, &rule);
		}
		if (sfu_step_rule(&now, &rule, stack))
			return nr;
		ip[nr++] = now.ip;
	}
}
