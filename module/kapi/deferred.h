/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Deferred: the stacks that other modules request. Their functions are in
 * <linux/sframe_unwind_deferred.h>.
 */
#ifndef SFU_DEFERRED_H
#define SFU_DEFERRED_H

/* Returns 0 or an errno. */
int sfu_deferred_init(void);
void sfu_deferred_exit(void);

#endif /* SFU_DEFERRED_H */
