// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Messages of the module's netlink family, taken apart. Each attribute is copied once, and
 * checked against what is left of the message.
 */
#include <errno.h>
#include <string.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>

#include <sframe_unwind_monitor.h>

#define COUNT(array)	(sizeof(array) / sizeof((array)[0]))
#define FIRST_SIZE	(NLMSG_HDRLEN + GENL_HDRLEN)

/* Where an attribute of @size bytes goes; a string has room for as many. */
struct place {
	size_t offset;
	size_t size;
	bool is_string;
};

#define NUMBER(member)							\
	{ offsetof(struct sframe_unwind_monitor_event, member),		\
	  sizeof(((struct sframe_unwind_monitor_event *)0)->member), false }
#define STRING(member)							\
	{ offsetof(struct sframe_unwind_monitor_event, member),		\
	  sizeof(((struct sframe_unwind_monitor_event *)0)->member), true }

static const struct place places[] = {
	[SFRAME_UNWIND_ATTR_NUMBER] = NUMBER(number),
	[SFRAME_UNWIND_ATTR_TIME] = NUMBER(time),
	[SFRAME_UNWIND_ATTR_PID] = NUMBER(pid),
	[SFRAME_UNWIND_ATTR_COMM] = STRING(comm),
	[SFRAME_UNWIND_ATTR_UID] = NUMBER(uid),
	[SFRAME_UNWIND_ATTR_SPACE] = NUMBER(space),
	[SFRAME_UNWIND_ATTR_ID] = NUMBER(id),
	[SFRAME_UNWIND_ATTR_NR_SECTIONS] = NUMBER(nr_sections),
	[SFRAME_UNWIND_ATTR_SOURCE] = NUMBER(source),
	[SFRAME_UNWIND_ATTR_REASON] = NUMBER(reason),
	[SFRAME_UNWIND_ATTR_TEXT_START] = NUMBER(text_start),
	[SFRAME_UNWIND_ATTR_TEXT_SIZE] = NUMBER(text_size),
	[SFRAME_UNWIND_ATTR_SFRAME_START] = NUMBER(sframe_start),
	[SFRAME_UNWIND_ATTR_SFRAME_SIZE] = NUMBER(sframe_size),
	[SFRAME_UNWIND_ATTR_IP] = NUMBER(ip),
	[SFRAME_UNWIND_ATTR_OFFSET] = NUMBER(offset),
	[SFRAME_UNWIND_ATTR_DEFECT] = STRING(defect),
	[SFRAME_UNWIND_ATTR_FILE] = STRING(file),
	[SFRAME_UNWIND_ATTR_CLIENT] = NUMBER(client),
	[SFRAME_UNWIND_ATTR_LOSS] = NUMBER(loss),
	[SFRAME_UNWIND_ATTR_COUNT] = NUMBER(count),
	[SFRAME_UNWIND_ATTR_TOTAL] = NUMBER(total),
};

/* Copy the @size bytes at @data of attribute @type. Returns false if it is malformed. */
static bool copy_attr(struct sframe_unwind_monitor_event *event, unsigned int type,
		      const unsigned char *data, size_t size)
{
	const struct place *place = &places[type];
	char *to = (char *)event + place->offset;

	if (place->is_string ? !size || size > place->size || data[size - 1] :
			       size != place->size)
		return false;
	memcpy(to, data, size);
	event->has |= 1U << type;
	return true;
}

static bool copy_attrs(struct sframe_unwind_monitor_event *event,
		       const unsigned char *at, size_t left)
{
	struct nlattr attr;
	unsigned int type;
	size_t padded;

	while (left) {
		if (left < sizeof(attr))
			return false;
		memcpy(&attr, at, sizeof(attr));
		if (attr.nla_len < NLA_HDRLEN || attr.nla_len > left)
			return false;
		type = attr.nla_type & NLA_TYPE_MASK;
		if (type < COUNT(places) && places[type].size &&
		    !copy_attr(event, type, at + NLA_HDRLEN, attr.nla_len - NLA_HDRLEN))
			return false;
		padded = NLA_ALIGN(attr.nla_len);
		if (padded > left)
			padded = left;
		at += padded;
		left -= padded;
	}
	return true;
}

