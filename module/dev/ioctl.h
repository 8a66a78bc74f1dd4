/* SPDX-License-Identifier: GPL-2.0 */
/* Ioctl: the only reader of the structures in the uapi header. */
#ifndef SFU_IOCTL_H
#define SFU_IOCTL_H

struct sfu_client;

/* See <linux/sframe_unwind.h> for the ioctls and their errors. */
long sfu_ioctl(struct sfu_client *client, unsigned int cmd, void __user *arg);

#endif /* SFU_IOCTL_H */
