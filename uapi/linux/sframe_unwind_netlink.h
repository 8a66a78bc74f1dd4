/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * sframe_unwind: the generic netlink family that tells, while it happens, which sections
 * and clients there are in the whole system, and what is lost.
 *
 * Family SFRAME_UNWIND_NETLINK_FAMILY, version SFRAME_UNWIND_NETLINK_VERSION, has no
 * commands to send to the kernel, and three multicast groups:
 *
 *	sections	SECTION_ADDED, SECTION_REMOVED, SECTION_CORRUPT, SECTIONS_DROPPED
 *	clients		CLIENT_OPENED, CLIENT_CLOSED, CLIENTS_DROPPED
 *	losses		LOSSES
 *
 * Who may listen
 *
 * Messages are about all processes. The family exists in the initial network namespace
 * only. To join a group needs CAP_SYS_ADMIN in the initial user namespace, else it fails
 * with EPERM; CAP_PERFMON is not enough. From Linux 6.8 on, the opener of the socket must
 * have had that capability, too: else it gets no messages. A socket of another network
 * namespace gets none, whatever it has joined; before 6.8, unless it listens to all of them,
 * for which its opener needs CAP_NET_BROADCAST in the initial user namespace, see
 * NETLINK_LISTEN_ALL_NSID in netlink(7). What listeners get can also be seen by who may make
 * an nlmon device in the initial network namespace and read from it: CAP_NET_ADMIN and
 * CAP_NET_RAW.
 *
 * Process ids are those of the initial PID namespace, and user ids those of the initial
 * user namespace, also for a listener in another one.
 *
 * What a listener misses
 *
 * The events of a group are numbered without gaps, from 1 on, while anybody listens; each
 * message has SFRAME_UNWIND_ATTR_NUMBER, the number of its event. The first messages that a
 * listener gets may be of events shortly before it has joined. Two things can happen:
 *
 * - Events come faster than the module sends them. It keeps some in a queue, as many as
 *   1024 of sections and 128 of clients; if that is full, events are dropped, whichever
 *   process causes the next ones. SECTIONS_DROPPED or CLIENTS_DROPPED tells
 *   how many, before the next event, or when the queue is empty. Its number is that of the
 *   last of them.
 * - The listener does not read fast enough, and its socket's buffer is full. Then recv(2)
 *   fails once with ENOBUFS. The next message shows by its number how many are missing.
 *
 * So with last, the number of the message before, a message was preceded by
 * NUMBER - last - 1 events that the socket had no room for, and one of the two that tell of
 * dropped events by NUMBER - last - COUNT of them.
 *
 * Any user can join a socket that gets no messages, see above. While there are only such
 * sockets in a group, Linux 6.8 and later do not number the events of up to 100 ms at a time,
 * nor make messages of them. So a listener that joins such a group may miss events of its
 * first 100 ms, and no number shows that. Whether it hears everything can be seen by causing
 * an event, for instance by opening the device: from the first message on, it does.
 *
 * Losses are added up: LOSSES is sent ten times a second at most for each reason, and
 * SFRAME_UNWIND_ATTR_TOTAL makes up for a missing message.
 *
 * ABI policy: numbers and types below never change their meaning. Commands, attributes and
 * numbers of reasons are added; readers ignore those that they do not know.
 */
#ifndef _UAPI_LINUX_SFRAME_UNWIND_NETLINK_H
#define _UAPI_LINUX_SFRAME_UNWIND_NETLINK_H

#define SFRAME_UNWIND_NETLINK_FAMILY	"sframe_unwind"
#define SFRAME_UNWIND_NETLINK_VERSION	1

/* Names of the multicast groups. */
#define SFRAME_UNWIND_GROUP_SECTIONS	"sections"
#define SFRAME_UNWIND_GROUP_CLIENTS	"clients"
#define SFRAME_UNWIND_GROUP_LOSSES	"losses"

