// SPDX-License-Identifier: GPL-2.0
/*
 * Reader: a child for work that may block.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "child.h"
#include "closer.h"
#include "worker/message.h"
#include "reader.h"

/**
 * struct reader - one child
 *
 * @socket: connection to the child; -1 if there is no child.
 * @job, @user: as passed to readers_ask(); @user is NULL if the reader is idle.
 * @is_told: the reply has been passed on; the reader will be idle soon.
 * @asked_at: when the request was sent.
 * @ends_at: when to check next whether it is too late.
 * @told_ns: CPU time that its replies have reported.
 */
struct reader {
	struct child *child;
	int socket;
	void *job;
	struct user *user;
	bool is_told;
	uint64_t asked_at;
	uint64_t ends_at;
	uint64_t told_ns;
};

struct readers {
	struct reader readers[READERS_MAX_ALL];
	int device;
	int code_fd;
	reader_told_fn told;
	void *data;
};

/* Idle readers are counted for this user. */
#define READERS_USER ((uid_t)-3)

static const int no_fds[2] = { -1, -1 };

struct readers *readers_create(int device, int code_fd, reader_told_fn told, void *data)
{
	struct readers *readers = calloc(1, sizeof(*readers));

	if (!readers)
		return NULL;
	readers->device = device;
	readers->code_fd = code_fd;
	readers->told = told;
	readers->data = data;
	for (size_t i = 0; i < READERS_MAX_ALL; i++)
		readers->readers[i].socket = -1;
	return readers;
}

static int start(const struct readers *readers, struct reader *reader)
{
	int keep[] = {
		[0] = -1, [1] = -1, [2] = -1,
		[READER_SOCKET] = -1,
		[READER_DEVICE] = readers->device,
		[READER_TOLD] = readers->code_fd,
	};
	const struct child_spec spec = {
		.run = reader_run,
		.keep = keep,
		.nr_keep = sizeof(keep) / sizeof(keep[0]),
		.user = READERS_USER,
	};
	int sockets[2];
	int err;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets))
		return -errno;
	keep[READER_SOCKET] = sockets[1];
	err = child_start(&reader->child, &spec);
	close(sockets[1]);
	if (err) {
		close(sockets[0]);
		return err;
	}
	reader->socket = sockets[0];
	reader->told_ns = 0;
	return 0;
}

/* Mark the reader as idle. */
static void release(struct reader *reader)
{
	reader->user->nr_reading--;
	reader->user = NULL;
	reader->job = NULL;
}

/* Receive the pending messages, to close the files that come with them. */
static void drain(const struct reader *reader, uid_t user)
{
	static unsigned char unheard[READER_MAX_REPLY];
	int fds[2];

	shutdown(reader->socket, SHUT_RD);
	while (message_receive(reader->socket, unheard, sizeof(unheard), fds,
			       true) > 0)
		for (size_t i = 0; i < 2; i++)
			closer_close(fds[i], user);
}

static void stop(struct reader *reader)
{
	drain(reader, reader->user ? reader->user->uid : READERS_USER);
	close(reader->socket);
	reader->socket = -1;
	if (reader->user) {
		const uint64_t used = child_cpu_ns(reader->child);

		/* Charge and count the killed reader to the user that it worked for. */
		if (used > reader->told_ns)
			user_charge(reader->user, used - reader->told_ns);
		child_set_user(reader->child, reader->user->uid);
		release(reader);
	}
	child_leave(reader->child);
	reader->child = NULL;
}

void readers_free(struct readers *readers)
{
	if (!readers)
		return;
	for (size_t i = 0; i < READERS_MAX_ALL; i++)
		if (readers->readers[i].socket >= 0)
			stop(&readers->readers[i]);
	free(readers);
}

bool readers_has_room(const struct readers *readers, const struct user *user)
{
	const uint64_t now = now_ns();
	unsigned int busy = 0, late = 0;

	for (size_t i = 0; i < READERS_MAX_ALL; i++) {
		const struct reader *reader = &readers->readers[i];

		if (!reader->user)
			continue;
		if (now > reader->asked_at + READER_LATE_NS)
			late++;
		else
			busy++;
	}
	if (busy + late >= READERS_MAX_ALL || user->nr_reading >= 2)
		return false;
	return busy + user->nr_reading < READERS_MAX;
}

static struct reader *find_idle(struct readers *readers)
{
	struct reader *none = NULL;

