// SPDX-License-Identifier: GPL-2.0
/* Sampled: a thread that samples those that run chains, at perf events. */
#include <linux/perf_event.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "../include/random.h"
#include "../include/wrappers.h"
#include "judge.h"
#include "sampled.h"

#define MAX_CPUS	8
#define RING_PAGES	16
#define RING_SIZE	(RING_PAGES * PAGE)
#define DEFAULT_DEPTH	128
#define NR_WAITING	256

/* The clock of samples can be that much behind or before now(). */
#define INACCURACY	1000000

/* A sample whose stack follows. */
struct waiting {
	uint64_t cookie;
	uint64_t time;
};

/**
 * struct sampled - a client that takes samples
 *
 * @ring, @records: of each CPU.
 * @waiting, @nr_waiting: the last samples without a stack; a ring, too.
 * @samples, @stacks: records read.
 */
struct sampled {
	int fd;
	unsigned int nr_cpus;
	struct sframe_unwind_ring *ring[MAX_CPUS];
	const char *records[MAX_CPUS];
	struct waiting waiting[NR_WAITING];
	unsigned int nr_waiting;
	uint64_t samples;
	uint64_t stacks;
};

static void open_rings(struct sampled *s)
{
	struct sframe_unwind_sampler sampler = {
		.size = sizeof(sampler),
		.ring_pages = RING_PAGES,
		.clockid = CLOCK_MONOTONIC,
	};
	unsigned int cpu;

	s->fd = open_client(O_NONBLOCK);
	if (s->fd < 0 || ioctl(s->fd, SFRAME_UNWIND_IOC_SAMPLER, &sampler))
		fail("sampler: %s", strerror(errno));
	s->nr_cpus = sysconf(_SC_NPROCESSORS_CONF);
	if (s->nr_cpus > MAX_CPUS)
		s->nr_cpus = MAX_CPUS;
	for (cpu = 0; cpu < s->nr_cpus; cpu++) {
		s->ring[cpu] = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
				    MAP_SHARED, s->fd,
				    SFRAME_UNWIND_RING_CONTROL(cpu));
		s->records[cpu] = mmap(NULL, 2 * RING_SIZE, PROT_READ,
				       MAP_SHARED, s->fd,
				       SFRAME_UNWIND_RING_RECORDS(cpu));
		if (s->ring[cpu] == MAP_FAILED || s->records[cpu] == MAP_FAILED)
			fail("rings: %s", strerror(errno));
	}
}

static void close_rings(struct sampled *s)
{
	unsigned int cpu;

	for (cpu = 0; cpu < s->nr_cpus; cpu++) {
		munmap(s->ring[cpu], PAGE);
		munmap((void *)s->records[cpu], 2 * RING_SIZE);
	}
	close(s->fd);
}

/* Sample thread @tid, unless it has ended. */
static void add_event(struct sampled *s, struct perf_event_attr *attr, pid_t tid)
{
	struct sframe_unwind_sample_event event = { .size = sizeof(event) };

	attr->size = sizeof(*attr);
	event.perf_fd = syscall(SYS_perf_event_open, attr, tid, -1, -1,
				PERF_FLAG_FD_CLOEXEC);
	if (event.perf_fd < 0 && errno == ESRCH)
		return;
	if (event.perf_fd < 0 ||
	    (ioctl(s->fd, SFRAME_UNWIND_IOC_SAMPLE, &event) && errno != ESRCH))
		fail("sample thread %d: %s", tid, strerror(errno));
	close(event.perf_fd);
}

static void add_events(struct sampled *s, uint64_t *random)
{
	struct perf_event_attr clock = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = (300000 + random_below(random, 700000)) *
				 shared->factor,
	}, faults = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_PAGE_FAULTS,
		.sample_period = 1 + random_below(random, 20),
	}, switches = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CONTEXT_SWITCHES,
		.sample_period = 1 + random_below(random, 5),
	};
	unsigned int i;
	pid_t tid;

	for (i = 0; i < process.nr_threads; i++) {
		tid = atomic_load(&process.thread[i].tid);
		if (!tid)
			continue;
		add_event(s, &clock, tid);
		add_event(s, &faults, tid);
		add_event(s, &switches, tid);
	}
}

static void control(const struct sampled *s, uint32_t flags)
{
	struct sframe_unwind_sample_control arg = {
		.size = sizeof(arg),
		.flags = flags,
	};

	if (ioctl(s->fd, SFRAME_UNWIND_IOC_SAMPLE_CONTROL, &arg))
		fail("start or stop samples: %s", strerror(errno));
}

/* Check a stack taken in [@from, @to]; @how: a byte for each frame, or NULL. */
static void judge_stack(struct stack *stack, const uint64_t *ips,
			const uint8_t *how, uint64_t from, uint64_t to)
{
	const unsigned int nr = stack->head.nr_frames;
	uint8_t *hows = (uint8_t *)(stack->ips + nr);
	unsigned int i;

	if (nr > DEFAULT_DEPTH)
		fail("a sample has %u user frames", nr);
	memcpy(stack->ips, ips, nr * sizeof(*ips));
	for (i = 0; i < nr; i++)
		hows[i] = how ? how[i] : i ? SFRAME_UNWIND_FRAME_SFRAME :
					     SFRAME_UNWIND_FRAME_REGS;
	stack->head.record.type = SFRAME_UNWIND_RECORD_STACK;
	stack->head.record.size = sizeof(stack->head) + nr * 8 + (nr + 7) / 8 * 8;
	stack->head.cookie = 1;
	stack->head.time = from;
	judge_form(&stack->head);
	count_one(COUNT_SAMPLE);
	judge_any(&stack->head, from - INACCURACY, to + INACCURACY,
		  DEFAULT_DEPTH);
}

