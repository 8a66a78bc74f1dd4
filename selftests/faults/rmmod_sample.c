// SPDX-License-Identifier: GPL-2.0
/*
 * Removal of the module: processes that take samples.
 */
#include "../include/stack_map.h"
#include "rmmod_sample.h"

bool take_samples(int fd)
{
	struct perf_event_attr faults = software(PERF_COUNT_SW_PAGE_FAULTS);
	struct sframe_unwind_sampler sampler = sampler_with_map(4, 4);
	struct perf_event_attr clock = cpu_clock(100000);
	struct sframe_unwind_sample_stats stats;
	struct sampled s;

	faults.inherit = 1;
	clock.inherit = 1;
	if (start_sampled_by(fd, &s, &sampler) ||
	    sample_at(&s, &faults, 0, -1, 0) < 0 ||
	    sample_at(&s, &clock, 0, -1, 0) < 0 || start(&s))
		return false;
	fault(20);
	return !sample_stats(&s, &stats) && stats.samples;
}
