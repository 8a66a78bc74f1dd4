/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Test timer: requests from interrupt context, and from wherever the kernel has
 * tracepoints, for the tests. Only in a module built with SFU_TEST=1; shared
 * with the tests, which include it.
 */
#ifndef SFU_TEST_TIMER_H
#define SFU_TEST_TIMER_H

#include <linux/types.h>

/**
 * struct sfu_test_timer_spec - start a timer or a probe, one for each client
 *
 * @size: sizeof(struct sfu_test_timer_spec).
 * @max_depth: of its requests.
 * @period: in nanoseconds; 0 stops it. Of a probe, anything else starts it.
 * @ticks: out, when it is stopped: how often it fired in this process.
 * @refused: out, likewise: how many of those ticks could make no request.
 * @tracepoint: name of one of the kernel's, NUL-terminated, whose probe makes
 *	the requests; empty for a timer. ENOENT if there is none.
 *
 * It fires on the CPU that it was started on and requests the stack of the
 * thread that it interrupts, if that is one of this process. user_data of the
 * request is the interrupted instruction pointer in user mode, else 0. The
 * probe requests the stack of the thread that runs through the tracepoint, if it
 * is one of this process, also where that is in an interrupt. user_data is 0.
 */
struct sfu_test_timer_spec {
	__u32 size;
	__u32 max_depth;
	__u64 period;
	__u64 ticks;
	__u64 refused;
	char tracepoint[32];
};

#define SFU_TEST_IOC_TIMER	_IO(SFRAME_UNWIND_IOC_MAGIC, 0x10)

#ifdef __KERNEL__

struct sfu_client;

int sfu_test_timer_set(struct sfu_client *client,
		       struct sfu_test_timer_spec *spec);

#ifdef SFU_TEST
void sfu_test_timer_stop(struct sfu_client *client);
#else
static inline void sfu_test_timer_stop(struct sfu_client *client) { }
#endif

#endif /* __KERNEL__ */

#endif /* SFU_TEST_TIMER_H */
