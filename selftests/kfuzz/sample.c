// SPDX-License-Identifier: GPL-2.0
/*
 * Sample: perf events to sample at, and memory of rings, stack maps and files, which
 * the program maps and writes to.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/sframe_unwind.h>

#include "calls.h"
#include "shared.h"

/* In nanoseconds: samples that follow each other faster take all time of a slow kernel. */
#define MIN_CLOCK_PERIOD	1000000

static uint64_t limit_period(uint64_t event, uint64_t period)
{
	const bool is_clock = event == PERF_COUNT_SW_CPU_CLOCK ||
			      event == PERF_COUNT_SW_TASK_CLOCK;

	return is_clock && period && period < MIN_CLOCK_PERIOD ?
		       MIN_CLOCK_PERIOD : period;
}

/*
 * Never of a CPU: samples of threads that outlive the program would leave requests
 * behind.
 */
long run_perf_open(const struct call *call, const uint64_t *value)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = value[1],
		.sample_period = limit_period(value[1], value[2]),
		.inherit = value[3] & 1,
		.enable_on_exec = value[3] >> 1 & 1,
		.exclude_kernel = value[3] >> 2 & 1,
		.sample_type = value[3] & 8 ? PERF_SAMPLE_RAW : 0,
	};

	return call_keep(&call->arg[0],
			 call_result(syscall(SYS_perf_event_open, &attr, 0, -1,
					     -1, PERF_FLAG_FD_CLOEXEC)));
}

/* Read the first and the last word of what is mapped, and write to it if allowed. */
static void touch(volatile uint64_t *at, size_t size, int prot, uint64_t random)
{
	uint64_t last = at[size / sizeof(*at) - 1];

	if (!(prot & PROT_WRITE))
		return;
	at[0] = last ^ random;
	at[random % (size / sizeof(*at))] = random;
	((volatile struct sframe_unwind_ring *)at)->tail =
		((volatile struct sframe_unwind_ring *)at)->head - random % 8192;
}

long run_map_ring(const struct call *call, const uint64_t *value)
{
	const int prot = value[3];
	void *at = mmap(NULL, value[2], prot, MAP_SHARED, value[0], value[1]);

	(void)call;
	if (at == MAP_FAILED)
		return -errno;
	/* A file that is mapped there instead may be shorter. */
	if (!sigsetjmp(self.fault, 0)) {
		self.guarded = true;
		if (value[2] >= 4096 && value[2] <= 1 << 20)
			touch(at, value[2] & -4096, prot, value[4]);
	}
	self.guarded = false;
	if (value[4] & 1)
		munmap(at, value[2]);
	return 0;
}
