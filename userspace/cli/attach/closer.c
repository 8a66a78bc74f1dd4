// SPDX-License-Identifier: GPL-2.0
/*
 * Closer: children that close other users' files.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "child.h"
#include "clock.h"
#include "closer.h"
#include "worker/message.h"

/* Idle closers are counted for this user. */
#define CLOSERS_USER ((uid_t)-5)

/* How often to check whether a child that was just started has closed our files. */
#define BIRTH_NS (10 * MS)

/**
 * struct closer - one child
 *
 * @child: NULL if there is none.
 * @socket: connection to the child; -1 if there is none.
 * @is_busy: it is closing a file.
 * @user: the user whose file it is closing, or has closed last.
 * @asked_at: when it got the file.
 * @late_at: when to check next whether it is late.
 * @charged_ns: its CPU time that has been charged.
 */
struct closer {
	struct child *child;
	int socket;
	bool is_busy;
	uid_t user;
	uint64_t asked_at;
	uint64_t late_at;
	uint64_t charged_ns;
};

/* A file that waits for a closer. */
struct waiting {
	struct waiting *next;
	int fd;
	uid_t user;
};

static struct closer closers[CLOSERS_MAX];

/* Files that wait for a closer, oldest first. */
static struct waiting *first_waiting, **last_waiting = &first_waiting;

static void (*charge)(void *data, uid_t user, uint64_t ns);
static void *charge_data;

static const int no_fds[2] = { -1, -1 };

/* --- in the child */

/*
 * Each file is sent with a first message. The second message says that the parent has
 * closed its own descriptor: closing earlier could leave the last close to the parent.
 */
static int live_and_close(void *data)
{
	char byte;
	int fds[2], none[2];

	(void)data;
	while (message_receive(STDIN_FILENO, &byte, sizeof(byte), fds,
			       false) == sizeof(byte) &&
	       message_receive(STDIN_FILENO, &byte, sizeof(byte), none,
			       false) == sizeof(byte)) {
		close(fds[0]);
		if (message_send(STDIN_FILENO, "", 1, NULL, 0, no_fds))
			break;
	}
	return 0;
}

/* --- in the parent */

static int start(struct closer *closer)
{
	int sockets[2], keep[3] = { -1, -1, -1 };
	const struct child_spec spec = {
		.run = live_and_close,
		.keep = keep,
		.nr_keep = 3,
		.user = CLOSERS_USER,
		.nice = 10,
	};
	int err;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets))
		return -errno;
	keep[0] = sockets[1];
	err = child_start(&closer->child, &spec);
	close(sockets[1]);
	if (err) {
		close(sockets[0]);
		return err;
	}
	closer->socket = sockets[0];
	closer->user = CLOSERS_USER;
	closer->charged_ns = 0;
	return 0;
}

/*
 * Charge the CPU time used since the last call to the user whose file it closes, or has
 * closed last: the kernel does not count the time of a thread that runs until its next
 * tick, so that some is seen only after the child has answered.
 */
static void charge_user(struct closer *closer)
{
	const uint64_t used = child_cpu_ns(closer->child);

	if (charge && closer->user != CLOSERS_USER && used > closer->charged_ns)
		charge(charge_data, closer->user, used - closer->charged_ns);
	closer->charged_ns = used;
}

/* Kill the closer, and let it be collected later. */
static void leave(struct closer *closer)
{
	charge_user(closer);
	close(closer->socket);
	closer->socket = -1;
	child_leave(closer->child);
	closer->child = NULL;
	closer->is_busy = false;
}

/* Handle a message of the closer: it is done, or has died. */
static void hear(struct closer *closer)
{
	ssize_t got;
	char byte;
	int fds[2];

	got = message_receive(closer->socket, &byte, sizeof(byte), fds, true);
	if (got == -EAGAIN)
		return;
	if (got == sizeof(byte)) {
		charge_user(closer);
		closer->is_busy = false;
		child_set_user(closer->child, CLOSERS_USER);
	} else {
		leave(closer);
	}
}

/* Drop the closer if it is late. A runnable one gets more time: CPUs may be busy. */
static void check_time(struct closer *closer, uint64_t now)
{
	if (now < closer->late_at)
		return;
	if (now < closer->asked_at + CLOSER_RUN_NS &&
	    child_is_running(closer->child))
		closer->late_at = now + CLOSER_WAIT_NS;
	else
		leave(closer);
}

/* Pass the file to the child. Returns 0 if the child has it, or a negative errno. */
static int hand_over(struct closer *closer, const struct waiting *waiting)
{
	const int fds[2] = { waiting->fd, -1 };
	int err;

	err = message_send(closer->socket, "", 1, NULL, 0, fds);
	if (err)
		return err;
	close(waiting->fd);
	charge_user(closer);
	closer->is_busy = true;
	closer->user = waiting->user;
	closer->asked_at = now_ns();
	closer->late_at = closer->asked_at + CLOSER_WAIT_NS;
	child_set_user(closer->child, waiting->user);
	/* If this fails the child is dead, which poll() will report. */
	message_send(closer->socket, "", 1, NULL, 0, no_fds);
	return 0;
}

static struct closer *find_idle(void)
{
	struct closer *none = NULL;

	for (size_t i = 0; i < CLOSERS_MAX; i++) {
		if (closers[i].child && !closers[i].is_busy)
			return &closers[i];
		if (!closers[i].child && !none)
			none = &closers[i];
	}
	return none;
}

