// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * A function keeps a register if no instruction on any path from where it is called may
 * write it, and if no path leads out of the function but a return. So wherever a thread
 * is in it, or interrupted, the register has the value that it had at the call. What
 * other code leads into the function does not matter: only the call is marked.
 *
 * Calls are found by their bytes. Those of other instructions may look like one, and lead
 * to a function by accident, as "call *disp(%rax,%rbp,8)", ff 94 e8: so the instructions in
 * front of a call are read, too.
 */
#include <string.h>

#include "effect.h"
#include "kept.h"
#include "module/arch/arch.h"
#include "module/decode/bytes.h"

/* Largest function that is looked at, in bytes. */
#define MAX_FUNCTION	65536

/* Code that is searched in one piece, at most FILE_PEEK. */
#define PIECE		2048

/* Bytes of functions that may be looked at in any file; what each counts in addition. */
#define MIN_LEFT	(1 << 20)
#define LOOK		4096

/* Most answers that are remembered. */
#define ANSWERS		16

/**
 * struct answer - whether a function keeps register @reg from @target on, which is called
 */
struct answer {
	uint64_t target;
	uint8_t reg;
	bool is_kept;
};

/**
 * struct keeping - calls being searched
 *
 * @calls: see sfu_kept_find().
 * @to_search: bytes in which calls may still be searched.
 * @left: bytes of functions, and instructions in front of calls, that may still be looked
 *	at.
 * @answers, @nr_answers: the last ones, of all that were found.
 * @start: of the function that is being looked at.
 * @reg: the register that it may keep.
 * @met: array of bool, for each byte of it: a path has led to the instruction there.
 * @work: array of uint32_t: offsets of instructions to be looked at.
 */
struct keeping {
	const struct buffer *spans;
	struct image *image;
	struct buffer *calls;
	uint64_t to_search;
	uint64_t left;
	struct answer answers[ANSWERS];
	size_t nr_answers;
	uint64_t start;
	uint8_t reg;
	struct buffer met;
	struct buffer work;
};

/*
 * Returns whether the CFA of @span is based on a register that functions need not
 * preserve. Uprobes may change rsi and rdi while they execute an instruction elsewhere.
 */
static bool needs_register(const struct span *span)
{
	const uint8_t base = span->rule.cfa & SFU_BASE_MASK;

	/* Most spans. */
	if (span->rule.cfa == SFU_REG_SP || span->rule.cfa == SFU_REG_FP)
		return false;
	return base != SFU_REG_SP && base != SFU_REG_FP &&
	       base < SFU_NR_REGS && base != 4 && base != 5 &&
	       sfu_arch_saved_index(base) < 0 && !span->reason &&
	       !(span->rule.flags & SFU_RULE_OUTERMOST);
}

/* Returns the number of the span with @address, or that of all spans. */
static size_t find_span(const struct keeping *keeping, uint64_t address)
{
	size_t low = 0, high = nr_spans(keeping->spans);

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (span_at(keeping->spans, middle)->start > address)
			high = middle;
		else
			low = middle + 1;
	}
	return low && span_at(keeping->spans, low - 1)->end > address ?
	       low - 1 : nr_spans(keeping->spans);
}

/*
 * Set [*@start, *@end) to the function with span number @i, or to a part of it of more than
 * MAX_FUNCTION.
 */
static void find_function(const struct keeping *keeping, size_t i,
			  uint64_t *start, uint64_t *end)
{
	const struct buffer *spans = keeping->spans;
	const uint64_t target = span_at(spans, i)->start;
	size_t first = i;

	while (first && !(span_at(spans, first)->flags & SPAN_ENTRY) &&
	       target - span_at(spans, first)->start <= MAX_FUNCTION &&
	       span_at(spans, first - 1)->end == span_at(spans, first)->start)
		first--;
	*start = span_at(spans, first)->start;
	do {
		*end = span_at(spans, i++)->end;
	} while (i < nr_spans(keeping->spans) && *end - *start <= MAX_FUNCTION &&
		 span_at(spans, i)->start == *end &&
		 !(span_at(spans, i)->flags & SPAN_ENTRY));
}

