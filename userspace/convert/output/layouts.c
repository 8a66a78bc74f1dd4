// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include <errno.h>
#include <stdlib.h>

#include "convert/base/message.h"
#include "layouts.h"

/* Runs for which a layout of their own is not worth its bytes. */
#define RARE_LAYOUT 4

/* Slots for layouts that were met last. */
#define RECENT_BITS 8

/**
 * struct use - a layout of runs
 *
 * @layout: the layout.
 * @as: the layout that is written for it.
 * @count: number of runs that have it.
 * @number: the number of @as.
 */
struct use {
	uint64_t layout;
	uint64_t as;
	uint32_t count;
	uint32_t number;
};

/* By slots, then by flags. */
static int compare_layouts(const void *a_pointer, const void *b_pointer)
{
	const struct use *a = a_pointer, *b = b_pointer;
	const uint64_t a_slots = a->layout & LAYOUT_SLOTS;
	const uint64_t b_slots = b->layout & LAYOUT_SLOTS;

	if (a_slots != b_slots)
		return a_slots < b_slots ? -1 : 1;
	return (a->layout > b->layout) - (a->layout < b->layout);
}

static bool is_kept(const struct use *use)
{
	return layout_flags(use->layout) & SFRAME_EXT_LAYOUT_KEPT;
}

/*
 * Few calls keep a register, but rules need it at all of these. Of other layouts, those
 * of one or two runs are seldom needed.
 */
static int compare_counts(const void *a_pointer, const void *b_pointer)
{
	const struct use *a = a_pointer, *b = b_pointer;

	if (is_kept(a) != is_kept(b))
		return is_kept(a) ? -1 : 1;
	return (a->count < b->count) - (a->count > b->count);
}

/* Returns whether @other can stand for @layout: more is unsure then, nothing is wrong. */
static bool is_less_sure(uint64_t other, uint64_t layout)
{
	const uint8_t differs = layout_flags(other ^ layout);

	return other != layout && !((other ^ layout) & LAYOUT_SLOTS) &&
	       !(differs & (~SFRAME_EXT_LAYOUT_UNSURE | layout_flags(layout)));
}

/*
 * A layout of a few runs takes more bytes than the runs: write another one for them, if
 * that only makes more unsure. Such a one has the same slots and greater flags, so it is
 * behind, and what is written for it is known.
 */
static void join_rare(struct use *uses, size_t nr)
{
	for (size_t i = nr; i-- > 0; ) {
		struct use *best = NULL;

		uses[i].as = uses[i].layout;
		if (uses[i].count > RARE_LAYOUT)
			continue;
		for (size_t k = i + 1; k < nr && !((uses[k].layout ^
						    uses[i].layout) &
						   LAYOUT_SLOTS); k++)
			if (is_less_sure(uses[k].as, uses[i].layout) &&
			    (!best || uses[k].count > best->count))
				best = &uses[k];
		if (best)
			uses[i].as = best->as;
	}
}

/* Where the layout's use is, if it was the last one there. */
static unsigned int recent_slot(uint64_t layout)
{
	return layout * 0x9e3779b97f4a7c15 >> (64 - RECENT_BITS);
}

/*
 * Sort the layouts of @runs, with their numbers, into @uses. Returns their number. Most
 * runs have one of a few layouts: count these before they are sorted.
 */
static size_t count_layouts(const struct buffer *runs, struct use *uses)
{
	const struct run *run = (const struct run *)runs->bytes;
	const size_t count = runs->size / sizeof(*run);
	struct use *recent[1 << RECENT_BITS] = { NULL };
	size_t nr = 0, kept = 0;

	for (size_t i = 0; i < count; i++) {
		struct use **use = &recent[recent_slot(run[i].layout)];

		if (!*use || (*use)->layout != run[i].layout) {
			*use = &uses[nr++];
			(*use)->layout = run[i].layout;
		}
		(*use)->count++;
	}
	qsort(uses, nr, sizeof(*uses), compare_layouts);
	for (size_t i = 0; i < nr; i++) {
		if (kept && uses[kept - 1].layout == uses[i].layout)
			uses[kept - 1].count += uses[i].count;
		else
			uses[kept++] = uses[i];
	}
	return kept;
}

static const struct use *find_use(const struct use *uses, size_t nr,
				  uint64_t layout)
{
	const struct use wanted = { .layout = layout };

	return bsearch(&wanted, uses, nr, sizeof(*uses), compare_layouts);
}

/*
 * Put the layouts that get a number, the most important ones, into @chosen, sorted.
 * Returns how many there are.
 */
static size_t choose(const struct use *uses, size_t nr, struct use *chosen)
{
	size_t count = 0;

	for (size_t i = 0; i < nr; i++)
		if (uses[i].as == uses[i].layout)
			chosen[count++] = uses[i];
	qsort(chosen, count, sizeof(*chosen), compare_counts);
	/* The last number is for all others. */
	if (count > SFRAME_EXT_MAX_LAYOUTS - 1)
		count = SFRAME_EXT_MAX_LAYOUTS - 1;
	qsort(chosen, count, sizeof(*chosen), compare_layouts);
	return count;
}

/*
 * Number the @nr layouts in @uses, and set *@layouts. Returns their number, or a
 * negative errno with a message.
 */
static ssize_t number_uses(struct use *uses, size_t nr, uint64_t **layouts)
{
	struct use *chosen = calloc(nr + 1, sizeof(*chosen));
	size_t count;

	*layouts = calloc(nr + 1, sizeof(**layouts));
	if (!chosen || !*layouts) {
		free(chosen);
		return sfu_message_fail(ENOMEM, "no memory");
	}
	count = choose(uses, nr, chosen);
	for (size_t i = 0; i < count; i++)
		(*layouts)[i] = chosen[i].layout;
	for (size_t i = 0; i < nr; i++) {
		const struct use *use = find_use(chosen, count, uses[i].as);

		uses[i].number = use ? (size_t)(use - chosen) : count;
	}
	free(chosen);
	return count;
}

ssize_t sfu_layouts_number(struct buffer *runs, uint64_t **layouts)
{
	struct run *run = (struct run *)runs->bytes;
	const size_t count = runs->size / sizeof(*run);
	struct use *uses = calloc(count + 1, sizeof(*uses));
	const struct use *recent[1 << RECENT_BITS] = { NULL };
	size_t nr, kept = 0;
	ssize_t ret;

	*layouts = NULL;
	if (!uses)
		return sfu_message_fail(ENOMEM, "no memory");
	nr = count_layouts(runs, uses);
	join_rare(uses, nr);
	ret = number_uses(uses, nr, layouts);
	for (size_t i = 0; ret >= 0 && i < count; i++) {
		const struct use **use = &recent[recent_slot(run[i].layout)];

		if (!*use || (*use)->layout != run[i].layout)
			*use = find_use(uses, nr, run[i].layout);
		run[i].layout = (*use)->number;
		if (!kept || run[kept - 1].layout != run[i].layout)
			run[kept++] = run[i];
	}
	runs->size = kept * sizeof(*run);
	free(uses);
	return ret;
}