/**
 * enum sframe_unwind_netlink_command - kinds of messages, in genlmsghdr.cmd
 *
 * All have NUMBER and TIME. Those of sections and clients have PID and COMM, of the thread
 * that caused the event. That is one of the process of the section or client, except that:
 *
 * - FORK is caused by the parent;
 * - what was found for a process may be freed by any other one;
 * - GONE is caused by who drops the last reference to the memory, which may be a reader of
 *   /proc or a kernel thread;
 * - CLIENT_CLOSED is caused by who closes the last descriptor.
 *
 * @SFRAME_UNWIND_COMMAND_SECTION_ADDED: sections were added. SPACE, SOURCE, NR_SECTIONS;
 *	and unless they are all sections of the space: ID, TEXT_START, TEXT_SIZE,
 *	SFRAME_START, SFRAME_SIZE of the one.
 * @SFRAME_UNWIND_COMMAND_SECTION_REMOVED: sections were removed. SPACE, REASON,
 *	NR_SECTIONS; and unless they are all sections of the space: ID, TEXT_START,
 *	TEXT_SIZE, SFRAME_START, SFRAME_SIZE of the one.
 * @SFRAME_UNWIND_COMMAND_SECTION_CORRUPT: a section was found corrupt, or can never be read
 *	again. SPACE, ID, TEXT_START, TEXT_SIZE, SFRAME_START, SFRAME_SIZE, REASON, and if
 *	memory was not short: IP, DEFECT, OFFSET, FILE.
 * @SFRAME_UNWIND_COMMAND_CLIENT_OPENED: a process has opened the device. CLIENT, UID.
 * @SFRAME_UNWIND_COMMAND_CLIENT_CLOSED: the last descriptor of the client was closed.
 *	CLIENT, UID. PID, COMM and UID are of who has closed it.
 * @SFRAME_UNWIND_COMMAND_LOSSES: something was lost. LOSS, COUNT, TOTAL.
 * @SFRAME_UNWIND_COMMAND_SECTIONS_DROPPED: events of sections were dropped. COUNT.
 * @SFRAME_UNWIND_COMMAND_CLIENTS_DROPPED: events of clients were dropped. COUNT.
 */
enum sframe_unwind_netlink_command {
	SFRAME_UNWIND_COMMAND_SECTION_ADDED	= 1,
	SFRAME_UNWIND_COMMAND_SECTION_REMOVED	= 2,
	SFRAME_UNWIND_COMMAND_SECTION_CORRUPT	= 3,
	SFRAME_UNWIND_COMMAND_CLIENT_OPENED	= 4,
	SFRAME_UNWIND_COMMAND_CLIENT_CLOSED	= 5,
	SFRAME_UNWIND_COMMAND_LOSSES		= 6,
	SFRAME_UNWIND_COMMAND_SECTIONS_DROPPED	= 7,
	SFRAME_UNWIND_COMMAND_CLIENTS_DROPPED	= 8,
};

