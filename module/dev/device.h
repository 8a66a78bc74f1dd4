/* SPDX-License-Identifier: GPL-2.0 */
/* Device: /dev/sframe_unwind. */
#ifndef SFU_DEVICE_H
#define SFU_DEVICE_H

/* Returns 0 or an errno. */
int sfu_device_init(void);
void sfu_device_exit(void);

#endif /* SFU_DEVICE_H */
