// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include "module/arch/arch.h"
#include "module/decode/sframe_format.h"
#include "paths.h"

/* Rounds in which is found what leads where; jumps backwards may need several. */
#define MAX_ROUNDS	8

int sfu_paths_spare_fp(struct scan *scan, const struct area *area)
{
	struct effect effect;
	uint64_t at;
	int ret;

	for (at = 0; at < area->size; at += effect.size) {
		if (path_at(scan, at)->size) {
			effect.size = path_at(scan, at)->size;
			continue;
		}
		ret = sfu_proof_decode(scan, area->start + at, area->size - at,
				       &effect);
		if (ret < 0)
			return ret;
		if (!ret)
			effect.size = 1;
		else if (effect.change == CHANGE_WRITE_FP || effect.stores_fp)
			return 0;
	}
	return 1;
}

/* Note what leads from and to the instruction at @offset. Returns whether that is new. */
static bool lead(struct scan *scan, uint64_t offset)
{
	struct path *path = path_at(scan, offset);
	struct path *next = path->continues ? path_at(scan, offset + path->size) :
					      NULL;
	struct path *target = path->target ? path_at(scan, path->target) : NULL;
	/* Calls in front of what exits have returned. */
	const bool is_reached = path->is_certain || path->exits;
	bool is_new = false;

	if (is_reached && next && !path->is_call && !next->is_certain)
		is_new = next->is_certain = true;
	if (is_reached && target && !target->is_certain)
		is_new = target->is_certain = true;
	if (!path->exits && ((next && next->exits) || (target && target->exits)))
		is_new = path->exits = true;
	return is_new;
}

/* Find out what is certain, and what exits. What is not found within the rounds is not. */
static void find_leads(struct scan *scan, const struct area *area)
{
	bool is_new = true;

	path_at(scan, 0)->is_certain = true;
	for (unsigned int i = 0; is_new && i < MAX_ROUNDS; i++) {
		is_new = false;
		for (uint64_t at = 0; at < area->size; at++)
			if (path_at(scan, at)->size)
				is_new |= lead(scan, at);
		for (uint64_t at = area->size; at-- > 0;)
			if (path_at(scan, at)->size)
				is_new |= lead(scan, at);
	}
}

/*
 * Returns whether the state of @path is proven. In a function whose end is known, and
 * without an address to which a jump may go, code behind a call has no other path to it.
 */
static bool is_proven(const struct area *area, const struct path *path)
{
	return path->size && (path->is_certain || path->exits ||
			      (!area->is_open && !area->is_left));
}

static struct sfu_rule rule_of(const struct path *path)
{
	struct sfu_rule rule = {
		.cfa = path->has_sp ? SFU_REG_SP : SFU_REG_FP,
		.cfa_offset = (path->has_sp ? path->depth : path->base) + 8,
		.ra = SFU_BASE_CFA | SFU_DEREF,
		.ra_offset = SFU_SFRAME_FIXED_RA,
		.fp = SFU_SAME,
	};

	if (path->is_outermost)
		return (struct sfu_rule){ .flags = SFU_RULE_OUTERMOST };
	if (path->saved) {
		rule.fp = SFU_BASE_CFA | SFU_DEREF;
		rule.fp_offset = -8 - path->saved;
	}
	if (path->is_parent)
		rule.cfa = SFRAME_EXT_REG_SP_PARENT;
	return rule;
}

int sfu_paths_add(struct scan *scan, const struct area *area)
{
	size_t first = nr_spans(&scan->cfi->spans);
	int err = 0;

	find_leads(scan, area);
	/* Code that is not known may write them, and jump back. */
	scan->has_slots = scan->is_extended && !area->writes_saved &&
			  !area->is_left;
	for (uint64_t at = 0; !err && at < area->size; at++) {
		const struct path *path = path_at(scan, at);
		const uint64_t start = area->start + at;
		struct sfu_rule rule;

		if (!is_proven(area, path) ||
		    (path->is_parent && !scan->is_extended))
			continue;
		rule = rule_of(path);
		err = sfu_proof_add(scan, &first, start, start + path->size,
				    &rule);
		if (!err && path->other)
			err = sfu_proof_note(scan, area->start + path->other,
					     path->calls);
	}
	return err ? err : sfu_proof_end(scan, first);
}