/**
 * enum sframe_unwind_netlink_attr - attributes; integers are of the host's byte order
 *
 * @SFRAME_UNWIND_ATTR_PAD: no content; aligns a u64.
 * @SFRAME_UNWIND_ATTR_NUMBER: u64, number of the event in its group.
 * @SFRAME_UNWIND_ATTR_TIME: u64, of the event, CLOCK_MONOTONIC, in nanoseconds; not before
 *	that of the event with the number before. LOSSES and dropped events: when the message
 *	was made.
 * @SFRAME_UNWIND_ATTR_PID: u32, process id.
 * @SFRAME_UNWIND_ATTR_COMM: NUL-terminated string, name of the thread, at most 15 bytes.
 *	Any bytes: its user chooses it.
 * @SFRAME_UNWIND_ATTR_UID: u32, user id.
 * @SFRAME_UNWIND_ATTR_SPACE: u64, identifies the address space, until the next boot or
 *	removal of the module. A process gets another one by exec, and a child by fork.
 * @SFRAME_UNWIND_ATTR_ID: u64, identifies the section, see struct sframe_unwind_section.
 * @SFRAME_UNWIND_ATTR_NR_SECTIONS: u32, number of sections, at least 1.
 * @SFRAME_UNWIND_ATTR_SOURCE: u32, enum sframe_unwind_netlink_source.
 * @SFRAME_UNWIND_ATTR_REASON: u32, enum sframe_unwind_netlink_reason.
 * @SFRAME_UNWIND_ATTR_TEXT_START: u64, first address of the code.
 * @SFRAME_UNWIND_ATTR_TEXT_SIZE: u64, bytes of the code.
 * @SFRAME_UNWIND_ATTR_SFRAME_START: u64, address of the section; 0 if it is not in user
 *	memory.
 * @SFRAME_UNWIND_ATTR_SFRAME_SIZE: u64, bytes of the section.
 * @SFRAME_UNWIND_ATTR_IP: u64, the address that was looked up.
 * @SFRAME_UNWIND_ATTR_OFFSET: u64, offset in the section of the defect, in bytes.
 * @SFRAME_UNWIND_ATTR_DEFECT: NUL-terminated string of at most 63 bytes: an English text
 *	that says what is wrong.
 * @SFRAME_UNWIND_ATTR_FILE: NUL-terminated string of at most 127 bytes: the file that the
 *	code is mapped from; empty for anonymous memory; only the end of the name if it is
 *	too long. Any bytes: a user chooses it.
 * @SFRAME_UNWIND_ATTR_CLIENT: u64, identifies the client, until the next boot or removal of
 *	the module.
 * @SFRAME_UNWIND_ATTR_LOSS: u32, enum sframe_unwind_netlink_loss.
 * @SFRAME_UNWIND_ATTR_COUNT: u64, LOSSES: lost for this reason since the message before of
 *	the same reason. Else the number of dropped events.
 * @SFRAME_UNWIND_ATTR_TOTAL: u64, sum of all counts sent for this reason since the module
 *	was loaded, with this one.
 */
enum sframe_unwind_netlink_attr {
	SFRAME_UNWIND_ATTR_PAD		= 1,
	SFRAME_UNWIND_ATTR_NUMBER	= 2,
	SFRAME_UNWIND_ATTR_TIME		= 3,
	SFRAME_UNWIND_ATTR_PID		= 4,
	SFRAME_UNWIND_ATTR_COMM		= 5,
	SFRAME_UNWIND_ATTR_UID		= 6,
	SFRAME_UNWIND_ATTR_SPACE	= 7,
	SFRAME_UNWIND_ATTR_ID		= 8,
	SFRAME_UNWIND_ATTR_NR_SECTIONS	= 9,
	SFRAME_UNWIND_ATTR_SOURCE	= 10,
	SFRAME_UNWIND_ATTR_REASON	= 11,
	SFRAME_UNWIND_ATTR_TEXT_START	= 12,
	SFRAME_UNWIND_ATTR_TEXT_SIZE	= 13,
	SFRAME_UNWIND_ATTR_SFRAME_START	= 14,
	SFRAME_UNWIND_ATTR_SFRAME_SIZE	= 15,
	SFRAME_UNWIND_ATTR_IP		= 16,
	SFRAME_UNWIND_ATTR_OFFSET	= 17,
	SFRAME_UNWIND_ATTR_DEFECT	= 18,
	SFRAME_UNWIND_ATTR_FILE		= 19,
	SFRAME_UNWIND_ATTR_CLIENT	= 20,
	SFRAME_UNWIND_ATTR_LOSS		= 21,
	SFRAME_UNWIND_ATTR_COUNT	= 22,
	SFRAME_UNWIND_ATTR_TOTAL	= 23,
};

