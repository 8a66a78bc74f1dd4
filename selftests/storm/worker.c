// SPDX-License-Identifier: GPL-2.0
/*
 * Worker: one process of the storm, started by exec, and the processes it
 * forks.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "../../module/test/test.h"
#include "../include/random.h"
#include "../include/wrappers.h"
#include "chain.h"
#include "change.h"
#include "peer.h"
#include "sampled.h"
#include "worker.h"

/*
 * Depth of forks. Each of two threads of 8 workers may have a child, which may
 * have another: no more than 40 processes at the same time.
 */
#define MAX_GENERATION	2

static uint64_t deadline;

void worker_reaped(pid_t pid, int status)
{
	if (WIFEXITED(status) && !WEXITSTATUS(status))
		return;
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
		return;
	if (has_failed())
		_exit(1);
	fail("process %d ended with status 0x%x", pid, status);
}

/* The shortest period of the timer that leaves time for other work. */
static uint64_t least_period(void)
{
	uint64_t start, cost = UINT64_MAX;
	int i;

	for (i = 0; i < 5; i++) {
		start = now();
		usleep(1);
		if (now() - start < cost)
			cost = now() - start;
	}
	return cost;
}

static void start_timer(struct thread *thread)
{
	struct sfu_test_timer_spec spec = {
		.size = sizeof(spec),
		.max_depth = 128,
		.period = 50000 + random_below(&thread->random, 150000),
	};
	const uint64_t least = least_period();

	if (spec.period < least)
		spec.period = least;
	thread->timer = open_test_client(O_NONBLOCK);
	if (thread->timer < 0 ||
	    ioctl(thread->timer, SFU_TEST_IOC_TIMER, &spec))
		fail("timer: %s; is sframe_unwind_test loaded?",
		     strerror(errno));
	count_one(COUNT_TIMERS);
}

static void stop_timer(struct thread *thread)
{
	struct sfu_test_timer_spec spec = { .size = sizeof(spec) };

	if (thread->timer < 0)
		return;
	/* Otherwise closing the client must stop it. */
	if (random_percent(&thread->random, 50) &&
	    ioctl(thread->timer, SFU_TEST_IOC_TIMER, &spec))
		fail("timer: %s", strerror(errno));
	chain_drain(thread->timer, 0);
	close(thread->timer);
	thread->timer = -1;
}

static void open_own_client(struct thread *thread)
{
	struct sframe_unwind_events events = {
		.size = sizeof(events),
		.flags = SFRAME_UNWIND_EVENTS_REMOVED,
	};

	thread->timer = -1;
	thread->client = open_client(O_NONBLOCK);
	if (thread->client < 0)
		fail("open: %s", strerror(errno));
	if (random_percent(&thread->random, 20) &&
	    ioctl(thread->client, SFRAME_UNWIND_IOC_EVENTS, &events) &&
	    !process.lossy)
		fail("events: %s", strerror(errno));
}

static void exec_self(void)
{
	execl("/proc/self/exe", "storm", "after-exec", NULL);
	fail("exec: %s", strerror(errno));
}

static ON_THE_WAY void step(struct thread *thread);

/* A forked child: does the same as its parent, with what it has inherited. */
static ON_THE_WAY void run_child(struct thread *thread, pid_t parent)
{
	unsigned int percent, steps, i;

	ENTER(thread);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
	process.child = true;
	for (i = 0; i < MAX_THREADS; i++)
		process.thread[i].tid = 0;
	thread->tid = gettid();
	thread->child = 0;
	thread->generation++;
	thread->has_libraries = false;
	thread->random++;
	open_own_client(thread);
	if (random_percent(&thread->random, 3))
		start_timer(thread);
	steps = 1 + random_below(&thread->random, 6);
	percent = random_below(&thread->random, 100);
	if (percent < 25)
		steps = 1000;	/* until killed by the parent */
	while (steps-- && now() < deadline)
		step(thread);
	if (percent > 80)
		exec_self();
	_exit(0);
}

static void end_child(struct thread *thread, bool force)
{
	int status;

	if (!thread->child)
		return;
	if (force) {
		kill(thread->child, SIGKILL);
		count_one(COUNT_KILLS);
	}
	if (waitpid(thread->child, &status, force ? 0 : WNOHANG) !=
	    thread->child)
		return;
	worker_reaped(thread->child, status);
	thread->child = 0;
}

