/* SPDX-License-Identifier: GPL-2.0 */
/* The fixture of tests of copies of cut stacks. */
#ifndef SELFTESTS_SAMPLE_COPY_H
#define SELFTESTS_SAMPLE_COPY_H

#include "sampled.h"

FIXTURE(copy)
{
	struct sampled s;
	struct taken t;
	struct sframe_unwind_sample_copy_stats stats;
};

/* Page faults of this thread are the events. */
static inline int start_copies(struct sampled *s, __u32 pages, __u32 copy_size, __u32 fields)
{
	struct perf_event_attr attr = software(PERF_COUNT_SW_PAGE_FAULTS);
	struct sframe_unwind_sampler sampler = sampler_of_pages(pages);

	sampler.copy_size = copy_size;
	if (!stay_on_one_cpu() || start_sampled(s, &sampler))
		return -1;
	return sample_at(s, &attr, 0, -1, fields) > 0 ? start(s) : -1;
}

FIXTURE_SETUP(copy)
{
}

FIXTURE_TEARDOWN(copy)
{
	end_sampled(&self->s);
}

/* Take the next stack with a copy. Returns as take_from(). */
static inline int take_copied(struct sampled *s, struct taken *t)
{
	int ret;

	do {
		ret = take(s, t);
	} while (ret == 1 && !(t->head.fields & SFRAME_UNWIND_SAMPLE_COPY));
	return ret;
}

#endif /* SELFTESTS_SAMPLE_COPY_H */
