// SPDX-License-Identifier: GPL-2.0
/* "sframe-unwind attach", events: what is handled, and what counts as lost. */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attach_world.h"
#include "tap.h"
#include "userspace/cli/attach/events.h"

/* A control page, and those with records: of mappings, and of executions. */
#define PAGES		33
#define EXEC_PAGES	17

#define EXEC_ID 42

static struct events *events;

/* The rings of all CPUs, of which there are two; and how many there are of each kind. */
enum kind { CHANGES, EXECS, KINDS };
static struct perf_event_mmap_page *rings[KINDS][2];
static unsigned int nr_rings[KINDS];
static const size_t pages[KINDS] = { PAGES, EXEC_PAGES };

/* What opening the second ring of executions returns, or 0. */
static int exec_error;

#define ring rings[CHANGES][0]

static unsigned int nr_handled, nr_executed;

/* Opens a ring, as perf_event_open() does; all but two CPUs are missing. */
long __wrap_syscall(long number, ...);
long __wrap_syscall(long number, ...)
{
	const struct perf_event_attr *attr;
	enum kind kind;
	va_list list;
	size_t size;
	int fd;

	va_start(list, number);
	attr = va_arg(list, const struct perf_event_attr *);
	va_end(list);
	kind = number == SYS_perf_event_open && attr->type == PERF_TYPE_TRACEPOINT ?
	       EXECS : CHANGES;
	size = pages[kind] * getpagesize();
	if (number != SYS_perf_event_open || nr_rings[kind] == 2 ||
	    (kind == EXECS && attr->config != EXEC_ID)) {
		errno = ENODEV;
		return -1;
	}
	if (kind == EXECS && exec_error && nr_rings[kind]) {
		errno = exec_error;
		return -1;
	}
	fd = memfd_create("ring", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, size))
		abort();
	rings[kind][nr_rings[kind]++] = mmap(NULL, size, PROT_READ | PROT_WRITE,
					     MAP_SHARED, fd, 0);
	return fd;
}

/* There are no mappings here. */
void mapping_set_name(struct mapping *mapping, const char *name)
{
	(void)mapping;
	(void)name;
}

/* What each event takes of the CPU's time. */
static uint64_t event_ns;

/* How many events come while the next one is handled. */
static unsigned int nr_coming;

static void put_fork(void);

static void handle_fork(void *data, pid_t child, pid_t parent)
{
	(void)data;
	(void)child;
	(void)parent;
	nr_handled++;
	world.now += event_ns;
	world.cpu += event_ns;
	for (; nr_coming; nr_coming--)
		put_fork();
}

static void handle_exec(void *data, pid_t pid)
{
	(void)data;
	EXPECT_EQ(pid, 3);
	nr_executed++;
	world.now += event_ns;
	world.cpu += event_ns;
}

static const struct event_fns fns = { .fork = handle_fork, .exec = handle_exec };

static char cpus_path[] = "/tmp/attach_events_test.XXXXXX";

static void set_cpus(const char *cpus)
{
	FILE *file = fopen(cpus_path, "w");

	if (!file || fputs(cpus, file) < 0 || fclose(file))
		abort();
}

static void unmap_rings(struct perf_event_mmap_page *all[KINDS][2])
{
	for (enum kind kind = 0; kind < KINDS; kind++)
		for (unsigned int i = 0; i < 2; i++)
			if (all[kind][i])
				munmap(all[kind][i], pages[kind] * getpagesize());
}

static void forget_rings(void)
{
	unmap_rings(rings);
	memset(rings, 0, sizeof(rings));
	memset(nr_rings, 0, sizeof(nr_rings));
}

static void open_all(uint64_t exec_id)
{
	events_close(events);
	forget_rings();
	if (events_open(&events, cpus_path, exec_id))
		abort();
}

static void begin(void)
{
	world_begin();
	nr_handled = 0;
	nr_executed = 0;
	nr_coming = 0;
	event_ns = 0;
	exec_error = 0;
	set_cpus("0-1\n");
	open_all(EXEC_ID);
}

static void put_into(enum kind kind, unsigned int cpu, const void *record, size_t size)
{
	struct perf_event_mmap_page *to = rings[kind][cpu];
	const size_t all = (pages[kind] - 1) * getpagesize();

	/* The sizes of the records divide that of the ring. */
	memcpy((char *)to + getpagesize() + to->data_head % all, record, size);
	to->data_head += size;
}

static void put(const void *record, size_t size)
{
	put_into(CHANGES, 0, record, size);
}

