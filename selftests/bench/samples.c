// SPDX-License-Identifier: GPL-2.0
/*
 * Samples: the handler of a perf event that interrupts user mode 32 calls deep,
 * compared with perf's own for the same event, which records as many frames, found
 * by frame pointers. Neither records a kernel stack.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../include/wrappers.h"
#include "samples.h"

#define CHAINS		4
#define DEPTH		32
#define REPEAT		8
#define WARM_ROUNDS	6
#define ROUNDS		32

static const uint32_t flags_of[NR_KINDS] = {
	[AT_ONCE] = SFRAME_UNWIND_SAMPLE_EVENT_NO_KERNEL,
	[ALSO_LATER] = SFRAME_UNWIND_SAMPLE_EVENT_NO_KERNEL |
		       SFRAME_UNWIND_SAMPLE_EVENT_ALSO_LATER,
	[NO_USER] = SFRAME_UNWIND_SAMPLE_EVENT_NO_KERNEL |
		    SFRAME_UNWIND_SAMPLE_EVENT_NO_USER,
};

/* An event that does not occur by itself, with what "perf record -g" records. */
static int open_perf(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.size = sizeof(attr),
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID |
			       PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD |
			       PERF_SAMPLE_CALLCHAIN,
		.sample_max_stack = DEPTH,
		.exclude_callchain_kernel = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};
	int fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);

	if (fd < 0)
		die("perf_event_open: %s", strerror(errno));
	return fd;
}

static void *map(int fd, size_t size, int prot, off_t offset)
{
	void *at = mmap(NULL, size, prot, MAP_SHARED, fd, offset);

	if (at == MAP_FAILED)
		die("mmap of a ring: %s", strerror(errno));
	return at;
}

void open_rings(struct rings *rings, int fd, unsigned int max_depth)
{
	struct sframe_unwind_sampler sampler = {
		.size = sizeof(sampler),
		.ring_pages = RING_PAGES,
		.clockid = CLOCK_MONOTONIC,
		.max_depth = max_depth,
	};
	struct sframe_unwind_sample_control start = {
		.size = sizeof(start),
		.flags = SFRAME_UNWIND_SAMPLE_START,
	};
	int i;

	rings->fd = fd;
	rings->perf_fd = open_perf();
	rings->perf = map(rings->perf_fd, (1 + RING_PAGES) * RING_PAGE,
			  PROT_READ | PROT_WRITE, 0);
	if (ioctl(fd, SFRAME_UNWIND_IOC_SAMPLER, &sampler))
		die("SAMPLER: %s", strerror(errno));
	rings->control = map(fd, RING_PAGE, PROT_READ | PROT_WRITE,
			     SFRAME_UNWIND_RING_CONTROL(0));
	rings->records = map(fd, 2 * RING_BYTES, PROT_READ,
			     SFRAME_UNWIND_RING_RECORDS(0));
	for (i = 0; i < NR_KINDS; i++) {
		struct sframe_unwind_sample_event event = {
			.size = sizeof(event),
			.flags = flags_of[i],
			.perf_fd = rings->perf_fd,
			.fields = SFRAME_UNWIND_SAMPLE_PERIOD,
		};

		if (ioctl(fd, SFRAME_UNWIND_IOC_SAMPLE, &event))
			die("SAMPLE: %s", strerror(errno));
		rings->id[i] = event.id;
	}
	if (ioctl(fd, SFRAME_UNWIND_IOC_SAMPLE_CONTROL, &start))
		die("SAMPLE_CONTROL: %s", strerror(errno));
}

/*
 * Read the records of one sample. Returns whether it has what it should; else its
 * stack could not be taken at once, because a rule was not in the cache any more, or
 * not requested.
 */
static bool check_records(struct rings *rings, enum kind kind)
{
	const uint64_t head = rings->control->head;
	uint64_t tail = rings->control->tail;
	const struct sframe_unwind_sample *sample = NULL;
	const struct sframe_unwind_user_stack *stack = NULL;
	unsigned int samples = 0, stacks = 0;

	while (tail < head) {
		const struct sframe_unwind_record *record =
			(const void *)(rings->records +
				       tail % RING_BYTES);

		if (record->type == SFRAME_UNWIND_RECORD_SAMPLE) {
			sample = (const void *)record;
			samples++;
		} else {
			stack = (const void *)record;
			stacks++;
		}
		tail += record->size;
	}
	rings->control->tail = tail;
	if (samples != 1 || sample->nr_kernel || stacks > 1)
		die("kind %u: %u samples, %u stacks", kind, samples, stacks);
	if (kind == NO_USER)
		return !stacks && sample->user == SFRAME_UNWIND_USER_NONE;
	if (sample->user != SFRAME_UNWIND_USER_AT_ONCE)
		return false;
	if (sample->nr_user != DEPTH || (stacks && stack->nr_user != DEPTH))
		die("kind %u: %u frames, %u stacks", kind, sample->nr_user, stacks);
	/* A request is refused if the last walk has just ended. */
	return stacks == (kind == ALSO_LATER);
}

