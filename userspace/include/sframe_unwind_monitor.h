/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Messages of the module's generic netlink family, taken apart. Needs no handle, and no
 * library for netlink: how the messages are received is up to the caller, by libnl-genl-3
 * for example. <linux/sframe_unwind_netlink.h> describes them, and who may receive them.
 * <sframe_unwind.h> has the conventions.
 */
#ifndef SFRAME_UNWIND_MONITOR_H
#define SFRAME_UNWIND_MONITOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/sframe_unwind_netlink.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct sframe_unwind_monitor_event - a message
 *
 * @command: enum sframe_unwind_netlink_command.
 * @has: bit 1 << attribute for each of enum sframe_unwind_netlink_attr that the message
 *	has; the members of the others are 0.
 * @number, @time, @pid, @uid, @space, @id, @nr_sections, @source, @reason, @text_start,
 * @text_size, @sframe_start, @sframe_size, @ip, @offset, @client, @loss, @count, @total:
 *	see enum sframe_unwind_netlink_attr.
 * @comm, @defect, @file: likewise, NUL-terminated. Users choose @comm and @file: escape
 *	them before they get to a terminal.
 */
struct sframe_unwind_monitor_event {
	uint32_t command;
	uint32_t has;
	uint64_t number;
	uint64_t time;
	uint64_t space;
	uint64_t id;
	uint64_t text_start;
	uint64_t text_size;
	uint64_t sframe_start;
	uint64_t sframe_size;
	uint64_t ip;
	uint64_t offset;
	uint64_t client;
	uint64_t count;
	uint64_t total;
	uint32_t pid;
	uint32_t uid;
	uint32_t nr_sections;
	uint32_t source;
	uint32_t reason;
	uint32_t loss;
	char comm[16];
	char defect[64];
	char file[128];
};

/**
 * sframe_unwind_monitor_parse() - take a message apart
 * @message: a struct nlmsghdr with what follows it; need not be aligned. The caller has
 *	checked that its type is the number of the family, and that the kernel has sent it:
 *	that the sender's sockaddr_nl.nl_pid is 0.
 * @size: bytes at @message; the message may be shorter.
 * @event: what is in it. All of it is written, or nothing on failure.
 *
 * Unknown attributes are ignored. Any thread.
 *
 * Return: 0; -EBADMSG if the message or an attribute is cut or of another size than it
 * should be; -EOPNOTSUPP if the command is unknown.
 */
int sframe_unwind_monitor_parse(const void *message, size_t size,
				struct sframe_unwind_monitor_event *event);

/**
 * sframe_unwind_monitor_missing() - count events that a socket had no room for
 * @last: number of the last message of the same group, 0 before the first one; set to that
 *	of @event.
 * @event: a message.
 *
 * Those that SFRAME_UNWIND_COMMAND_SECTIONS_DROPPED and SFRAME_UNWIND_COMMAND_CLIENTS_DROPPED
 * tell of are not counted again. Any thread.
 *
 * Return: the number of events between the last message and this one.
 */
uint64_t sframe_unwind_monitor_missing(uint64_t *last,
				       const struct sframe_unwind_monitor_event *event);

/**
 * sframe_unwind_monitor_added_name() - name of an enum sframe_unwind_netlink_source
 * @source: the number.
 *
 * Return: a constant string; "unknown" for other numbers. So do the following functions.
 */
const char *sframe_unwind_monitor_added_name(unsigned int source);

/* Name of an enum sframe_unwind_netlink_reason. */
const char *sframe_unwind_monitor_removed_name(unsigned int reason);

/* Name of an enum sframe_unwind_netlink_loss. */
const char *sframe_unwind_monitor_loss_name(unsigned int loss);

#ifdef __cplusplus
}
#endif

#endif /* SFRAME_UNWIND_MONITOR_H */