static void read_sample(struct sampled *s, const void *record)
{
	const struct sframe_unwind_sample *sample = record;
	const uint64_t *word = (const uint64_t *)(sample + 1);
	struct stack stack = {
		.head.pid = sample->pid,
		.head.tid = sample->tid,
		.head.nr_frames = sample->nr_user,
		.head.stop = sample->stop,
	};

	if (sample->fields & ~SFRAME_UNWIND_SAMPLE_COOKIE)
		fail("a sample has fields 0x%x", sample->fields);
	s->samples++;
	if (sample->user == SFRAME_UNWIND_USER_AT_ONCE)
		judge_stack(&stack, word + sample->nr_kernel, NULL,
			    sample->time, sample->time);
	else if (sample->user == SFRAME_UNWIND_USER_LATER)
		s->waiting[s->nr_waiting++ % NR_WAITING] = (struct waiting) {
			.cookie = *word,
			.time = sample->time,
		};
}

/*
 * The time of the first known sample that waits for the stack with @cookie, which the
 * thread has had since then; 0 if there is none.
 */
static uint64_t time_of_sample(const struct sampled *s, uint64_t cookie)
{
	uint64_t first = 0;
	unsigned int i;

	for (i = 0; i < NR_WAITING; i++) {
		if (s->waiting[i].cookie == cookie &&
		    (!first || s->waiting[i].time < first))
			first = s->waiting[i].time;
	}
	return first;
}

static void read_stack(struct sampled *s, const void *record)
{
	const struct sframe_unwind_user_stack *user = record;
	const uint64_t *word = (const uint64_t *)(user + 1);
	const uint64_t from = time_of_sample(s, user->cookie);
	struct stack stack = {
		.head.pid = user->pid,
		.head.tid = user->tid,
		.head.nr_frames = user->nr_user,
		.head.stop = user->stop,
	};

	s->stacks++;
	/* The ring of its sample may not have been read yet. */
	judge_stack(&stack, word,
		    user->fields & SFRAME_UNWIND_SAMPLE_HOW ?
			    (const uint8_t *)(word + user->nr_user) : NULL,
		    from ?: user->time, user->time);
}

static void read_ring(struct sampled *s, unsigned int cpu)
{
	struct sframe_unwind_ring *ring = s->ring[cpu];
	const uint64_t head = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);
	const struct sframe_unwind_record *record;
	uint64_t tail = ring->tail;

	while (tail < head) {
		record = (const void *)(s->records[cpu] + tail % RING_SIZE);
		if (record->type == SFRAME_UNWIND_RECORD_SAMPLE)
			read_sample(s, record);
		else if (record->type == SFRAME_UNWIND_RECORD_USER_STACK)
			read_stack(s, record);
		else
			fail("a ring has a record of type %u", record->type);
		tail += record->size;
		__atomic_store_n(&ring->tail, tail, __ATOMIC_RELEASE);
	}
	if (tail != head)
		fail("a ring ends with half a record");
}

static void read_rings(struct sampled *s)
{
	unsigned int cpu;

	for (cpu = 0; cpu < s->nr_cpus; cpu++)
		read_ring(s, cpu);
}

static void judge_counts(const struct sampled *s)
{
	struct sframe_unwind_sample_stats c = { .size = sizeof(c) };

	if (ioctl(s->fd, SFRAME_UNWIND_IOC_SAMPLE_STATS, &c))
		fail("counts of samples: %s", strerror(errno));
	if (c.seen != c.samples + c.lost_full + c.lost_no_ring + c.lost_recursion ||
	    c.stacks_asked != c.stacks + c.stacks_pending + c.stacks_lost)
		fail("seen %llu, samples %llu, full %llu, no ring %llu, recursion %llu; asked %llu, stacks %llu, pending %llu, lost %llu",
		     c.seen, c.samples, c.lost_full, c.lost_no_ring,
		     c.lost_recursion, c.stacks_asked, c.stacks,
		     c.stacks_pending, c.stacks_lost);
	if (c.samples != s->samples)
		fail("%llu samples, and %lu read", c.samples, s->samples);
}

/* One client: take samples for a while, and close it, perhaps while it takes some. */
static void sample(uint64_t *random)
{
	unsigned int turns = random_below(random, 400);
	struct sampled s = {};

	open_rings(&s);
	add_events(&s, random);
	control(&s, SFRAME_UNWIND_SAMPLE_START);
	while (turns-- && !atomic_load(&process.stop)) {
		usleep(random_below(random, 5000));
		read_rings(&s);
	}
	if (random_percent(random, 70)) {
		control(&s, SFRAME_UNWIND_SAMPLE_STOP);
		read_rings(&s);
		judge_counts(&s);
	}
	close_rings(&s);
}

void *sampled_run(void *seed)
{
	uint64_t random = (uintptr_t)seed;

	while (!atomic_load(&process.stop)) {
		sample(&random);
		count_one(COUNT_SAMPLERS);
	}
	return NULL;
}
