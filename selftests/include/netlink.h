/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Netlink: a listener to the module's generic netlink family, by a raw socket.
 */
#ifndef SELFTESTS_NETLINK_H
#define SELFTESTS_NETLINK_H

#include <errno.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/sframe_unwind_netlink.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define GROUP_SECTIONS	0
#define GROUP_CLIENTS	1
#define GROUP_LOSSES	2
#define NR_GROUPS	3

#define NR_ATTRS	(SFRAME_UNWIND_ATTR_TOTAL + 1)

/* Its number, and those of its groups; 0 if there are none. */
struct netlink_family {
	uint16_t id;
	uint32_t groups[NR_GROUPS];
};

/* A message: the attributes that it has, and the values of those that are numbers. */
struct netlink_message {
	unsigned int command;
	uint32_t has;
	uint64_t value[NR_ATTRS];
	char comm[16];
	char defect[64];
	char file[128];
};

static inline int open_netlink(void)
{
	const struct sockaddr_nl any = { .nl_family = AF_NETLINK };
	int sock = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);

	if (sock >= 0 && bind(sock, (const struct sockaddr *)&any, sizeof(any))) {
		close(sock);
		return -1;
	}
	return sock;
}

/* The attribute at @at, of @left bytes at most; NULL if there is none. */
static inline const struct nlattr *attr_at(const void *at, size_t left)
{
	const struct nlattr *attr = at;

	return left >= NLA_HDRLEN && attr->nla_len >= NLA_HDRLEN &&
	       attr->nla_len <= left ? attr : NULL;
}

#define for_each_attr(attr, start, size)				\
	for (const char *at_ = (const char *)(start), *end_ = at_ + (size);	\
	     at_ < end_ && (attr = attr_at(at_, end_ - at_));		\
	     at_ += NLA_ALIGN(attr->nla_len))

static inline const void *attr_data(const struct nlattr *attr)
{
	return (const char *)attr + NLA_HDRLEN;
}

static inline size_t attr_size(const struct nlattr *attr)
{
	return attr->nla_len - NLA_HDRLEN;
}

static inline void read_group(const struct nlattr *group, struct netlink_family *family)
{
	static const char * const names[NR_GROUPS] = {
		SFRAME_UNWIND_GROUP_SECTIONS, SFRAME_UNWIND_GROUP_CLIENTS,
		SFRAME_UNWIND_GROUP_LOSSES,
	};
	const struct nlattr *attr;
	const char *name = "";
	uint32_t id = 0;

	for_each_attr(attr, attr_data(group), attr_size(group)) {
		if ((attr->nla_type & NLA_TYPE_MASK) == CTRL_ATTR_MCAST_GRP_NAME)
			name = attr_data(attr);
		else if ((attr->nla_type & NLA_TYPE_MASK) == CTRL_ATTR_MCAST_GRP_ID)
			memcpy(&id, attr_data(attr), sizeof(id));
	}
	for (int i = 0; i < NR_GROUPS; i++) {
		if (!strcmp(name, names[i]))
			family->groups[i] = id;
	}
}

/* Find the family. Returns 0 or the errno. */
static inline int find_family(struct netlink_family *family)
{
	struct {
		struct nlmsghdr head;
		struct genlmsghdr genl;
		struct nlattr attr;
		char name[16];
	} ask = {
		.head.nlmsg_len = sizeof(ask),
		.head.nlmsg_type = GENL_ID_CTRL,
		.head.nlmsg_flags = NLM_F_REQUEST,
		.genl.cmd = CTRL_CMD_GETFAMILY,
		.genl.version = 1,
		.attr.nla_len = NLA_HDRLEN + sizeof(SFRAME_UNWIND_NETLINK_FAMILY),
		.attr.nla_type = CTRL_ATTR_FAMILY_NAME,
		.name = SFRAME_UNWIND_NETLINK_FAMILY,
	};
	union {
		struct nlmsghdr head;
		char bytes[8192];
	} answer;
	const struct nlattr *attr, *group;
	int sock = open_netlink(), err = 0;
	ssize_t got;

	memset(family, 0, sizeof(*family));
	if (sock < 0 || send(sock, &ask, sizeof(ask), 0) < 0)
		return errno;
	got = recv(sock, &answer, sizeof(answer), 0);
	close(sock);
	if (got < (ssize_t)NLMSG_HDRLEN)
		return EIO;
	if (answer.head.nlmsg_type == NLMSG_ERROR) {
		memcpy(&err, NLMSG_DATA(&answer.head), sizeof(err));
		return -err;
	}
	for_each_attr(attr, (char *)NLMSG_DATA(&answer.head) + GENL_HDRLEN,
		      answer.head.nlmsg_len - NLMSG_HDRLEN - GENL_HDRLEN) {
		switch (attr->nla_type & NLA_TYPE_MASK) {
		case CTRL_ATTR_FAMILY_ID:
			memcpy(&family->id, attr_data(attr), sizeof(family->id));
			break;
		case CTRL_ATTR_MCAST_GROUPS: {
			const struct nlattr *outer = attr;

			for (const char *at = attr_data(outer);
			     (group = attr_at(at, (const char *)outer + outer->nla_len - at));
			     at += NLA_ALIGN(group->nla_len))
				read_group(group, family);
			break;
		}
		}
	}
	return family->id ? 0 : EIO;
}

