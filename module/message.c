// SPDX-License-Identifier: GPL-2.0
#define pr_fmt(fmt) "sframe_unwind: " fmt

#include <linux/kernel.h>
#include <linux/pid.h>
#include <linux/printk.h>
#include <linux/sched.h>

#include "message.h"

int sfu_message_fail(struct sfu_message *message, int err, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vscnprintf(message->text, sizeof(message->text), fmt, args);
	va_end(args);
	pr_debug("%s[%d]: %s (%d)\n", current->comm, task_pid_nr(current),
		 message->text, err);
	return err;
}
