// SPDX-License-Identifier: GPL-2.0
/*
 * The socket of sframe-unwind monitor, by libnl.
 */
#include "cli.h"
#include "monitor.h"

#ifdef HAVE_LIBNL

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <linux/genetlink.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>

#define BUFFER_SIZE	(4 << 20)	/* of the socket; some thousand messages */

/**
 * struct listener - a socket and what it has told
 *
 * @monitor: what to print.
 * @sock: the socket.
 * @family: number of the family.
 * @last: number of the last message of each group.
 * @overran: the socket had no room for messages, and what it had room for was not all read.
 * @removed: the family was removed.
 * @malformed: a message could not be parsed.
 */
struct listener {
	struct monitor *monitor;
	struct nl_sock *sock;
	int family;
	uint64_t last[MONITOR_NR_GROUPS];
	bool overran;
	bool removed;
	bool malformed;
};

static unsigned int group_of(const struct sframe_unwind_monitor_event *event)
{
	switch (event->command) {
	case SFRAME_UNWIND_COMMAND_CLIENT_OPENED:
	case SFRAME_UNWIND_COMMAND_CLIENT_CLOSED:
	case SFRAME_UNWIND_COMMAND_CLIENTS_DROPPED:
		return MONITOR_CLIENTS;
	case SFRAME_UNWIND_COMMAND_LOSSES:
		return MONITOR_LOSSES;
	default:
		return MONITOR_SECTIONS;
	}
}

static void print_message(struct listener *listener, struct nlmsghdr *head)
{
	struct sframe_unwind_monitor_event event;
	unsigned int group;
	uint64_t missing;
	int ret;

	ret = sframe_unwind_monitor_parse(head, head->nlmsg_len, &event);
	if (ret) {
		/* Newer modules have other messages, too. */
		listener->malformed |= ret != -EOPNOTSUPP;
		return;
	}
	group = group_of(&event);
	missing = sframe_unwind_monitor_missing(&listener->last[group], &event);
	if (missing)
		monitor_print_missing(listener->monitor, group, missing);
	if (!monitor_is_done(listener->monitor))
		monitor_print(listener->monitor, group, &event);
}

/* Whether the message says that the family was removed, with the module. */
static bool is_removal(const struct listener *listener, struct nlmsghdr *head)
{
	struct nlattr *attrs[CTRL_ATTR_MAX + 1];

	return genlmsg_valid_hdr(head, 0) &&
	       genlmsg_hdr(head)->cmd == CTRL_CMD_DELFAMILY &&
	       !genlmsg_parse(head, 0, attrs, CTRL_ATTR_MAX, NULL) &&
	       attrs[CTRL_ATTR_FAMILY_ID] &&
	       nla_get_u16(attrs[CTRL_ATTR_FAMILY_ID]) == listener->family;
}

static int take_message(struct nl_msg *message, void *data)
{
	struct listener *listener = data;
	struct nlmsghdr *head = nlmsg_hdr(message);

	/* Processes can send, too, if they may administrate the network. */
	if (nlmsg_get_src(message)->nl_pid)
		return NL_OK;
	if (head->nlmsg_type == GENL_ID_CTRL)
		listener->removed |= is_removal(listener, head);
	else if (head->nlmsg_type == listener->family &&
		 !monitor_is_done(listener->monitor))
		print_message(listener, head);
	return NL_OK;
}

/* Join the group with the number @group. Returns the exit status. */
static int join(struct listener *listener, int group)
{
	const int err = nl_socket_add_membership(listener->sock, group);

	if (!err)
		return CLI_OK;
	if (err == -NLE_PERM)
		return complain("monitor: not permitted: messages are about all processes, and need root (CAP_SYS_ADMIN)");
	return complain("monitor: cannot listen: %s", nl_geterror(err));
}

/*
 * The numbers of all groups are asked for before the first one is joined: a message of a
 * group could be taken for the answer.
 */
