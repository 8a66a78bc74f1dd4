// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "ask.h"

/* Timeout; sframe-unwind may be busy printing a stack. */
#define PATIENCE_S 10

/* Lowest descriptor, above those that programs, or shell scripts by number, use. */
#define MIN_FILE 101

/* Returns a socket that receives only from sframe-unwind, or -1. */
static int open_socket(const struct exec_setup *setup)
{
	const struct timeval patience = { .tv_sec = PATIENCE_S };
	const struct sockaddr_un any = { .sun_family = AF_UNIX };
	struct sockaddr_un address;
	const socklen_t length = exec_setup_address(setup, &address);
	const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	/* Connect before binding, so that nobody else can ever send to it. */
	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience,
		       sizeof(patience)) ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience,
		       sizeof(patience)) ||
	    connect(fd, (const struct sockaddr *)&address, length) ||
	    bind(fd, (const struct sockaddr *)&any, sizeof(any.sun_family))) {
		close(fd);
		return -1;
	}
	return fd;
}

/*
 * Receive the answer. Returns the number of files in @received, at most EXEC_NR_FILES;
 * 0 if the answer has a wrong secret, its files being closed then.
 */
static int receive(int socket, const struct exec_setup *setup,
		   int received[EXEC_NR_FILES])
{
	union {
		char bytes[CMSG_SPACE(EXEC_NR_FILES * sizeof(int))];
		struct cmsghdr header;
	} control = { 0 };
	char answer[EXEC_SECRET_SIZE + 1];
	struct iovec vector = { answer, sizeof(answer) };
	struct msghdr message = {
		.msg_iov = &vector,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	const struct cmsghdr *header;
	ssize_t length;
	int nr = 0;

	do {
		length = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
	} while (length < 0 && errno == EINTR);
	header = length < 0 ? NULL : CMSG_FIRSTHDR(&message);
	if (header && header->cmsg_level == SOL_SOCKET &&
	    header->cmsg_type == SCM_RIGHTS) {
		nr = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		memcpy(received, CMSG_DATA(header), nr * sizeof(int));
	}
	if (length == EXEC_SECRET_SIZE &&
	    !memcmp(answer, setup->answer, EXEC_SECRET_SIZE))
		return nr;
	while (nr)
		close(received[--nr]);
	return 0;
}

int ask_for_files(const struct exec_setup *setup, int files[EXEC_NR_FILES])
{
	const int socket = open_socket(setup);
	int received[EXEC_NR_FILES];
	int nr = 0, kept = 0;

	if (socket < 0)
		return -1;
	if (send(socket, setup->ask, EXEC_SECRET_SIZE, MSG_NOSIGNAL) ==
	    EXEC_SECRET_SIZE)
		nr = receive(socket, setup, received);
	close(socket);
	for (int i = 0; i < nr; i++) {
		files[i] = fcntl(received[i], F_DUPFD_CLOEXEC, MIN_FILE);
		kept += files[i] >= 0;
		close(received[i]);
	}
	if (kept == EXEC_NR_FILES)
		return 0;
	for (int i = 0; i < nr; i++)
		if (files[i] >= 0)
			close(files[i]);
	return -1;
}
