/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The parts of sframe-unwind monitor.
 */
#ifndef MONITOR_H
#define MONITOR_H

#include <stdbool.h>
#include <stdint.h>

#include <sframe_unwind_monitor.h>

enum monitor_group {
	MONITOR_SECTIONS,
	MONITOR_CLIENTS,
	MONITOR_LOSSES,
	MONITOR_NR_GROUPS
};

/**
 * struct monitor - what to print
 *
 * @groups: bit 1 << group for each that is listened to.
 * @json: whether to print JSON.
 * @limit: lines after which to end; 0: none.
 * @seconds: after which to end; 0: never.
 * @printed: lines that have been printed.
 */
struct monitor {
	unsigned int groups;
	bool json;
	uint64_t limit;
	uint64_t seconds;
	uint64_t printed;
};

/* Name of a group. */
const char *monitor_group_name(unsigned int group);

/*
 * Print messages until the end. Returns the exit status. Without libnl only says that this
 * build has none.
 */
int monitor_listen(struct monitor *monitor);

/* Print a message of @group. */
void monitor_print(struct monitor *monitor, unsigned int group,
		   const struct sframe_unwind_monitor_event *event);

/*
 * Print that @count events are missing, for which the socket had no room. @group is a group,
 * or MONITOR_NR_GROUPS if it is not known which ones, and how many: then @count is 0.
 */
void monitor_print_missing(struct monitor *monitor, unsigned int group, uint64_t count);

/* Whether the limit has been reached, or the output cannot be written. */
bool monitor_is_done(const struct monitor *monitor);

#endif /* MONITOR_H */
