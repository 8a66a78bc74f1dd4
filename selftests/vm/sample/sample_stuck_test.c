// SPDX-License-Identifier: GPL-2.0
/*
 * A thread that waits for user memory in one call of a client does not keep other threads
 * from theirs. The memory is that of a userfaultfd; a file system in user space can delay
 * it as well, and needs no privilege.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

#include "process.h"
#include "sampled.h"
#include "userfaultfd.h"

/* A call that waits longer counts as stuck. */
#define MAX_SECONDS	120

FIXTURE(stuck)
{
	char *page;		/* is missing when the test begins to wait for it */
	int uffd;
	int fd;			/* a client */
};

FIXTURE_SETUP(stuck)
{
	self->page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->page);
	self->uffd = uffd_open(self->page, PAGE, 0);
	if (self->uffd < 0 && errno == EPERM)
		SKIP(return, "needs root, for userfaultfd");
	ASSERT_LE(0, self->uffd);
	self->fd = open_client(0);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(stuck)
{
	close(self->fd);
	close(self->uffd);
	munmap(self->page, PAGE);
}

/* Calls made by a thread of their own. */
struct calls {
	pthread_t thread;
	struct sampled s;
	int perf_fd;
	char *page;
	int result;		/* 0, an errno, or the number of the call that failed */
	bool done;
};

/* Returns whether the thread has made its calls. */
static bool has_ended(struct calls *calls)
{
	for (int i = 0; i < MAX_SECONDS * 100; i++) {
		if (__atomic_load_n(&calls->done, __ATOMIC_ACQUIRE))
			return true;
		usleep(10000);
	}
	return false;
}

static void *end_calls(struct calls *calls, int result)
{
	calls->result = result;
	__atomic_store_n(&calls->done, true, __ATOMIC_RELEASE);
	return NULL;
}

static void *read_into_page(void *data)
{
	struct calls *calls = data;

	return end_calls(calls, read(calls->s.fd, calls->page, PAGE) > 0 ? 0 : errno);
}

static void *become_sampler(void *data)
{
	struct sframe_unwind_request req = request_self();
	struct calls *calls = data;
	struct sframe_unwind_sampler sampler = sampler_of_pages(1);

	if (start_sampled_by(calls->s.fd, &calls->s, &sampler))
		return end_calls(calls, 1);
	if (request(calls->s.fd, &req))
		return end_calls(calls, 2);
	return end_calls(calls, 0);
}

/* A reader that waits for its buffer. */
TEST_F(stuck, reader)
{
	struct calls reader = { .s.fd = self->fd, .page = self->page };
	struct calls calls = { .s.fd = self->fd };
	struct sframe_unwind_request req = request_self();
	static char zeroes[PAGE];

	ASSERT_EQ(0, request(self->fd, &req));
	ASSERT_EQ(0, pthread_create(&reader.thread, NULL, read_into_page, &reader));
	ASSERT_NE(0, uffd_wait(self->uffd));
	ASSERT_EQ(0, pthread_create(&calls.thread, NULL, become_sampler, &calls));
	EXPECT_TRUE(has_ended(&calls));
	EXPECT_FALSE(reader.done);
	ASSERT_TRUE(uffd_provide(self->uffd, self->page, zeroes, PAGE));
	pthread_join(reader.thread, NULL);
	pthread_join(calls.thread, NULL);
	EXPECT_EQ(0, reader.result);
	EXPECT_EQ(0, calls.result);
}

static void *sample_at_perf_fd(void *data)
{
	struct calls *calls = data;

	return end_calls(calls, sample_fd(&calls->s, calls->perf_fd, 0, 0) > 0 ?
				0 : errno);
}

static void *use_sampler(void *data)
{
	struct perf_event_attr attr = software(PERF_COUNT_SW_PAGE_FAULTS);
	struct sframe_unwind_sample_stats stats;
	struct calls *calls = data;
	int id;

	if (sample_stats(&calls->s, &stats) || stats.nr_events)
		return end_calls(calls, 1);
	id = sample_at(&calls->s, &attr, 0, -1, 0);
	if (id < 1)
		return end_calls(calls, 2);
	if (start(&calls->s) || stop(&calls->s))
		return end_calls(calls, 3);
	if (control(&calls->s, SFRAME_UNWIND_SAMPLE_REMOVE, id))
		return end_calls(calls, 4);
	return end_calls(calls, 0);
}

