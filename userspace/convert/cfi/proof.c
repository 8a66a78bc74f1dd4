// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * A path begins with the return address on top of the stack. Each instruction gets the
 * state that all paths to it must have. What a called function does is assumed: it
 * returns with the stack pointer above its return address, and with rbp unchanged.
 *
 * Calls that do not return may be followed by code to which other paths lead, maybe of
 * another function. So code behind a call is proven only if control gets from there to
 * the function's end, with the stack pointer at the return address.
 *
 * A path that clears rbp, which it has not saved, marks the outermost frame: it must
 * not return.
 */
#include <string.h>

#include "module/arch/arch.h"
#include "module/decode/sframe_format.h"
#include "proof.h"

/* Largest function in bytes whose size is known. */
#define MAX_KNOWN	65536

/* Rounds in which is found what leads where; jumps backwards may need several. */
#define MAX_ROUNDS	8

/* Largest stack frame, and largest part of it that one instruction makes; in bytes. */
#define MAX_DEPTH	(1 << 28)
#define MAX_ADD		(1 << 20)

/**
 * struct path - what is known where paths meet
 *
 * @depth: bytes between the stack pointer and the return address.
 * @saved: depth at which rbp was saved, right after the push; 0 if rbp is the caller's.
 * @base: depth at which rsp was copied to rbp; 0 if rbp is something else.
 * @has_sp: @depth is known.
 * @is_outermost: there is no caller. Then nothing else is known, not even @depth.
 * @is_parent: here are both the caller of clone(), with the function's stack, and the
 *	new thread.
 * @is_known: a path leads here.
 * @target: offset of the instruction to which this one may jump; 0 if there is none.
 * @other: start of another function that is called or jumped to, from the start of this
 *	one; 0 if there is none.
 * @size: of the instruction here; 0 if it was not looked at.
 * @is_inside: inside an instruction.
 * @is_call: it is a call.
 * @continues: control gets to the next instruction.
 * @is_certain: it can be reached without return from a call.
 * @exits: control can get from here to the end of the function.
 */
struct path {
	int32_t depth;
	int32_t saved;
	int32_t base;
	uint32_t target;
	int32_t other;
	bool has_sp;
	bool is_outermost;
	bool is_parent;
	bool is_known;
	uint8_t size;
	bool is_inside;
	bool is_call;
	bool continues;
	bool is_certain;
	bool exits;
};

/**
 * struct area - a function being looked at
 *
 * @start: its address.
 * @size: in bytes; at most so many if @is_open.
 * @is_open: its end is not known.
 * @is_left: it jumps to addresses that are not known, maybe in itself.
 * @writes_saved: see struct effect.
 */
struct area {
	uint64_t start;
	uint64_t size;
	bool is_open;
	bool is_left;
	bool writes_saved;
};

static struct path *path_at(const struct scan *scan, uint64_t offset)
{
	return (struct path *)scan->paths.bytes + offset;
}

uint64_t sfu_proof_uncovered(const struct scan *scan, uint64_t address)
{
	const uint64_t filled = sfu_image_filled(scan->image, address);
	size_t low = 0, high = nr_spans(scan->spans);

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (span_at(scan->spans, middle)->end > address)
			high = middle;
		else
			low = middle + 1;
	}
	if (low == nr_spans(scan->spans))
		return filled;
	if (span_at(scan->spans, low)->start <= address)
		return 0;
	if (span_at(scan->spans, low)->start - address < filled)
		return span_at(scan->spans, low)->start - address;
	return filled;
}

int sfu_proof_decode(struct scan *scan, uint64_t address, uint64_t most,
		     struct effect *effect)
{
	const size_t size = most < EFFECT_MAX_SIZE ? most : EFFECT_MAX_SIZE;
	const unsigned char *code;
	int ret;

	if (!size)
		return 0;
	ret = sfu_image_code(scan->image, address, size, &code);
	return ret <= 0 ? ret : sfu_effect_read(code, size, effect);
}

