// SPDX-License-Identifier: GPL-2.0
/*
 * Counters of the whole module, for tests and for the curious administrator.
 */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/seq_file.h>

#include "counters.h"

struct sfu_counters sfu_counters;

static struct dentry *debugfs_dir;

static int counters_show(struct seq_file *m, void *unused)
{
#define SFU_COUNTER_SHOW(name) \
	seq_printf(m, #name " %ld\n", atomic_long_read(&sfu_counters.name));
	SFU_COUNTERS(SFU_COUNTER_SHOW)
#undef SFU_COUNTER_SHOW
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(counters);

/* debugfs is optional by design: its errors are not looked at. */
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
