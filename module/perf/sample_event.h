/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Sample event: the perf events that a sampler takes samples at.
 */
#ifndef SFU_SAMPLE_EVENT_H
#define SFU_SAMPLE_EVENT_H

#include <linux/types.h>

struct sfu_message;
struct sfu_sampler;

/**
 * struct sfu_sample_event_spec - arguments, see struct sframe_unwind_sample_event
 */
struct sfu_sample_event_spec {
	int fd;
	u32 fields;
	bool kernel;
	bool user;
	bool also_later;
};

/*
 * Add an event like the perf event of spec->fd. May sleep. Returns 0 with *@id,
 * or an errno of SFRAME_UNWIND_IOC_SAMPLE with @message.
 */
int sfu_sample_event_add(struct sfu_sampler *sampler,
			 const struct sfu_sample_event_spec *spec, u32 *id,
			 struct sfu_message *message);

/*
 * Start or stop the event with @id, or with 0 the sampler. After stopping, waits
 * until no sample is being taken. May sleep. Returns 0 or -ENOENT.
 */
int sfu_sample_event_start(struct sfu_sampler *sampler, u32 id, bool start);

/* Remove the event with @id. May sleep. Returns 0 or -ENOENT. */
int sfu_sample_event_remove(struct sfu_sampler *sampler, u32 id);

/* Remove all events: no sample is taken any more. May sleep. */
void sfu_sample_events_remove_all(struct sfu_sampler *sampler);

#endif /* SFU_SAMPLE_EVENT_H */
