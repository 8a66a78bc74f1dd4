/* SPDX-License-Identifier: GPL-2.0 */
/* The parts of "record". */
#ifndef CLI_PROFILE_RECORD_H
#define CLI_PROFILE_RECORD_H

#include <linux/perf_event.h>
#include <sys/types.h>

#include "cli/profile/table.h"
#include "include/sframe_unwind_profile.h"

/**
 * struct record_event - an event to sample
 *
 * @name: as it was given, with modifiers.
 * @attr: its attributes, without period.
 * @ids: ids of its samples: one for each perf event.
 * @nr_ids: number of those.
 * @room: room for those.
 */
struct record_event {
	const char *name;
	struct perf_event_attr attr;
	uint32_t *ids;
	uint32_t nr_ids;
	uint32_t room;
};

/*
 * Parse an event: a name of perf list for software and hardware events, rN, or a
 * tracepoint, with :u or :k behind. Returns an exit status, after a message if it
 * is not CLI_OK.
 */
int record_parse_event(struct record_event *event, const char *name);

/**
 * struct record_targets - what to sample
 *
 * @tids: threads; none for all CPUs.
 * @nr: number of those.
 * @room: room for those.
 */
struct record_targets {
	pid_t *tids;
	uint32_t nr;
	uint32_t room;
};

/*
 * Add threads: those of the processes in @list, numbers with commas, or if
 * @are_threads the threads themselves. Returns an exit status.
 */
int record_add_targets(struct record_targets *targets, const char *list,
		       bool are_threads);

/*
 * Write what processes that exist already have mapped, and the names of their
 * threads: of the targets, or of all. @kernel: also where the kernel is.
 */
int record_existing(struct sframe_unwind_profile_writer *writer,
		    const struct record_targets *targets);

/*
 * What happens to processes while they are sampled, by perf's own records.
 */
struct record_changes;

/* Returns an exit status, after a message if it is not CLI_OK. */
int record_changes_open(struct record_changes **changes,
			const struct record_targets *targets);

/* Write what has happened. Returns 0 or an error of the writer. */
int record_changes_write(struct record_changes *changes,
			 struct sframe_unwind_profile_writer *writer);

void record_changes_close(struct record_changes *changes);

/* perf_event_open(2). Returns a file or -errno. */
int record_perf_open(const struct perf_event_attr *attr, pid_t tid, int cpu);

/* Say why perf_event_open() failed with @error, and what to do. Returns CLI_TROUBLE. */
int record_complain(const char *event, int error);

/*
 * Samples whose user stack follows later.
 */
struct record_waiting;

struct record_waiting *record_waiting_create(void);

void record_waiting_free(struct record_waiting *waiting);

struct sframe_unwind_sample_record;

/*
 * Take over a record of the sampler, and write samples that are complete. @event:
 * number of the event. Returns 0 or an error of the writer.
 */
int record_waiting_add(struct record_waiting *waiting,
		       const struct sframe_unwind_sample_record *from,
		       uint32_t event,
		       struct sframe_unwind_profile_writer *writer);

/* Write the samples that still wait, without user stacks. */
int record_waiting_end(struct record_waiting *waiting,
		       struct sframe_unwind_profile_writer *writer);

/**
 * struct record_counts - of samples that were written
 *
 * @samples: all.
 * @complete: those whose user stack goes to its outermost frame, or that have
 *	none.
 * @waiting: those that wait.
 */
struct record_counts {
	uint64_t samples;
	uint64_t complete;
	uint64_t waiting;
};

const struct record_counts *record_counts(const struct record_waiting *waiting);

#endif /* CLI_PROFILE_RECORD_H */
