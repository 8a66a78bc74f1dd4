// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Only makes system calls, by syscall(2): the functions of the C library are
 * cancellation points.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "ask.h"

/* Most files of an answer. */
#define MAX_FILES 4

/* Lowest descriptor, above those that programs, or shell scripts by number, use. */
#define MIN_FILE 101

static void close_file(int fd)
{
	syscall(SYS_close, fd);
}

int ask_open(const struct exec_setup *setup, unsigned int patience_s)
{
	const struct timeval patience = { .tv_sec = patience_s };
	const struct sockaddr_un any = { .sun_family = AF_UNIX };
	struct sockaddr_un address;
	const socklen_t length = exec_setup_address(setup, &address);
	const int fd = syscall(SYS_socket, AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC,
			       0);

	if (fd < 0)
		return -1;
	/* Connect before binding, so that nobody else can ever send to it. */
	if (syscall(SYS_setsockopt, fd, SOL_SOCKET, SO_RCVTIMEO, &patience,
		    sizeof(patience)) ||
	    syscall(SYS_setsockopt, fd, SOL_SOCKET, SO_SNDTIMEO, &patience,
		    sizeof(patience)) ||
	    syscall(SYS_connect, fd, &address, length) ||
	    syscall(SYS_bind, fd, &any, sizeof(any.sun_family))) {
		close_file(fd);
		return -1;
	}
	return fd;
}

/* Send the secret, followed by @question. Returns 0 or -1. */
static int ask(int socket, const struct exec_setup *setup,
	       const void *question, size_t size)
{
	struct iovec parts[] = {
		{ (void *)setup->ask, EXEC_SECRET_SIZE },
		{ (void *)question, size },
	};
	const struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };

	return syscall(SYS_sendmsg, socket, &message, MSG_NOSIGNAL) ==
	       (long)(EXEC_SECRET_SIZE + size) ? 0 : -1;
}

/*
 * Receive an answer of @size bytes after the secret, and its files. Returns their number,
 * at most MAX_FILES; or -1 if the answer has a wrong secret or size, its files being
 * closed then.
 */
static int receive(int socket, const struct exec_setup *setup, void *answer,
		   size_t size, int received[MAX_FILES])
{
	union {
		char bytes[CMSG_SPACE(MAX_FILES * sizeof(int))];
		struct cmsghdr header;
	} control = { 0 };
	char secret[EXEC_SECRET_SIZE], more;
	struct iovec parts[] = {
		{ secret, sizeof(secret) },
		{ answer, size },
		{ &more, sizeof(more) },
	};
	struct msghdr message = {
		.msg_iov = parts,
		.msg_iovlen = 3,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	const struct cmsghdr *header;
	ssize_t length;
	int nr = 0;

	do {
		length = syscall(SYS_recvmsg, socket, &message,
				 MSG_CMSG_CLOEXEC);
	} while (length < 0 && errno == EINTR);
	header = length < 0 ? NULL : CMSG_FIRSTHDR(&message);
	if (header && header->cmsg_level == SOL_SOCKET &&
	    header->cmsg_type == SCM_RIGHTS) {
		nr = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		memcpy(received, CMSG_DATA(header), nr * sizeof(int));
	}
	if (length == (ssize_t)(EXEC_SECRET_SIZE + size) &&
	    !memcmp(secret, setup->answer, EXEC_SECRET_SIZE))
		return nr;
	while (nr)
		close_file(received[--nr]);
	return -1;
}

int ask_for_files(const struct exec_setup *setup, int files[EXEC_NR_FILES])
{
	const int socket = ask_open(setup, ASK_PATIENCE_S);
	int received[MAX_FILES];
	int nr = -1, kept = 0;

	if (socket < 0)
		return -1;
	if (!ask(socket, setup, NULL, 0))
		nr = receive(socket, setup, NULL, 0, received);
	close_file(socket);
	for (int i = 0; i < nr; i++) {
		const int fd = i < EXEC_NR_FILES ?
			       syscall(SYS_fcntl, received[i], F_DUPFD_CLOEXEC,
				       MIN_FILE) : -1;

		close_file(received[i]);
		if (fd >= 0)
			files[kept++] = fd;
	}
	if (kept == EXEC_NR_FILES)
		return 0;
	while (kept)
		close_file(files[--kept]);
	return -1;
}

int ask_for_section(int socket, const struct exec_setup *setup,
		    const struct exec_report *report,
		    struct exec_section *section,
		    int files[EXEC_NR_SECTION_FILES])
{
	int received[MAX_FILES];
	int nr;

	if (ask(socket, setup, report, sizeof(*report)))
		return -1;
	nr = receive(socket, setup, section, sizeof(*section), received);
	for (int i = 0; i < EXEC_NR_SECTION_FILES; i++)
		files[i] = i < nr ? received[i] : -1;
	for (int i = EXEC_NR_SECTION_FILES; i < nr; i++)
		close_file(received[i]);
	return nr < 0 ? -1 : 0;
}