	for (size_t i = 0; i < READERS_MAX_ALL; i++) {
		struct reader *reader = &readers->readers[i];

		if (reader->socket >= 0 && !reader->user)
			return reader;
		if (reader->socket < 0 && !none)
			none = reader;
	}
	return none;
}

int readers_ask(struct readers *readers, struct user *user, void *job,
		const struct reader_request *request, const int fds[2])
{
	struct reader *reader = find_idle(readers);
	int err;

	if (!reader)
		return -EAGAIN;
	if (reader->socket < 0) {
		err = start(readers, reader);
		if (err)
			return err;
	}
	reader->user = user;
	user->nr_reading++;
	reader->job = job;
	reader->is_told = false;
	reader->asked_at = now_ns();
	reader->ends_at = reader->asked_at + READER_MAX_NS;
	err = message_send(reader->socket, request, sizeof(*request), NULL, 0,
			   fds);
	if (err)
		stop(reader);
	return err;
}

size_t readers_files(struct readers *readers, struct pollfd *files)
{
	for (size_t i = 0; i < READERS_MAX_ALL; i++)
		files[i] = (struct pollfd) {
			.fd = readers->readers[i].socket,
			.events = POLLIN,
		};
	return READERS_MAX_ALL;
}

/* Pass on @reply, NULL if there is none; but only the first one of a request. */
static void tell(struct readers *readers, struct reader *reader,
		 const struct reader_reply *reply, const unsigned char *rest,
		 size_t size, const int fds[2])
{
	const bool is_first = reader->user && !reader->is_told;
	void *job = reader->job;
	struct user *user = reader->user;

	reader->is_told = true;
	/* The callback may call readers_ask(), so update the state first. */
	if (!reply)
		stop(reader);
	else if (reply->is_last && user)
		release(reader);
	/* A file that cannot be closed blocks its user like one that cannot be read. */
	if (!reply && user && !is_first)
		user_block(user, now_ns());
	if (is_first) {
		readers->told(readers->data, job, user, reply, rest, size, fds);
		return;
	}
	for (size_t i = 0; i < 2; i++)
		closer_close(fds[i], user ? user->uid : READERS_USER);
}

static void receive(struct readers *readers, struct reader *reader)
{
	static union {
		struct reader_reply reply;
		unsigned char bytes[READER_MAX_REPLY];
	} message;
	const struct reader_reply *reply = &message.reply;
	int fds[2];
	ssize_t size;

	size = message_receive(reader->socket, &message, sizeof(message), fds,
			       true);
	if (size == -EAGAIN)
		return;
	if (size < (ssize_t)sizeof(*reply)) {
		tell(readers, reader, NULL, NULL, 0, no_fds);
		return;
	}
	reader->told_ns += reply->cpu_ns;
	/* The callback charges the first reply; charge later ones here. */
	if (reader->user && reader->is_told)
		user_charge(reader->user, reply->cpu_ns);
	tell(readers, reader, reply, message.bytes + sizeof(*reply),
	     size - sizeof(*reply), fds);
}

void readers_handle(struct readers *readers, const struct pollfd *files)
{
	for (size_t i = 0; i < READERS_MAX_ALL; i++) {
		struct reader *reader = &readers->readers[i];

		/* The reader may have been replaced since poll(). */
		if (files[i].revents && reader->socket == files[i].fd)
			receive(readers, reader);
	}
}

void readers_check(struct readers *readers, uint64_t now)
{
	for (size_t i = 0; i < READERS_MAX_ALL; i++) {
		struct reader *reader = &readers->readers[i];

		if (!reader->user || now < reader->ends_at)
			continue;
		/* A runnable reader gets more time: the CPUs may be busy. */
		if (now < reader->asked_at + READER_RUN_NS &&
		    child_is_running(reader->child))
			reader->ends_at = now + SECOND;
		else
			tell(readers, reader, NULL, NULL, 0, no_fds);
	}
}

uint64_t readers_next(const struct readers *readers)
{
	uint64_t next = UINT64_MAX;

	for (size_t i = 0; i < READERS_MAX_ALL; i++) {
		const struct reader *reader = &readers->readers[i];

		if (reader->user && reader->ends_at < next)
			next = reader->ends_at;
	}
	return next;
}

uint64_t readers_asked_since(const struct readers *readers)
{
	uint64_t since = UINT64_MAX;

	for (size_t i = 0; i < READERS_MAX_ALL; i++) {
		const struct reader *reader = &readers->readers[i];

		if (reader->user && !reader->is_told && reader->asked_at < since)
			since = reader->asked_at;
	}
	return since;
}
