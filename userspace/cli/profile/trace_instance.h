/* SPDX-License-Identifier: GPL-2.0 */
/* An instance of tracefs, which is removed with the command. */
#ifndef CLI_PROFILE_TRACE_INSTANCE_H
#define CLI_PROFILE_TRACE_INSTANCE_H

#include <stdint.h>

struct tracefs_instance;

/**
 * struct trace_instance - an instance
 *
 * @tracefs: the library's handle.
 * @lock: its directory, locked as long as the command runs.
 */
struct trace_instance {
	struct tracefs_instance *tracefs;
	int lock;
};

/*
 * Remove the instances of commands that were killed, and create one. Returns an exit
 * status, after a message if it is not CLI_OK.
 */
int trace_instance_create(struct trace_instance *instance);

/* Number of events that its buffers had no room for. */
uint64_t trace_instance_lost(const struct trace_instance *instance);

void trace_instance_remove(struct trace_instance *instance);

#endif /* CLI_PROFILE_TRACE_INSTANCE_H */
