/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Deferred: a work as other modules use it, see <linux/sframe_unwind_deferred.h>.
 */
#ifndef SFU_TEST_DEFERRED_H
#define SFU_TEST_DEFERRED_H

struct sfu_test_deferred;
struct sfu_test_user;

/* Returns NULL if out of memory. */
struct sfu_test_user *sfu_test_deferred_create(void);
void sfu_test_deferred_destroy(struct sfu_test_user *user);

/*
 * Do what @spec says. Returns 0; -ENOMEM; -EBUSY if the work is, or -ENXIO if it is not
 * initialized; -EINVAL.
 */
int sfu_test_deferred_use(struct sfu_test_user *user, struct sfu_test_deferred *spec);

#endif /* SFU_TEST_DEFERRED_H */