int sframe_unwind_monitor_parse(const void *message, size_t size,
				struct sframe_unwind_monitor_event *event)
{
	struct sframe_unwind_monitor_event parsed = { 0 };
	const unsigned char *at = message;
	struct genlmsghdr genl;
	struct nlmsghdr head;

	if (size < FIRST_SIZE)
		return -EBADMSG;
	memcpy(&head, at, sizeof(head));
	memcpy(&genl, at + NLMSG_HDRLEN, sizeof(genl));
	if (head.nlmsg_len < FIRST_SIZE || head.nlmsg_len > size)
		return -EBADMSG;
	if (genl.cmd < SFRAME_UNWIND_COMMAND_SECTION_ADDED ||
	    genl.cmd > SFRAME_UNWIND_COMMAND_CLIENTS_DROPPED)
		return -EOPNOTSUPP;
	parsed.command = genl.cmd;
	if (!copy_attrs(&parsed, at + FIRST_SIZE, head.nlmsg_len - FIRST_SIZE))
		return -EBADMSG;
	*event = parsed;
	return 0;
}

uint64_t sframe_unwind_monitor_missing(uint64_t *last,
				       const struct sframe_unwind_monitor_event *event)
{
	const bool is_told = event->command == SFRAME_UNWIND_COMMAND_SECTIONS_DROPPED ||
			     event->command == SFRAME_UNWIND_COMMAND_CLIENTS_DROPPED;
	const uint64_t told = is_told ? event->count : 1;
	const uint64_t since = event->number - *last;
	const bool is_first = !*last;

	*last = event->number;
	return is_first || since < told ? 0 : since - told;
}

static const char *name_at(const char * const names[], size_t count,
			   unsigned int number)
{
	return number < count && names[number] ? names[number] : "unknown";
}

const char *sframe_unwind_monitor_added_name(unsigned int source)
{
	static const char * const names[] = {
		[SFRAME_UNWIND_NETLINK_REGISTERED] = "registered",
		[SFRAME_UNWIND_NETLINK_FOUND] = "found",
		[SFRAME_UNWIND_NETLINK_ATTACHED] = "attached",
		[SFRAME_UNWIND_NETLINK_TABLE] = "table",
		[SFRAME_UNWIND_NETLINK_FORK] = "fork",
	};

	return name_at(names, COUNT(names), source);
}

const char *sframe_unwind_monitor_removed_name(unsigned int reason)
{
	static const char * const names[] = {
		[SFRAME_UNWIND_NETLINK_CORRUPT] = "corrupt",
		[SFRAME_UNWIND_NETLINK_UNREADABLE] = "unreadable",
		[SFRAME_UNWIND_NETLINK_STALE] = "stale",
		[SFRAME_UNWIND_NETLINK_UNREGISTERED] = "unregistered",
		[SFRAME_UNWIND_NETLINK_REPLACED] = "replaced",
		[SFRAME_UNWIND_NETLINK_FORGOTTEN] = "forgotten",
		[SFRAME_UNWIND_NETLINK_GONE] = "gone",
	};

	return name_at(names, COUNT(names), reason);
}

const char *sframe_unwind_monitor_loss_name(unsigned int loss)
{
	static const char * const names[] = {
		[SFRAME_UNWIND_LOSS_FULL] = "full",
		[SFRAME_UNWIND_LOSS_CLOSED] = "closed",
		[SFRAME_UNWIND_LOSS_NMI] = "nmi",
		[SFRAME_UNWIND_LOSS_SAMPLE_FULL] = "sample_full",
		[SFRAME_UNWIND_LOSS_SAMPLE_NO_RING] = "sample_no_ring",
		[SFRAME_UNWIND_LOSS_SAMPLE_RECURSION] = "sample_recursion",
		[SFRAME_UNWIND_LOSS_REMOVAL] = "removal",
		[SFRAME_UNWIND_LOSS_EXITED] = "exited",
	};

	return name_at(names, COUNT(names), loss);
}