/* Join a group by its number. Returns 0 or the errno. */
static inline int join_group(int sock, uint32_t group)
{
	return setsockopt(sock, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group,
			  sizeof(group)) ? errno : 0;
}

static inline void read_string(char *to, size_t size, const struct nlattr *attr)
{
	const size_t length = strnlen(attr_data(attr), attr_size(attr));

	if (length < size)
		memcpy(to, attr_data(attr), length + 1);
}

/* Parse a message. Returns whether it has no more and no less than it should. */
static inline bool parse_message(const struct nlmsghdr *head, struct netlink_message *message)
{
	const struct genlmsghdr *genl = NLMSG_DATA(head);
	const struct nlattr *attr;
	size_t read = 0, size = head->nlmsg_len - NLMSG_HDRLEN - GENL_HDRLEN;
	uint32_t value;

	memset(message, 0, sizeof(*message));
	message->command = genl->cmd;
	for_each_attr(attr, (const char *)genl + GENL_HDRLEN, size) {
		read += NLA_ALIGN(attr->nla_len);
		if (attr->nla_type == SFRAME_UNWIND_ATTR_PAD)
			continue;
		if (attr->nla_type >= NR_ATTRS || message->has & 1U << attr->nla_type)
			return false;
		message->has |= 1U << attr->nla_type;
		switch (attr->nla_type) {
		case SFRAME_UNWIND_ATTR_COMM:
			read_string(message->comm, sizeof(message->comm), attr);
			break;
		case SFRAME_UNWIND_ATTR_DEFECT:
			read_string(message->defect, sizeof(message->defect), attr);
			break;
		case SFRAME_UNWIND_ATTR_FILE:
			read_string(message->file, sizeof(message->file), attr);
			break;
		default:
			if (attr_size(attr) == sizeof(value)) {
				memcpy(&value, attr_data(attr), sizeof(value));
				message->value[attr->nla_type] = value;
			} else if (attr_size(attr) == sizeof(uint64_t)) {
				memcpy(&message->value[attr->nla_type],
				       attr_data(attr), sizeof(uint64_t));
			} else {
				return false;
			}
		}
	}
	return read == size && genl->version == SFRAME_UNWIND_NETLINK_VERSION &&
	       head->nlmsg_seq == (uint32_t)message->value[SFRAME_UNWIND_ATTR_NUMBER];
}

/*
 * Get the next message, waiting at most @ms milliseconds. Returns 0; EAGAIN if there is
 * none; ENOBUFS if some were lost; EPROTO if it is malformed.
 */
static inline int next_message(int sock, struct netlink_message *message, int ms)
{
	struct pollfd ready = { .fd = sock, .events = POLLIN };
	union {
		struct nlmsghdr head;
		char bytes[4096];
	} buffer;
	ssize_t got;

	if (poll(&ready, 1, ms) <= 0)
		return EAGAIN;
	got = recv(sock, &buffer, sizeof(buffer), MSG_DONTWAIT);
	if (got < 0)
		return errno;
	return got >= (ssize_t)(NLMSG_HDRLEN + GENL_HDRLEN) &&
	       got == (ssize_t)NLMSG_ALIGN(buffer.head.nlmsg_len) &&
	       parse_message(&buffer.head, message) ? 0 : EPROTO;
}

/**
 * struct netlink_count - what a listener has got and missed of sections
 *
 * @last: number of the last message; 0 at first.
 * @events: messages of events.
 * @dropped: events that it was told were dropped.
 * @missing: events before a message that its socket had no room for.
 * @told_twice: a message tells of events that were told before.
 */
struct netlink_count {
	uint64_t last;
	uint64_t events;
	uint64_t dropped;
	uint64_t missing;
	bool told_twice;
};

static inline void count_message(struct netlink_count *count,
				 const struct netlink_message *message)
{
	const bool is_dropped = message->command == SFRAME_UNWIND_COMMAND_SECTIONS_DROPPED;
	const uint64_t number = message->value[SFRAME_UNWIND_ATTR_NUMBER];
	const uint64_t told = is_dropped ? message->value[SFRAME_UNWIND_ATTR_COUNT] : 1;

	/* The first message may tell of events before the listener has joined. */
	if (is_dropped && !count->last)
		return;
	if (count->last) {
		count->told_twice |= number - count->last < told;
		count->missing += number - count->last - told;
	}
	if (is_dropped)
		count->dropped += told;
	else
		count->events++;
	count->last = number;
}

#endif /* SELFTESTS_NETLINK_H */