/* Returns an event at calls of the kernel's function that @name names, or -1. */
static int open_probe(const char *name)
{
	struct perf_event_attr attr = {
		.config1 = (uintptr_t)name,
		.sample_period = 1,
	};
	FILE *file = fopen("/sys/bus/event_source/devices/kprobe/type", "re");
	int read = file ? fscanf(file, "%u", &attr.type) : 0;

	if (file)
		fclose(file);
	return read == 1 ? perf_open(&attr, 0, -1) : -1;
}

/* A perf event is being made whose name is in memory that is waited for. */
TEST_F(stuck, event)
{
	static char name[PAGE] = "__x64_sys_getppid";
	struct calls event = { .s.fd = self->fd, .page = self->page }, calls;
	struct sframe_unwind_sampler sampler = sampler_of_pages(1);

	ASSERT_TRUE(uffd_provide(self->uffd, self->page, name, PAGE));
	event.perf_fd = open_probe(self->page);
	if (event.perf_fd < 0)
		SKIP(return, "no kprobes");
	ASSERT_EQ(0, madvise(self->page, PAGE, MADV_DONTNEED));
	ASSERT_EQ(NULL, start_sampled_by(self->fd, &event.s, &sampler));
	calls = event;
	ASSERT_EQ(0, pthread_create(&event.thread, NULL, sample_at_perf_fd, &event));
	ASSERT_NE(0, uffd_wait(self->uffd));
	ASSERT_EQ(0, pthread_create(&calls.thread, NULL, use_sampler, &calls));
	EXPECT_TRUE(has_ended(&calls));
	EXPECT_FALSE(event.done);
	ASSERT_TRUE(uffd_provide(self->uffd, self->page, name, PAGE));
	pthread_join(event.thread, NULL);
	pthread_join(calls.thread, NULL);
	EXPECT_EQ(0, event.result);
	EXPECT_EQ(0, calls.result);
	close(event.perf_fd);
}

struct adders {
	struct sampled s;
	int perf_fd;
	unsigned int added, refused, failed;	/* atomic */
	unsigned int waiting;
};

static void *add_events(void *data)
{
	struct adders *adders = data;
	struct sampled s = adders->s;

	/* Begin together. */
	__atomic_sub_fetch(&adders->waiting, 1, __ATOMIC_ACQ_REL);
	while (__atomic_load_n(&adders->waiting, __ATOMIC_ACQUIRE))
		sched_yield();
	for (int i = 0; i < 40; i++) {
		if (sample_fd(&s, adders->perf_fd, 0, 0) > 0)
			__atomic_add_fetch(&adders->added, 1, __ATOMIC_RELAXED);
		else if (errno == ENOSPC)
			__atomic_add_fetch(&adders->refused, 1, __ATOMIC_RELAXED);
		else
			__atomic_add_fetch(&adders->failed, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

/* The limit of events holds for threads that add them at the same time. */
TEST(limit_of_events)
{
	struct perf_event_attr attr = software(PERF_COUNT_SW_DUMMY);
	struct sframe_unwind_sample_stats stats;
	struct adders adders = { .waiting = 4 };
	pid_t child = fork();
	pthread_t thread[4];
	unsigned int i;

	/* A thread that runs would schedule all of them with each new one. */
	if (!child)
		for (;;)
			pause();
	while (!sleeps_in(child, SYS_pause))
		usleep(1000);
	ASSERT_SAMPLED(&adders.s, 1);
	adders.perf_fd = perf_open(&attr, child, -1);
	ASSERT_LE(0, adders.perf_fd);
	for (i = 0; i < 4096 - 20; i++)
		ASSERT_LT(0, sample_fd(&adders.s, adders.perf_fd, 0, 0));
	for (i = 0; i < 4; i++)
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, add_events, &adders));
	for (i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	EXPECT_EQ(20, adders.added);
	EXPECT_EQ(140, adders.refused);
	EXPECT_EQ(0, adders.failed);
	ASSERT_EQ(0, sample_stats(&adders.s, &stats));
	EXPECT_EQ(4096, stats.nr_events);
	close(adders.perf_fd);
	end_sampled(&adders.s);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

TEST_HARNESS_MAIN
