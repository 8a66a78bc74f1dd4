// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include <string.h>

#include "convert/base/message.h"
#include "module/decode/sframe_format.h"
#include "own.h"

bool sfu_own_next(struct own_pair *pair, struct disagreement *now)
{
	const struct buffer *own = &pair->sframe->spans;
	const size_t *firsts = (const size_t *)pair->sframe->firsts.bytes;
	const struct span *cfi = NULL, *sframe = NULL;

	for (; pair->next_cfi < nr_spans(pair->cfi); pair->next_cfi++) {
		cfi = span_at(pair->cfi, pair->next_cfi);
		if (cfi->end > pair->at)
			break;
		cfi = NULL;
	}
	for (; pair->next_sframe < nr_spans(own); pair->next_sframe++) {
		sframe = span_at(own, pair->next_sframe);
		if (sframe->end > pair->at)
			break;
		sframe = NULL;
	}
	if (!cfi && !sframe)
		return false;
	*now = (struct disagreement){ .start = UINT64_MAX, .end = UINT64_MAX };
	if (cfi && cfi->start < now->start)
		now->start = cfi->start;
	if (sframe && sframe->start < now->start)
		now->start = sframe->start;
	if (now->start < pair->at)
		now->start = pair->at;
	if (cfi && cfi->start <= now->start) {
		now->cfi = cfi;
		now->end = cfi->end;
	} else if (cfi) {
		now->end = cfi->start;
	}
	if (sframe && sframe->start <= now->start) {
		now->sframe = sframe;
		now->first = &span_at(own, firsts[pair->next_sframe])->rule;
		if (sframe->end < now->end)
			now->end = sframe->end;
	} else if (sframe && sframe->start < now->end) {
		now->end = sframe->start;
	}
	if (now->cfi && now->cfi->flags & SPAN_ENTRY)
		pair->was_outermost = false;
	now->was_outermost = pair->was_outermost;
	if (now->cfi && now->cfi->rule.flags & SFU_RULE_OUTERMOST)
		pair->was_outermost = true;
	pair->at = now->end;
	return true;
}

bool sfu_own_is_same(const struct span *a, const struct span *b)
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

/**
 * struct merging - the state of sfu_own_merge()
 *
 * @plt_got, @plt_got_size: address and size of the section .plt.got.
 * @to: the combined spans.
 */
struct merging {
	struct image *image;
	uint64_t plt_got;
	uint64_t plt_got_size;
	struct buffer to;
	struct own_result *result;
};

static int find_plt_got(struct merging *merging)
{
	const struct headers *headers = &merging->image->headers;
	char name[HEADERS_NAME_SIZE];
	int err = 0;

	for (size_t i = 1; !err && i < headers->nr_sections; i++) {
		const Elf64_Shdr *section = &headers->sections[i];

		if (!(section->sh_flags & SHF_EXECINSTR))
			continue;
		err = sfu_headers_name(headers, &merging->image->file, section,
				       name);
		if (!err && !strcmp(name, ".plt.got")) {
			merging->plt_got = section->sh_addr;
			merging->plt_got_size = section->sh_size;
			break;
		}
	}
	return err;
}

/*
 * The rule for a part of PLT stubs that the other span covers: it is the same
 * throughout only if that part lies in one of the two parts of a stub.
 */
static bool is_same_in_stub(const struct span *cfi, const struct span *sframe,
			    uint64_t start, uint64_t end)
{
	const uint64_t in_stub = start % PLT_STUB_SIZE;
	const bool is_pushed = in_stub >= cfi->plt_push;
	const uint64_t stop = start - in_stub +
			      (is_pushed ? PLT_STUB_SIZE : cfi->plt_push);
	struct span part = *cfi;

	part.rule.cfa_offset += is_pushed ? 8 : 0;
	return end <= stop && sfu_own_is_same(&part, sframe);
}

static bool is_same_rule(const struct disagreement *now)
{
	return now->cfi && now->cfi->plt_push ?
	       is_same_in_stub(now->cfi, now->sframe, now->start, now->end) :
	       sfu_own_is_same(now->cfi, now->sframe);
}

/* Returns the span to be used for a range, and counts its bytes. */
static const struct span *choose(struct merging *merging,
				 const struct disagreement *now)
{
	const uint64_t size = now->end - now->start;
	struct own_result *result = merging->result;

	if (!now->sframe || !is_usable(now->sframe)) {
		if (now->cfi && !now->cfi->reason)
			result->missing += size;
		return now->cfi;
	}
	if (now->cfi && is_same_rule(now)) {
		result->covered += size;
		return now->cfi;
	}
	if (now->cfi && !now->cfi->plt_push &&
	    sfu_own_defect(now, now->start - merging->plt_got <
				merging->plt_got_size)) {
		result->wrong += size;
		return now->cfi;
	}
	result->covered += size;
	return now->sframe;
}

static int add_range(struct merging *merging, const struct disagreement *now)
{
	const struct span *from = choose(merging, now);
	struct span span;

	if (!from)
		return 0;
	span = *from;
	if (span.start != now->start)
		span.flags &= ~SPAN_ENTRY;
	/* SFrame does not tell where other registers are saved. */
	if (from == now->sframe && now->cfi) {
		span.flags |= now->cfi->flags & (SPAN_SLOTS | SPAN_SLOTS_FP);
		memcpy(span.slots, now->cfi->slots, sizeof(span.slots));
	}
	span.start = now->start;
	span.end = now->end;
	return sfu_span_add(&merging->image->file.budget, &merging->to, 0,
			    &span);
}

static int merge(struct merging *merging, struct buffer *spans,
		 const struct own_sframe *own)
{
	struct own_pair pair = { .cfi = spans, .sframe = own };
	struct disagreement now;
	int err;

	err = find_plt_got(merging);
	while (!err && sfu_own_next(&pair, &now))
		err = add_range(merging, &now);
	if (err) {
		sfu_budget_free(&merging->image->file.budget, &merging->to);
		return err;
	}
	sfu_budget_free(&merging->image->file.budget, spans);
	*spans = merging->to;
	return 0;
}

int sfu_own_merge(struct image *image, struct buffer *spans, bool *is_read,
		  struct own_result *result)
{
	const struct sfu_bytes bytes = {
		.address = image->sframe.address,
		.size = image->sframe.data->d_size,
		.copy = image->sframe.data->d_buf,
	};
	struct merging merging = { .image = image, .result = result };
	struct own_sframe own = { 0 };
	struct sfu_defect defect;
	int err;

	*is_read = false;
	err = sfu_own_sframe_read(&own, &image->file.budget, &bytes, &defect);
	if (!err)
		err = merge(&merging, spans, &own);
	if (!err)
		*is_read = true;
	/* The kernel does not use a malformed section, either. */
	if (err == -EINVAL || err == -EOPNOTSUPP || err == -EFAULT)
		err = 0;
	sfu_own_sframe_free(&own, &image->file.budget);
	return err;
}
