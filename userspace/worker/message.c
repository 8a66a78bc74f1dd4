// SPDX-License-Identifier: GPL-2.0
/*
 * Message: bytes with file descriptors over a socket. Each message begins with a byte;
 * where two descriptors are expected, it tells which of them the message has.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "message.h"

/* Room for descriptors. */
union control {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(MESSAGE_MAX_FDS * sizeof(int))];
};

/* Send a first byte, @tag, the two parts, and @nr descriptors. */
static int send_parts(int socket, unsigned char tag, const void *bytes,
		      size_t size, const void *rest, size_t rest_size,
		      const int *fds, unsigned int nr)
{
	struct iovec parts[] = {
		{ &tag, sizeof(tag) },
		{ (void *)bytes, size },
		{ (void *)rest, rest_size },
	};
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = 3 };
	union control control;

	if (nr) {
		memset(&control, 0, sizeof(control));
		message.msg_control = &control;
		message.msg_controllen = CMSG_SPACE(nr * sizeof(int));
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(nr * sizeof(int));
		memcpy(CMSG_DATA(&control.header), fds, nr * sizeof(int));
	}
	return sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ?
		       -errno : 0;
}

/*
 * Receive a message and its descriptors, as many as there are. Returns its size without
 * @tag, 0, or a negative errno.
 */
static ssize_t receive_parts(int socket, unsigned char *tag, void *bytes,
			     size_t size, int fds[MESSAGE_MAX_FDS],
			     unsigned int *nr, bool is_now)
{
	struct iovec parts[] = {
		{ tag, sizeof(*tag) },
		{ bytes, size },
	};
	union control control;
	struct msghdr message = {
		.msg_iov = parts,
		.msg_iovlen = 2,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	const struct cmsghdr *header;
	ssize_t got;

	*tag = 0;
	*nr = 0;
	do {
		got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC |
			      (is_now ? MSG_DONTWAIT : 0));
	} while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;
	/* Also an empty message may have descriptors. */
	header = CMSG_FIRSTHDR(&message);
	if (header && header->cmsg_type == SCM_RIGHTS) {
		*nr = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		memcpy(fds, CMSG_DATA(header), *nr * sizeof(int));
	}
	if (got > 1 && !(message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)))
		return got - 1;
	for (unsigned int i = 0; i < *nr; i++)
		close(fds[i]);
	*nr = 0;
	return got ? -EMSGSIZE : 0;
}

int message_send(int socket, const void *bytes, size_t size, const void *rest,
		 size_t rest_size, const int fds[2])
{
	unsigned char places = 0;
	unsigned int nr = 0;
	int given[2];

	for (unsigned int i = 0; i < 2; i++) {
		if (fds[i] < 0)
			continue;
		places |= 1 << i;
		given[nr++] = fds[i];
	}
	return send_parts(socket, places, bytes, size, rest, rest_size, given,
			  nr);
}

ssize_t message_receive(int socket, void *bytes, size_t size, int fds[2],
			bool is_now)
{
	int given[MESSAGE_MAX_FDS];
	unsigned int nr, used = 0;
	unsigned char places;
	ssize_t got;

	got = receive_parts(socket, &places, bytes, size, given, &nr, is_now);
	for (unsigned int i = 0; i < 2; i++)
		fds[i] = places & 1 << i && used < nr ? given[used++] : -1;
	while (used < nr)
		close(given[used++]);
	return got;
}

int message_send_many(int socket, const void *bytes, size_t size,
		      const int *fds, unsigned int nr)
{
	return send_parts(socket, 0, bytes, size, NULL, 0, fds, nr);
}

ssize_t message_receive_many(int socket, void *bytes, size_t size,
			     int fds[MESSAGE_MAX_FDS], unsigned int *nr)
{
	unsigned char unused;

	return receive_parts(socket, &unused, bytes, size, fds, nr, false);
}
