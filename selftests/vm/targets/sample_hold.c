// SPDX-License-Identifier: GPL-2.0
/*
 * Holds perf events of itself until it is killed. The kernel modifies its code when
 * the first event of a kind is opened and when the last one is closed, and QEMU
 * without KVM occasionally executes the old code then: see README.md. While this
 * program runs, tests do not cause that.
 */
#include "sampled.h"

int main(void)
{
	struct perf_event_attr attrs[] = {
		software(PERF_COUNT_SW_PAGE_FAULTS),
		software(PERF_COUNT_SW_CONTEXT_SWITCHES),
		cpu_clock(1000000000),
		tracepoint("raw_syscalls/sys_enter"),
		tracepoint("signal/signal_generate"),
	};

	for (unsigned int i = 0; i < sizeof(attrs) / sizeof(attrs[0]); i++) {
		attrs[i].disabled = 1;
		if (perf_open(&attrs[i], 0, -1) < 0)
			perror("# sample_hold: perf_event_open");
	}
	/* The reader of this file knows that they are open now. */
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
