/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Netlink: tells listeners of the generic netlink family sframe_unwind what happens, see
 * <linux/sframe_unwind_netlink.h>. Beside each call of a function of trace/trace.h whose
 * event it tells of, too.
 *
 * Without a listener, each function costs a load and a branch if the family does not exist,
 * and else a look at its groups. The kernel counts sockets that get no messages as listeners,
 * and any user can make one: with only such ones in a group, ten messages a second at most
 * are made, and the events of 100 ms at most are not counted by whoever joins then; before
 * 6.8, where that is not noticed, a message of each event.
 *
 * None of them allocates memory, unless it says so, or sends anything: a work item does
 * that. The functions may be called with any lock held but those of the scheduler, of timers
 * and of the workqueues, and not in interrupts; sfu_netlink_lost() may be called in any
 * context.
 */
#ifndef SFU_NETLINK_H
#define SFU_NETLINK_H

#include <linux/compiler.h>
#include <linux/types.h>

#include "trace/trace.h"

enum sfu_netlink_group {
	SFU_GROUP_SECTIONS,
	SFU_GROUP_CLIENTS,
	SFU_GROUP_LOSSES,
	SFU_NR_GROUPS
};

#ifdef CONFIG_NET

/* Set while the family exists. */
extern bool sfu_netlink_exists;

bool sfu_netlink_has_listeners(enum sfu_netlink_group group);

/* Returns whether anybody listens to @group. Any context. */
static inline bool sfu_netlink_hears(enum sfu_netlink_group group)
{
	return READ_ONCE(sfu_netlink_exists) && sfu_netlink_has_listeners(group);
}

void sfu_netlink_add(const struct sfu_trace_section *section, enum sfu_added source,
		     u32 nr);
void sfu_netlink_remove(const struct sfu_trace_section *section,
			enum sfu_removed reason, u32 nr);

/* As sfu_trace_corrupt(). Allocates memory, and sleeps. */
void sfu_netlink_corrupt(const struct sfu_trace_section *section,
			 const struct sframe_unwind_removed *removed);

/* A client, number @id, was opened or closed by the current process. */
void sfu_netlink_client(u64 id, bool opened);

/* One thing was lost. Any context. */
void sfu_netlink_lost(enum sfu_lost reason);

/*
 * Make the family. Returns 0 or -ENOMEM; also 0, and then there is no family, after a
 * message to the log, if its name or its groups are in use by others.
 */
int sfu_netlink_init(void);

/* To be called when nothing else of the module runs any more. */
void sfu_netlink_exit(void);

#else

static inline bool sfu_netlink_hears(enum sfu_netlink_group group)
{
	return false;
}

static inline void sfu_netlink_add(const struct sfu_trace_section *section,
				   enum sfu_added source, u32 nr) {}
static inline void sfu_netlink_remove(const struct sfu_trace_section *section,
				      enum sfu_removed reason, u32 nr) {}
static inline void sfu_netlink_corrupt(const struct sfu_trace_section *section,
				       const struct sframe_unwind_removed *removed) {}
static inline void sfu_netlink_client(u64 id, bool opened) {}
static inline void sfu_netlink_lost(enum sfu_lost reason) {}

static inline int sfu_netlink_init(void)
{
	return 0;
}

static inline void sfu_netlink_exit(void) {}

#endif

/* As sfu_trace_add_many() and sfu_trace_remove_many(). */
static inline void sfu_netlink_add_many(u64 space, enum sfu_added source, u32 nr)
{
	const struct sfu_trace_section sections = { .space = space };

	if (nr && sfu_netlink_hears(SFU_GROUP_SECTIONS))
		sfu_netlink_add(&sections, source, nr);
}

static inline void sfu_netlink_remove_many(u64 space, enum sfu_removed reason, u32 nr)
{
	const struct sfu_trace_section sections = { .space = space };

	if (nr && sfu_netlink_hears(SFU_GROUP_SECTIONS))
		sfu_netlink_remove(&sections, reason, nr);
}

#endif /* SFU_NETLINK_H */