void sfu_proof_note(struct scan *scan, uint64_t address)
{
	size_t slot = (address ^ address >> 13) % PROOF_MAX_CALLED;

	if (!sfu_proof_uncovered(scan, address) || scan->nr_queued > PROOF_MAX_CALLED / 2)
		return;
	while (scan->called[slot]) {
		if (scan->called[slot] == address)
			return;
		slot = (slot + 1) % PROOF_MAX_CALLED;
	}
	scan->called[slot] = address;
	scan->queue[scan->nr_queued++] = address;
}

/* Returns whether a path with @now may leave the function as if it had just begun. */
static bool is_as_at_start(const struct path *now)
{
	return now->has_sp && !now->depth && !now->saved;
}

/* Returns whether the stack pointer can be at @depth without losing the saved rbp. */
static bool is_depth(const struct path *now, int32_t depth)
{
	return depth >= now->saved && depth < MAX_DEPTH;
}

/* Returns whether [at, at + size) has a part of the word at @word. */
static bool overlaps(int64_t at, unsigned int size, int64_t word)
{
	return at < word + 8 && at + size > word;
}

/* Returns whether the return address, or the saved rbp, may be overwritten. */
static bool destroys_frame(const struct effect *effect, const struct path *now)
{
	const int64_t top = effect->store == STORE_SP ? now->depth : now->base;

	if (effect->store == STORE_ELSEWHERE ||
	    (effect->store == STORE_SP ? !now->has_sp : !now->base))
		return false;
	return overlaps(effect->store_at, effect->store_size, top) ||
	       (now->saved && overlaps(effect->store_at, effect->store_size,
				       top - now->saved));
}

/* The effects of instructions. Returns false if they are not understood. */
static bool apply(const struct effect *effect, struct path *now)
{
	if (now->is_outermost)
		return true;
	if (effect->clears_fp && !now->saved) {
		memset(now, 0, sizeof(*now));
		now->is_outermost = true;
		return true;
	}
	if (effect->add < -MAX_ADD || effect->add > MAX_ADD)
		return false;
	switch ((enum change)effect->change) {
	case CHANGE_NONE:
		return true;
	case CHANGE_ADD_SP:
		if (!now->has_sp)
			return true;
		now->depth -= effect->add;
		/* rbp must be restored by a pop or leave. */
		return is_depth(now, now->depth);
	case CHANGE_PUSH_FP:
		now->depth += 8;
		if (!now->saved && now->has_sp)
			now->saved = now->depth;
		return now->has_sp;
	case CHANGE_POP_FP:
		if (!now->has_sp || !now->saved || now->depth < now->saved)
			return false;
		if (now->depth == now->saved)
			now->saved = 0;
		now->base = 0;
		now->depth -= 8;
		return true;
	case CHANGE_SP_TO_FP:
		now->base = now->depth - effect->add;
		if (!now->has_sp || !now->saved)
			return false;
		if (!is_depth(now, now->base))
			now->base = 0;
		return true;
	case CHANGE_FP_TO_SP:
		now->depth = now->base - effect->add;
		now->has_sp = true;
		return now->base && is_depth(now, now->depth);
	case CHANGE_LEAVE:
		if (!now->base || now->base != now->saved)
			return false;
		now->depth = now->base - 8;
		now->base = 0;
		now->saved = 0;
		now->has_sp = true;
		return true;
	case CHANGE_WRITE_FP:
		now->base = 0;
		return now->saved && now->has_sp;
	case CHANGE_WRITE_SP:
		now->has_sp = false;
		now->depth = 0;
		return now->base;
	}
	return false;
}

/*
 * A path with @now leads to @offset of the function. Returns 1 if that agrees with
 * other paths; 0; or a negative errno with a message.
 */
static int meet(struct scan *scan, const struct area *area, uint64_t offset,
		const struct path *now)
{
	const uint32_t work = offset;
	struct path *path;
	int err;

	if (offset >= area->size)
		return 0;
	path = path_at(scan, offset);
	if (path->is_inside)
		return 0;
	if (path->is_known)
		return path->depth == now->depth && path->saved == now->saved &&
		       path->base == now->base && path->has_sp == now->has_sp &&
		       path->is_outermost == now->is_outermost;
	path->depth = now->depth;
	path->saved = now->saved;
	path->base = now->base;
	path->has_sp = now->has_sp;
	path->is_outermost = now->is_outermost;
	path->is_known = true;
	err = sfu_budget_reserve(&scan->image->file.budget, &scan->work,
				 sizeof(work), "code");
	if (err)
		return err;
	buffer_put(&scan->work, &work, sizeof(work));
	return 1;
}

