// SPDX-License-Identifier: GPL-2.0
/*
 * Calls of samplers by several threads at the same time, in any order: SAMPLER, SAMPLE,
 * SAMPLE_CONTROL, SAMPLE_STATS, CLEAR_STACK_MAP, mmap, poll, dup, close, fork, exec and
 * kill. Any of them may fail; afterwards nothing is left in the module, as "run" checks.
 *
 * Racing: run with KCSAN.
 */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "process.h"
#include "random.h"
#include "stack_map.h"

#define NR_THREADS	3
#define NR_CALLS	250
#define NR_CLIENTS	2
#define RING_PAGES	2
#define MAP_PAGES	2

/* Shared by the threads. Descriptors are replaced by dup2(), so that they stay valid. */
struct race {
	int client[NR_CLIENTS];
	struct perf_event_attr faults, clock;
	unsigned int done[16];		/* calls that succeeded, by kind; atomic */
};

struct racer {
	struct race *race;
	pthread_t thread;
	uint64_t random;
};

static int make_client(void)
{
	struct sframe_unwind_sampler sampler = sampler_with_map(RING_PAGES, MAP_PAGES);
	int fd = open_client(0);

	if (fd >= 0)
		ioctl(fd, SFRAME_UNWIND_IOC_SAMPLER, &sampler);
	return fd;
}

/* Replace the client @fd by a new one; the old one is closed. */
static bool replace_client(int fd)
{
	int new = make_client();
	bool done = new >= 0 && dup2(new, fd) == fd;

	close(new);
	return done;
}

static bool map_and_unmap(int fd, uint64_t *random)
{
	const unsigned int cpu = random_below(random, 2);
	const size_t size = 2 * RING_PAGES * PAGE, map_size = (1 + 2 * MAP_PAGES) * PAGE;
	void *control = map_control(fd, cpu);
	void *records = map_records(fd, cpu, RING_PAGES * PAGE);
	void *map = map_stack_map(fd, map_size, PROT_READ);
	bool done = control != MAP_FAILED && records != MAP_FAILED;

	fault(3);
	if (control != MAP_FAILED)
		munmap(control, PAGE);
	if (records != MAP_FAILED)
		munmap(records, size);
	if (map != MAP_FAILED)
		munmap(map, map_size);
	return done;
}

/* A child with the mappings and the events of this process. */
static bool live_in_child(int fd, uint64_t *random)
{
	const unsigned int end = random_below(random, 3);
	void *control = map_control(fd, 0);
	pid_t child = fork();
	int status;

	if (!child) {
		close(fd);
		fault(3);
		if (end == 1)
			kill(getpid(), SIGKILL);
		if (end == 2)
			execl("/bin/true", "true", NULL);
		_exit(0);
	}
	if (control != MAP_FAILED)
		munmap(control, PAGE);
	return child > 0 && waitpid(child, &status, 0) == child;
}

static bool call(struct race *race, unsigned int kind, int fd, uint64_t *random)
{
	const unsigned int id = 1 + random_below(random, 8);
	struct sframe_unwind_sample_stats stats;
	struct perf_event_attr attr;
	struct pollfd p = { .fd = fd, .events = POLLIN };
	struct sampled s = { .fd = fd };
	int copy;
	bool done;

	switch (kind) {
	case 0:
		attr = race->faults;
		return sample_at(&s, &attr, 0, -1, 0) > 0;
	case 1:
		attr = race->clock;
		return sample_at(&s, &attr, 0, -1, 0) > 0;
	case 2:
		return !start(&s);
	case 3:
		return !stop(&s);
	case 4:
		return !control(&s, SFRAME_UNWIND_SAMPLE_REMOVE, id);
	case 5:
		return !control(&s, id & 1 ? SFRAME_UNWIND_SAMPLE_START :
					     SFRAME_UNWIND_SAMPLE_STOP, id);
	case 6:
		return !sample_stats(&s, &stats);
	case 7:
		return !clear_stack_map(&s);
	case 8:
		return map_and_unmap(fd, random);
	case 9:
		return poll(&p, 1, 0) >= 0;
	case 10:
		return replace_client(fd);
	case 11:
		copy = dup(fd);
		done = copy >= 0 && !start(&(struct sampled){ .fd = copy });
		close(copy);
		return done;
	default:
		return live_in_child(fd, random);
	}
}

static void *race_calls(void *data)
{
	struct racer *racer = data;
	struct race *race = racer->race;
	unsigned int kind;
	int fd;

	for (int i = 0; i < NR_CALLS; i++) {
		kind = random_below(&racer->random, 13);
		fd = race->client[random_below(&racer->random, NR_CLIENTS)];
		if (call(race, kind, fd, &racer->random))
			__atomic_add_fetch(&race->done[kind], 1, __ATOMIC_RELAXED);
		fault(1);
	}
	return NULL;
}

TEST(all_calls)
{
	struct race race = {
		.faults = software(PERF_COUNT_SW_PAGE_FAULTS),
		.clock = cpu_clock(100000),
	};
	struct racer racer[NR_THREADS];
	unsigned int i;

	race.faults.inherit = 1;
	race.clock.inherit = 1;
	for (i = 0; i < NR_CLIENTS; i++) {
		race.client[i] = make_client();
		ASSERT_LE(0, race.client[i]);
	}
	for (i = 0; i < NR_THREADS; i++) {
		racer[i].race = &race;
		racer[i].random = i + 1;
		ASSERT_EQ(0, pthread_create(&racer[i].thread, NULL, race_calls,
					    &racer[i]));
	}
	for (i = 0; i < NR_THREADS; i++)
		pthread_join(racer[i].thread, NULL);
	for (i = 0; i < 13; i++) {
		EXPECT_LT(0, race.done[i])
		{
			TH_LOG("no call of kind %u has succeeded", i);
		}
	}
}

TEST_HARNESS_MAIN
