// SPDX-License-Identifier: GPL-2.0
/*
 * Closer: a child that closes files of strangers.
 */
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "child.h"
#include "closer.h"
#include "worker/message.h"

/* What it closes is anybody's. */
#define CLOSERS_USER ((uid_t)-5)

/* While there is none, @socket is -1. */
static struct {
	struct child *child;
	int socket;
} closer = { .socket = -1 };

static int close_all(void *data)
{
	char byte;
	int fds[2];

	(void)data;
	while (message_receive(STDIN_FILENO, &byte, sizeof(byte), fds,
			       false) == sizeof(byte))
		close(fds[0]);
	return 0;
}

static int start(void)
{
	int sockets[2], keep[3] = { -1, -1, -1 };
	const struct child_spec spec = {
		.run = close_all,
		.keep = keep,
		.nr_keep = 3,
		.user = CLOSERS_USER,
	};
	int err;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets))
		return -errno;
	keep[0] = sockets[1];
	err = child_start(&closer.child, &spec);
	close(sockets[1]);
	if (err)
		close(sockets[0]);
	else
		closer.socket = sockets[0];
	return err;
}

void closer_end(void)
{
	if (closer.socket < 0)
		return;
	close(closer.socket);
	closer.socket = -1;
	child_leave(closer.child);
}

static int hand_over(int fd)
{
	const int fds[2] = { fd, -1 };
	const int err = closer.socket < 0 ? start() : 0;

	return err ? err : message_send(closer.socket, "", 1, NULL, 0, fds);
}

void closer_close(int fd)
{
	if (fd < 0)
		return;
	/* One that is at it for too long to take more goes on, or one that died. */
	if (hand_over(fd)) {
		closer_end();
		hand_over(fd);
	}
	/* What is on its way is not gone with this. */
	close(fd);
}