/* The instruction @from calls or jumps to the function at @target. */
static void goes_to(struct path *from, int64_t target)
{
	if (target >= INT32_MIN && target <= INT32_MAX)
		from->other = target;
}

/*
 * A jump or branch at @offset with @now goes to @target, an offset that may be outside.
 */
static int jump(struct scan *scan, const struct area *area, uint64_t offset,
		int64_t target, const struct path *now)
{
	struct path *from = path_at(scan, offset);

	if (target >= 0 && (uint64_t)target < area->size &&
	    !(area->is_open && is_as_at_start(now))) {
		from->target = target;
		/* The start is not behind a call. */
		from->exits |= !target;
		return meet(scan, area, target, now);
	}
	if (!is_as_at_start(now))
		return 0;
	/* Back to the start, or to another function in place of a call. */
	from->exits = true;
	goes_to(from, target);
	return 1;
}

/*
 * If the code in front of @offset, which is the new thread's, is "syscall; test %eax,
 * %eax; jne", as in musl's clone(), mark what is between. Returns 0, or a negative errno
 * with a message.
 */
static int find_parent(struct scan *scan, const struct area *area,
		       uint64_t offset)
{
	static const unsigned char pattern[] = { 0x0f, 0x05, 0x85, 0xc0, 0x75 };
	const size_t size = sizeof(pattern) + 1;
	const unsigned char *code;
	int ret;

	if (offset < size)
		return 0;
	ret = sfu_image_code(scan->image, area->start + offset - size, size,
			     &code);
	if (ret <= 0 || memcmp(code, pattern, sizeof(pattern)))
		return ret < 0 ? ret : 0;
	path_at(scan, offset - 4)->is_parent = true;
	path_at(scan, offset - 2)->is_parent = true;
	path_at(scan, offset)->is_outermost = true;
	return 0;
}

/* Look at the instruction at @offset. Returns as meet(). */
static int follow(struct scan *scan, struct area *area, uint64_t offset)
{
	struct path *const path = path_at(scan, offset);
	struct path now = *path;
	uint64_t next;
	struct effect effect;
	int64_t target;
	int ret;

	ret = sfu_proof_decode(scan, area->start + offset, area->size - offset,
			&effect);
	if (ret <= 0)
		return ret;
	path->size = effect.size;
	area->writes_saved |= effect.writes_saved;
	for (unsigned int i = 1; i < effect.size; i++) {
		if (path_at(scan, offset + i)->is_known)
			return 0;
		path_at(scan, offset + i)->is_inside = true;
	}
	if (!apply(&effect, &now) || destroys_frame(&effect, &now))
		return 0;
	if (now.is_outermost && !path->is_outermost) {
		ret = find_parent(scan, area, offset);
		if (ret < 0)
			return ret;
	}
	next = offset + effect.size;
	target = (int64_t)next + effect.target;
	path->is_call = effect.flow == FLOW_CALL;
	path->continues = next < area->size &&
			  (effect.flow == FLOW_NEXT ||
			   effect.flow == FLOW_CALL ||
			   effect.flow == FLOW_BRANCH);
	switch ((enum flow)effect.flow) {
	case FLOW_STOP:
		path->exits |= now.is_outermost;
		return 1;
	case FLOW_RETURN:
	case FLOW_LEAVE:
		path->exits = true;
		area->is_left |= effect.flow == FLOW_LEAVE;
		return is_as_at_start(&now);
	case FLOW_JUMP:
		return jump(scan, area, offset, target, &now);
	case FLOW_BRANCH:
		ret = jump(scan, area, offset, target, &now);
		return ret <= 0 ? ret : meet(scan, area, next, &now);
	case FLOW_CALL:
		if (effect.has_target && target > 0 &&
		    (uint64_t)target < area->size && !area->is_open)
			return 0;
		if (effect.has_target && (uint64_t)target == next)
			return 0;
		if (effect.has_target)
			goes_to(path, target);
		/* A call that does not return may be the last instruction. */
		if (next == area->size && !area->is_open)
			return 1;
		return meet(scan, area, next, &now);
	case FLOW_NEXT:
		return meet(scan, area, next, &now);
	}
	return 0;
}

