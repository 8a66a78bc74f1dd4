// SPDX-License-Identifier: GPL-2.0
/* In place of trace_buffer.c, without libtracefs. */
#ifndef HAVE_TRACEFS

#include "cli/cli.h"
#include "cli/profile/trace_buffer.h"

int trace_buffer_check(const struct record_options *options)
{
	(void)options;
	return complain("trace: --buffer: this command was built without libtracefs");
}

int trace_buffer_open(struct trace_buffer **buffer, struct live *live)
{
	(void)buffer;
	(void)live;
	return CLI_TROUBLE;
}

int trace_buffer_round(struct trace_buffer *buffer, uint64_t limit,
		       uint64_t *printed)
{
	(void)buffer;
	(void)limit;
	(void)printed;
	return 0;
}

bool trace_buffer_waits(const struct trace_buffer *buffer)
{
	return buffer;
}

void trace_buffer_stop(struct trace_buffer *buffer)
{
	(void)buffer;
}

void trace_buffer_finish(struct trace_buffer *buffer, uint64_t limit,
			 uint64_t *printed)
{
	(void)buffer;
	(void)limit;
	(void)printed;
}

void trace_buffer_close(struct trace_buffer *buffer)
{
	(void)buffer;
}

#endif /* HAVE_TRACEFS */
