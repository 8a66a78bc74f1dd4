/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Timer: requests from interrupt context, and from wherever the kernel has
 * tracepoints.
 */
#ifndef SFU_TEST_TIMER_H
#define SFU_TEST_TIMER_H

struct sfu_client;
struct sfu_test_timer;
struct sfu_test_timer_spec;

/*
 * Start the *@timer of @client, or stop it, as @spec says. The caller serialises.
 * May sleep. Returns 0, -EBUSY, -ENOENT or -ENOMEM.
 */
int sfu_test_timer_set(struct sfu_test_timer **timer, struct sfu_client *client,
		       struct sfu_test_timer_spec *spec);

/* When this has returned nobody asks for stacks any more. @timer may be NULL. */
void sfu_test_timer_stop(struct sfu_test_timer *timer);

#endif /* SFU_TEST_TIMER_H */
