// SPDX-License-Identifier: GPL-2.0
/*
 * Message: bytes with file descriptors over a socket. Each message begins with a byte
 * that tells which of the two descriptors it has.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "message.h"

/* Room for up to two descriptors. */
union control {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(2 * sizeof(int))];
};

int message_send(int socket, const void *bytes, size_t size, const void *rest,
		 size_t rest_size, const int fds[2])
{
	unsigned char places = 0;
	struct iovec parts[] = {
		{ &places, sizeof(places) },
		{ (void *)bytes, size },
		{ (void *)rest, rest_size },
	};
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = 3 };
	union control control;
	int given[2];
	size_t nr = 0;

	for (size_t i = 0; i < 2; i++) {
		if (fds[i] < 0)
			continue;
		places |= 1 << i;
		given[nr++] = fds[i];
	}
	if (nr) {
		memset(&control, 0, sizeof(control));
		message.msg_control = &control;
		message.msg_controllen = CMSG_SPACE(nr * sizeof(int));
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(nr * sizeof(int));
		memcpy(CMSG_DATA(&control.header), given, nr * sizeof(int));
	}
	return sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ?
		       -errno : 0;
}

ssize_t message_receive(int socket, void *bytes, size_t size, int fds[2],
			bool is_now)
{
	unsigned char places = 0;
	struct iovec parts[] = {
		{ &places, sizeof(places) },
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
	int given[2] = { -1, -1 };
	size_t nr = 0;
	ssize_t got;

	fds[0] = -1;
	fds[1] = -1;
	do {
		got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC |
			      (is_now ? MSG_DONTWAIT : 0));
	} while (got < 0 && errno == EINTR);
	if (got <= 0)
		return got ? -errno : 0;
	header = CMSG_FIRSTHDR(&message);
	if (header && header->cmsg_type == SCM_RIGHTS)
		memcpy(given, CMSG_DATA(header),
		       header->cmsg_len - CMSG_LEN(0));
	for (size_t i = 0; i < 2; i++)
		if (places & 1 << i)
			fds[i] = given[nr++];
	if (!(message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)))
		return got - 1;
	for (size_t i = 0; i < 2; i++)
		if (given[i] >= 0)
			close(given[i]);
	fds[0] = -1;
	fds[1] = -1;
	return -EMSGSIZE;
}
