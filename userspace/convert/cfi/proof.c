// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * A path begins with the return address on top of the stack. Each instruction gets the
 * state that all paths to it must have. What a called function does is assumed: it
 * returns with the stack pointer above its return address, and with rbp unchanged.
 *
 * Calls that do not return may be followed by code to which other paths lead, maybe of
 * another function. So code behind a call is proven only if control gets from there to
 * the function's end, with the stack pointer at the return address. If it gets to
 * something impossible, the call does not return, and the analysis is repeated without
 * the code behind it. If two paths behind calls disagree, neither call is trusted.
 *
 * A path that clears rbp, which it has not saved, marks the outermost frame: it must
 * not return.
 */
#include <string.h>
#include <sys/syscall.h>

#include "paths.h"
#include "proof.h"
#include "restorer.h"

/* Largest function in bytes. */
#define MAX_FUNCTION	65536

/* Bytes of code for which room is made at once, when a path leads to them. */
#define ROOM		32

/* Largest stack frame, and largest part of it that one instruction makes; in bytes. */
#define MAX_DEPTH	(1 << 28)
#define MAX_ADD		(1 << 20)

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

static bool is_same(const struct path *path, const struct path *now)
{
	if (path->is_outermost || now->is_outermost)
		return path->is_outermost == now->is_outermost;
	return path->depth == now->depth && path->saved == now->saved &&
	       path->base == now->base && path->has_sp == now->has_sp;
}

/*
 * A loop that makes room on the stack in steps, or a branch around alloca(): only the
 * frame pointer is known then. Returns whether that makes @path agree with @now.
 */
static bool join(struct path *path, const struct path *now)
{
	if (path->is_outermost || now->is_outermost || !path->base ||
	    path->base != now->base || path->saved != now->saved ||
	    path->behind != now->behind)
		return false;
	path->has_sp = false;
	path->depth = 0;
	return true;
}

/*
 * Make room for paths at the instruction at @offset of the function, and at all in front
 * of it. Returns 1; 0 if too much code has been looked at; or a negative errno with a
 * message.
 */
static int make_room(struct scan *scan, struct area *area, uint64_t offset)
{
	uint64_t extent = (offset + EFFECT_MAX_SIZE + ROOM) & ~(ROOM - 1ULL);
	uint64_t more, bytes;
	int err;

	if (offset < area->extent &&
	    area->extent - offset >= EFFECT_MAX_SIZE)
		return 1;
	if (extent > area->size)
		extent = area->size;
	if (extent <= area->extent)
		return 1;
	more = extent - area->extent;
	if (more > scan->left)
		return 0;
	bytes = more * sizeof(struct path);
	err = sfu_budget_reserve(&scan->image->file.budget, &scan->paths, bytes,
				 "code");
	if (err)
		return err;
	memset(scan->paths.bytes + scan->paths.size, 0, bytes);
	scan->paths.size += bytes;
	scan->left -= more;
	area->extent = extent;
	return 1;
}

/*
 * A path with @now leads to @offset of the function. Returns 1 if that agrees with
 * other paths; 0; or a negative errno with a message.
 */
static int meet(struct scan *scan, struct area *area, uint64_t offset,
		const struct path *now)
{
	const uint32_t work = offset;
	struct path *path;
	int ret;

	area->culprit = now->behind;
	area->other_culprit = 0;
	if (offset >= area->size)
		return 0;
	ret = make_room(scan, area, offset);
	if (ret <= 0) {
		area->culprit = 0;
		return ret;
	}
	path = path_at(scan, offset);
	if (path->is_inside)
		return 0;
	if (path->is_known && !is_same(path, now)) {
		const bool had_sp = path->has_sp;

		if (!join(path, now)) {
			/* Behind two calls, either may not return. */
			area->other_culprit = path->behind;
			return 0;
		}
		if (!had_sp)
			return 1;
	} else {
		/* Whatever calls do, a path leads here: let what is behind it know. */
		if (path->is_known && (now->behind || !path->behind))
			return 1;
		path->depth = now->depth;
		path->saved = now->saved;
		path->base = now->base;
		path->has_sp = now->has_sp;
		path->is_outermost = now->is_outermost;
		path->behind = now->behind;
		path->is_known = true;
	}
	ret = sfu_budget_reserve(&scan->image->file.budget, &scan->work,
				 sizeof(work), "code");
	if (ret)
		return ret;
	buffer_put(&scan->work, &work, sizeof(work));
	return 1;
}

/* The instruction @from calls or jumps to the function at @target. */
static void goes_to(struct path *from, int64_t target)
{
	if (target >= INT32_MIN && target <= INT32_MAX) {
		from->other = target;
		from->calls = true;
	}
}

/* The instruction @from takes the address @target, maybe that of a function. */
static void takes_address(struct path *from, int64_t target)
{
	if (target >= INT32_MIN && target <= INT32_MAX)
		from->other = target;
}

