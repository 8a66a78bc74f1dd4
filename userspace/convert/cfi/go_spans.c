// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include <string.h>

#include <sframe_unwind_convert.h>

#include "go_spans.h"
#include "module/arch/arch.h"
#include "module/decode/sframe_format.h"

/* Most bytes of a function in which code is searched for. */
#define MAX_SWITCH		512

/* The rule for code without a caller, and of functions without a frame. */
static const struct sfu_rule no_caller = { .flags = SFU_RULE_OUTERMOST };
static const struct sfu_rule no_frame = {
	.cfa = SFU_REG_SP,
	.cfa_offset = 8,
	.ra = SFU_BASE_CFA | SFU_DEREF,
	.ra_offset = SFU_SFRAME_FIXED_RA,
	.fp = SFU_SAME,
};

static int add_span(const struct go *go, size_t first, uint64_t start,
		    uint64_t end, const struct sfu_rule *rule, uint8_t reason)
{
	struct span span = { .start = start, .end = end, .reason = reason };

	if (rule)
		span.rule = *rule;
	if (nr_spans(&go->cfi->spans) == first)
		span.flags = SPAN_ENTRY;
	return sfu_span_add(&go->image->file.budget, &go->cfi->spans, first,
			    &span);
}

/* Returns whether nothing calls @function, or it never returns. */
static bool is_outermost(const struct go *go, const struct go_function *function)
{
	if (go->entry >= function->start && go->entry < function->end)
		return true;
	return go_is_named(function, "runtime.goexit") ||
	       go_is_named(function, "runtime.rt0_go") ||
	       go_is_named(function, "_rt0_amd64_linux") ||
	       go_is_named(function, "_rt0_amd64");
}

/* These leave their stack for that of another goroutine. */
static bool switches_stacks(const struct go_function *function)
{
	return go_is_named(function, "runtime.gogo") ||
	       go_is_named(function, "gogo") ||
	       go_is_named(function, "runtime.mcall") ||
	       go_is_named(function, "runtime.morestack") ||
	       go_is_named(function, "runtime.switchToCrashStack0");
}

/*
 * These are called in the name of code that was interrupted, by the signal handler:
 * their return address is that of the next instruction, as in a signal frame.
 */
static bool is_injected(const struct go_function *function)
{
	return go_is_named(function, "runtime.asyncPreempt") ||
	       go_is_named(function, "runtime.sigpanic") ||
	       go_is_named(function, "runtime.debugCallV2");
}

/* Add the spans of a proven function. */
static int add_changes(const struct go *go, struct go_function function,
		       const struct go_proof *proof, size_t first)
{
	/* cgocallback copies its frame to the goroutine's stack, as the table says. */
	const bool uses_fp = function.flags & GO_SP_WRITE &&
			     !go_is_named(&function, "runtime.cgocallback");
	struct go_change change = { 0 };
	int err = 0;

	while (!err && sfu_go_next_change(&function, &change)) {
		struct sfu_rule rule = {
			.cfa = SFU_REG_SP,
			.cfa_offset = change.depth + 8,
			.ra = SFU_BASE_CFA | SFU_DEREF,
			.ra_offset = SFU_SFRAME_FIXED_RA,
			.fp = SFU_SAME,
			.flags = is_injected(&function) ? SFU_RULE_SIGNAL : 0,
		};
		uint64_t start = change.start;

		if (change.depth && proof->saves_fp) {
			rule.fp = SFU_BASE_CFA | SFU_DEREF;
			rule.fp_offset = -16;
		}
		if (change.depth && uses_fp) {
			/* In front of that it is pushed, and rsp is not changed. */
			if (start < proof->fp_from && change.end >=
						      proof->fp_from) {
				err = add_span(go, first, start,
					       proof->fp_from, &rule, 0);
				start = proof->fp_from;
			}
			/* The caller's stack may be the one at lower addresses. */
			rule.cfa = go->is_extended ? SFRAME_EXT_REG_FP_SWITCH :
						     SFU_REG_FP;
			rule.cfa_offset = 16;
		}
		if (!err)
			err = add_span(go, first, start, change.end, &rule, 0);
	}
	return err;
}

/*
 * Find the call of a function that switches stacks, and clears rbp to mark the
 * outermost frame: "mov 0x38(%reg), %rsp; mov $0, %ebp", a few bytes, "call". Returns
 * 1 with the offsets from which on there is no caller, and of the call's end; or 0.
 */
static int find_cleared(const unsigned char *code, size_t size, size_t *from,
			size_t *to)
{
	static const unsigned char clear[] = { 0xbd, 0, 0, 0, 0 };

	for (size_t i = 4; i + 19 <= size; i++) {
		if (memcmp(code + i, clear, sizeof(clear)) ||
		    (code[i - 4] & 0xfe) != 0x48 || code[i - 3] != 0x8b ||
		    (code[i - 2] & 0xf8) != 0x60 || code[i - 1] != 0x38)
			continue;
		*from = i + sizeof(clear);
		/* push %rax; mov (%rdx), %r12; call *%r12 */
		if (!memcmp(code + *from, "\x50\x4c\x8b\x22\x41\xff\xd4", 7))
			*to = *from + 7;
		else if (code[*from] == 0xe8)
			*to = *from + 5;
		else
			continue;
		return 1;
	}
	return 0;
}

