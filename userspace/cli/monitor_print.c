// SPDX-License-Identifier: GPL-2.0
/*
 * The lines of sframe-unwind monitor.
 */
#include <inttypes.h>
#include <stdio.h>

#include "escape.h"
#include "monitor.h"
#include "profile/common.h"

static const char * const event_names[] = {
	[SFRAME_UNWIND_COMMAND_SECTION_ADDED] = "section added",
	[SFRAME_UNWIND_COMMAND_SECTION_REMOVED] = "section removed",
	[SFRAME_UNWIND_COMMAND_SECTION_CORRUPT] = "section corrupt",
	[SFRAME_UNWIND_COMMAND_CLIENT_OPENED] = "client opened",
	[SFRAME_UNWIND_COMMAND_CLIENT_CLOSED] = "client closed",
	[SFRAME_UNWIND_COMMAND_LOSSES] = "lost",
	[SFRAME_UNWIND_COMMAND_SECTIONS_DROPPED] = "sections dropped",
	[SFRAME_UNWIND_COMMAND_CLIENTS_DROPPED] = "clients dropped",
};

static bool has(const struct sframe_unwind_monitor_event *event,
		enum sframe_unwind_netlink_attr attr)
{
	return event->has & 1U << attr;
}

/* How the words of a line begin and end, in both formats. */
struct line {
	bool json;
};

static void put_name(const struct line *line, const char *name)
{
	if (line->json)
		printf(", \"%s\": ", name);
	else
		printf(" %s=", name);
}

static void put_text(const struct line *line, const char *name, const char *text)
{
	put_name(line, name);
	if (line->json)
		common_json(stdout, text);
	else
		print_escaped(stdout, text);
}

/* A text that a user has chosen. */
static void put_user_text(const struct line *line, const char *name, const char *text)
{
	put_name(line, name);
	if (line->json)
		common_json(stdout, text);
	else
		print_escaped_word(stdout, text);
}

static void put_number(const struct line *line, const char *name, uint64_t number)
{
	put_name(line, name);
	printf("%" PRIu64, number);
}

static void put_address(const struct line *line, const char *name, uint64_t address)
{
	put_name(line, name);
	printf(line->json ? "%" PRIu64 : "0x%" PRIx64, address);
}

static void put_section(const struct line *line,
			const struct sframe_unwind_monitor_event *event)
{
	put_number(line, "space", event->space);
	if (!has(event, SFRAME_UNWIND_ATTR_ID))
		return;
	put_number(line, "id", event->id);
	put_address(line, "text_start", event->text_start);
	put_number(line, "text_size", event->text_size);
	put_address(line, "sframe_start", event->sframe_start);
	put_number(line, "sframe_size", event->sframe_size);
}

/* Names that users have chosen come last, for those who read lines of text. */
static void put_rest(const struct line *line,
		     const struct sframe_unwind_monitor_event *event)
{
	switch (event->command) {
	case SFRAME_UNWIND_COMMAND_SECTION_ADDED:
		put_text(line, "source", sframe_unwind_monitor_added_name(event->source));
		put_number(line, "sections", event->nr_sections);
		put_section(line, event);
		break;
	case SFRAME_UNWIND_COMMAND_SECTION_REMOVED:
		put_text(line, "reason", sframe_unwind_monitor_removed_name(event->reason));
		put_number(line, "sections", event->nr_sections);
		put_section(line, event);
		break;
	case SFRAME_UNWIND_COMMAND_SECTION_CORRUPT:
		put_text(line, "reason", sframe_unwind_monitor_removed_name(event->reason));
		put_section(line, event);
		if (has(event, SFRAME_UNWIND_ATTR_OFFSET)) {
			put_address(line, "ip", event->ip);
			put_address(line, "offset", event->offset);
			put_text(line, "defect", event->defect);
		}
		break;
	case SFRAME_UNWIND_COMMAND_CLIENT_OPENED:
	case SFRAME_UNWIND_COMMAND_CLIENT_CLOSED:
		put_number(line, "client", event->client);
		put_number(line, "uid", event->uid);
		break;
	case SFRAME_UNWIND_COMMAND_LOSSES:
		put_text(line, "loss", sframe_unwind_monitor_loss_name(event->loss));
		put_number(line, "count", event->count);
		put_number(line, "total", event->total);
		break;
	default:
		put_number(line, "count", event->count);
		break;
	}
	if (has(event, SFRAME_UNWIND_ATTR_PID))
		put_number(line, "pid", event->pid);
	if (has(event, SFRAME_UNWIND_ATTR_COMM))
		put_user_text(line, "command", event->comm);
	if (has(event, SFRAME_UNWIND_ATTR_FILE))
		put_user_text(line, "file", event->file);
}

static void end_line(struct monitor *monitor)
{
	fputs(monitor->json ? " }\n" : "\n", stdout);
	fflush(stdout);
	monitor->printed++;
}

void monitor_print(struct monitor *monitor, unsigned int group,
		   const struct sframe_unwind_monitor_event *event)
{
	const struct line line = { monitor->json };
	const char *name = event_names[event->command];

	if (line.json)
		printf("{ \"event\": \"%s\", \"group\": \"%s\", \"number\": %" PRIu64
		       ", \"time\": %" PRIu64, name, monitor_group_name(group),
		       event->number, event->time);
	else
		printf("%5" PRIu64 ".%06" PRIu64 " %s:", event->time / 1000000000,
		       event->time / 1000 % 1000000, name);
	put_rest(&line, event);
	end_line(monitor);
}

void monitor_print_missing(struct monitor *monitor, unsigned int group, uint64_t count)
{
	if (monitor_is_done(monitor))
		return;
	if (group == MONITOR_NR_GROUPS)
		fputs(monitor->json ? "{ \"event\": \"overrun\"" :
				      "overrun: messages came faster than they were read",
		      stdout);
	else if (monitor->json)
		printf("{ \"event\": \"missing\", \"group\": \"%s\", \"count\": %" PRIu64,
		       monitor_group_name(group), count);
	else
		printf("missing: count=%" PRIu64 " group=%s", count,
		       monitor_group_name(group));
	end_line(monitor);
}

bool monitor_is_done(const struct monitor *monitor)
{
	return ferror(stdout) || (monitor->limit && monitor->printed >= monitor->limit);
}
