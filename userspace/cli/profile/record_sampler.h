/* SPDX-License-Identifier: GPL-2.0 */
/* The sampler of a recording or a session, with a perf event for each thread or CPU. */
#ifndef CLI_PROFILE_RECORD_SAMPLER_H
#define CLI_PROFILE_RECORD_SAMPLER_H

#include "cli/profile/record_options.h"

struct sframe_unwind_samples;
struct record_copy;
struct sframe_unwind_sample_record;

/**
 * struct record_sampler - the sampler
 *
 * @samples: the library's, or NULL.
 * @event_of: number of the event by id of the sampler.
 * @room: room for those.
 * @mapped: number of stacks that were read from the stack map.
 * @refused: stacks that had no room in it until it was cleared last.
 * @cleared: how often that was.
 */
struct record_sampler {
	struct sframe_unwind_samples *samples;
	uint32_t *event_of;
	uint32_t room;
	uint64_t mapped;
	uint64_t refused;
	uint32_t cleared;
};

/*
 * Open it for all events of @options, whose ids are filled in. It takes no samples
 * before it is started. If the kernel may not be sampled, events of user mode are
 * sampled only there, and @options says so. @command: for messages. @child: thread
 * whose events begin at exec, or 0. @raw: whether samples of tracepoints have their
 * data. This process has no new huge pages from then on. Returns an exit status;
 * record_sampler_close() is to be called in any case.
 */
int record_sampler_open(struct record_sampler *sampler, const char *command,
			struct record_options *options, pid_t child, bool raw);

/* Returns the number of the event with @id. */
uint32_t record_sampler_event(const struct record_sampler *sampler, uint32_t id);

/* The next record of all rings, as sframe_unwind_sampler_read(); and its copy, or NULL. */
int record_sampler_read(struct record_sampler *sampler,
			struct sframe_unwind_sample_record *record,
			struct record_copy *copy);

/*
 * Call this when all records have been read: if the stack map is full, it is cleared.
 * Stacks of records that were written meanwhile can still be looked up, until the next
 * call that clears it.
 */
void record_sampler_end_round(struct record_sampler *sampler);

/* Also frees what was filled in in @options. */
void record_sampler_close(struct record_sampler *sampler,
			  struct record_options *options);

#endif /* CLI_PROFILE_RECORD_SAMPLER_H */
