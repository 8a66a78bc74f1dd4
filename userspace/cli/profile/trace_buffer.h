/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Events that ftrace records, with the user stacks that the module's trace events have: what
 * "trace --buffer" prints.
 */
#ifndef CLI_PROFILE_TRACE_BUFFER_H
#define CLI_PROFILE_TRACE_BUFFER_H

#include "cli/profile/live.h"

struct trace_buffer;

/*
 * Check that ftrace has all events of @options. Returns an exit status, after a message if
 * it is not CLI_OK, as do the functions below.
 */
int trace_buffer_check(const struct record_options *options);

/*
 * Let ftrace record the events of @live->options in an instance of its own. The sampler
 * must be there already: then, at an event, its stack or request is recorded before the
 * event.
 */
int trace_buffer_open(struct trace_buffer **buffer, struct live *live);

/*
 * Read what was recorded until now, and print each event with the stack that belongs to
 * it, up to @limit events in all. *@printed is their number so far.
 */
int trace_buffer_round(struct trace_buffer *buffer, uint64_t limit,
		       uint64_t *printed);

/* Whether events wait for the stacks of their threads. */
bool trace_buffer_waits(const struct trace_buffer *buffer);

/* Record no more events; stacks still are. */
void trace_buffer_stop(struct trace_buffer *buffer);

/* Print events whose stacks have not come, and say what was lost. */
void trace_buffer_finish(struct trace_buffer *buffer, uint64_t limit,
			 uint64_t *printed);

/* Remove the instance, and free @buffer, which may be NULL. */
void trace_buffer_close(struct trace_buffer *buffer);

#endif /* CLI_PROFILE_TRACE_BUFFER_H */
