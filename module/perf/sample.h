/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Sample: what is recorded when a perf event occurs.
 */
#ifndef SFU_SAMPLE_H
#define SFU_SAMPLE_H

#include <linux/list.h>
#include <linux/types.h>

struct perf_event;
struct perf_sample_data;
struct pt_regs;
struct sfu_sampler;

/**
 * struct sfu_sample_event - a perf event of a sampler
 *
 * @link: in sfu_sampler.events.
 * @sampler: constant.
 * @perf: the perf event; it is the parent of those inherited by other threads.
 * @id: see struct sframe_unwind_sample_event; constant.
 * @fields: SFRAME_UNWIND_SAMPLE_* bits of the members wanted; constant.
 * @kernel: record kernel stacks; constant.
 * @user: record user stacks; constant.
 * @also_later: request user stacks that were taken at once, too; constant.
 * @started: samples are taken, if the sampler is started, too.
 */
struct sfu_sample_event {
	struct list_head link;
	struct sfu_sampler *sampler;
	struct perf_event *perf;
	u32 id;
	u32 fields;
	bool kernel;
	bool user;
	bool also_later;
	bool started;
};

/*
 * Take a sample: perf's overflow handler of events whose context is a struct
 * sfu_sample_event. Any context.
 */
void sfu_sample_take(struct perf_event *perf, struct perf_sample_data *data,
		     struct pt_regs *regs);

/*
 * Allocate what taking samples needs, when the first sampler is created. May
 * sleep. Returns 0 or -ENOMEM.
 */
int sfu_sample_prepare(void);

/* Free it, when there are no samplers any more. */
void sfu_sample_exit(void);

#endif /* SFU_SAMPLE_H */