/**
 * enum sframe_unwind_netlink_source - where added sections come from
 *
 * @SFRAME_UNWIND_NETLINK_REGISTERED: the process has registered it.
 * @SFRAME_UNWIND_NETLINK_FOUND: the .sframe of the file that the code is mapped from.
 * @SFRAME_UNWIND_NETLINK_ATTACHED: attached to that file, or to the addresses.
 * @SFRAME_UNWIND_NETLINK_TABLE: a function table that the process has registered.
 * @SFRAME_UNWIND_NETLINK_FORK: a new child has all sections of its parent. SPACE is that of
 *	the child, PID and COMM are those of the parent.
 */
enum sframe_unwind_netlink_source {
	SFRAME_UNWIND_NETLINK_REGISTERED	= 1,
	SFRAME_UNWIND_NETLINK_FOUND		= 2,
	SFRAME_UNWIND_NETLINK_ATTACHED		= 3,
	SFRAME_UNWIND_NETLINK_TABLE		= 4,
	SFRAME_UNWIND_NETLINK_FORK		= 5,
};

/**
 * enum sframe_unwind_netlink_reason - why sections were removed
 *
 * @SFRAME_UNWIND_NETLINK_CORRUPT: its contents are malformed.
 * @SFRAME_UNWIND_NETLINK_UNREADABLE: its bytes can never be read again.
 * @SFRAME_UNWIND_NETLINK_STALE: its code or bytes are not mapped as they were.
 * @SFRAME_UNWIND_NETLINK_UNREGISTERED: the process has unregistered it.
 * @SFRAME_UNWIND_NETLINK_REPLACED: the process has registered another one in its place.
 * @SFRAME_UNWIND_NETLINK_FORGOTTEN: it was not registered; walks find it again.
 * @SFRAME_UNWIND_NETLINK_GONE: all sections of the space: exec, exit, or the marker was
 *	unmapped.
 */
enum sframe_unwind_netlink_reason {
	SFRAME_UNWIND_NETLINK_CORRUPT		= 1,
	SFRAME_UNWIND_NETLINK_UNREADABLE	= 2,
	SFRAME_UNWIND_NETLINK_STALE		= 3,
	SFRAME_UNWIND_NETLINK_UNREGISTERED	= 4,
	SFRAME_UNWIND_NETLINK_REPLACED		= 5,
	SFRAME_UNWIND_NETLINK_FORGOTTEN		= 6,
	SFRAME_UNWIND_NETLINK_GONE		= 7,
};

/**
 * enum sframe_unwind_netlink_loss - what was lost
 *
 * @SFRAME_UNWIND_LOSS_FULL: a stack: there was no room in the client's ring.
 * @SFRAME_UNWIND_LOSS_CLOSED: a stack: the client was closed, or the kernel module that has
 *	requested it wants no more.
 * @SFRAME_UNWIND_LOSS_NMI: a stack promised by a sample or a request in an NMI.
 * @SFRAME_UNWIND_LOSS_SAMPLE_FULL: a sample: there was no room in the CPU's ring.
 * @SFRAME_UNWIND_LOSS_SAMPLE_NO_RING: a sample: the CPU has no ring.
 * @SFRAME_UNWIND_LOSS_SAMPLE_RECURSION: a sample: it was caused by taking a sample.
 * @SFRAME_UNWIND_LOSS_REMOVAL: a record of a removed section.
 * @SFRAME_UNWIND_LOSS_EXITED: a stack that a kernel module has requested: the thread was
 *	exiting.
 */
enum sframe_unwind_netlink_loss {
	SFRAME_UNWIND_LOSS_FULL			= 1,
	SFRAME_UNWIND_LOSS_CLOSED		= 2,
	SFRAME_UNWIND_LOSS_NMI			= 3,
	SFRAME_UNWIND_LOSS_SAMPLE_FULL		= 4,
	SFRAME_UNWIND_LOSS_SAMPLE_NO_RING	= 5,
	SFRAME_UNWIND_LOSS_SAMPLE_RECURSION	= 6,
	SFRAME_UNWIND_LOSS_REMOVAL		= 7,
	SFRAME_UNWIND_LOSS_EXITED		= 9,
};

#endif /* _UAPI_LINUX_SFRAME_UNWIND_NETLINK_H */
