// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "exec_answer.h"

static int make_secret(char *text)
{
	unsigned char bytes[EXEC_SECRET_SIZE / 2];

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return -1;
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(text + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

/* Bind the socket to an abstract name that the kernel chooses. */
static int name_socket(int fd, struct exec_setup *setup)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	socklen_t length = sizeof(address);

	if (bind(fd, (const struct sockaddr *)&address,
		 sizeof(address.sun_family)) ||
	    getsockname(fd, (struct sockaddr *)&address, &length))
		return -1;
	if (length != offsetof(struct sockaddr_un, sun_path) + 1 +
		      EXEC_NAME_SIZE) {
		errno = EADDRNOTAVAIL;
		return -1;
	}
	memcpy(setup->socket, address.sun_path + 1, EXEC_NAME_SIZE);
	setup->socket[EXEC_NAME_SIZE] = '\0';
	return 0;
}

int exec_answer_open(struct exec_setup *setup)
{
	const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
			      0);
	const int on = 1;

	if (fd < 0)
		return -1;
	if (setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) ||
	    name_socket(fd, setup) || make_secret(setup->ask) ||
	    make_secret(setup->answer)) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Returns the datagram's sender, from the kernel's credentials, or 0. */
static pid_t find_sender(struct msghdr *message)
{
	struct ucred credentials;
	pid_t pid = 0;

	for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header;
	     header = CMSG_NXTHDR(message, header)) {
		if (header->cmsg_level != SOL_SOCKET ||
		    header->cmsg_type != SCM_CREDENTIALS)
			continue;
		memcpy(&credentials, CMSG_DATA(header), sizeof(credentials));
		pid = credentials.pid;
	}
	return pid;
}

static void send_files(int socket, const struct exec_setup *setup,
		       const int files[EXEC_NR_FILES],
		       struct sockaddr_un *to, socklen_t to_length)
{
	union {
		char bytes[CMSG_SPACE(EXEC_NR_FILES * sizeof(int))];
		struct cmsghdr header;
	} control = {
		.header = {
			.cmsg_len = CMSG_LEN(EXEC_NR_FILES * sizeof(int)),
			.cmsg_level = SOL_SOCKET,
			.cmsg_type = SCM_RIGHTS,
		},
	};
	struct iovec vector = { (void *)setup->answer, EXEC_SECRET_SIZE };
	const struct msghdr message = {
		.msg_name = to,
		.msg_namelen = to_length,
		.msg_iov = &vector,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};

	memcpy(CMSG_DATA(&control.header), files,
	       EXEC_NR_FILES * sizeof(int));
	/* Failure is ignored: the receiver has ended or does not receive. */
	sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

bool exec_answer(int socket, const struct exec_setup *setup,
		 const int files[EXEC_NR_FILES], pid_t *asker)
{
	/* There is no room for descriptors, so none are received. */
	union {
		char bytes[CMSG_SPACE(sizeof(struct ucred))];
		struct cmsghdr header;
	} control;
	char asked[EXEC_SECRET_SIZE + 1];
	struct iovec vector = { asked, sizeof(asked) };
	struct sockaddr_un from;
	struct msghdr message = {
		.msg_name = &from,
		.msg_namelen = sizeof(from),
		.msg_iov = &vector,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	const ssize_t length = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);

	*asker = 0;
	if (length < 0)
		return false;
	if (length != EXEC_SECRET_SIZE ||
	    memcmp(asked, setup->ask, EXEC_SECRET_SIZE))
		return true;
	*asker = find_sender(&message);
	send_files(socket, setup, files, &from, message.msg_namelen);
	return true;
}