static void put_exec(unsigned int cpu, pid_t pid)
{
	const struct {
		struct perf_event_header header;
		uint32_t pid, tid;
	} record = {
		.header = { .type = PERF_RECORD_SAMPLE, .size = sizeof(record) },
		.pid = pid,
		.tid = pid,
	};

	put_into(EXECS, cpu, &record, sizeof(record));
}

static void put_fork(void)
{
	const struct {
		struct perf_event_header header;
		uint32_t pid, parent, tid, parent_tid;
		uint64_t time;
	} record = {
		.header = { .type = PERF_RECORD_FORK, .size = sizeof(record) },
		.pid = 2,
		.parent = 1,
	};

	put(&record, sizeof(record));
}

static void put_lost(void)
{
	const struct {
		struct perf_event_header header;
		uint64_t id, lost, padding;
	} record = {
		.header = { .type = PERF_RECORD_LOST, .size = sizeof(record) },
		.lost = 1,
	};

	put(&record, sizeof(record));
}

static bool is_empty(void)
{
	return ring->data_head == ring->data_tail;
}

static void all_are_handled(void)
{
	EXPECT(!events_handle(events, &fns, NULL));
	for (int i = 0; i < 100; i++)
		put_fork();
	EXPECT(!events_handle(events, &fns, NULL));
	EXPECT_EQ(nr_handled, 100);
	EXPECT(is_empty());
}

static void told_that_some_were_lost(void)
{
	put_fork();
	put_lost();
	EXPECT(events_handle(events, &fns, NULL));
	EXPECT_EQ(nr_handled, 1);
	EXPECT(!events_handle(events, &fns, NULL));
}

/* A burst is handled, in steps. */
static void take_a_part_of_the_time(void)
{
	event_ns = EVENTS_STEP_NS / 32;
	for (int i = 0; i < 100; i++)
		put_fork();
	EXPECT(!events_handle(events, &fns, NULL));
	EXPECT(nr_handled >= 32);
	EXPECT(nr_handled < 64);
	EXPECT(!is_empty());
	EXPECT(events_any(events));
	EXPECT_EQ(events_next(events),
		  world.now + EVENTS_SHARE * nr_handled * event_ns);
	while (!is_empty())
		EXPECT(!events_handle(events, &fns, NULL));
	EXPECT(!events_any(events));
	EXPECT_EQ(nr_handled, 100);
}

/* The machine stood still meanwhile, and that counted as CPU time. */
static void the_pause_is_bounded(void)
{
	event_ns = SECOND;
	put_fork();
	EXPECT(!events_handle(events, &fns, NULL));
	EXPECT_EQ(events_next(events), world.now + EVENTS_MAX_PAUSE_NS);
}

/* Each event takes long: however that comes, it is a small part of the time. */
static void take_a_part_of_the_time_if_they_take_long(void)
{
	static const uint64_t each[] = { MS, 5 * MS, 10 * MS };

	for (size_t i = 0; i < 3; i++) {
		uint64_t since;

		begin();
		since = world.now;
		event_ns = each[i];
		for (int step = 0; step < 20; step++) {
			while (ring->data_head - ring->data_tail < 3200)
				put_fork();
			events_handle(events, &fns, NULL);
			world.now = events_next(events);
		}
		EXPECT(nr_handled * event_ns <= (world.now - since) / 10);
	}
}

/* What others do is not left behind a flood that never ends. */
static void too_many_are_dropped(void)
{
	const uint64_t since = world.now;
	unsigned int nr_lost = 0;

	event_ns = EVENTS_STEP_NS / 32;
	for (int step = 0; step < 20; step++) {
		while (ring->data_head - ring->data_tail < 3200)
			put_fork();
		if (events_handle(events, &fns, NULL)) {
			EXPECT(is_empty());
			EXPECT(world.now - since >= EVENTS_BEHIND_NS);
			nr_lost++;
			break;
		}
		EXPECT(!is_empty());
		world.now = events_next(events);
	}
	EXPECT_EQ(nr_lost, 1);
	/* From then on it begins anew. */
	for (int i = 0; i < 100; i++)
		put_fork();
	EXPECT(!events_handle(events, &fns, NULL));
}

/* It may last long if now and then all are handled. */
static void those_that_are_handled_are_not_dropped(void)
{
	event_ns = EVENTS_STEP_NS / 32;
	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < 90; i++)
			put_fork();
		while (!is_empty()) {
			EXPECT(!events_handle(events, &fns, NULL));
			world.now = events_next(events);
		}
	}
	EXPECT_EQ(nr_handled, 1800);
}

