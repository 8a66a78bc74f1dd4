/* SPDX-License-Identifier: GPL-2.0 */
/* What "record" tells about the samples that it has taken. */
#ifndef CLI_PROFILE_RECORD_SUMS_H
#define CLI_PROFILE_RECORD_SUMS_H

#include "cli/profile/record.h"

struct sframe_unwind_sample_copy_stats;
struct sframe_unwind_sample_stats;

/* Samples that were lost, for whatever reason. */
uint64_t record_sums_lost(const struct sframe_unwind_sample_stats *stats);

/* Print the progress after @seconds, with @bytes of output, on the current line. */
void record_sums_progress(const struct record_counts *counts,
			  const struct sframe_unwind_sample_stats *stats,
			  double seconds, uint64_t bytes);

/* Print why stacks are cut, if any is. */
void record_sums_cut(const struct record_counts *counts);

/* Print how many stacks were completed by their copies, and how many could not be, if any was cut. */
void record_sums_completed(const struct record_counts *counts,
			   const struct sframe_unwind_sample_copy_stats *stats);

/* Print how many stacks were read from the stack map, and how often it was full. */
void record_sums_map(uint64_t mapped, uint32_t cleared);

/* Complain about what was lost, if anything was, and why. @changes: of processes. */
void record_sums_complain(const struct sframe_unwind_sample_stats *stats,
			  uint64_t changes);

#endif /* CLI_PROFILE_RECORD_SUMS_H */
