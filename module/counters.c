// SPDX-License-Identifier: GPL-2.0
/*
 * Counters of the whole module, for tests and for the curious administrator.
 */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/seq_file.h>

#include "counters.h"

atomic_long_t sfu_counters[SFU_NR_COUNTERS];

static const char * const counter_names[SFU_NR_COUNTERS] = {
	[SFU_CLIENTS] = "clients",
	[SFU_SPACES] = "spaces",
	[SFU_OBSERVED] = "observed",
	[SFU_NODES] = "nodes",
	[SFU_SECTIONS] = "sections",
	[SFU_CACHES] = "caches",
	[SFU_CACHE_PAGES] = "cache_pages",
	[SFU_IMAGES] = "images",
	[SFU_ATTACHMENTS] = "attachments",
	[SFU_PINS] = "pins",
	[SFU_PAYERS] = "payers",
	[SFU_REQUESTS] = "requests",
	[SFU_POOL_REQUESTS] = "pool_requests",
	[SFU_SAMPLERS] = "samplers",
	[SFU_SAMPLE_EVENTS] = "sample_events",
	[SFU_WORKS] = "works",
	[SFU_REQUESTERS] = "requesters",
	[SFU_WALKS] = "walks",
	[SFU_TOTAL_WALKS] = "total_walks",
	[SFU_TOTAL_ACCEPTED] = "total_accepted",
	[SFU_TOTAL_DELIVERED] = "total_delivered",
	[SFU_TOTAL_LOST_FULL] = "total_lost_full",
	[SFU_TOTAL_LOST_CLOSED] = "total_lost_closed",
	[SFU_TOTAL_LOST_EXITED] = "total_lost_exited",
	[SFU_TOTAL_CORRUPT] = "total_corrupt",
	[SFU_TOTAL_STALE] = "total_stale",
	[SFU_TOTAL_DISCOVERED] = "total_discovered",
	[SFU_TOTAL_UNTRACED] = "total_untraced",
	[SFU_TOTAL_NESTED_CALLS] = "total_nested_calls",
#ifdef SFU_WATCH
	[SFU_TOTAL_BENT] = "total_bent",
#endif
};

static struct dentry *debugfs_dir;

static int counters_show(struct seq_file *m, void *unused)
{
	int i;

	for (i = 0; i < SFU_NR_COUNTERS; i++)
		seq_printf(m, "%s %ld\n", counter_names[i],
			   atomic_long_read(&sfu_counters[i]));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(counters);

/* debugfs is optional: its errors are ignored by design. */
void sfu_counters_init(void)
{
	debugfs_dir = debugfs_create_dir("sframe_unwind", NULL);
	debugfs_create_file("counters", 0444, debugfs_dir, NULL,
			    &counters_fops);
}

void sfu_counters_exit(void)
{
	debugfs_remove_recursive(debugfs_dir);
}
