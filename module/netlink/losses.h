/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Losses: are counted for each reason, and told now and then.
 */
#ifndef SFU_LOSSES_H
#define SFU_LOSSES_H

/* Forget what was not told. Nothing may be lost any more. */
void sfu_losses_exit(void);

#endif /* SFU_LOSSES_H */
