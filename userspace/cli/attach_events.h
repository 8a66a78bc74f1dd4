/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Events: being told by perf of what processes map, as they do it.
 */
#ifndef ATTACH_EVENTS_H
#define ATTACH_EVENTS_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

#include "attach_process.h"

struct events;

/*
 * Start. Returns 0 with *@events to be closed; or a negative errno, if perf is
 * not there (-ENOENT, -ENOSYS) or not allowed (-EACCES, -EPERM).
 */
int events_open(struct events **events);

void events_close(struct events *events);

/* Files to poll for POLLIN, *@nr of them. */
const struct pollfd *events_files(const struct events *events, size_t *nr);

/*
 * Attach to what processes of interest have mapped since, and watch the
 * children of those. *@is_lost tells that there was more than was told. Returns
 * 0, or what objects_look() returns.
 */
int events_handle(struct events *events, struct watch *watch, bool *is_lost);

#endif /* ATTACH_EVENTS_H */
