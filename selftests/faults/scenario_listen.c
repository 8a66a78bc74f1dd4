// SPDX-License-Identifier: GPL-2.0
/*
 * Scenarios with a listener to what the module tells: netlink messages, of each kind,
 * and the trace event of stacks, which BPF programs use. What cannot be told changes
 * nothing of what it is about: the message is missing.
 */
#include "../include/netlink.h"
#include "scenario.h"

#define WAIT_MS		300	/* for a message, which a kernel thread sends */
#define TRACED_STACKS	"/sys/kernel/tracing/events/sframe_unwind/stack/enable"

/*
 * Returns the result of @run. If there was no message of it in @group, it is undone, and
 * the result is LESS.
 */
static int listen_while(struct world *world, unsigned int group,
			int (*run)(struct world *world),
			void (*undo)(struct world *world))
{
	struct netlink_family family = {};
	struct netlink_message message;
	int sock = open_netlink(), err;

	err = find_family(&family) || join_group(sock, family.groups[group]) ?
		      EPROTO : run(world);
	if (!err && next_message(sock, &message, WAIT_MS)) {
		err = LESS;
		if (undo)
			undo(world);
	}
	close(sock);
	return err;
}

int run_tell_added(struct world *world)
{
	return listen_while(world, GROUP_SECTIONS, run_register, undo_register);
}

int run_tell_removed(struct world *world)
{
	return listen_while(world, GROUP_SECTIONS, run_unregister, undo_unregister);
}

int run_tell_corrupt(struct world *world)
{
	return listen_while(world, GROUP_SECTIONS, run_corrupt, NULL);
}

int run_tell_client(struct world *world)
{
	return listen_while(world, GROUP_CLIENTS, run_open, undo_open);
}

/* The ring is full, so that each stack is lost. */
bool setup_full(struct world *world)
{
	struct sframe_unwind_request req = request_self();
	struct sframe_unwind_stats now = {};

	while (!now.lost_full) {
		if (request(world->fd, &req) || stats(world->fd, &now))
			return false;
	}
	return true;
}

static int lose(struct world *world)
{
	struct sframe_unwind_request req = request_self();

	return result(request(world->fd, &req));
}

int run_tell_loss(struct world *world)
{
	return listen_while(world, GROUP_LOSSES, lose, NULL);
}

static int write_switch(const char *text)
{
	const int fd = open(TRACED_STACKS, O_WRONLY | O_CLOEXEC);
	const int err = result(fd < 0 || write(fd, text, 1) != 1 ? -1 : 0);

	close(fd);
	return err;
}

/* Nothing ends tracing when the process ends. */
int run_trace_stacks(struct world *world)
{
	return write_switch("1") ?: write_switch("0");
}
