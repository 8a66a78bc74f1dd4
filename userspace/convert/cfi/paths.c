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

	/* No path leads to what is behind the extent. */
	if (area->size - area->extent > scan->left)
		return 0;
	scan->left -= area->size - area->extent;
	for (at = 0; at < area->size; at += effect.size) {
		if (at < area->extent && path_at(scan, at)->size) {
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

/* Which of the two registers' states is sure. */
struct sure {
	bool sp;
	bool fp;
};

/* Returns what is sure at @next, which follows @path, by what is sure at @path. */
static struct sure sure_behind(const struct path *path, const struct path *next)
{
	const bool sp = path->sp_is_sure, fp = path->fp_is_sure;

	if (next->is_outermost)
		return (struct sure){ .sp = sp || fp };
	switch ((enum change)path->change) {
	case CHANGE_POP_FP:
	case CHANGE_WRITE_FP:
		return (struct sure){ .sp = sp };
	case CHANGE_SP_TO_FP:
		return (struct sure){ .sp = sp, .fp = sp };
	case CHANGE_FP_TO_SP:
		return (struct sure){ .sp = fp, .fp = fp };
	case CHANGE_LEAVE:
		return (struct sure){ .sp = fp };
	case CHANGE_WRITE_SP:
		return (struct sure){ .fp = fp };
	default:
		return (struct sure){ .sp = sp, .fp = fp };
	}
}

/* Returns what is sure at @path, by what is sure at @next, which follows it. */
static struct sure sure_before(const struct path *path, const struct path *next)
{
	const bool sp = next->sp_is_sure, fp = next->fp_is_sure;

	if (path->is_outermost != next->is_outermost)
		return (struct sure){ 0 };
	switch ((enum change)path->change) {
	case CHANGE_POP_FP:
	case CHANGE_WRITE_FP:
		return (struct sure){ .sp = sp };
	case CHANGE_SP_TO_FP:
		return (struct sure){ .sp = sp || fp };
	case CHANGE_FP_TO_SP:
		return (struct sure){ .fp = sp || fp };
	case CHANGE_LEAVE:
		return (struct sure){ .fp = sp };
	case CHANGE_WRITE_SP:
		return (struct sure){ .fp = fp };
	default:
		return (struct sure){ .sp = sp, .fp = fp };
	}
}

/* Add what is @sure at @path. Returns whether that is new. */
static bool make_sure(struct path *path, struct sure sure)
{
	const bool is_new = (sure.sp && !path->sp_is_sure) ||
			    (sure.fp && !path->fp_is_sure);

	path->sp_is_sure |= sure.sp;
	path->fp_is_sure |= sure.fp;
	return is_new;
}

/*
 * Note what the instruction at @offset and those that it leads to say about each other.
 * Returns whether that is new.
 */
static bool lead(struct scan *scan, uint64_t offset)
{
	struct path *path = path_at(scan, offset);
	struct path *next = path->continues ? path_at(scan, offset + path->size) :
					      NULL;
	struct path *target = path->target ? path_at(scan, path->target) : NULL;
	bool is_new = false;

	/* A call may not return; but if what is behind it is sure, it does. */
	if (next && !path->is_call)
		is_new |= make_sure(next, sure_behind(path, next));
	if (target)
		is_new |= make_sure(target, sure_behind(path, target));
	if (next)
		is_new |= make_sure(path, sure_before(path, next));
	if (target)
		is_new |= make_sure(path, sure_before(path, target));
	return is_new;
}

/*
 * Returns whether @area, which may begin inside another function, is one: control gets
 * from its start to a return, with nothing on the stack. In front of calls, the stack is
 * aligned, which it would not be without what that other function has on it.
 */
static bool is_function(struct scan *scan, const struct area *area)
{
	bool is_new = true;

	for (uint64_t at = 0; at < area->extent; at++)
		path_at(scan, at)->returns = path_at(scan, at)->is_return;
	for (unsigned int i = 0; is_new && i < MAX_ROUNDS; i++) {
		is_new = false;
		for (uint64_t at = area->extent; at-- > 0;) {
			struct path *path = path_at(scan, at);

			if (!path->size || path->returns ||
			    (path->is_call &&
			     (!path->has_sp || path->depth % 16 != 8)))
				continue;
			path->returns = (path->continues &&
					 path_at(scan, at + path->size)->returns) ||
					(path->target &&
					 path_at(scan, path->target)->returns);
			is_new |= path->returns;
		}
	}
	return path_at(scan, 0)->returns;
}

/* Find out what is sure. What is not found within the rounds is not. */
static void find_leads(struct scan *scan, const struct area *area)
{
	bool is_new = true;

	make_sure(path_at(scan, 0), (struct sure){ .sp = true, .fp = true });
	for (unsigned int i = 0; is_new && i < MAX_ROUNDS; i++) {
		is_new = false;
		for (uint64_t at = 0; at < area->extent; at++)
			if (path_at(scan, at)->size)
				is_new |= lead(scan, at);
		for (uint64_t at = area->extent; at-- > 0;)
			if (path_at(scan, at)->size)
				is_new |= lead(scan, at);
	}
}

/*
 * Returns whether a jump to @offset, with the stack as at the start, is to another
 * function, or to where the paths of this one have it so, too.
 */
static bool is_sound(const struct scan *scan, const struct area *area,
		     int64_t offset)
{
	const uint64_t address = area->start + offset;
	const struct path *path;

	if (offset < 0 || (uint64_t)offset >= area->extent)
		return sfu_proof_is_function(scan, address) ||
		       !sfu_proof_uncovered(scan, address);
	path = path_at(scan, offset);
	return path->is_known && path->has_sp && !path->depth && !path->saved;
}

/*
 * Returns whether nothing contradicts that @path, ending at @end, is of the function.
 *
 * No function begins behind a call if what is there copies what a function returns, or
 * preserves; but a part of another function may, where compilers put what is seldom
 * executed. So such a call @is_doubtful, up to a call by a pointer whose result is used.
 */
static bool is_inner(const struct scan *scan, const struct area *area,
		     const struct path *path, uint64_t end, bool *is_doubtful)
{
	const struct path *next;

	if (path->jumps && !is_sound(scan, area, path->other))
		return false;
	if (!path->is_call || !path->continues)
		return true;
	/* Functions may be aligned, or not. */
	while (end < area->extent && path_at(scan, end)->is_padding)
		end += path_at(scan, end)->size;
	if (end >= area->extent)
		return false;
	next = path_at(scan, end);
	if (next->sp_is_sure)
		return true;
	*is_doubtful = !path->is_by_pointer || !next->copies_result;
	return end % PROOF_ALIGN && next->begins_none;
}

/*
 * Find the end of a function whose size is not known. Behind a call that does not return
 * may be other code: of the same function, to which other paths lead as well, and agree;
 * or another function. There is none if all code up to the next function is part of
 * known paths, and none of it can be the start of a function.
 *
 * Returns 1 if so, 0 if not, or a negative errno with a message.
 */
static int find_end(struct scan *scan, const struct area *area)
{
	struct effect effect;
	bool is_doubtful = false;
	uint64_t at, last = 0;
	int ret = 0;

	for (at = 0; at < area->size; at += effect.size) {
		const struct path *path = at < area->extent ? path_at(scan, at) :
							      NULL;

		if (path && path->size) {
			effect.size = path->size;
			last = at + effect.size;
			if (!is_inner(scan, area, path, last, &is_doubtful))
				return 0;
			continue;
		}
		if (at > last && at % PROOF_ALIGN == 0 &&
		    sfu_proof_is_function(scan, area->start + at))
			break;
		if (at - last >= PROOF_ALIGN)
			return 0;
		ret = sfu_proof_decode(scan, area->start + at, area->size - at,
				       &effect);
		if (ret <= 0 || !effect.is_padding)
			return ret < 0 ? ret : 0;
	}
	for (last = at; last < area->extent; last++)
		if (path_at(scan, last)->is_known)
			return 0;
	return at < area->size && !is_doubtful;
}

/*
 * Returns whether @area may begin inside another function, with more on the stack: paths
 * disagree, the stack is not aligned at a call, or a jump may be to the rest of that.
 */
static bool may_be_label(struct scan *scan, const struct area *area)
{
	for (uint64_t at = 0; at < area->extent; at++) {
		const struct path *path = path_at(scan, at);

		if (path->size &&
		    ((path->is_call && path->has_sp && path->depth % 16 != 8) ||
		     (path->jumps && !is_sound(scan, area, path->other))))
			return true;
	}
	return area->nr_lost;
}

static struct sfu_rule rule_of(const struct path *path, bool by_sp)
{
	struct sfu_rule rule = {
		.cfa = by_sp ? SFU_REG_SP : SFU_REG_FP,
		.cfa_offset = (by_sp ? path->depth : path->base) + 8,
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

/*
 * Get the rule for @path. Returns false if it is not proven. In a function whose end is
 * known, and without an address to which a jump may go, code behind a call has no other
 * path to it.
 */
static bool proven_rule(const struct area *area, const struct path *path,
			struct sfu_rule *rule)
{
	const bool is_all = (!area->is_open || area->is_closed) &&
			    !area->is_left;
	const bool by_sp = path->has_sp && (is_all || path->sp_is_sure);

	if (!path->size)
		return false;
	*rule = rule_of(path, by_sp);
	if (path->is_outermost)
		return is_all || path->sp_is_sure;
	return by_sp || (path->base && (is_all || path->fp_is_sure));
}

int sfu_paths_add(struct scan *scan, struct area *area)
{
	size_t first = nr_spans(&scan->cfi->spans);
	int ret, err = 0;

	if (area->is_found || (area->is_taken && may_be_label(scan, area))) {
		if (!is_function(scan, area))
			return 0;
		sfu_proof_note_start(scan, area->start);
	}
	find_leads(scan, area);
	if (area->is_open && !area->is_left && area->start % PROOF_ALIGN == 0) {
		ret = find_end(scan, area);
		if (ret < 0)
			return ret;
		area->is_closed = ret;
	}
	/* Code that is not known may write them, and jump back. */
	scan->has_slots = scan->is_extended && !area->writes_saved &&
			  !area->is_left && !area->nr_lost;
	for (uint64_t at = 0; !err && at < area->extent; at++) {
		const struct path *path = path_at(scan, at);
		const uint64_t start = area->start + at;
		struct sfu_rule rule;

		if ((path->is_parent && !scan->is_extended) ||
		    !proven_rule(area, path, &rule)) {
			area->is_partial |= path->size != 0;
			continue;
		}
		err = sfu_proof_add(scan, &first, start, start + path->size,
				    &rule);
		if (!err && path->other)
			err = sfu_proof_note(scan, area->start + path->other,
					     path->calls);
		if (path->calls && !path->jumps)
			sfu_proof_note_start(scan, area->start + path->other);
	}
	return err ? err : sfu_proof_end(scan, first);
}
