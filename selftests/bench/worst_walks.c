// SPDX-License-Identifier: GPL-2.0
/*
 * Scenarios of requests: walks, requests by many clients, and delivery.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../include/wrappers.h"
#include "worst.h"

#define DEPTH		1024

static int client;
static unsigned char *text, *section;
static uint64_t *stack;
static uint64_t id[DEPTH];

static pid_t target;
static uint32_t request_flags;
static int sampling;

static void ask_for(int fd, pid_t tid, uint32_t depth)
{
	struct sframe_unwind_request req = {
		.size = sizeof(req),
		.flags = request_flags,
		.tid = tid,
		.max_depth = depth,
	};

	if (request(fd, &req))
		die("request for %d: %s", tid, strerror(errno));
}

static void ask_once(void)
{
	ask_for(client, target, 16);
}

/* Make the module check mappings again. */
static void change_a_mapping(void)
{
	munmap(new_memory(4096, PROT_READ), 4096);
}

/*
 * Make code of @functions of @size bytes behind a stub, with one section for
 * all, and a stack through @depth of them, @at bytes behind their starts.
 */
static void make_code(uint32_t functions, uint32_t size, uint32_t rows)
{
	const size_t bytes = table_size(functions, rows);

	client = new_client();
	text = new_memory((size_t)functions * size, PROT_READ | PROT_WRITE |
						    PROT_EXEC);
	put_stub(text);
	/* Do what only the first request does now, before the measurement. */
	ask_once();
	drain(client);
	section = new_memory(bytes, PROT_READ | PROT_WRITE);
	put_table(section, (uintptr_t)section, (uintptr_t)text, functions, size,
		  rows);
	stack = new_memory((DEPTH + 2) * sizeof(*stack), PROT_READ | PROT_WRITE);
}

static void make_stack(uint32_t first, uint32_t functions, uint32_t size,
		       uint32_t at)
{
	uint32_t i;

	for (i = 0; i < DEPTH; i++)
		stack[i] = (uintptr_t)text +
			   (uint64_t)(first + i % functions) * size + at;
	stack[i] = 0;
}

static uint32_t code_functions, code_size;

static void register_code(void)
{
	id[0] = register_range(client, (uintptr_t)section,
			       table_size(code_functions, 16),
			       (uintptr_t)text,
			       (uint64_t)code_functions * code_size, 0);
}

static void walk_deep(void)
{
	ask_with_stack(client, text, stack, DEPTH);
}

static void check_depth(unsigned int least)
{
	const unsigned int frames = drain(client);

	if (frames && frames < least)
		die("a walk of %u frames", frames);
}

/* A thousand functions. */
static void setup_deep(void)
{
	make_code(DEPTH, 64, 16);
	make_stack(0, DEPTH, 64, 40);
	code_functions = DEPTH;
	code_size = 64;
}

static void prepare_cold(void)
{
	check_depth(DEPTH);
	if (id[0])
		unregister_range(client, id[0]);
	register_code();
}

static void prepare_cached(void)
{
	check_depth(DEPTH);
	if (!id[0])
		register_code();
	walk_deep();
	walk_deep();
	drain(client);
}

static void prepare_changed(void)
{
	prepare_cached();
	change_a_mapping();
}

/* Enough functions for a directory, which is made during the measured walk. */
#define INDEXED		1000000U

static void setup_indexed(void)
{
	make_code(INDEXED, 16, 2);
}

static void prepare_indexed(void)
{
	/* A directory is made after one lookup for each 32 functions. */
	const uint32_t walks = INDEXED / 32 / DEPTH;
	uint32_t i;

	check_depth(DEPTH);
	if (id[0])
		unregister_range(client, id[0]);
	id[0] = register_range(client, (uintptr_t)section,
			       table_size(INDEXED, 2), (uintptr_t)text,
			       16UL * INDEXED, 0);
	for (i = 0; i < walks; i++) {
		make_stack(i * DEPTH, DEPTH, 16, 12);
		walk_deep();
		check_depth(DEPTH);
	}
	make_stack(i * DEPTH, DEPTH, 16, 12);
}

