// SPDX-License-Identifier: GPL-2.0
/* "sframe-unwind attach", events: what is handled, and what counts as lost. */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attach_world.h"
#include "tap.h"
#include "userspace/cli/attach/events.h"

#define PAGES 33	/* a control page, and those with records */

static struct events *events;
/* That of the first CPU, and of the second one. */
static struct perf_event_mmap_page *ring, *other;
static unsigned int nr_handled;

/* Opens a ring, as perf_event_open() does; all but two CPUs are missing. */
long __wrap_syscall(long number, ...);
long __wrap_syscall(long number, ...)
{
	struct perf_event_mmap_page **to = ring ? &other : &ring;
	const size_t size = PAGES * getpagesize();
	int fd;

	if (number != SYS_perf_event_open || *to) {
		errno = ENODEV;
		return -1;
	}
	fd = memfd_create("ring", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, size))
		abort();
	*to = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
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

static const struct event_fns fns = { .fork = handle_fork };

static char cpus_path[] = "/tmp/attach_events_test.XXXXXX";

static void set_cpus(const char *cpus)
{
	FILE *file = fopen(cpus_path, "w");

	if (!file || fputs(cpus, file) < 0 || fclose(file))
		abort();
}

static void forget_rings(void)
{
	if (ring)
		munmap(ring, PAGES * getpagesize());
	if (other)
		munmap(other, PAGES * getpagesize());
	ring = NULL;
	other = NULL;
}

static void begin(void)
{
	events_close(events);
	forget_rings();
	world_begin();
	nr_handled = 0;
	nr_coming = 0;
	event_ns = 0;
	set_cpus("0-1\n");
	if (events_open(&events, cpus_path))
		abort();
}

static void put(const void *record, size_t size)
{
	const size_t all = (PAGES - 1) * getpagesize();

	/* The sizes of the records divide that of the ring. */
	memcpy((char *)ring + getpagesize() + ring->data_head % all, record, size);
	ring->data_head += size;
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

/* Expect that the events are opened anew, and work; or that they are not, and still do. */
static void expect_reopened(bool is_reopened)
{
	struct perf_event_mmap_page *const ring_before = ring;
	struct perf_event_mmap_page *const other_before = other;
	bool was_reopened;

	ring = NULL;
	other = NULL;
	was_reopened = events_reopen(&events);
	if (ring) {
		munmap(ring_before, PAGES * getpagesize());
		munmap(other_before, PAGES * getpagesize());
	} else {
		ring = ring_before;
		other = other_before;
	}
	EXPECT_EQ(was_reopened, is_reopened);
	EXPECT_EQ(ring != ring_before, is_reopened);
	nr_handled = 0;
	put_fork();
	EXPECT(!events_handle(events, &fns, NULL));
	EXPECT_EQ(nr_handled, 1);
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
