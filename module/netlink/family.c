// SPDX-License-Identifier: GPL-2.0
/*
 * Family: the generic netlink family, and its messages.
 *
 * Who joins a group must have CAP_SYS_ADMIN in the user namespace of his network
 * namespace; messages are sent to the initial network namespace only, so for those who get
 * any it is the initial user namespace. That protects the groups from the moment on that
 * they exist. But the kernel lets everybody join the number of a group before that, and
 * does not ask him again: see sfu_genl_register() and is_left_out(), of which one or the
 * other has an effect.
 */
#include <linux/capability.h>
#include <linux/fs.h>
#include <linux/jiffies.h>
#include <linux/net.h>
#include <linux/user_namespace.h>
#include <net/genetlink.h>
#include <net/sock.h>

#include "compat.h"
#include "family.h"
#include "limits.h"

/* Numbers are those of the trace events and of the records. */
static_assert(SFRAME_UNWIND_NETLINK_REGISTERED == (int)SFU_ADDED_REGISTERED);
static_assert(SFRAME_UNWIND_NETLINK_FORK == (int)SFU_ADDED_FORK);
static_assert(SFRAME_UNWIND_NETLINK_CORRUPT == (int)SFU_REMOVED_CORRUPT);
static_assert(SFRAME_UNWIND_NETLINK_GONE == (int)SFU_REMOVED_GONE);
static_assert(SFRAME_UNWIND_LOSS_FULL == (int)SFU_LOST_FULL);
static_assert(SFRAME_UNWIND_LOSS_REMOVAL == (int)SFU_LOST_REMOVAL);
static_assert(SFRAME_UNWIND_LOSS_EXITED == (int)SFU_LOST_EXITED);

static const struct genl_multicast_group groups[SFU_NR_GROUPS] = {
	[SFU_GROUP_SECTIONS] = { .name = SFRAME_UNWIND_GROUP_SECTIONS,
				 .flags = GENL_MCAST_CAP_SYS_ADMIN },
	[SFU_GROUP_CLIENTS] = { .name = SFRAME_UNWIND_GROUP_CLIENTS,
				.flags = GENL_MCAST_CAP_SYS_ADMIN },
	[SFU_GROUP_LOSSES] = { .name = SFRAME_UNWIND_GROUP_LOSSES,
			       .flags = GENL_MCAST_CAP_SYS_ADMIN },
};

static struct genl_family family __ro_after_init = {
	.name = SFRAME_UNWIND_NETLINK_FAMILY,
	.version = SFRAME_UNWIND_NETLINK_VERSION,
	.module = THIS_MODULE,
	.mcgrps = groups,
	.n_mcgrps = SFU_NR_GROUPS,
};

/*
 * By group: until when it is deaf, in jiffies. Anybody can join the number of a group in a
 * network namespace of his own, and the kernel counts his socket as a listener. So that not
 * each event is a message for nobody, a group in which there were only such sockets is not
 * heard for a while.
 */
static unsigned long deaf_until[SFU_NR_GROUPS];

static bool is_deaf(enum sfu_netlink_group group)
{
	return time_before(jiffies, READ_ONCE(deaf_until[group]));
}

bool sfu_netlink_has_listeners(enum sfu_netlink_group group)
{
	return genl_has_listeners(&family, &init_net, group) && !is_deaf(group);
}

/**
 * struct audience - of one message
 *
 * @was_heard: a socket was not left out, though it may have had no room.
 * @was_denied: a socket was left out.
 */
struct audience {
	bool was_heard;
	bool was_denied;
};

/*
 * A filter of receivers: returns whether @sk is left out. Sockets that are being released
 * are not in a group any more. Those of the kernel have no file.
 */
static int is_left_out(struct sock *sk, struct sk_buff *skb, void *data)
{
	const struct file *file = sk->sk_socket ? sk->sk_socket->file : NULL;
	struct audience *audience = data;

	if (!file || !net_eq(sock_net(sk), &init_net) ||
	    !file_ns_capable(file, &init_user_ns, CAP_SYS_ADMIN)) {
		audience->was_denied = true;
		return true;
	}
	audience->was_heard = true;
	return false;
}

/* Consumes @skb. A listener that it fails for has an error, ENOBUFS, at its socket. */
static void multicast(struct sk_buff *skb, enum sfu_netlink_group group)
{
	struct audience audience = {};

	sfu_genl_multicast(&family, skb, group, is_left_out, &audience);
	if (audience.was_denied && !audience.was_heard)
		WRITE_ONCE(deaf_until[group], jiffies + SFU_DEAF_PAUSE);
}

/* Put an attribute of 64 bits. Returns whether it fails, as all functions put_... here. */
static bool put_u64(struct sk_buff *skb, int attr, u64 value)
{
	return nla_put_u64_64bit(skb, attr, value, SFRAME_UNWIND_ATTR_PAD);
}