/* Returns whether only the return address is on the stack at @address. */
static bool is_as_called(const struct keeping *keeping, uint64_t address)
{
	const size_t i = find_span(keeping, address);
	const struct span *span = i < nr_spans(keeping->spans) ?
				  span_at(keeping->spans, i) : NULL;

	return span && !span->reason && !span->plt_push &&
	       span->rule.cfa == SFU_REG_SP &&
	       span->rule.cfa_offset == SFU_CALL_SIZE &&
	       span->rule.ra == (SFU_BASE_CFA | SFU_DEREF) &&
	       span->rule.ra_offset == SFU_SFRAME_FIXED_RA &&
	       !(span->rule.flags & SFU_RULE_OUTERMOST);
}

/* A path leads to @offset. Returns 1, 0 if that is not in the function, or an error. */
static int meet(struct keeping *keeping, int64_t offset)
{
	const uint32_t work = offset;
	int err;

	if (offset < 0 || (uint64_t)offset >= keeping->met.size)
		return 0;
	if (keeping->met.bytes[offset])
		return 1;
	keeping->met.bytes[offset] = true;
	err = sfu_budget_reserve(&keeping->image->file.budget, &keeping->work,
				 sizeof(work), "code");
	if (err)
		return err;
	buffer_put(&keeping->work, &work, sizeof(work));
	return 1;
}

/* Look at the instruction at @offset. Returns 1 if it keeps the register, 0, or an error. */
static int follow(struct keeping *keeping, uint32_t offset)
{
	const uint64_t at = keeping->start + offset;
	const uint64_t rest = keeping->met.size - offset;
	const size_t most = rest < EFFECT_MAX_SIZE ? rest : EFFECT_MAX_SIZE;
	const unsigned char *code;
	struct effect effect;
	int64_t next;
	int ret;

	ret = sfu_image_code(keeping->image, at, most, &code);
	if (ret <= 0)
		return ret;
	if (!sfu_effect_read_kept(code, most, keeping->reg, &effect))
		return 0;
	next = (int64_t)offset + effect.size;
	switch ((enum flow)effect.flow) {
	case FLOW_NEXT:
		return meet(keeping, next);
	case FLOW_BRANCH:
		ret = meet(keeping, next);
		return ret <= 0 ? ret : meet(keeping, next + effect.target);
	case FLOW_JUMP:
		return meet(keeping, next + effect.target);
	case FLOW_RETURN:
		return is_as_called(keeping, at);
	case FLOW_CALL:
	case FLOW_LEAVE:
	case FLOW_STOP:
		break;
	}
	return 0;
}

/* As keeps(), by looking at the function. */
static int find_answer(struct keeping *keeping, uint64_t target, uint8_t reg)
{
	uint64_t start, end, size;
	int ret;

	if (keeping->left < LOOK)
		return 0;
	keeping->left -= LOOK;
	find_function(keeping, find_span(keeping, target), &start, &end);
	size = end - start;
	if (size > MAX_FUNCTION || size > keeping->left)
		return 0;
	keeping->left -= size;
	keeping->start = start;
	keeping->reg = reg;
	keeping->work.size = 0;
	keeping->met.size = 0;
	ret = sfu_budget_reserve(&keeping->image->file.budget, &keeping->met,
				 size, "code");
	if (ret)
		return ret;
	memset(keeping->met.bytes, false, size);
	keeping->met.size = size;
	ret = meet(keeping, target - start);
	while (ret > 0 && keeping->work.size) {
		uint32_t offset;

		keeping->work.size -= sizeof(offset);
		memcpy(&offset, keeping->work.bytes + keeping->work.size,
		       sizeof(offset));
		ret = follow(keeping, offset);
	}
	return ret;
}

/*
 * Returns 1 if a function keeps register @reg from @target on, which has a span; 0 if
 * not; or an error.
 */
static int keeps(struct keeping *keeping, uint64_t target, uint8_t reg)
{
	struct answer *answer = keeping->answers;
	int ret;

	for (; answer < keeping->answers + ANSWERS; answer++)
		if (answer->target == target && answer->reg == reg)
			return answer->is_kept;
	ret = find_answer(keeping, target, reg);
	if (ret >= 0)
		keeping->answers[keeping->nr_answers++ % ANSWERS] =
			(struct answer){ target, reg, ret };
	return ret;
}

