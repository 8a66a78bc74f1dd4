/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Messages: what was wrong with a call, in words, for the caller and for
 * dynamic debug.
 */
#ifndef SFU_MESSAGE_H
#define SFU_MESSAGE_H

#include <linux/compiler_attributes.h>

#include "limits.h"

struct sfu_message {
	char text[SFU_MESSAGE_SIZE];
};

/* Note why a call fails. Returns @err, to be returned on. */
__printf(3, 4)
int sfu_message_fail(struct sfu_message *message, int err, const char *fmt, ...);

#endif /* SFU_MESSAGE_H */
