// SPDX-License-Identifier: GPL-2.0
/* Peer: threads that request stacks of others. */
#include <string.h>

#include "../include/random.h"
#include "../include/wrappers.h"
#include "chain.h"
#include "peer.h"

/* Pipe on which a thread sleeps as long as the process lives. */
static int parking[2] = { -1, -1 };
static _Atomic pid_t parked;

void *peer_parked(void *unused)
{
	char byte;

	(void)unused;
	if (pipe2(parking, O_CLOEXEC))
		fail("pipe: %s", strerror(errno));
	atomic_store(&parked, gettid());
	if (read(parking[0], &byte, 1) != 1)
		fail("an interrupted read() was not restarted: %s",
		     strerror(errno));
	return NULL;
}

void peer_unpark(void)
{
	while (!atomic_load(&parked))
		sched_yield();
	if (write(parking[1], "x", 1) != 1)
		fail("pipe: %s", strerror(errno));
}

/* Returns whether the request was accepted. */
static bool request_other(int fd, pid_t tid, bool interrupt, unsigned int depth)
{
	struct sframe_unwind_request req = {
		.size = sizeof(req),
		.flags = interrupt ? SFRAME_UNWIND_REQUEST_INTERRUPT : 0,
		.tid = tid,
		.max_depth = depth,
		.user_data = interrupt,
	};

	if (!ioctl(fd, SFRAME_UNWIND_IOC_REQUEST, &req))
		return true;
	if (errno != ESRCH && errno != EAGAIN)
		fail("request for thread %d: %s", tid, strerror(errno));
	count_one(COUNT_REFUSED);
	return false;
}

static struct sframe_unwind_stats read_stats(int fd)
{
	struct sframe_unwind_stats s;

	if (stats(fd, &s))
		fail("stats: %s", strerror(errno));
	if (s.accepted != s.pending + s.delivered + s.lost_full)
		fail("accepted %llu, pending %u, delivered %llu, lost %llu",
		     s.accepted, s.pending, s.delivered, s.lost_full);
	return s;
}

static void close_client(int fd)
{
	if (read_stats(fd).pending)
		count_one(COUNT_CLOSED);
	close(fd);
}

/* Make some requests by one client, which may be closed while some are pending. */
static void ask(uint64_t *random)
{
	const unsigned int depth = 1 + random_below(random, 40);
	unsigned int i, nr = random_below(random, 20);
	int fd = open_client(O_NONBLOCK);
	pid_t tid;

	if (fd < 0)
		fail("open: %s", strerror(errno));
	for (i = 0; i < nr; i++) {
		tid = process.thread[random_below(random,
						  process.nr_threads)].tid;
		if (random_percent(random, 10))
			tid = atomic_load(&parked);
		if (tid)
			request_other(fd, tid, random_percent(random, 50),
				      depth);
		if (random_percent(random, 50))
			usleep(random_below(random, 1000));
		if (random_percent(random, 70))
			chain_drain(fd, depth);
		read_stats(fd);
	}
	close_client(fd);
}

void *peer_run(void *seed)
{
	uint64_t random = (uintptr_t)seed;

	while (!atomic_load(&process.stop))
		ask(&random);
	return NULL;
}

static void *end_soon(void *tid)
{
	volatile unsigned int spin;

	atomic_store((_Atomic pid_t *)tid, gettid());
	for (spin = 0; spin < 3000; spin++)
		;
	return NULL;
}

void *peer_short_lived(void *seed)
{
	uint64_t random = (uintptr_t)seed;
	int fd = open_client(O_NONBLOCK);
	_Atomic pid_t tid;
	pthread_t thread;
	int i, error;

	if (fd < 0)
		fail("open: %s", strerror(errno));
	while (!atomic_load(&process.stop)) {
		atomic_store(&tid, 0);
		error = pthread_create(&thread, NULL, end_soon, &tid);
		/* The error while another thread is in execve(). */
		if (error == EAGAIN)
			continue;
		if (error)
			fail("pthread_create: %s", strerror(error));
		count_one(COUNT_THREADS);
		while (!atomic_load(&tid))
			sched_yield();
		for (i = 0; i < 100; i++) {
			if (!request_other(fd, tid,
					   random_percent(&random, 50), 128))
				break;
		}
		pthread_join(thread, NULL);
		chain_drain(fd, 128);
		if (random_percent(&random, 30)) {
			close_client(fd);
			fd = open_client(O_NONBLOCK);
		}
	}
	close_client(fd);
	return NULL;
}
