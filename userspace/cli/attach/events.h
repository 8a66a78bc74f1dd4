/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Events: being told by perf of what processes map, as they do it.
 */
#ifndef ATTACH_EVENTS_H
#define ATTACH_EVENTS_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "clock.h"
#include "mapping.h"

/*
 * How long events are handled at most, about, before others have their turn. One
 * part in EVENTS_SHARE of the time is for events: what comes in faster is lost,
 * which is noticed.
 */
#define EVENTS_STEP_NS	(5 * MS)
#define EVENTS_SHARE	20

struct events;

/**
 * struct event_fns - who is told
 *
 * @mapping: of a new executable mapping of a file.
 * @fork: of a new process.
 */
struct event_fns {
	void (*mapping)(void *data, const struct mapping *mapping);
	void (*fork)(void *data, pid_t child, pid_t parent);
};

/*
 * Start; with events of new processes if @forks. Returns 0 with *@events to be
 * closed; or a negative errno, if perf is not there (-ENOENT, -ENOSYS) or not
 * allowed (-EACCES, -EPERM).
 */
int events_open(struct events **events, bool forks);

void events_close(struct events *events);

/* Files to poll for POLLIN, *@nr of them. Not before events_next(). */
const struct pollfd *events_files(const struct events *events, size_t *nr);

/* When events may be handled again. */
uint64_t events_next(const struct events *events);

/*
 * Tell of what has happened since. Returns whether there was more than could be
 * told.
 */
bool events_handle(struct events *events, const struct event_fns *fns,
		   void *data);

#endif /* ATTACH_EVENTS_H */