/*
 * Find the next call of a function in [*@at, @end). Returns 1 with its address in *@at,
 * and *@target; 0 if there is none; or a negative errno with a message.
 */
static int find_call(struct keeping *keeping, uint64_t *at, uint64_t end,
		     uint64_t *target)
{
	while (end - *at >= KEPT_CALL_SIZE && keeping->to_search) {
		const uint64_t size = end - *at < PIECE ? end - *at : PIECE;
		const unsigned char *code, *found;
		int ret;

		ret = sfu_image_code(keeping->image, *at, size, &code);
		if (ret <= 0)
			return ret;
		/* Pieces overlap, so that each call is in one of them as a whole. */
		found = memchr(code, 0xe8, size - (KEPT_CALL_SIZE - 1));
		ret = found ? found - code : (int)size - (KEPT_CALL_SIZE - 1);
		*at += ret;
		keeping->to_search -= (uint64_t)ret < keeping->to_search ?
				      (uint64_t)ret : keeping->to_search;
		if (!found)
			continue;
		*target = *at + KEPT_CALL_SIZE + (int64_t)(int32_t)get_le32(found + 1);
		if (is_as_called(keeping, *target))
			return 1;
		++*at;
		keeping->to_search -= !!keeping->to_search;
	}
	return 0;
}

/*
 * Returns 1 if an instruction of @span begins at @at, 0 if not, or if that is not known; or
 * an error. One begins at *@begin, which is not behind @at, and is moved there.
 */
static int is_begin(struct keeping *keeping, const struct span *span, uint64_t *begin,
		    uint64_t at)
{
	while (*begin < at) {
		const uint64_t rest = span->end - *begin;
		const size_t most = rest < EFFECT_MAX_SIZE ? rest : EFFECT_MAX_SIZE;
		const unsigned char *code;
		struct effect effect;
		int ret;

		if (!keeping->left)
			return 0;
		keeping->left--;
		ret = sfu_image_code(keeping->image, *begin, most, &code);
		if (ret <= 0)
			return ret;
		/* Then nothing behind it is known. */
		if (!sfu_effect_read(code, most, &effect))
			return 0;
		*begin += effect.size;
	}
	return *begin == at;
}

/* Add the calls in @span that keep the register. */
static int find_in(struct keeping *keeping, const struct span *span)
{
	const uint8_t reg = span->rule.cfa & SFU_BASE_MASK;
	struct budget *budget = &keeping->image->file.budget;
	uint64_t at = span->start, begin = at, target;
	int ret;

	while ((ret = find_call(keeping, &at, span->end, &target)) > 0) {
		ret = keeps(keeping, target, reg);
		if (ret > 0)
			ret = is_begin(keeping, span, &begin, at);
		if (ret > 0) {
			ret = sfu_budget_reserve(budget, keeping->calls,
						 sizeof(at), "code");
			if (!ret)
				buffer_put(keeping->calls, &at, sizeof(at));
		}
		if (ret < 0)
			break;
		at++;
		keeping->to_search -= !!keeping->to_search;
	}
	return ret;
}

int sfu_kept_find(const struct buffer *spans, struct image *image,
		  struct buffer *calls)
{
	const struct span *const end = span_at(spans, nr_spans(spans));
	struct budget *budget = &image->file.budget;
	struct keeping keeping = {
		.spans = spans,
		.image = image,
		.calls = calls,
		/* Code can be a hole, or several segments the same bytes. */
		.to_search = 4 * budget->allocated,
		.left = budget->allocated + MIN_LEFT,
	};
	int err = 0;

	for (const struct span *span = span_at(spans, 0); span < end; span++) {
		if (!needs_register(span))
			continue;
		err = find_in(&keeping, span);
		if (err)
			break;
	}
	sfu_budget_free(budget, &keeping.met);
	sfu_budget_free(budget, &keeping.work);
	return err;
}
