// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "exec_answer.h"
#include "exec_attach.h"

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

/**
 * struct question - a datagram
 *
 * @from, @from_length: the sender's address.
 * @asker: the sender's process, or 0 if it is not visible.
 * @is_valid: it has the secret.
 * @is_for_section: it asks for a section, not for files.
 * @report: the report, with @is_for_section.
 */
struct question {
	struct sockaddr_un from;
	socklen_t from_length;
	pid_t asker;
	bool is_valid;
	bool is_for_section;
	struct exec_report report;
};

/* Send the secret, followed by @size bytes of @rest, and @nr files. */
static void send_answer(int socket, const struct exec_setup *setup,
			struct question *to, const void *rest, size_t size,
			const int *files, size_t nr)
{
	union {
		char bytes[CMSG_SPACE(EXEC_NR_FILES * sizeof(int))];
		struct cmsghdr header;
	} control = {
		.header = {
			.cmsg_len = CMSG_LEN(nr * sizeof(int)),
			.cmsg_level = SOL_SOCKET,
			.cmsg_type = SCM_RIGHTS,
		},
	};
	struct iovec parts[] = {
		{ (void *)setup->answer, EXEC_SECRET_SIZE },
		{ (void *)rest, size },
	};
	const struct msghdr message = {
		.msg_name = &to->from,
		.msg_namelen = to->from_length,
		.msg_iov = parts,
		.msg_iovlen = 2,
		.msg_control = nr ? &control : NULL,
		.msg_controllen = nr ? CMSG_SPACE(nr * sizeof(int)) : 0,
	};

	memcpy(CMSG_DATA(&control.header), files, nr * sizeof(int));
	/* Failure is ignored: the receiver has ended or does not receive. */
	sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Receive a datagram. Returns false if there is none. */
static bool receive_question(int socket, const struct exec_setup *setup,
			     struct question *question)
{
	/* There is no room for descriptors, so none are received. */
	union {
		char bytes[CMSG_SPACE(sizeof(struct ucred))];
		struct cmsghdr header;
	} control;
	char asked[EXEC_SECRET_SIZE], more;
	struct iovec parts[] = {
		{ asked, sizeof(asked) },
		{ &question->report, sizeof(question->report) },
		{ &more, sizeof(more) },
	};
	struct msghdr message = {
		.msg_name = &question->from,
		.msg_namelen = sizeof(question->from),
		.msg_iov = parts,
		.msg_iovlen = 3,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	const ssize_t length = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);

	if (length < 0)
		return false;
	question->from_length = message.msg_namelen;
	question->is_for_section = length != EXEC_SECRET_SIZE;
	question->is_valid =
		(length == EXEC_SECRET_SIZE ||
		 length == EXEC_SECRET_SIZE + sizeof(question->report)) &&
		!memcmp(asked, setup->ask, EXEC_SECRET_SIZE);
	question->asker = find_sender(&message);
	return true;
}

static void answer_section(int socket, const struct exec_setup *setup,
			   struct exec_attach *attach,
			   struct question *question)
{
	int files[EXEC_NR_SECTION_FILES];
	struct exec_section section;
	size_t nr = 0;

	exec_attach_answer(attach, question->asker, &question->report, &section,
			   files);
	while (nr < EXEC_NR_SECTION_FILES && files[nr] >= 0)
		nr++;
	send_answer(socket, setup, question, &section, sizeof(section), files,
		    nr);
}

bool exec_answer(int socket, const struct exec_setup *setup,
		 const int files[EXEC_NR_FILES], struct exec_attach *attach,
		 pid_t *asker)
{
	struct question question;

	*asker = 0;
	if (!receive_question(socket, setup, &question))
		return false;
	if (!question.is_valid)
		return true;
	if (question.is_for_section) {
		answer_section(socket, setup, attach, &question);
		return true;
	}
	*asker = question.asker;
	send_answer(socket, setup, &question, NULL, 0, files, EXEC_NR_FILES);
	return true;
}