static ON_THE_WAY void fork_child(struct thread *thread)
{
	const pid_t parent = getpid();

	ENTER(thread);
	thread->child = fork();
	if (!thread->child)
		run_child(thread, parent);
	if (thread->child < 0)
		fail("fork: %s", strerror(errno));
	count_one(COUNT_FORKS);
	LEAVE(thread);
}

static ON_THE_WAY void step(struct thread *thread)
{
	ENTER(thread);
	change_something(thread);
	do {
		chain_run(thread);
	} while (random_percent(&thread->random, 40));
	if (thread->timer >= 0)
		chain_drain(thread->timer, 0);
	if (thread->child)
		end_child(thread, random_percent(&thread->random, 30));
	else if (thread->generation < MAX_GENERATION &&
		 random_percent(&thread->random, 50))
		fork_child(thread);
	LEAVE(thread);
}

static void *run_thread(void *arg)
{
	struct thread *thread = arg;

	ENTER(thread);
	thread->tid = gettid();
	open_own_client(thread);
	if (random_percent(&thread->random, 15))
		start_timer(thread);
	while (!atomic_load(&process.stop) && !has_failed())
		step(thread);
	end_child(thread, true);
	stop_timer(thread);
	close(thread->client);
	LEAVE(thread);
	return NULL;
}

static void start(pthread_t *thread, void *(*run)(void *), void *arg)
{
	const int error = pthread_create(thread, NULL, run, arg);

	if (error)
		fail("pthread_create: %s", strerror(error));
	count_one(COUNT_THREADS);
}

static void prepare_threads(uint64_t *random)
{
	unsigned int i, j;

	process.nr_threads = 2;
	for (i = 0; i < process.nr_threads; i++) {
		struct thread *thread = &process.thread[i];

		thread->nr = i;
		thread->random = random_next(random);
		thread->timer = -1;
		thread->depth = 0;
		for (j = 0; j < NR_SLOTS; j++)
			slot_init(&thread->slot[j], i * NR_SLOTS + j);
		if (process.flips)
			slot_make_flipped(&thread->slot[NR_SLOTS - 1]);
	}
	process.thread[0].has_libraries = process.libraries;
}

/* End the worker in one of several ways. */
static void end(uint64_t *random, pthread_t *others, unsigned int nr_others)
{
	const unsigned int percent = random_below(random, 100);
	unsigned int i;

	if (percent < 15)
		_exit(0);
	if (percent < 25)
		exec_self();
	if (percent < 35)
		kill(getpid(), SIGKILL);
	atomic_store(&process.stop, true);
	peer_unpark();
	for (i = 0; i < process.nr_threads; i++)
		pthread_join(process.thread[i].pthread, NULL);
	for (i = 0; i < nr_others; i++)
		pthread_join(others[i], NULL);
}

int worker_run(uint64_t seed)
{
	const uint64_t ms = 1000000 * (uint64_t)shared->factor;
	unsigned int i, nr_others = 0;
	pthread_t others[5];
	uint64_t random = seed;
	int fd;

	snprintf(who, sizeof(who), "worker 0x%lx", seed);
	images_init();
	chain_init();
	process.libraries = random_percent(&random, 30);
	process.lossy = random_percent(&random, 10);
	process.flips = random_percent(&random, 20);
	deadline = now() + (500 + random_below(&random, 2000)) * ms;
	fd = open_client(0);
	if (fd < 0 || chain_register_own(fd))
		fail("register the program: %s", strerror(errno));
	prepare_threads(&random);
	start(&others[nr_others++], peer_parked, NULL);
	for (i = 0; i < process.nr_threads; i++)
		start(&process.thread[i].pthread, run_thread,
		      &process.thread[i]);
	if (process.flips)
		start(&others[nr_others++], change_flip,
		      (void *)random_next(&random));
	if (random_percent(&random, 60))
		start(&others[nr_others++], peer_run,
		      (void *)random_next(&random));
	if (random_percent(&random, 25))
		start(&others[nr_others++], peer_short_lived,
		      (void *)random_next(&random));
	if (random_percent(&random, 40))
		start(&others[nr_others++], sampled_run,
		      (void *)random_next(&random));
	while (now() < deadline && !has_failed())
		usleep(5000);
	end(&random, others, nr_others);
	close(fd);
	return 0;
}

int worker_after_exec(void)
{
	struct sframe_unwind_stats s;
	int fd = open_client(0);

	if (fd < 0 || stats(fd, &s))
		fail("after exec: %s", strerror(errno));
	if (s.sections)
		fail("%u sections are registered after exec", s.sections);
	count_one(COUNT_EXECS);
	return 0;
}
