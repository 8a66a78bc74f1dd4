/* SPDX-License-Identifier: GPL-2.0 */
/* Device: /dev/sframe_unwind. */
#ifndef SFU_DEVICE_H
#define SFU_DEVICE_H

struct file;
struct sfu_client;

/*
 * Returns the client of @file, or NULL if that is not an open file of the
 * device.
 */
struct sfu_client *sfu_device_client(const struct file *file);

/* Returns 0 or an errno. */
int sfu_device_init(void);
void sfu_device_exit(void);

#endif /* SFU_DEVICE_H */
