// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include <string.h>

#include "proof_spans.h"

/* Slots of the first hash table. */
#define MIN_SLOTS	64

/* Slots in which an address may be: an attacker can choose addresses that collide. */
#define MAX_PROBES	16

uint64_t sfu_proof_uncovered(const struct scan *scan, uint64_t address)
{
	const uint64_t filled = sfu_image_filled(scan->image, address);
	size_t low = 0, high = filled ? nr_spans(scan->spans) : 0;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (span_at(scan->spans, middle)->end > address)
			high = middle;
		else
			low = middle + 1;
	}
	if (!filled || low == nr_spans(scan->spans))
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

/* The slot of @address, or an empty one; NULL if others have taken all that it may use. */
static struct called *find_slot(const struct scan *scan, uint64_t address)
{
	const uint64_t first = address * 0x9e3779b97f4a7c15 >> 32;

	for (unsigned int i = 0; scan->nr_slots && i < MAX_PROBES; i++) {
		struct called *called =
			&scan->called[(first + i) % scan->nr_slots];

		if (!called->address || called->address == address)
			return called;
	}
	return NULL;
}

/* Make room for another function. Returns whether there is some. */
static bool grow(struct scan *scan)
{
	struct budget *budget = &scan->image->file.budget;
	struct called *const old = scan->called;
	const size_t nr = scan->nr_slots;
	void *memory;

	if (scan->nr_called < nr / 2)
		return true;
	if (nr == PROOF_MAX_CALLED)
		return false;
	scan->nr_slots = nr ? 4 * nr : MIN_SLOTS;
	if (sfu_budget_allocate(budget, scan->nr_slots * sizeof(*old), "code",
				&memory)) {
		scan->nr_slots = nr;
		return false;
	}
	scan->called = memset(memory, 0, scan->nr_slots * sizeof(*old));
	for (size_t i = 0; i < nr; i++) {
		struct called *slot = find_slot(scan, old[i].address);

		if (old[i].address && slot)
			*slot = old[i];
	}
	sfu_budget_free_memory(budget, old, nr * sizeof(*old));
	return true;
}

/* Returns the entry for @address, maybe a new one, or NULL if there is no room. */
static struct called *get_called(struct scan *scan, uint64_t address)
{
	struct called *called;

	if (!address || !grow(scan))
		return NULL;
	called = find_slot(scan, address);
	if (called && !called->address) {
		called->address = address;
		scan->nr_called++;
	}
	return called;
}

static int enqueue(struct scan *scan, struct called *called)
{
	const uint64_t address = called->address;
	int err;

	if (called->is_queued || called->is_known)
		return 0;
	called->is_queued = true;
	err = sfu_budget_reserve(&scan->image->file.budget, &scan->queue,
				 sizeof(address), "code");
	if (!err)
		buffer_put(&scan->queue, &address, sizeof(address));
	return err;
}

int sfu_proof_note(struct scan *scan, uint64_t address, bool is_called)
{
	struct called *called = NULL;

	if (sfu_proof_uncovered(scan, address))
		called = get_called(scan, address);
	if (!called)
		return 0;
	called->is_called |= is_called;
	called->is_found = false;
	return enqueue(scan, called);
}

int sfu_proof_note_endbr(struct scan *scan, uint64_t address)
{
	struct called *called = get_called(scan, address);

	if (!called || called->is_queued)
		return 0;
	called->is_found = true;
	return enqueue(scan, called);
}

void sfu_proof_note_start(struct scan *scan, uint64_t address)
{
	struct called *called = NULL;

	if (sfu_proof_uncovered(scan, address))
		called = get_called(scan, address);
	if (called)
		called->is_start = true;
}

/* Returns the entry for @address, or NULL. */
static struct called *find_called(const struct scan *scan, uint64_t address)
{
	struct called *called = find_slot(scan, address);

	return called && called->address ? called : NULL;
}

void sfu_proof_note_partial(struct scan *scan, uint64_t address,
			    bool is_partial)
{
	struct called *called = find_called(scan, address);

	if (called)
		called->is_partial = is_partial;
}

bool sfu_proof_is_function(const struct scan *scan, uint64_t address)
{
	const struct called *called = find_called(scan, address);

	return called && called->is_start;
}

bool sfu_proof_is_called(const struct scan *scan, uint64_t address)
{
	const struct called *called = find_called(scan, address);

	return called && called->is_start && called->is_called &&
	       !called->is_found && (called->is_queued || called->is_known);
}

bool sfu_proof_is_partial(const struct scan *scan, uint64_t address)
{
	const struct called *called = find_called(scan, address);

	return called && called->is_partial;
}

void sfu_proof_note_known(struct scan *scan, uint64_t address)
{
	struct called *called = get_called(scan, address);

	if (called)
		called->is_known = true;
}

uint64_t sfu_proof_noted_at(const struct scan *scan, size_t number)
{
	uint64_t address;

	memcpy(&address, scan->queue.bytes + number * sizeof(address),
	       sizeof(address));
	return address;
}

const struct called *sfu_proof_noted(const struct scan *scan, size_t number)
{
	const struct called *called =
		find_called(scan, sfu_proof_noted_at(scan, number));

	return called && !called->is_known ? called : NULL;
}

void sfu_proof_free(struct scan *scan)
{
	struct budget *budget = &scan->image->file.budget;

	sfu_budget_free(budget, &scan->paths);
	sfu_budget_free(budget, &scan->work);
	sfu_budget_free(budget, &scan->queue);
	sfu_budget_free_memory(budget, scan->called,
			       scan->nr_slots * sizeof(*scan->called));
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
