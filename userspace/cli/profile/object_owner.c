// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/attach/child.h"
#include "cli/attach/clock.h"
#include "cli/profile/inspect.h"
#include "cli/profile/object_child.h"
#include "cli/profile/object_file.h"
#include "cli/profile/object_owner.h"
#include "cli/profile/object_sandbox.h"

/*
 * The time is halved with each file of the same owner that took too much, and with each
 * FAILURES_STEP files of anyone. After FAILURES_MAX, no file of this owner is read.
 */
#define FAILURES_STEP	8u
#define FAILURES_MAX	6u
#define HALVINGS_MAX	8u

/* In place of a user: greater than any. */
#define OWNER_NONE	(1ULL << 32)

/* The user that children are counted for. */
#define READER_USER	((uid_t)-5)

/*
 * A child that is not honest may have set other limits for itself. So there is one for all
 * children of an owner, of which this share of the time is given back, and one for the time
 * in which a child does nothing for an answer. How often to look at that.
 */
#define OWNER_TIME	(120 * SECOND)
#define OWNER_SHARE	50u
#define START_TIME	(10 * SECOND)	/* at least, for one more child */
#define IDLE_NS		(5 * SECOND)
#define WAIT_MS		20

/* How long to wait for children to end when too many have been ended at once. */
#define BUSY_TRIES	200u
#define BUSY_NS		10000000

/*
 * Users that a user may have by user namespaces are one. A copy is alone: nobody's file is
 * refused because of others in the same cache.
 */
uint32_t readers_owner(struct readers *readers, const struct object_file *file)
{
	const uid_t owner = inspect_owner(file->user);
	const uint32_t number =
		file->is_copy ? pairs_add(&readers->keys, OWNER_NONE, file->inode) :
		pairs_add(&readers->keys, owner, owner ? 0 : file->device);

	readers->owners = table_grow(readers->owners, &readers->room, number,
				     sizeof(*readers->owners));
	if (!readers->owners[number].since)
		readers->owners[number].since = now_ns();
	return number;
}

uint64_t *readers_bytes(struct readers *readers, const struct object_file *file)
{
	const uint32_t owner = readers_owner(readers, file);

	return &readers->owners[owner].bytes;
}

/* Returns what the children of an owner may have used by now. */
static uint64_t time_max(const struct reader_owner *owner)
{
	return OWNER_TIME + (now_ns() - owner->since) / OWNER_SHARE;
}

uint64_t readers_time(const struct readers *readers, uint32_t owner,
		      uint64_t stored)
{
	const struct reader_owner *costs = &readers->owners[owner];
	const uint32_t halvings = costs->failures +
				  readers->failures / FAILURES_STEP;

	if (costs->failures >= FAILURES_MAX || costs->used_ns + START_TIME > time_max(costs))
		return 0;
	return (TIME_FREE + stored * TIME_BYTE) >>
	       (halvings < HALVINGS_MAX ? halvings : HALVINGS_MAX);
}

void readers_fail(struct readers *readers, uint32_t owner)
{
	readers->owners[owner].failures++;
	readers->failures++;
}

void readers_free(struct readers *readers)
{
	pairs_free(&readers->keys);
	free(readers->owners);
	*readers = (struct readers){ 0 };
}

static int start_child(struct child **child, const struct child_spec *spec)
{
	const struct timespec pause = { .tv_nsec = BUSY_NS };
	int err = child_start(child, spec);

	for (unsigned int i = 0; err == -EBUSY && i < BUSY_TRIES; i++) {
		nanosleep(&pause, NULL);
		err = child_start(child, spec);
	}
	return err;
}

bool readers_start(struct child **child, int (*run)(void *data), void *data,
		   int fd, int *socket)
{
	int keep[] = { -1, -1, -1, -1, [READER_FILE] = fd };
	const struct child_spec spec = {
		.run = run,
		.data = data,
		.keep = keep,
		.nr_keep = sizeof(keep) / sizeof(keep[0]),
		.user = READER_USER,
	};
	int sockets[2];

	*child = NULL;
	if (!object_sandbox_prepare() ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets))
		return false;
	keep[READER_SOCKET] = sockets[1];
	if (start_child(child, &spec))
		*child = NULL;
	close(sockets[1]);
	if (*child)
		*socket = sockets[0];
	else
		close(sockets[0]);
	return *child;
}

/* Count the time of a child. Returns whether it has used some since the last time. */
static bool charge(struct reader_owner *owner, const struct child *child,
		   uint64_t *used_ns)
{
	const uint64_t used = child_cpu_ns(child);

	if (used <= *used_ns)
		return false;
	owner->used_ns += used - *used_ns;
	*used_ns = used;
	return true;
}

bool readers_wait(struct readers *readers, uint32_t number,
		  const struct child *child, int socket, uint64_t *used_ns)
{
	struct reader_owner *owner = &readers->owners[number];
	struct pollfd answer = { .fd = socket, .events = POLLIN };
	uint64_t idle = 0;

	while (poll(&answer, 1, WAIT_MS) <= 0) {
		if (charge(owner, child, used_ns) || child_is_running(child)) {
			idle = 0;
		} else {
			idle += WAIT_MS * MS;
			owner->used_ns += WAIT_MS * MS;
		}
		if (idle > IDLE_NS || owner->used_ns > time_max(owner))
			return false;
	}
	charge(owner, child, used_ns);
	return owner->used_ns <= time_max(owner);
}

int readers_status(const struct child *child)
{
	struct pollfd ended = { child_fd(child), POLLIN, 0 };
	siginfo_t info = { .si_code = 0 };

	/* If its socket is closed, this is short. */
	while (poll(&ended, 1, 1000) < 0 && errno == EINTR)
		;
	if (ended.revents)
		waitid(P_PIDFD, ended.fd, &info, WEXITED | WNOHANG | WNOWAIT);
	return info.si_code == CLD_EXITED ? info.si_status : 0;
}