/* Each frame uses another section, and each section is in that many mappings. */
#define PIECES		240
#define SECTIONS	200

static void setup_pieces(void)
{
	const size_t size = (size_t)PIECES * 4096;
	uint32_t i;

	make_code(SECTIONS, 64, 16);
	section = new_memory(size, PROT_READ | PROT_WRITE);
	put_table(section, (uintptr_t)section, (uintptr_t)text, SECTIONS, 64,
		  16);
	*(uint32_t *)(section + 16) = size - 28 - 16 * SECTIONS;
	for (i = 2; i < PIECES; i += 2) {
		if (mprotect(section + (size_t)i * 4096, 4096, PROT_READ))
			die("mprotect: %s", strerror(errno));
	}
	for (i = 0; i < SECTIONS; i++)
		id[i] = register_range(client, (uintptr_t)section, size,
				       (uintptr_t)text + 64 * i, 64, 0);
	make_stack(0, SECTIONS, 64, 40);
}

static void prepare_pieces(void)
{
	check_depth(1);
	change_a_mapping();
}

/* A separate section for each frame. */
static void setup_sections(void)
{
	size_t size = (table_size(1, 16) + 7) & ~7UL;
	uint32_t i;

	make_code(DEPTH, 64, 16);
	section = new_memory(size * DEPTH, PROT_READ | PROT_WRITE);
	for (i = 0; i < DEPTH; i++) {
		put_table(section + i * size, (uintptr_t)section + i * size,
			  (uintptr_t)text + 64 * i, 1, 64, 16);
		id[i] = register_range(client, (uintptr_t)section + i * size,
				       size, (uintptr_t)text + 64 * i, 64, 0);
	}
	make_stack(0, DEPTH, 64, 40);
}

/* Functions with so many rows that 64 of them exhaust the budget of a walk. */
static void setup_rows(void)
{
	make_code(DEPTH, 4160, 4096);
	make_stack(0, DEPTH, 4160, 4120);
	code_functions = DEPTH;
	code_size = 4160;
}

static void prepare_rows(void)
{
	check_depth(64);
	if (id[0])
		unregister_range(client, id[0]);
	id[0] = register_range(client, (uintptr_t)section,
			       table_size(DEPTH, 4096), (uintptr_t)text,
			       (uint64_t)DEPTH * 4160, 0);
}

/* --- many requests for one thread, made by another thread */

#define CLIENTS		4
#define PENDING		1024

static int clients[CLIENTS], go[2], done[2];

static void *ask_for_target(void *unused)
{
	/*
	 * At a higher priority, so that the target sleeps until all requests
	 * are made.
	 */
	static const struct sched_param first = { .sched_priority = 1 };
	uint32_t i;
	char word;

	sched_setscheduler(0, SCHED_FIFO, &first);
	while (read(go[0], &word, 1) == 1) {
		for (i = 0; i < CLIENTS * PENDING; i++)
			ask_for(clients[i / PENDING], target, 16);
		if (write(done[1], &word, 1) != 1)
			break;
	}
	return unused;
}

static void setup_pending(void)
{
	pthread_t thread;
	int i;

	for (i = 0; i < CLIENTS; i++)
		clients[i] = new_client();
	if (pipe(go) || pipe(done))
		die("pipe: %s", strerror(errno));
	target = syscall(SYS_gettid);
	if (pthread_create(&thread, NULL, ask_for_target, NULL))
		die("no thread");
}

static void prepare_pending(void)
{
	int i;

	request_flags = 0;
	for (i = 0; i < CLIENTS; i++)
		drain(clients[i]);
}

static void prepare_interrupting(void)
{
	prepare_pending();
	request_flags = SFRAME_UNWIND_REQUEST_INTERRUPT;
}

static void be_asked_for(void)
{
	char word = 'g';

	if (write(go[1], &word, 1) != 1)
		die("pipe: %s", strerror(errno));
	while (read(done[0], &word, 1) != 1)
		;
}

/* --- closing a client with requests for a sleeping thread */