/* perf's records must have the context marker and as many frames. */
static void check_perf(struct rings *rings, unsigned int nr)
{
	const unsigned char *data = (const void *)rings->perf + RING_PAGE;
	const uint64_t head = rings->perf->data_head;
	/* Header, ip, pid and tid, time, period, number of entries. */
	const uint64_t want = 8 + 8 + 8 + 8 + 8 + 8 + (1 + DEPTH) * 8;
	const uint64_t tail = rings->perf->data_tail;
	const struct perf_event_header *header =
		(const void *)(data + tail % RING_BYTES);

	if (head - tail != nr * want || header->size != want)
		die("perf: %lu bytes, not %u records of %lu", head - tail, nr,
		    want);
	rings->perf->data_tail = head;
}

/*
 * Call a handler @repeat times from the end of @chain. Returns the least cycles of
 * a call; or with @whole, of the ioctl until it has returned to user mode.
 */
static uint64_t call_handler(struct rings *rings, uintptr_t chain,
			     enum sfu_bench_what what, uint64_t address,
			     unsigned int repeat, bool whole)
{
	struct sfu_bench_spec spec = {
		.size = sizeof(spec),
		.what = what,
		.repeat = repeat,
		.max_depth = DEPTH,
		.address = address,
	};
	const uint64_t cycles = chain_ioctl(chain, rings->fd,
					    SFU_BENCH_IOC_RUN, &spec);

	return whole ? cycles : spec.cycles;
}

static void note_least(uint64_t *least, uint64_t cycles)
{
	if (cycles < *least)
		*least = cycles;
}

/* Measure @kind at @chain, the handler alone and the whole ioctl. */
static void measure_kind(struct rings *rings, uintptr_t chain, enum kind kind,
			 uint64_t *handler, uint64_t *whole)
{
	const uint64_t id = rings->id[kind];
	uint64_t cycles;

	cycles = call_handler(rings, chain, SFU_BENCH_SAMPLE, id, 1, false);
	if (check_records(rings, kind))
		note_least(handler, cycles);
	cycles = call_handler(rings, chain, SFU_BENCH_SAMPLE, id, 1, true);
	if (check_records(rings, kind))
		note_least(whole, cycles);
}

static double mean(const uint64_t *least)
{
	double sum = 0;
	int i;

	for (i = 0; i < CHAINS; i++) {
		if (least[i] == ~0ULL)
			die("no stack was taken at once");
		sum += least[i];
	}
	return sum / CHAINS;
}

void measure_samples(int fd)
{
	static const struct world_spec spec = {
		.functions = 1200,
		.chains = CHAINS,
		.rows_before = 2,
	};
	uint64_t handler[NR_KINDS][CHAINS], whole[NR_KINDS][CHAINS];
	uint64_t perf[CHAINS], ips[DEPTH];
	struct rings rings;
	struct world world;
	unsigned int i, kind, round;

	say("samples");
	memset(handler, 0xff, sizeof(handler));
	memset(whole, 0xff, sizeof(whole));
	memset(perf, 0xff, sizeof(perf));
	world_create(&world, &spec, (uintptr_t)timed_ioctl);
	world_register(fd, &world);
	open_rings(&rings, fd, DEPTH);
	for (round = 0; round < WARM_ROUNDS + ROUNDS; round++) {
		for (i = 0; i < CHAINS; i++) {
			const uintptr_t chain = world.chain[i];

			/* Puts what is missing into the rule cache, mostly. */
			walk(chain, fd, SFU_BENCH_WALK, DEPTH, 1, ips);
			for (kind = 0; kind < NR_KINDS; kind++)
				measure_kind(&rings, chain, kind,
					     &handler[kind][i],
					     &whole[kind][i]);
			note_least(&perf[i],
				   call_handler(&rings, chain,
						SFU_BENCH_SAMPLE_PERF,
						rings.perf_fd, REPEAT, false));
			check_perf(&rings, REPEAT);
		}
	}
	report(mean(handler[AT_ONCE]), "sample.at_once");
	report(mean(handler[NO_USER]), "sample.no_user");
	report(mean(perf), "sample.perf");
	/*
	 * If the attempt to take the stack at once costs nothing: a sample without
	 * it, and what it costs in addition to take one later, too.
	 */
	report(mean(handler[NO_USER]) + mean(whole[ALSO_LATER]) -
	       mean(whole[AT_ONCE]), "sample.later");
	world_unregister(fd, &world);
}