/* Add the spans of a function that switches stacks. */
static int add_switch(const struct go *go, const struct go_function *function,
		      size_t first)
{
	uint64_t size = function->end - function->start;
	const unsigned char *code;
	size_t from, to;
	int ret;

	if (size > MAX_SWITCH)
		size = MAX_SWITCH;
	ret = sfu_image_code(go->image, function->start, size, &code);
	if (ret < 0)
		return ret;
	if (!ret || !find_cleared(code, size, &from, &to))
		return add_span(go, first, function->start, function->end,
				NULL, SFRAME_UNWIND_LEFT_OUT_SP);
	ret = add_span(go, first, function->start, function->start + from,
		       NULL, SFRAME_UNWIND_LEFT_OUT_SP);
	if (!ret)
		ret = add_span(go, first, function->start + from,
			       function->start + to, &no_caller, 0);
	if (!ret)
		ret = add_span(go, first, function->start + to, function->end,
			       NULL, SFRAME_UNWIND_LEFT_OUT_SP);
	return ret;
}

/*
 * Find @pattern of @length bytes in the function's code. Returns 1 with the address
 * behind it, 0, or a negative errno with a message.
 */
static int find_behind(const struct go *go, const struct go_function *function,
		       const void *pattern, size_t length, uint64_t *behind)
{
	uint64_t size = function->end - function->start;
	const unsigned char *code;
	int ret;

	if (size > MAX_SWITCH)
		size = MAX_SWITCH;
	ret = sfu_image_code(go->image, function->start, size, &code);
	if (ret <= 0)
		return ret;
	for (uint64_t i = 0; i + length <= size; i++) {
		if (memcmp(code + i, pattern, length))
			continue;
		*behind = function->start + i + length;
		return 1;
	}
	return 0;
}

/*
 * Add the spans of runtime.clone: the new thread jumps to code of its own, where it
 * begins a stack.
 */
static int add_clone(const struct go *go, const struct go_function *function,
		     size_t first)
{
	/* syscall; cmp $0, %rax; je */
	static const unsigned char pattern[] = {
		0x0f, 0x05, 0x48, 0x83, 0xf8, 0x00, 0x74
	};
	struct sfu_rule parent = no_frame;
	const unsigned char *distance;
	uint64_t behind, child;
	int ret;

	ret = find_behind(go, function, pattern, sizeof(pattern), &behind);
	if (ret > 0)
		ret = sfu_image_code(go->image, behind, 1, &distance);
	if (ret < 0)
		return ret;
	child = ret ? behind + 1 + (int8_t)*distance : 0;
	if (!ret || child <= behind + 1 || child >= function->end)
		return add_span(go, first, function->start, function->end,
				NULL, SFRAME_UNWIND_LEFT_OUT_SP);
	parent.cfa = SFRAME_EXT_REG_SP_PARENT;
	ret = add_span(go, first, function->start,
		       behind - sizeof(pattern) + 2, &no_frame, 0);
	if (!ret)
		ret = add_span(go, first, behind - sizeof(pattern) + 2,
			       behind + 1, go->is_extended ? &parent : NULL,
			       go->is_extended ? 0 : SFRAME_UNWIND_LEFT_OUT_SP);
	if (!ret)
		ret = add_span(go, first, behind + 1, child, &no_frame, 0);
	if (!ret)
		ret = add_span(go, first, child, function->end, &no_caller, 0);
	return ret;
}

/*
 * Add the spans of syscall.rawVforkSyscall. Its return address is in r12 during the
 * system call, because parent and child have the same stack.
 */
static int add_vfork(const struct go *go, const struct go_function *function,
		     size_t first)
{
	/* pop %r12; syscall; push %r12 */
	static const unsigned char pattern[] = {
		0x41, 0x5c, 0x0f, 0x05, 0x41, 0x54
	};
	struct sfu_rule popped = no_frame;
	uint64_t behind;
	int ret;

	ret = find_behind(go, function, pattern, sizeof(pattern), &behind);
	if (ret < 0)
		return ret;
	if (!ret || behind == function->end)
		return add_span(go, first, function->start, function->end,
				NULL, SFRAME_UNWIND_LEFT_OUT_SP);
	popped.cfa_offset = 0;
	popped.ra = 12;
	popped.ra_offset = 0;
	ret = add_span(go, first, function->start, behind - 4, &no_frame, 0);
	if (!ret)
		ret = add_span(go, first, behind - 4, behind, &popped, 0);
	if (!ret)
		ret = add_span(go, first, behind, function->end, &no_frame, 0);
	return ret;
}

int sfu_go_add_spans(struct go *go, const struct go_function *function,
		     size_t first)
{
	struct go_proof proof;
	int ret;

	if (is_outermost(go, function))
		return add_span(go, first, function->start, function->end,
				&no_caller, 0);
	if (switches_stacks(function))
		return add_switch(go, function, first);
	if (go_is_named(function, "runtime.clone"))
		return add_clone(go, function, first);
	if (go_is_named(function, "syscall.rawVforkSyscall"))
		return add_vfork(go, function, first);
	ret = function->has_values ? sfu_go_prove(go, *function, &proof) : 0;
	if (ret < 0)
		return ret;
	if (ret && function->flags & GO_SP_WRITE && !proof.saves_fp)
		ret = 0;
	if (!ret)
		return add_span(go, first, function->start, function->end, NULL,
				SFRAME_UNWIND_LEFT_OUT_SP);
	return add_changes(go, *function, &proof, first);
}