static void *sleep_until_woken(void *unused)
{
	char word;

	target = syscall(SYS_gettid);
	while (read(go[0], &word, 1) == 1)
		;
	return unused;
}

static void setup_sleeper(void)
{
	pthread_t thread;

	client = -1;
	target = 0;
	if (pipe(go) || pthread_create(&thread, NULL, sleep_until_woken, NULL))
		die("no thread");
	while (!*(volatile pid_t *)&target)
		usleep(1000);
}

static void prepare_close(void)
{
	uint32_t i;

	/* Requests of the previous client are delivered to nothing. */
	if (write(go[1], "g", 1) != 1)
		die("pipe: %s", strerror(errno));
	usleep(50000);
	client = new_client();
	for (i = 0; i < PENDING; i++)
		ask_for(client, target, 16);
}

static void close_client(void)
{
	close(client);
}

static void prepare_one_more(void)
{
	if (client >= 0)
		close_client();
	client = new_client();
	ask_for(client, target, 16);
}

/* --- reading */

static char buffer[1 << 18];

static void fill_ring(uint32_t depth)
{
	struct sframe_unwind_stats counters;

	if (!id[0])
		register_code();
	/* With a new client the ring is full when the first record is lost. */
	close(client);
	client = new_client();
	do {
		ask_with_stack(client, text, stack, depth);
		if (stats(client, &counters))
			die("stats: %s", strerror(errno));
	} while (!counters.lost_full);
}

static void prepare_small_records(void)
{
	fill_ring(1);
	memset(buffer, 1, sizeof(buffer));
}

static void prepare_unmapped(void)
{
	prepare_small_records();
	madvise(buffer, sizeof(buffer), MADV_DONTNEED);
}

static void read_all(void)
{
	if (read(client, buffer, sizeof(buffer)) < 100000)
		die("the ring was not full");
}

/* --- reporting the removal of a section */

#define LISTENERS	63

static void setup_listeners(void)
{
	int i, fd;

	setup_deep();
	for (i = 0; i < LISTENERS; i++) {
		fd = new_client();
		if (listen_to(fd, SFRAME_UNWIND_EVENTS_REMOVED))
			die("events: %s", strerror(errno));
	}
}

static void prepare_bad(void)
{
	check_depth(1);
	/* Restore the rows that the last run has damaged. */
	put_table(section, (uintptr_t)section, (uintptr_t)text, DEPTH, 64, 16);
	register_code();
	section[28 + 16 * DEPTH + 2] = 0x0f;
}

static void prepare_first(void)
{
	close(client);
	client = new_client();
}

static void listen_once(void)
{
	if (listen_to(client, SFRAME_UNWIND_EVENTS_REMOVED))
		die("events: %s", strerror(errno));
}

/* --- a sample at each system call, whose user stack follows it into the stack map */

/* Returns a perf event of raw_syscalls:sys_enter for this thread. */
static int at_system_calls(void)
{
	const char *path = "/sys/kernel/tracing/events/raw_syscalls/sys_enter/id";
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(attr),
		.sample_period = 1,
	};
	FILE *file = fopen(path, "re");
	unsigned int number;
	int fd;

	if (!file || fscanf(file, "%u", &number) != 1)
		die("%s: %s", path, strerror(errno));
	fclose(file);
	attr.config = number;
	fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
	if (fd < 0)
		die("perf_event_open: %s", strerror(errno));
	return fd;
}

static void setup_sampled(void)
{
	struct sframe_unwind_sampler sampler = {
		.size = sizeof(sampler),
		.flags = SFRAME_UNWIND_SAMPLER_STACK_MAP,
		.ring_pages = 4,
		.map_pages = 64,
		.clockid = CLOCK_MONOTONIC,
		.max_depth = DEPTH,
	};
	struct sframe_unwind_sample_event event = {
		.size = sizeof(event),
		.flags = SFRAME_UNWIND_SAMPLE_EVENT_NO_KERNEL,
		.perf_fd = at_system_calls(),
	};
	const int fd = new_client();

	setup_deep();
	if (ioctl(fd, SFRAME_UNWIND_IOC_SAMPLER, &sampler) ||
	    mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		 SFRAME_UNWIND_RING_CONTROL(0)) == MAP_FAILED ||
	    ioctl(fd, SFRAME_UNWIND_IOC_SAMPLE, &event))
		die("no samples: %s", strerror(errno));
	sampling = fd;
}

