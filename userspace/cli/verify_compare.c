// SPDX-License-Identifier: GPL-2.0
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "convert/output/padding.h"
#include "escape.h"
#include "verify_compare.h"
#include "verify_defect.h"

/* Print the range of addresses, and the function or section that it is in. */
static void print_range(const struct verify *verify, uint64_t start,
			uint64_t end)
{
	char name[SYMBOLS_NAME_SIZE];
	uint64_t offset;
	bool has_name;

	has_name = symbols_function(verify->symbols, start, name, &offset);
	if (!has_name)
		symbols_section(verify->symbols, start, name);
	print_escaped(stdout, verify->file);
	printf(": 0x%" PRIx64 "..0x%" PRIx64 " ", start, end);
	print_escaped(stdout, name);
	if (has_name)
		printf("+0x%" PRIx64, offset);
	fputs(": ", stdout);
}

static void report(struct verify *verify, const struct disagreement *found)
{
	char cfi[160], sframe[160], section[SYMBOLS_NAME_SIZE];
	const char *defect;

	symbols_section(verify->symbols, found->start, section);
	defect = verify_defect(found, section);
	verify->disagreements++;
	verify->known += defect != NULL;
	verify_describe(found->cfi, cfi, sizeof(cfi));
	verify_describe(found->sframe, sframe, sizeof(sframe));
	print_range(verify, found->start, found->end);
	printf(".sframe says %s; .eh_frame says %s%s%s%s\n", sframe, cfi,
	       defect ? " [known defect: " : "", defect ? defect : "",
	       defect ? "]" : "");
}

static bool is_same(const struct span *a, const struct span *b)
{
	if (!a || !b)
		return a == b;
	/* Without a caller, the rest of the rule and SFU_RULE_SIGNAL do not matter. */
	if (a->rule.flags & b->rule.flags & SFU_RULE_OUTERMOST)
		return true;
	return a->reason == b->reason &&
	       !memcmp(&a->rule, &b->rule, sizeof(a->rule));
}

/* A rule based on a register that AMD64 does not have cannot be used. */
static bool is_usable(const struct span *span)
{
	return (span->rule.cfa & SFU_BASE_MASK) != SFU_BASE_OTHER;
}

/*
 * Check whether the two sections disagree about [now->start, now->end), which at least
 * one of them describes. Returns 1 or 0, or a negative errno with a message.
 */
static int differs(struct verify *verify, const struct disagreement *now)
{
	const uint64_t size = now->end - now->start;
	int ret;

	if (is_same(now->cfi, now->sframe)) {
		verify->agreed += size;
		return 0;
	}
	if (!now->cfi) {
		ret = sfu_padding_is(&verify->image, now->start, now->end);
		if (ret > 0)
			verify->padding += size;
		return ret < 0 ? ret : !ret;
	}
	if (now->sframe && (!now->cfi->reason || is_usable(now->sframe)))
		return 1;
	/* Here .sframe has no usable rule. If SFrame cannot express one, that is right. */
	if (now->cfi->reason)
		return 0;
	verify->missing += size;
	return verify->is_complete;
}

/*
 * Compare one range. Neighbouring ranges with the same disagreement are collected in
 * @pending, and reported as one. Returns 0 or a negative errno with a message.
 */
static int compare(struct verify *verify, struct disagreement *pending,
		   const struct disagreement *now)
{
	const int ret = differs(verify, now);

	if (ret <= 0)
		return ret;
	if (pending->end == now->start && is_same(pending->cfi, now->cfi) &&
	    is_same(pending->sframe, now->sframe)) {
		pending->end = now->end;
		return 0;
	}
	if (pending->end)
		report(verify, pending);
	*pending = *now;
	return 0;
}

/* Walk both sorted lists of spans in parallel. */
int verify_compare(struct verify *verify)
{
	const struct buffer *spans = &verify->sframe.spans;
	const size_t *firsts = (const size_t *)verify->sframe.firsts.bytes;
	const size_t nr_cfi = nr_spans(&verify->cfi);
	const size_t nr_sframe = nr_spans(spans);
	struct disagreement pending = { 0 };
	bool was_outermost = false;
	size_t i = 0, j = 0;
	uint64_t at = 0;
	int err = 0;

	while (!err && (i < nr_cfi || j < nr_sframe)) {
		const struct span *cfi = i < nr_cfi ?
					 span_at(&verify->cfi, i) : NULL;
		const struct span *sframe = j < nr_sframe ?
					    span_at(spans, j) : NULL;
		struct disagreement now = { .end = UINT64_MAX };

		/* The next range that is in at least one span, and crosses no boundary. */
		if (cfi && cfi->end <= at) {
			i++;
			continue;
		}
		if (sframe && sframe->end <= at) {
			j++;
			continue;
		}
		now.start = UINT64_MAX;
		if (cfi && cfi->start < now.start)
			now.start = cfi->start;
		if (sframe && sframe->start < now.start)
			now.start = sframe->start;
		if (now.start < at)
			now.start = at;
		if (cfi && cfi->start <= now.start) {
			now.cfi = cfi;
			now.end = cfi->end;
		} else if (cfi) {
			now.end = cfi->start;
		}
		if (sframe && sframe->start <= now.start) {
			now.sframe = sframe;
			now.first = &span_at(spans, firsts[j])->rule;
			if (sframe->end < now.end)
				now.end = sframe->end;
		} else if (sframe && sframe->start < now.end) {
			now.end = sframe->start;
		}
		if (now.cfi && now.cfi->flags & SPAN_ENTRY)
			was_outermost = false;
		now.was_outermost = was_outermost;
		err = compare(verify, &pending, &now);
		if (now.cfi && now.cfi->rule.flags & SFU_RULE_OUTERMOST)
			was_outermost = true;
		at = now.end;
	}
	if (!err && pending.end)
		report(verify, &pending);
	return err;
}
