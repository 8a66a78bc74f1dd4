// SPDX-License-Identifier: GPL-2.0
/*
 * Bench, samples: call the handler of a perf event as if the event had interrupted
 * the caller in user mode: that of the module, or perf's own.
 */
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/irqflags.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/perf_event.h>
#include <linux/timex.h>

#include "bench_sample.h"
#include "dev/client.h"
#include "perf/sample.h"
#include "perf/sampler.h"

int sfu_bench_event_get(struct sfu_bench_event *event,
			struct sfu_client *client, u32 id)
{
	struct sfu_sampler *sampler = sfu_client_sampler(client);
	struct sfu_sample_event *found;

	if (!sampler)
		return -ENOENT;
	mutex_lock(&sampler->events_mutex);
	list_for_each_entry(found, &sampler->events, link) {
		if (found->id == id) {
			event->perf = found->perf;
			event->sampler = sampler;
			return 0;
		}
	}
	mutex_unlock(&sampler->events_mutex);
	return -ENOENT;
}

int sfu_bench_event_get_perf(struct sfu_bench_event *event, int fd)
{
	struct file *file = fget(fd);

	if (!file)
		return -EBADF;
	if (strcmp(file->f_path.dentry->d_name.name, "[perf_event]")) {
		fput(file);
		return -EBADF;
	}
	event->perf = file->private_data;
	event->file = file;
	return 0;
}

void sfu_bench_event_put(struct sfu_bench_event *event)
{
	if (event->sampler)
		mutex_unlock(&event->sampler->events_mutex);
	if (event->file)
		fput(event->file);
}

s64 sfu_bench_event_run(const struct sfu_bench_event *event,
			struct pt_regs *regs)
{
	const perf_overflow_handler_t handler =
		READ_ONCE(event->perf->overflow_handler);
	struct perf_sample_data data;
	unsigned long flags;
	u64 start, cycles;

	local_irq_save(flags);
	perf_sample_data_init(&data, 0, 1);
	start = get_cycles();
	handler(event->perf, &data, regs);
	cycles = get_cycles() - start;
	local_irq_restore(flags);
	return cycles;
}