static void control_samples(unsigned int flags)
{
	struct sframe_unwind_sample_control control = {
		.size = sizeof(control),
		.flags = flags,
	};

	if (ioctl(sampling, SFRAME_UNWIND_IOC_SAMPLE_CONTROL, &control))
		die("SAMPLE_CONTROL: %s", strerror(errno));
}

static void prepare_sampled(void)
{
	struct sframe_unwind_sample_stats counts = { .size = sizeof(counts) };

	control_samples(SFRAME_UNWIND_SAMPLE_STOP);
	prepare_cached();
	if (ioctl(sampling, SFRAME_UNWIND_IOC_SAMPLE_STATS, &counts))
		die("SAMPLE_STATS: %s", strerror(errno));
	if (counts.samples && !counts.stacks)
		die("no user stack followed a sample");
	control_samples(SFRAME_UNWIND_SAMPLE_START);
}

/* --- a structure of 4 GiB */

static unsigned char *huge;

static void setup_huge(void)
{
	client = new_client();
	huge = new_memory(1UL << 32, PROT_READ | PROT_WRITE);
	madvise(huge, 1UL << 32, MADV_HUGEPAGE);
}

static void query_huge(void)
{
	*(uint32_t *)huge = 0xfffffff8U;
	ioctl(client, SFRAME_UNWIND_IOC_QUERY, huge);
}

const struct scenario worst_walks[] = {
	SCENARIO("REQUEST, the first of a client",
		 setup_deep, prepare_first, ask_once),
	SCENARIO("REQUEST, 1,024 frames, cached",
		 setup_deep, prepare_cached, walk_deep),
	SCENARIO("REQUEST, 1,024 frames, cached, mappings changed",
		 setup_deep, prepare_changed, walk_deep),
	SCENARIO("REQUEST, 1,024 frames, nothing cached",
		 setup_deep, prepare_cold, walk_deep),
	SCENARIO("REQUEST, 1,024 frames in as many sections",
		 setup_sections, prepare_pieces, walk_deep),
	SCENARIO("REQUEST, 200 sections in 240 mappings each",
		 setup_pieces, prepare_pieces, walk_deep),
	SCENARIO("REQUEST, functions of 4,096 rows",
		 setup_rows, prepare_rows, walk_deep),
	SCENARIO("REQUEST that indexes 1,000,000 functions",
		 setup_indexed, prepare_indexed, walk_deep),
	SCENARIO("4,096 REQUESTs for one thread: delivery",
		 setup_pending, prepare_pending, be_asked_for,
		 .flags = THREADS),
	SCENARIO("4,096 REQUESTs with INTERRUPT: delivery",
		 setup_pending, prepare_interrupting, be_asked_for,
		 .flags = THREADS),
	SCENARIO("REQUEST for a thread that sleeps",
		 setup_sleeper, prepare_one_more, ask_once,
		 .flags = THREADS),
	SCENARIO("close with 1,024 pending",
		 setup_sleeper, prepare_close, close_client,
		 .flags = THREADS),
	SCENARIO("read of a full ring, smallest records",
		 setup_deep, prepare_small_records, read_all),
	SCENARIO("read of a full ring, buffer not there yet",
		 setup_deep, prepare_unmapped, read_all),
	SCENARIO("a sample, 1,024 frames into the stack map",
		 setup_sampled, prepare_sampled, walk_deep),
	SCENARIO("EVENTS, 63 listeners",
		 setup_listeners, NULL, listen_once),
	SCENARIO("EVENTS, the first of a client",
		 setup_listeners, prepare_first, listen_once),
	SCENARIO("a section removed, 63 listeners",
		 setup_listeners, prepare_bad, walk_deep),
	SCENARIO("QUERY with a size of 4 GiB",
		 setup_huge, NULL, query_huge),
	{}
};
