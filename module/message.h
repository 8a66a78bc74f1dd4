/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Messages: texts that say why an ioctl failed, for the caller and for dynamic
 * debug.
 */
#ifndef SFU_MESSAGE_H
#define SFU_MESSAGE_H

#include <linux/compiler_attributes.h>

#include "limits.h"

struct sfu_message {
	char text[SFU_MESSAGE_SIZE];
};

/* Record why an ioctl fails. Returns @err, for the caller to return. */
__printf(3, 4)
int sfu_message_fail(struct sfu_message *message, int err, const char *fmt, ...);

#endif /* SFU_MESSAGE_H */
