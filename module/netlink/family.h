/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Family: the generic netlink family, and its messages.
 */
#ifndef SFU_FAMILY_H
#define SFU_FAMILY_H

#include <linux/sched.h>
#include <linux/sframe_unwind_netlink.h>

#include "netlink.h"

/**
 * struct sfu_netlink_event - what a message tells
 *
 * @number, @time, @pid, @uid, @nr, @client: see enum sframe_unwind_netlink_attr.
 * @count, @total: likewise; of LOSSES and DROPPED only.
 * @reason: a source, a reason or a loss, as the command has it.
 * @command: enum sframe_unwind_netlink_command.
 * @group: that it is for.
 * @comm: name of the thread.
 * @section: the section; its id is 0 for all sections of the space.
 * @removed: what is wrong with it, for kfree(); or NULL.
 */
struct sfu_netlink_event {
	u64 number;
	u64 time;
	u64 client;
	u64 count;
	u64 total;
	u32 pid;
	u32 uid;
	u32 nr;
	u32 reason;
	u8 command;
	u8 group;
	char comm[TASK_COMM_LEN];
	struct sfu_trace_section section;
	struct sframe_unwind_removed *removed;
};

/*
 * Send the message of @event to the listeners of its group. May sleep. Returns whether each
 * listener that is there has it, or knows that one is missing; false if memory is short.
 */
bool sfu_family_send(const struct sfu_netlink_event *event);

/* Returns 0 or -errno. */
int sfu_family_register(void);
void sfu_family_unregister(void);

#endif /* SFU_FAMILY_H */
