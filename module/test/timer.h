/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Timer: requests from interrupt context, and from tracepoints.
 */
#ifndef SFU_TEST_TIMER_H
#define SFU_TEST_TIMER_H

struct sfu_client;
struct sfu_test_timer;
struct sfu_test_timer_spec;

/*
 * Start or stop the *@timer of @client, as @spec says. The caller must
 * serialise calls. May sleep. Returns 0, -EBUSY, -ENOENT or -ENOMEM.
 */
int sfu_test_timer_set(struct sfu_test_timer **timer, struct sfu_client *client,
		       struct sfu_test_timer_spec *spec);

/*
 * Stop @timer, which may be NULL. Makes no request any more after it has
 * returned.
 */
void sfu_test_timer_stop(struct sfu_test_timer *timer);

#endif /* SFU_TEST_TIMER_H */