/* Handle events until there are none. Returns whether any were lost. */
static bool handle_all(void)
{
	bool is_lost = false;

	while (!is_empty()) {
		is_lost |= events_handle(events, &fns, NULL);
		world.now = events_next(events);
	}
	return is_lost;
}

/*
 * The kernel tells that events were lost only with the next one on the same CPU, and that
 * may never come.
 */
static void full_rings_have_lost_some(void)
{
	const size_t all = (PAGES - 1) * getpagesize();

	while (ring->data_head - ring->data_tail < all)
		put_fork();
	EXPECT(handle_all());
	/* One that is only half full has lost none. */
	while (ring->data_head - ring->data_tail < all / 2)
		put_fork();
	EXPECT(!handle_all());
	/* It gets full while it is handled. */
	put_fork();
	nr_coming = all / 32 - 1;
	EXPECT(handle_all());
	put_fork();
	EXPECT(!handle_all());
}

/* Only one ring was handled in time; the other one was empty. */
static void none_are_left_if_there_are_none(void)
{
	event_ns = EVENTS_STEP_NS;
	put_fork();
	EXPECT(!events_handle(events, &fns, NULL));
	EXPECT(is_empty());
	event_ns = EVENTS_STEP_NS / 32;
	/* Much later there is a burst. */
	world.now += EVENTS_BEHIND_NS;
	EXPECT(!events_handle(events, &fns, NULL));
	for (int i = 0; i < 90; i++)
		put_fork();
	EXPECT(!handle_all());
	EXPECT_EQ(nr_handled, 91);
}

static void executions_are_told(void)
{
	put_exec(0, 3);
	EXPECT(events_any(events));
	put_exec(1, 3);
	/* Outside of our PID namespace. */
	put_exec(1, 0);
	put_exec(1, -1);
	EXPECT(!events_handle(events, &fns, NULL));
	EXPECT_EQ(nr_executed, 2);
	EXPECT(!events_any(events));
}

/* Whoever loses others' mappings does not lose their executions. */
static void executions_are_told_while_others_are_lost(void)
{
	unsigned int nr = 0, nr_lost = 0;

	event_ns = EVENTS_STEP_NS / 32;
	for (int step = 0; step < 20; step++) {
		while (ring->data_head - ring->data_tail < 3200)
			put_fork();
		put_exec(step % 2, 3);
		nr++;
		nr_lost += events_handle(events, &fns, NULL);
		EXPECT_EQ(nr_executed, nr);
		world.now = events_next(events);
	}
	EXPECT(nr_lost);
	EXPECT(nr_handled > 10 * nr);
}

static void executions_may_be_lost(void)
{
	const size_t all = (EXEC_PAGES - 1) * getpagesize();

	while (rings[EXECS][1]->data_head < all)
		put_exec(1, 3);
	EXPECT(events_handle(events, &fns, NULL));
	EXPECT_EQ(nr_executed, all / 16);
	/* There was room for another one. */
	while (rings[EXECS][1]->data_head < 2 * all - 64)
		put_exec(1, 3);
	EXPECT(!events_handle(events, &fns, NULL));
}

/* They take no more of the time than others, and those who execute much do not delay others. */
static void executions_take_a_part_of_the_time(void)
{
	const uint64_t since = world.now;
	unsigned int nr_lost = 0;

	event_ns = EVENTS_STEP_NS / 32;
	for (int step = 0; step < 20; step++) {
		while (rings[EXECS][0]->data_head - rings[EXECS][0]->data_tail < 3200)
			put_exec(0, 3);
		nr_lost += events_handle(events, &fns, NULL);
		world.now = events_next(events);
	}
	EXPECT(nr_lost);
	EXPECT(nr_executed * event_ns <= (world.now - since) / 10);
}

static unsigned int nr_files(void)
{
	unsigned int nr = 0;

	for (int fd = 0; fd < 64; fd++)
		nr += fcntl(fd, F_GETFD) >= 0;
	return nr;
}

/* Nothing is left open. */
static void executions_may_be_missing(void)
{
	const unsigned int nr_all = nr_files();
	size_t nr;

	events_files(events, &nr);
	EXPECT_EQ(nr, 4);
	open_all(EXEC_ID);
	EXPECT_EQ(nr_files(), nr_all);
	/* Without tracefs. */
	open_all(0);
	events_files(events, &nr);
	EXPECT_EQ(nr, 2);
	EXPECT_EQ(nr_files(), nr_all - 2);
	exec_error = EMFILE;
	open_all(EXEC_ID);
	events_files(events, &nr);
	EXPECT_EQ(nr, 2);
	EXPECT_EQ(nr_files(), nr_all - 2);
	put_fork();
	EXPECT(!events_handle(events, &fns, NULL));
	EXPECT_EQ(nr_handled, 1);
}

