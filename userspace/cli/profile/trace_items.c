// SPDX-License-Identifier: GPL-2.0
/* Records of a trace buffer, read by libtraceevent. */
#ifdef HAVE_TRACEFS

#include <stdlib.h>
#include <string.h>
#include <tracefs.h>

#include "cli/profile/table.h"
#include "cli/profile/trace_items.h"

void trace_item_free(struct trace_item *item)
{
	if (!item)
		return;
	free(item->ips);
	free(item->text);
	free(item);
}

static uint64_t field(struct tep_event *event, struct tep_record *record,
		      const char *name)
{
	unsigned long long value = 0;

	tep_get_field_val(NULL, event, name, record, &value, 0);
	return value;
}

static void read_ips(struct trace_item *item, struct tep_event *event,
		     struct tep_record *record)
{
	int size = 0;
	const void *ips = tep_get_field_raw(NULL, event, "ips", record, &size, 0);

	if (!ips || size <= 0)
		return;
	item->nr_ips = size / sizeof(*item->ips);
	item->ips = table_allocate(size);
	memcpy(item->ips, ips, item->nr_ips * sizeof(*item->ips));
}

bool trace_item_own(struct trace_item *item, struct tep_event *event,
		    struct tep_record *record)
{
	item->pid = field(event, record, "pid");
	item->tid = field(event, record, "tid");
	item->cookie = field(event, record, "cookie");
	if (!strcmp(event->name, "stack")) {
		item->kind = TRACE_ITEM_STACK;
		item->stop = field(event, record, "stop");
		item->at_once = field(event, record, "at_once");
		item->whole = field(event, record, "nr");
		item->first = field(event, record, "first");
		read_ips(item, event, record);
		return true;
	}
	item->kind = !strcmp(event->name, "request") ? TRACE_ITEM_REQUEST : TRACE_ITEM_LOST;
	return item->cookie;
}

void trace_item_event(struct trace_item *item, struct tep_handle *tep,
		      struct tep_record *record)
{
	struct trace_seq text;

	item->kind = TRACE_ITEM_EVENT;
	trace_seq_init(&text);
	tep_print_event(tep, &text, record, "%-7d [%03d] %6.1000d: %s: %s",
			TEP_PRINT_PID, TEP_PRINT_CPU, TEP_PRINT_TIME,
			TEP_PRINT_NAME, TEP_PRINT_INFO);
	trace_seq_terminate(&text);
	item->text = table_copy(text.state == TRACE_SEQ__GOOD ? text.buffer : "?");
	trace_seq_destroy(&text);
}

int trace_item_compare(const void *a, const void *b)
{
	const struct trace_item *x = *(struct trace_item *const *)a;
	const struct trace_item *y = *(struct trace_item *const *)b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->nr < y->nr ? -1 : x->nr > y->nr;
}

#endif /* HAVE_TRACEFS */
