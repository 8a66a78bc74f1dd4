/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Bench, samples: call the handler of a perf event.
 */
#ifndef SFU_BENCH_SAMPLE_H
#define SFU_BENCH_SAMPLE_H

#include <linux/types.h>

struct file;
struct perf_event;
struct pt_regs;
struct sfu_client;
struct sfu_sampler;

/**
 * struct sfu_bench_event - a perf event, which stays until it is put
 *
 * @perf: the event.
 * @sampler: whose event it is, with its events_mutex held; or NULL.
 * @file: holds a reference, of the event of a file; or NULL.
 */
struct sfu_bench_event {
	struct perf_event *perf;
	struct sfu_sampler *sampler;
	struct file *file;
};

/*
 * Get the event @id of @client. May sleep. Returns 0 or -ENOENT. @event must be
 * zero before.
 */
int sfu_bench_event_get(struct sfu_bench_event *event,
			struct sfu_client *client, u32 id);

/* Get the event of the perf event file @fd. Returns 0 or -EBADF. Likewise. */
int sfu_bench_event_get_perf(struct sfu_bench_event *event, int fd);

/* Put @event, if it was got. */
void sfu_bench_event_put(struct sfu_bench_event *event);

/*
 * Call the handler once, with interrupts off and the registers @regs. Returns the
 * cycles it took.
 */
s64 sfu_bench_event_run(const struct sfu_bench_event *event,
			struct pt_regs *regs);

#endif /* SFU_BENCH_SAMPLE_H */
