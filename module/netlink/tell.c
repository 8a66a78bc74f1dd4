// SPDX-License-Identifier: GPL-2.0
/*
 * Tell: the events of which listeners of the generic netlink family sframe_unwind are told.
 *
 * The family exists before anything of the module can happen, and until nothing can happen
 * any more: so there is nobody who uses it while it is made or removed. Sockets that are
 * listening do not keep the module from being removed; the kernel takes them out of the
 * groups.
 */
#define pr_fmt(fmt) "sframe_unwind: " fmt

#include <linux/cred.h>
#include <linux/pid.h>
#include <linux/printk.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uidgid.h>

#include "family.h"
#include "limits.h"
#include "losses.h"
#include "queue.h"

bool sfu_netlink_exists __read_mostly;

/* Add @event, with the ids of the current process. */
static void add(struct sfu_netlink_event *event)
{
	event->pid = task_tgid_nr(current);
	/* Another thread of the process may be changing it. */
	memcpy(event->comm, current->comm, sizeof(event->comm));
	event->comm[sizeof(event->comm) - 1] = 0;
	sfu_event_queue_add(event);
}

void sfu_netlink_add(const struct sfu_trace_section *section, enum sfu_added source,
		     u32 nr)
{
	struct sfu_netlink_event event = {
		.command = SFRAME_UNWIND_COMMAND_SECTION_ADDED,
		.group = SFU_GROUP_SECTIONS,
		.section = *section,
		.reason = source,
		.nr = nr,
	};

	if (sfu_netlink_hears(SFU_GROUP_SECTIONS))
		add(&event);
}

void sfu_netlink_remove(const struct sfu_trace_section *section,
			enum sfu_removed reason, u32 nr)
{
	struct sfu_netlink_event event = {
		.command = SFRAME_UNWIND_COMMAND_SECTION_REMOVED,
		.group = SFU_GROUP_SECTIONS,
		.section = *section,
		.reason = reason,
		.nr = nr,
	};

	if (sfu_netlink_hears(SFU_GROUP_SECTIONS))
		add(&event);
}

void sfu_netlink_corrupt(const struct sfu_trace_section *section,
			 const struct sframe_unwind_removed *removed)
{
	struct sfu_netlink_event event = {
		.command = SFRAME_UNWIND_COMMAND_SECTION_CORRUPT,
		.group = SFU_GROUP_SECTIONS,
		.section = *section,
		.reason = removed->cause,
		.nr = 1,
	};

	if (!sfu_netlink_hears(SFU_GROUP_SECTIONS))
		return;
	event.removed = kmemdup(removed, sizeof(*removed), SFU_GFP_OPTIONAL);
	add(&event);
}

void sfu_netlink_client(u64 id, bool opened)
{
	struct sfu_netlink_event event = {
		.command = opened ? SFRAME_UNWIND_COMMAND_CLIENT_OPENED :
				    SFRAME_UNWIND_COMMAND_CLIENT_CLOSED,
		.group = SFU_GROUP_CLIENTS,
		.client = id,
		.uid = from_kuid_munged(&init_user_ns, current_uid()),
	};

	if (sfu_netlink_hears(SFU_GROUP_CLIENTS))
		add(&event);
}

int __init sfu_netlink_init(void)
{
	int err = sfu_event_queue_init();

	if (err)
		return err;
	err = sfu_family_register();
	if (err == -ENOMEM)
		goto err_queue;
	if (err)
		pr_warn("no netlink family: error %d\n", err);
	WRITE_ONCE(sfu_netlink_exists, !err);
	return 0;

err_queue:
	sfu_event_queue_exit();
	return err;
}

void sfu_netlink_exit(void)
{
	const bool existed = sfu_netlink_exists;

	WRITE_ONCE(sfu_netlink_exists, false);
	sfu_losses_exit();
	sfu_event_queue_exit();
	if (existed)
		sfu_family_unregister();
}