static bool put_process(struct sk_buff *skb, const struct sfu_netlink_event *event)
{
	return nla_put_u32(skb, SFRAME_UNWIND_ATTR_PID, event->pid) ||
	       nla_put_string(skb, SFRAME_UNWIND_ATTR_COMM, event->comm);
}

/* The section, if it is a single one. */
static bool put_section(struct sk_buff *skb, const struct sfu_trace_section *section)
{
	if (put_u64(skb, SFRAME_UNWIND_ATTR_SPACE, section->space))
		return true;
	return section->id &&
	       (put_u64(skb, SFRAME_UNWIND_ATTR_ID, section->id) ||
		put_u64(skb, SFRAME_UNWIND_ATTR_TEXT_START, section->text_start) ||
		put_u64(skb, SFRAME_UNWIND_ATTR_TEXT_SIZE, section->text_size) ||
		put_u64(skb, SFRAME_UNWIND_ATTR_SFRAME_START,
			section->sframe_start) ||
		put_u64(skb, SFRAME_UNWIND_ATTR_SFRAME_SIZE, section->sframe_size));
}

static bool put_defect(struct sk_buff *skb, const struct sframe_unwind_removed *removed)
{
	return removed &&
	       (put_u64(skb, SFRAME_UNWIND_ATTR_IP, removed->ip) ||
		put_u64(skb, SFRAME_UNWIND_ATTR_OFFSET, removed->defect_offset) ||
		nla_put_string(skb, SFRAME_UNWIND_ATTR_DEFECT, removed->defect) ||
		nla_put_string(skb, SFRAME_UNWIND_ATTR_FILE, removed->name));
}

/* What the messages of a command have beside the number and the time. */
static bool put_rest(struct sk_buff *skb, const struct sfu_netlink_event *event)
{
	switch (event->command) {
	case SFRAME_UNWIND_COMMAND_SECTION_ADDED:
		return put_process(skb, event) || put_section(skb, &event->section) ||
		       nla_put_u32(skb, SFRAME_UNWIND_ATTR_SOURCE, event->reason) ||
		       nla_put_u32(skb, SFRAME_UNWIND_ATTR_NR_SECTIONS, event->nr);
	case SFRAME_UNWIND_COMMAND_SECTION_REMOVED:
		return put_process(skb, event) || put_section(skb, &event->section) ||
		       nla_put_u32(skb, SFRAME_UNWIND_ATTR_REASON, event->reason) ||
		       nla_put_u32(skb, SFRAME_UNWIND_ATTR_NR_SECTIONS, event->nr);
	case SFRAME_UNWIND_COMMAND_SECTION_CORRUPT:
		return put_process(skb, event) || put_section(skb, &event->section) ||
		       nla_put_u32(skb, SFRAME_UNWIND_ATTR_REASON, event->reason) ||
		       put_defect(skb, event->removed);
	case SFRAME_UNWIND_COMMAND_CLIENT_OPENED:
	case SFRAME_UNWIND_COMMAND_CLIENT_CLOSED:
		return put_process(skb, event) ||
		       put_u64(skb, SFRAME_UNWIND_ATTR_CLIENT, event->client) ||
		       nla_put_u32(skb, SFRAME_UNWIND_ATTR_UID, event->uid);
	case SFRAME_UNWIND_COMMAND_LOSSES:
		if (nla_put_u32(skb, SFRAME_UNWIND_ATTR_LOSS, event->reason) ||
		    put_u64(skb, SFRAME_UNWIND_ATTR_TOTAL, event->total))
			return true;
		fallthrough;
	default:
		return put_u64(skb, SFRAME_UNWIND_ATTR_COUNT, event->count);
	}
}

/* Room for the attributes of any message. */
static size_t message_size(void)
{
	return 12 * nla_total_size_64bit(sizeof(u64)) +
	       4 * nla_total_size(sizeof(u32)) + nla_total_size(TASK_COMM_LEN) +
	       nla_total_size(sizeof_field(struct sframe_unwind_removed, defect)) +
	       nla_total_size(sizeof_field(struct sframe_unwind_removed, name));
}

bool sfu_family_send(const struct sfu_netlink_event *event)
{
	struct sk_buff *skb;
	void *header;

	if (is_deaf(event->group))
		return true;
	skb = genlmsg_new(message_size(), GFP_KERNEL);
	if (!skb)
		return false;
	header = genlmsg_put(skb, 0, (u32)event->number, &family, 0, event->command);
	if (!header || put_u64(skb, SFRAME_UNWIND_ATTR_NUMBER, event->number) ||
	    put_u64(skb, SFRAME_UNWIND_ATTR_TIME, event->time) ||
	    put_rest(skb, event)) {
		nlmsg_free(skb);
		return false;
	}
	genlmsg_end(skb, header);
	multicast(skb, event->group);
	return true;
}

int __init sfu_family_register(void)
{
	return sfu_genl_register(&family);
}

void sfu_family_unregister(void)
{
	genl_unregister_family(&family);
}