/*
 * A jump or branch at @offset with @now goes to @target, an offset that may be outside.
 */
static int jump(struct scan *scan, struct area *area, uint64_t offset,
		int64_t target, const struct path *now)
{
	struct path *from = path_at(scan, offset);

	if (target >= 0 && (uint64_t)target < area->size &&
	    !(area->is_open && is_as_at_start(now))) {
		from->target = target;
		/* The start is not behind a call. */
		from->sp_is_sure |= !target;
		return meet(scan, area, target, now);
	}
	if (!is_as_at_start(now))
		return 0;
	/* Back to the start, or to another function in place of a call. */
	from->sp_is_sure = true;
	from->jumps = true;
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

/*
 * An indirect jump: to another function; or, with a frame, by a table to other parts of
 * a function whose end is known. What these do is not known.
 */
static bool leaves(struct area *area, const struct effect *effect,
		   struct path *path, const struct path *now)
{
	area->is_left |= !effect->by_variable;
	path->sp_is_sure = is_as_at_start(now);
	return path->sp_is_sure || (now->has_sp && !area->is_open &&
			       !effect->by_variable);
}

static bool is_lost(const struct area *area, uint64_t offset)
{
	for (unsigned int i = 0; i < area->nr_lost; i++)
		if (area->lost[i] == offset)
			return true;
	return false;
}

/*
 * Returns 1 if nothing but padding is between @offset and another function, 0 if not, or
 * a negative errno with a message.
 */
static int is_end(struct scan *scan, const struct area *area, uint64_t offset)
{
	struct effect effect;
	int ret;

	for (uint64_t at = offset; at < area->size && at - offset < PROOF_ALIGN;
	     at += effect.size) {
		if (sfu_proof_is_function(scan, area->start + at))
			return 1;
		ret = sfu_proof_decode(scan, area->start + at, area->size - at,
				       &effect);
		if (ret <= 0 || !effect.is_padding)
			return ret < 0 ? ret : 0;
	}
	return 0;
}

/* A call at @offset, with the next instruction at @next. Returns as meet(). */
static int call(struct scan *scan, struct area *area, uint64_t offset,
		uint64_t next, const struct effect *effect, struct path *now)
{
	struct path *const path = path_at(scan, offset);
	const int64_t target = (int64_t)next + effect->target;
	int ret;

	if (effect->has_target && target > 0 && (uint64_t)target < area->size &&
	    !area->is_open)
		return 0;
	if (effect->has_target && (uint64_t)target == next)
		return 0;
	if (effect->has_target)
		goes_to(path, target);
	if (is_lost(area, offset))
		path->continues = false;
	if (area->is_open && path->continues) {
		ret = is_end(scan, area, next);
		if (ret < 0)
			return ret;
		path->continues = !ret;
		if (ret)
			return 1;
	}
	/* A call that does not return may be the last instruction. */
	if (!path->continues && (next < area->size || !area->is_open))
		return 1;
	now->behind = offset + 1;
	return meet(scan, area, next, now);
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

	area->culprit = path->behind;
	area->other_culprit = 0;
	ret = sfu_proof_decode(scan, area->start + offset, area->size - offset,
			&effect);
	if (ret <= 0)
		return ret;
	if (effect.number == SYS_rt_sigreturn) {
		/* Only the kernel leads there, with a signal's frame on the stack. */
		ret = sfu_restorer_is(scan->image, area->start + offset);
		if (ret)
			return ret < 0 ? ret : 0;
	}
	path->size = effect.size;
	path->change = effect.change;
	path->is_padding = effect.is_padding;
	path->begins_none = effect.is_inside;
	path->copies_result = effect.copies_result;
	path->is_by_pointer = effect.flow == FLOW_CALL && !effect.has_target &&
			      !effect.by_variable;
	area->has_syscall |= effect.is_syscall;
	area->has_clone |= effect.number == SYS_clone ||
			   effect.number == SYS_clone3;
	area->writes_saved |= effect.writes_saved;
	for (unsigned int i = 1; i < effect.size; i++) {
		if (path_at(scan, offset + i)->is_known)
			return 0;
		path_at(scan, offset + i)->is_inside = true;
	}
	if (!apply(&effect, &now)) {
		/* That rbp is used in another way is no sign of what a call does. */
		if (effect.change != CHANGE_ADD_SP)
			area->culprit = 0;
		return 0;
	}
	if (destroys_frame(&effect, &now)) {
		area->culprit = 0;
		return 0;
	}
	area->stores_fp |= effect.stores_fp;
	area->keeps_fp |= effect.stores_fp && !path->saved;
	if (now.is_outermost && !path->is_outermost) {
		area->is_marked = true;
		ret = find_parent(scan, area, offset);
		if (ret < 0)
			return ret;
	}
	next = offset + effect.size;
	target = (int64_t)next + effect.target;
	if (effect.takes_address &&
	    (area->start + target) % PROOF_ALIGN == 0 && !path->other)
		takes_address(path, target);
	path->is_call = effect.flow == FLOW_CALL;
	path->continues = next < area->size &&
			  (effect.flow == FLOW_NEXT ||
			   effect.flow == FLOW_CALL ||
			   effect.flow == FLOW_BRANCH);
	switch ((enum flow)effect.flow) {
	case FLOW_STOP:
		path->sp_is_sure |= now.is_outermost;
		return 1;
	case FLOW_RETURN:
		path->sp_is_sure = true;
		path->is_return = true;
		return is_as_at_start(&now);
	case FLOW_LEAVE:
		return leaves(area, &effect, path, &now);
	case FLOW_JUMP:
		return jump(scan, area, offset, target, &now);
	case FLOW_BRANCH:
		ret = jump(scan, area, offset, target, &now);
		return ret <= 0 ? ret : meet(scan, area, next, &now);
	case FLOW_CALL:
		return call(scan, area, offset, next, &effect, &now);
	case FLOW_NEXT:
		return meet(scan, area, next, &now);
	}
	return 0;
}

/* Look at all paths. Returns 1 if all agree, 0, or a negative errno with a message. */
static int follow_all(struct scan *scan, struct area *area)
{
	const struct path start = { .has_sp = true };
	int ret;

	area->is_left = false;
	area->writes_saved = false;
	area->stores_fp = false;
	area->keeps_fp = false;
	area->has_syscall = false;
	area->has_clone = false;
	area->is_marked = false;
	area->extent = 0;
	scan->paths.size = 0;
	scan->work.size = 0;
	ret = meet(scan, area, 0, &start);
	while (ret > 0 && scan->work.size) {
		uint32_t offset;

		scan->work.size -= sizeof(offset);
		memcpy(&offset, scan->work.bytes + scan->work.size,
		       sizeof(offset));
		ret = follow(scan, area, offset);
	}
	return ret;
}

/* Note the calls that do not return. Returns false if none can be to blame. */
static bool lose(struct area *area)
{
	const uint32_t culprits[] = { area->culprit, area->other_culprit };
	const unsigned int nr = area->nr_lost;

	for (unsigned int i = 0; i < 2; i++) {
		if (!culprits[i] || (i && culprits[0] == culprits[i]))
			continue;
		if (area->nr_lost == MAX_LOST)
			return false;
		area->lost[area->nr_lost++] = culprits[i] - 1;
	}
	return area->nr_lost > nr;
}

/* As sfu_proof_function(); for @is_found and @is_taken see struct area. */
static int prove(struct scan *scan, uint64_t start, uint64_t size, bool surely,
		 bool is_found, bool is_taken)
{
	const uint64_t room = sfu_proof_uncovered(scan, start);
	struct area area = {
		.start = start,
		.is_open = !size,
		.is_found = is_found,
		.is_taken = is_taken,
	};
	int ret;

	area.size = size ? size : room < MAX_FUNCTION ? room : MAX_FUNCTION;
	if (!area.size || area.size > room || area.size > MAX_FUNCTION)
		return 0;
	ret = follow_all(scan, &area);
	while (!ret && surely && !area.is_marked && lose(&area))
		ret = follow_all(scan, &area);
	/* The new thread has another stack, and nothing says which path it takes. */
	if (area.has_clone && area.has_syscall && !area.is_marked)
		return ret < 0 ? ret : 0;
	/* It does not mark the outermost frame if it keeps rbp, but not by a push. */
	if (area.is_marked && area.stores_fp)
		return ret < 0 ? ret : 0;
	/* Behind a call that does return it may change rbp, and jump back. */
	if (area.is_open && area.nr_lost && area.keeps_fp)
		return ret < 0 ? ret : 0;
	if (ret > 0 && !area.is_open && (area.nr_lost || area.is_left))
		ret = sfu_paths_spare_fp(scan, &area);
	if (ret <= 0)
		return ret;
	ret = sfu_paths_add(scan, &area);
	sfu_proof_note_partial(scan, start, area.is_open && area.is_partial);
	return ret;
}

int sfu_proof_function(struct scan *scan, uint64_t start, uint64_t size,
		       bool surely)
{
	return prove(scan, start, size, surely, false, false);
}

int sfu_proof_called(struct scan *scan, size_t number)
{
	static const unsigned char endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	const struct called *called = sfu_proof_noted(scan, number);
	const unsigned char *code;
	bool has_endbr = false;
	int ret;

	if (!called)
		return 0;
	if (!called->is_called && !called->is_found) {
		ret = sfu_image_code(scan->image, called->address,
				     sizeof(endbr), &code);
		if (ret < 0)
			return ret;
		has_endbr = ret && !memcmp(code, endbr, sizeof(endbr));
	}
	return prove(scan, called->address, 0,
		     called->is_called || called->is_found || has_endbr,
		     called->is_found && !called->is_start,
		     !called->is_called && !called->is_found && !called->is_start);
}