/* Note what leads from and to the instruction at @offset. Returns whether that is new. */
static bool lead(struct scan *scan, uint64_t offset)
{
	struct path *path = path_at(scan, offset);
	struct path *next = path->continues ? path_at(scan, offset + path->size) :
					      NULL;
	struct path *target = path->target ? path_at(scan, path->target) : NULL;
	bool is_new = false;

	if (path->is_certain && next && !path->is_call && !next->is_certain)
		is_new = next->is_certain = true;
	if (path->is_certain && target && !target->is_certain)
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

int sfu_proof_end(struct scan *scan, size_t first)
{
	const struct buffer *spans = &scan->cfi->spans;
	struct cfi_fde fde = {
		.first = first,
		.count = nr_spans(spans) - first,
		.order = nr_fdes(scan->cfi),
	};
	int err;

	if (!fde.count)
		return 0;
	fde.start = span_at(spans, first)->start;
	fde.end = span_at(spans, nr_spans(spans) - 1)->end;
	err = sfu_budget_reserve(&scan->image->file.budget, &scan->cfi->fdes,
				 sizeof(fde), "code");
	if (!err)
		buffer_put(&scan->cfi->fdes, &fde, sizeof(fde));
	return err;
}

int sfu_proof_add(struct scan *scan, size_t *first, uint64_t start,
		    uint64_t end, const struct sfu_rule *rule)
{
	struct buffer *spans = &scan->cfi->spans;
	struct span span = {
		.start = start,
		.end = end,
		.rule = *rule,
		.flags = scan->has_slots ? SPAN_SLOTS : 0,
	};
	int err;

	if (nr_spans(spans) > *first &&
	    span_at(spans, nr_spans(spans) - 1)->end != start) {
		err = sfu_proof_end(scan, *first);
		if (err)
			return err;
		*first = nr_spans(spans);
	}
	if (nr_spans(spans) == *first)
		span.flags |= SPAN_ENTRY;
	return sfu_span_add(&scan->image->file.budget, spans, *first, &span);
}

static int add_paths(struct scan *scan, const struct area *area)
{
	size_t first = nr_spans(&scan->cfi->spans);
	int err = 0;

	scan->has_slots = scan->is_extended && !area->writes_saved;
	for (uint64_t at = 0; !err && at < area->size; at++) {
		const struct path *path = path_at(scan, at);
		const uint64_t start = area->start + at;
		struct sfu_rule rule;

		if (!is_proven(area, path) ||
		    (path->is_parent && !scan->is_extended))
			continue;
		if (path->other)
			sfu_proof_note(scan, area->start + path->other);
		rule = rule_of(path);
		err = sfu_proof_add(scan, &first, start, start + path->size, &rule);
	}
	return err ? err : sfu_proof_end(scan, first);
}

int sfu_proof_function(struct scan *scan, uint64_t start, uint64_t size)
{
	const uint64_t room = sfu_proof_uncovered(scan, start);
	struct area area = { .start = start, .is_open = !size };
	struct path now = { .has_sp = true };
	size_t bytes;
	int ret;

	area.size = size ? size : room < PROOF_MAX_UNKNOWN ? room : PROOF_MAX_UNKNOWN;
	if (!area.size || area.size > room || area.size > MAX_KNOWN ||
	    area.size > scan->left)
		return 0;
	scan->left -= area.size;
	bytes = area.size * sizeof(struct path);
	scan->paths.size = 0;
	scan->work.size = 0;
	ret = sfu_budget_reserve(&scan->image->file.budget, &scan->paths, bytes,
				 "code");
	if (ret)
		return ret;
	memset(scan->paths.bytes, 0, bytes);
	ret = meet(scan, &area, 0, &now);
	while (ret > 0 && scan->work.size) {
		uint32_t offset;

		scan->work.size -= sizeof(offset);
		memcpy(&offset, scan->work.bytes + scan->work.size,
		       sizeof(offset));
		ret = follow(scan, &area, offset);
	}
	if (ret <= 0)
		return ret;
	find_leads(scan, &area);
	return add_paths(scan, &area);
}
