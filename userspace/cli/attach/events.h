/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Events: perf events of new mappings and processes.
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
 * Approximate limit of one events_handle() call, and the share of the time that is
 * spent on events: one part in EVENTS_SHARE. Events that arrive faster are lost,
 * which is detected.
 */
#define EVENTS_STEP_NS	(5 * MS)
#define EVENTS_SHARE	20

/*
 * The longest pause between two such calls. On a virtual machine, the time in which it does not
 * run counts as CPU time of what was running.
 */
#define EVENTS_MAX_PAUSE_NS	(200 * MS)

/*
 * If events are not all handled for so long, because they arrive faster, those that are left
 * are dropped, and count as lost. Else events of all users would wait behind those of one,
 * and it would be noticed late that others were lost.
 */
#define EVENTS_BEHIND_NS	(200 * MS)

struct events;

/**
 * struct event_fns - callbacks
 *
 * @mapping: called for a new executable mapping of a file.
 * @memory: called for new executable memory without a file, or memory that has been
 *	made executable.
 * @fork: called for a new process.
 * @exit: called when the first thread of a process has ended; others may be left.
 * @exec: called when a process has executed a program, whose own mappings and those of its
 *	interpreter have been made. These may be told later, or be lost.
 */
struct event_fns {
	void (*mapping)(void *data, const struct mapping *mapping);
	void (*memory)(void *data, pid_t pid);
	void (*fork)(void *data, pid_t child, pid_t parent);
	void (*exit)(void *data, pid_t pid);
	void (*exec)(void *data, pid_t pid);
};

/* The number of the tracepoint of executions, or 0 if tracefs does not tell. */
uint64_t events_exec_id(void);

/*
 * Open the events. @cpus_path: /sys/devices/system/cpu/online. @exec_id: of events_exec_id();
 * without it, or if its events cannot be opened, event_fns.exec is not called. Returns 0 with
 * *@events, to be closed, or a negative errno: -ENOENT or -ENOSYS if perf is not available,
 * -EACCES or -EPERM if it is not permitted.
 */
int events_open(struct events **events, const char *cpus_path, uint64_t exec_id);

/*
 * Open the events anew if other CPUs are online than before, or the machine was suspended.
 * Returns whether that was to be done: then events were lost, and go on to be lost each time
 * that it fails. Call it periodically.
 */
bool events_reopen(struct events **events);

void events_close(struct events *events);

/* Files to poll for POLLIN, *@nr of them. Do not poll them before events_next(). */
const struct pollfd *events_files(const struct events *events, size_t *nr);

/* Time from which events may be handled again. */
uint64_t events_next(const struct events *events);

/* Returns whether there are events. poll(2) tells only of those that are new. */
bool events_any(const struct events *events);

/* Call @fns for new events. Returns whether events were lost. */
bool events_handle(struct events *events, const struct event_fns *fns,
		   void *data);

#endif /* ATTACH_EVENTS_H */
