// SPDX-License-Identifier: GPL-2.0
#include <inttypes.h>
#include <stdio.h>

#include "cli/cli.h"
#include "cli/profile/record_sums.h"
#include "cli/profile/why_cut.h"
#include "sframe_unwind.h"

uint64_t record_sums_lost(const struct sframe_unwind_sample_stats *stats)
{
	return stats->lost_full + stats->lost_no_ring + stats->lost_recursion;
}

void record_sums_progress(const struct record_counts *counts,
			  const struct sframe_unwind_sample_stats *stats,
			  double seconds, uint64_t bytes)
{
	fprintf(stderr, "\rrecord: %.1f s, %" PRIu64 " samples, %.2f%% of the stacks complete, %" PRIu64 " lost, %.1f MB",
		seconds, counts->samples, counts->samples ?
		100.0 * counts->complete / counts->samples : 100,
		record_sums_lost(stats), bytes / 1e6);
}

static const char *reason_name(uint32_t reason)
{
	switch (reason) {
	case RECORD_REFUSED:
		return why_cut(SFRAME_UNWIND_PROFILE_STOP_REFUSED);
	case RECORD_LATE:
		return why_cut(SFRAME_UNWIND_PROFILE_STOP_LATE);
	case RECORD_OTHER:
		return "another reason";
	default:
		return why_cut(reason);
	}
}

void record_sums_cut(const struct record_counts *counts)
{
	const char *between = "record: stacks that are cut: ";

	for (uint32_t i = 0; i < RECORD_REASONS; i++) {
		if (!counts->cut[i])
			continue;
		fprintf(stderr, "%s%" PRIu64 " %s", between, counts->cut[i],
			reason_name(i));
		between = ", ";
	}
	if (between[0] == ',')
		fputc('\n', stderr);
}

void record_sums_completed(const struct record_counts *counts,
			   const struct sframe_unwind_sample_copy_stats *stats)
{
	if (counts->completed || counts->not_completed || stats->not_copied)
		fprintf(stderr, "record: stacks in code that was new: %" PRIu64 " completed by a copy, %" PRIu64 " not; %" PRIu64 " without a copy\n",
			counts->completed, counts->not_completed,
			(uint64_t)stats->not_copied);
}

void record_sums_map(uint64_t mapped, uint32_t cleared)
{
	fprintf(stderr, "record: %" PRIu64 " stacks were collected by the stack map, which was full %u times\n",
		mapped, cleared);
}

/* Print how many @what were lost for the reason @why, if any. */
static void complain_of(const char *what, uint64_t nr, const char *why)
{
	if (nr)
		complain("record: %" PRIu64 " %s were lost: %s", nr, what, why);
}

void record_sums_complain(const struct sframe_unwind_sample_stats *stats,
			  uint64_t changes)
{
	complain_of("samples", stats->lost_full,
		    "the ring of a CPU was full; try less often (-F, -c)");
	complain_of("samples", stats->lost_no_ring, "a CPU has no ring");
	complain_of("samples", stats->lost_recursion,
		    "taking another sample caused the event");
	complain_of("user stacks", stats->stacks_lost,
		    "the ring of a CPU was full; try less often (-F, -c)");
	complain_of("changes of processes", changes,
		    "they came faster than they were read; some code may have no name");
	if (stats->throttled)
		complain("record: %" PRIu64 " times, the kernel paused an event that came too often: see kernel.perf_event_max_sample_rate",
			 (uint64_t)stats->throttled);
}