/* Expect that the events are opened anew, and work; or that they are not, and still do. */
static void expect_reopened(bool is_reopened)
{
	struct perf_event_mmap_page *before[KINDS][2];
	unsigned int nr_before[KINDS];
	bool was_reopened;

	memcpy(before, rings, sizeof(rings));
	memcpy(nr_before, nr_rings, sizeof(nr_rings));
	memset(rings, 0, sizeof(rings));
	memset(nr_rings, 0, sizeof(nr_rings));
	was_reopened = events_reopen(&events);
	if (ring) {
		unmap_rings(before);
	} else {
		memcpy(rings, before, sizeof(rings));
		memcpy(nr_rings, nr_before, sizeof(nr_rings));
	}
	EXPECT_EQ(was_reopened, is_reopened);
	EXPECT_EQ(ring != before[CHANGES][0], is_reopened);
	nr_handled = 0;
	nr_executed = 0;
	put_fork();
	put_exec(1, 3);
	EXPECT(!events_handle(events, &fns, NULL));
	EXPECT_EQ(nr_handled, 1);
	EXPECT_EQ(nr_executed, 1);
}

/* The kernel has ended the events of CPUs that were offline. */
static void are_opened_anew_with_other_cpus(void)
{
	expect_reopened(false);
	set_cpus("0\n");
	expect_reopened(true);
	expect_reopened(false);
	set_cpus("0-1\n");
	expect_reopened(true);
	expect_reopened(false);
}

/* The kernel lists them in up to a page. */
static void are_opened_anew_with_a_long_list(void)
{
	char list[4000] = "0";
	size_t size = 1;

	for (int cpu = 2; size < sizeof(list) - 16; cpu += 2)
		size += snprintf(list + size, sizeof(list) - size, ",%d", cpu);
	set_cpus(list);
	expect_reopened(true);
	expect_reopened(false);
	strcpy(list + size, ",9999");
	set_cpus(list);
	expect_reopened(true);
	expect_reopened(false);
}

static void are_opened_anew_after_a_suspend(void)
{
	/* The clocks are not read at the same time. */
	world.suspended = MS;
	expect_reopened(false);
	world.suspended = 60 * SECOND;
	expect_reopened(true);
	expect_reopened(false);
}

/* There may be files for it later. Until then, some CPUs may not tell anything. */
static void stay_if_they_cannot_be_opened(void)
{
	struct events *const before = events;

	set_cpus("0\n");
	/* No CPU is there, see __wrap_syscall(). */
	EXPECT(events_reopen(&events));
	EXPECT(events == before);
	EXPECT(events_reopen(&events));
	EXPECT(events == before);
	put_fork();
	EXPECT(!events_handle(events, &fns, NULL));
	EXPECT_EQ(nr_handled, 1);
	expect_reopened(true);
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(all_are_handled),
		TAP_TEST(told_that_some_were_lost),
		TAP_TEST(take_a_part_of_the_time),
		TAP_TEST(the_pause_is_bounded),
		TAP_TEST(take_a_part_of_the_time_if_they_take_long),
		TAP_TEST(too_many_are_dropped),
		TAP_TEST(those_that_are_handled_are_not_dropped),
		TAP_TEST(full_rings_have_lost_some),
		TAP_TEST(none_are_left_if_there_are_none),
		TAP_TEST(executions_are_told),
		TAP_TEST(executions_are_told_while_others_are_lost),
		TAP_TEST(executions_may_be_lost),
		TAP_TEST(executions_take_a_part_of_the_time),
		TAP_TEST(executions_may_be_missing),
		TAP_TEST(are_opened_anew_with_other_cpus),
		TAP_TEST(are_opened_anew_with_a_long_list),
		TAP_TEST(are_opened_anew_after_a_suspend),
		TAP_TEST(stay_if_they_cannot_be_opened),
	};
	const int fd = mkstemp(cpus_path);

	if (fd < 0)
		abort();
	close(fd);

	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		begin();
		tap_run(&tests[i], 1);
	}
	events_close(events);
	forget_rings();
	unlink(cpus_path);
	return tap_done();
}