static bool has_closer(uid_t user)
{
	for (size_t i = 0; i < CLOSERS_MAX; i++)
		if (closers[i].is_busy && closers[i].user == user)
			return true;
	return false;
}

/* Returns whether sending failed because the child has died. */
static bool is_dead(int err)
{
	return err == -EPIPE || err == -ECONNRESET || err == -ECONNREFUSED;
}

/* Returns whether @waiting has been handed over. */
static bool serve(const struct waiting *waiting)
{
	struct closer *closer;
	int err;

	if (has_closer(waiting->user) ||
	    (children_left_of_all() &&
	     children_left(waiting->user) >= CHILDREN_MAX_LEFT))
		return false;
	/* If a closer has died meanwhile, try the next one. */
	do {
		closer = find_idle();
		if (!closer || (!closer->child && start(closer)))
			return false;
		/* A new child has copies of the waiting files for a moment. */
		if (children_have_files())
			return false;
		err = hand_over(closer, waiting);
		if (is_dead(err))
			leave(closer);
	} while (is_dead(err));
	return !err;
}

static void serve_all(void)
{
	struct waiting **link = &first_waiting;

	if (children_have_files())
		return;
	while (*link) {
		struct waiting *waiting = *link;

		if (!serve(waiting)) {
			link = &waiting->next;
			continue;
		}
		*link = waiting->next;
		free(waiting);
	}
	last_waiting = link;
}

void closer_close(int fd, uid_t user)
{
	struct waiting *waiting;

	if (fd < 0)
		return;
	waiting = malloc(sizeof(*waiting));
	/* Without memory, leak the descriptor rather than block. */
	if (!waiting)
		return;
	*waiting = (struct waiting) { .fd = fd, .user = user };
	*last_waiting = waiting;
	last_waiting = &waiting->next;
	serve_all();
}

bool closers_have_room(uid_t user)
{
	unsigned int his = 0, all = 0;

	for (const struct waiting *waiting = first_waiting; waiting;
	     waiting = waiting->next) {
		his += waiting->user == user;
		all++;
	}
	return his < CLOSERS_MAX_WAITING &&
	       (!his || all < CLOSERS_MAX_WAITING_OF_ALL);
}

size_t closers_files(struct pollfd *files)
{
	for (size_t i = 0; i < CLOSERS_MAX; i++)
		files[i] = (struct pollfd) {
			.fd = closers[i].child ? closers[i].socket : -1,
			.events = POLLIN,
		};
	return CLOSERS_MAX;
}

void closers_handle(const struct pollfd *files)
{
	const uint64_t now = now_ns();

	for (size_t i = 0; i < CLOSERS_MAX; i++) {
		struct closer *closer = &closers[i];

		/* The closer may have been replaced since poll(). */
		if (closer->child && files[i].revents &&
		    files[i].fd == closer->socket)
			hear(closer);
		if (closer->is_busy)
			check_time(closer, now);
	}
	serve_all();
}

void closers_set_charge(void (*fn)(void *data, uid_t user, uint64_t ns),
			void *data)
{
	charge = fn;
	charge_data = data;
}

uint64_t closers_next(void)
{
	uint64_t next = UINT64_MAX;

	if (first_waiting && children_have_files())
		next = now_ns() + BIRTH_NS;

	for (size_t i = 0; i < CLOSERS_MAX; i++)
		if (closers[i].is_busy && closers[i].late_at < next)
			next = closers[i].late_at;
	return next;
}

static bool is_waiting(int fd)
{
	const struct waiting *waiting = first_waiting;

	while (waiting && waiting->fd != fd)
		waiting = waiting->next;
	return waiting;
}

/* Close all files except the waiting ones, so that this process holds no others. */
static void keep_waiting(void)
{
	int last = -1;

	for (const struct waiting *waiting = first_waiting; waiting;
	     waiting = waiting->next)
		if (waiting->fd > last)
			last = waiting->fd;
	close_range(last + 1, ~0U, 0);
	for (int fd = 0; fd < last; fd++)
		if (!is_waiting(fd))
			close(fd);
}

/* Without a process to hold the waiting files, put them into the closers' sockets. */
static void leave_waiting(void)
{
	const struct waiting *waiting = first_waiting;

	for (; waiting; waiting = waiting->next) {
		const int fds[2] = { waiting->fd, -1 };

		for (size_t i = 0; i < CLOSERS_MAX; i++)
			if (closers[i].child &&
			    !message_send(closers[i].socket, "", 1, NULL, 0,
					  fds))
				break;
	}
}

/*
 * Fork a process that holds the waiting files. It is killed when this process has
 * died and so has closed its descriptors: this process never closes a file last.
 */
static void hold_waiting(void)
{
	const pid_t parent = getpid(), child = fork();
	sigset_t none;

	if (child < 0)
		leave_waiting();
	if (child)
		return;
	sigemptyset(&none);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
		_exit(0);
	keep_waiting();
	for (;;)
		sigsuspend(&none);
}

void closers_end(void)
{
	if (first_waiting)
		hold_waiting();
	while (first_waiting) {
		struct waiting *waiting = first_waiting;

		first_waiting = waiting->next;
		close(waiting->fd);
		free(waiting);
	}
	last_waiting = &first_waiting;
	for (size_t i = 0; i < CLOSERS_MAX; i++)
		if (closers[i].child)
			leave(&closers[i]);
}