static int join_groups(struct listener *listener)
{
	int groups[MONITOR_NR_GROUPS] = { 0 };
	unsigned int i;

	for (i = 0; i < MONITOR_NR_GROUPS; i++) {
		if (!(listener->monitor->groups & 1U << i))
			continue;
		groups[i] = genl_ctrl_resolve_grp(listener->sock,
						  SFRAME_UNWIND_NETLINK_FAMILY,
						  monitor_group_name(i));
		if (groups[i] < 0)
			return complain("monitor: the module has no group %s",
					monitor_group_name(i));
	}
	for (i = 0; i < MONITOR_NR_GROUPS; i++) {
		if (groups[i] && join(listener, groups[i]))
			return CLI_TROUBLE;
	}
	/* That of the kernel which tells of families that are removed. */
	return join(listener, GENL_ID_CTRL);
}

static int open_socket(struct listener *listener)
{
	const int size = BUFFER_SIZE;
	int err;

	listener->sock = nl_socket_alloc();
	if (!listener->sock)
		return complain("monitor: no memory");
	err = genl_connect(listener->sock);
	if (err)
		return complain("monitor: netlink: %s", nl_geterror(err));
	listener->family = genl_ctrl_resolve(listener->sock, SFRAME_UNWIND_NETLINK_FAMILY);
	if (listener->family < 0)
		return complain("monitor: no netlink family %s in this network namespace: load the module (modprobe sframe_unwind), or run in the initial network namespace",
				SFRAME_UNWIND_NETLINK_FAMILY);
	/* Who may listen may do this, too; else it stays small. */
	setsockopt(nl_socket_get_fd(listener->sock), SOL_SOCKET, SO_RCVBUFFORCE, &size,
		   sizeof(size));
	nl_socket_disable_seq_check(listener->sock);
	nl_socket_set_nonblocking(listener->sock);
	nl_socket_modify_cb(listener->sock, NL_CB_VALID, NL_CB_CUSTOM, take_message,
			    listener);
	return join_groups(listener);
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

/* Milliseconds until @end for poll(), or -1 if that is 0. */
static int left_of(int64_t end)
{
	const int64_t left = end - now_ms();

	if (!end)
		return -1;
	return left < 0 ? 0 : left > 1000000 ? 1000000 : left;
}

/*
 * Whether the module was removed, even if it is loaded again: then the family has another
 * number. By another socket, whose answers are not among messages.
 */
static bool is_gone(const struct listener *listener)
{
	struct nl_sock *sock = nl_socket_alloc();
	int family = -NLE_NOMEM;

	if (sock && !genl_connect(sock))
		family = genl_ctrl_resolve(sock, SFRAME_UNWIND_NETLINK_FAMILY);
	nl_socket_free(sock);
	return family < 0 ? family == -NLE_OBJ_NOTFOUND : family != listener->family;
}

/* Returns the exit status. */
static int receive(struct listener *listener)
{
	const int err = nl_recvmsgs_default(listener->sock);

	/* What libnl makes of ENOBUFS. */
	if (err == -NLE_NOMEM) {
		monitor_print_missing(listener->monitor, MONITOR_NR_GROUPS, 0);
		listener->overran = true;
	} else if (err < 0 && err != -NLE_AGAIN && err != -NLE_INTR) {
		return complain("monitor: netlink: %s", nl_geterror(err));
	}
	if (listener->malformed)
		return complain("monitor: the module has sent a malformed message");
	return CLI_OK;
}

static int take_messages(struct listener *listener)
{
	const struct monitor *monitor = listener->monitor;
	const int64_t end = monitor->seconds ? now_ms() + monitor->seconds * 1000 : 0;
	struct pollfd ready = {
		.fd = nl_socket_get_fd(listener->sock),
		.events = POLLIN,
	};
	int left, count;

	while (!monitor_is_done(monitor)) {
		left = left_of(end);
		if (!left)
			return CLI_OK;
		count = poll(&ready, 1, listener->overran ? 0 : left);
		if (count > 0 && receive(listener))
			return CLI_TROUBLE;
		if (!count && listener->overran) {
			/* The message of the removal may be one of those that are missing. */
			listener->removed |= is_gone(listener);
			listener->overran = false;
		}
		if (listener->removed)
			return complain("monitor: the module was removed");
	}
	return CLI_OK;
}

int monitor_listen(struct monitor *monitor)
{
	struct listener listener = { .monitor = monitor };
	int status = open_socket(&listener);

	if (!status)
		status = take_messages(&listener);
	nl_socket_free(listener.sock);
	return status;
}

#else

int monitor_listen(struct monitor *monitor)
{
	(void)monitor;
	return complain("monitor: this build has no libnl");
}

#endif /* HAVE_LIBNL */
