/* SPDX-License-Identifier: GPL-2.0 */
/* Records of a trace buffer, as "trace --buffer" needs them. */
#ifndef CLI_PROFILE_TRACE_ITEMS_H
#define CLI_PROFILE_TRACE_ITEMS_H

#include <stdbool.h>
#include <stdint.h>

struct tep_event;
struct tep_handle;
struct tep_record;

enum trace_item_kind {
	TRACE_ITEM_EVENT,
	TRACE_ITEM_REQUEST,
	TRACE_ITEM_STACK,
	TRACE_ITEM_LOST,
};

/**
 * struct trace_item - a record of the buffer
 *
 * @time: when, in nanoseconds.
 * @nr: number of the item, in the order of reading.
 * @kind: what it is.
 * @tid: the thread: of an event, the current one.
 * @pid: its process; of events, 0.
 * @cookie: of a request, a stack or what was lost.
 * @stop: why a stack ends.
 * @at_once: whether it was taken at once.
 * @whole: number of its frames.
 * @first, @nr_ips, @ips: those of this item.
 * @text: of an event, without the thread's name.
 * @next: that waits for the same thread's stack.
 */
struct trace_item {
	uint64_t time;
	uint64_t nr;
	enum trace_item_kind kind;
	uint32_t tid;
	uint32_t pid;
	uint64_t cookie;
	uint32_t stop;
	bool at_once;
	uint32_t whole;
	uint32_t first;
	uint32_t nr_ips;
	uint64_t *ips;
	char *text;
	struct trace_item *next;
};

void trace_item_free(struct trace_item *item);

/* Take over an event of the module. Returns whether it is of use. */
bool trace_item_own(struct trace_item *item, struct tep_event *event,
		    struct tep_record *record);

/* Take over another event. */
void trace_item_event(struct trace_item *item, struct tep_handle *tep,
		      struct tep_record *record);

/* For qsort(), of pointers: by time. */
int trace_item_compare(const void *a, const void *b);

#endif /* CLI_PROFILE_TRACE_ITEMS_H */
