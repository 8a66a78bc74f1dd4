// SPDX-License-Identifier: GPL-2.0
/*
 * Life of samplers and their events: threads and processes that come and go, exec,
 * kill, closing, CPUs that go offline, storms, and events that taking samples
 * causes. After each of them, all counts add up.
 *
 * Racing: run with KCSAN.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

#include "process.h"
#include "sampled.h"

FIXTURE(life)
{
	struct sampled s;
	struct taken t;
	struct sframe_unwind_sample_stats stats;
};

FIXTURE_SETUP(life)
{
	ASSERT_SAMPLED(&self->s, 64);
}

FIXTURE_TEARDOWN(life)
{
	end_sampled(&self->s);
}

/* Read all records; returns the number of samples, or -1 if one is invalid. */
static int read_all(FIXTURE_DATA(life) *self)
{
	int ret, n = 0;

	while ((ret = take(&self->s, &self->t)) == 1)
		n += self->t.type == SFRAME_UNWIND_RECORD_SAMPLE;
	return ret ? -1 : n;
}

static void spin(unsigned long loops)
{
	while (loops--)
		asm volatile("" ::: "memory");
}

static void *fault_in_thread(void *data)
{
	fault(20);
	return data;
}

/* Stop, and check that all counts add up with nothing pending. */
#define EXPECT_SETTLED(self)						\
	do {								\
		ASSERT_EQ(0, stop(&(self)->s));				\
		EXPECT_ADDS_UP(&(self)->s);				\
		ASSERT_EQ(0, sample_stats(&(self)->s, &(self)->stats));	\
	} while (0)

/* Threads and children created later are sampled, and their children. */
TEST_F(life, inherit)
{
	struct perf_event_attr attr = software(PERF_COUNT_SW_PAGE_FAULTS);
	unsigned int of_thread = 0, of_child = 0, of_grandchild = 0;
	pid_t child, grandchild, *shared;
	pthread_t thread;
	int ret;

	attr.inherit = 1;
	shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_LT(0, sample_at(&self->s, &attr, 0, -1, 0));
	ASSERT_EQ(0, start(&self->s));
	ASSERT_EQ(0, pthread_create(&thread, NULL, fault_in_thread, NULL));
	ASSERT_EQ(0, pthread_join(thread, NULL));
	child = fork();
	if (!child) {
		grandchild = fork();
		if (grandchild)
			*shared = grandchild;
		fault(20);
		if (grandchild)
			waitpid(grandchild, NULL, 0);
		_exit(0);
	}
	ASSERT_EQ(0, outcome_of(child));
	EXPECT_SETTLED(self);
	while ((ret = take_sample(&self->s, &self->t)) == 1) {
		of_thread += self->t.head.pid == (__u32)getpid() &&
			     self->t.head.tid != self->t.head.pid;
		of_child += self->t.head.pid == (__u32)child;
		of_grandchild += self->t.head.pid == (__u32)*shared;
	}
	ASSERT_EQ(0, ret);
	EXPECT_LE(20, of_thread);
	EXPECT_LE(20, of_child);
	EXPECT_LE(20, of_grandchild);
	EXPECT_EQ(0, self->stats.stacks_pending);
}

/* Sampling starts with exec, not before. */
TEST_F(life, enable_on_exec)
{
	struct perf_event_attr attr = software(PERF_COUNT_SW_PAGE_FAULTS);
	int go[2], done[2], ret, n = 0;
	char byte = 0;
	pid_t child;

	attr.disabled = 1;
	attr.enable_on_exec = 1;
	attr.inherit = 1;
	ASSERT_EQ(0, pipe(go));
	ASSERT_EQ(0, pipe(done));
	child = fork();
	if (!child) {
		close(go[1]);
		close(done[0]);
		if (read(go[0], &byte, 1) != 1)
			_exit(1);
		fault(100);
		if (write(done[1], &byte, 1) != 1)
			_exit(1);
		if (read(go[0], &byte, 1) == 1)
			execl("/bin/true", "true", NULL);
		_exit(1);
	}
	close(go[0]);
	close(done[1]);
	ASSERT_LT(0, sample_at(&self->s, &attr, child, -1, 0));
	ASSERT_EQ(0, start(&self->s));
	ASSERT_EQ(1, write(go[1], &byte, 1));
	ASSERT_EQ(1, read(done[0], &byte, 1));
	ASSERT_EQ(0, sample_stats(&self->s, &self->stats));
	EXPECT_EQ(0, self->stats.seen);
	ASSERT_EQ(1, write(go[1], &byte, 1));
	ASSERT_EQ(0, outcome_of(child));
	EXPECT_SETTLED(self);
	EXPECT_EQ(0, self->stats.stacks_pending);
	while ((ret = take_sample(&self->s, &self->t)) == 1) {
		EXPECT_EQ(child, self->t.head.pid);
		n++;
	}
	ASSERT_EQ(0, ret);
	EXPECT_LT(10, n);
	close(go[1]);
	close(done[0]);
}

/* Processes are killed, execute programs and exit while they are sampled. */
TEST_F(life, ends_of_processes)
{
	struct perf_event_attr attr = cpu_clock(200000);
	struct perf_event_attr faults = software(PERF_COUNT_SW_PAGE_FAULTS);
	struct perf_event_attr switches = software(PERF_COUNT_SW_CONTEXT_SWITCHES);
	int i, status;
	pid_t child;

	attr.inherit = 1;
	faults.inherit = 1;
	switches.inherit = 1;
	ASSERT_LT(0, sample_at(&self->s, &attr, 0, -1, 0));
	ASSERT_LT(0, sample_at(&self->s, &faults, 0, -1, 0));
	ASSERT_LT(0, sample_at(&self->s, &switches, 0, -1, 0));
	ASSERT_EQ(0, start(&self->s));
	for (i = 0; i < 12; i++) {
		child = fork();
		if (!child) {
			pthread_t thread;

			pthread_create(&thread, NULL, fault_in_thread, NULL);
			fault(20);
			if (i % 3 == 0)
				kill(getpid(), SIGKILL);
			if (i % 3 == 1)
				execl("/bin/true", "true", NULL);
			_exit(0);
		}
		ASSERT_EQ(child, waitpid(child, &status, 0));
		ASSERT_LE(0, read_all(self));
	}
	EXPECT_SETTLED(self);
	EXPECT_LT(0, self->stats.samples);
	/* Of threads that have been reaped nothing is pending. */
	EXPECT_EQ(0, self->stats.stacks_pending);
}

struct storm {
	pid_t tid;
	bool over;
};

static void *make_children(void *data)
{
	struct storm *storm = data;

	__atomic_store_n(&storm->tid, gettid(), __ATOMIC_RELEASE);
	while (!__atomic_load_n(&storm->over, __ATOMIC_RELAXED)) {
		pid_t child = fork();

		if (!child) {
			fault(2);
			_exit(0);
		}
		waitpid(child, NULL, 0);
	}
	return NULL;
}

/* Clients are closed, and events removed, during a storm of forks. */
TEST_F(life, closed_in_a_storm)
{
	struct perf_event_attr attr = software(PERF_COUNT_SW_PAGE_FAULTS);
	struct perf_event_attr clock = cpu_clock(100000);
	struct storm storm = {};
	pthread_t thread;
	struct sampled s;
	int id;

	ASSERT_EQ(0, pthread_create(&thread, NULL, make_children, &storm));
	while (!__atomic_load_n(&storm.tid, __ATOMIC_ACQUIRE))
		sched_yield();
	attr.inherit = 1;
	clock.inherit = 1;
	for (int i = 0; i < 12; i++) {
		ASSERT_SAMPLED(&s, 2);
		id = sample_at(&s, &attr, storm.tid, -1, 0);
		/*
		 * EAGAIN: the context is that of a child now. ESRCH: and that child
		 * has exited.
		 */
		if (id < 0 && errno != ESRCH)
			ASSERT_EQ(EAGAIN, errno);
		if (sample_at(&s, &clock, 0, -1, 0) < 0)
			ASSERT_EQ(EAGAIN, errno);
		ASSERT_EQ(0, start(&s));
		fault(10);
		spin(100000);
		if (i % 2 && id > 0)
			ASSERT_EQ(0, control(&s, SFRAME_UNWIND_SAMPLE_REMOVE, id));
		end_sampled(&s);
	}
	__atomic_store_n(&storm.over, true, __ATOMIC_RELAXED);
	ASSERT_EQ(0, pthread_join(thread, NULL));
}

/* The file stays open as long as a ring is mapped, and samples go on. */
TEST_F(life, closed_but_mapped)
{
	struct perf_event_attr attr = software(PERF_COUNT_SW_PAGE_FAULTS);
	__u64 before;

	ASSERT_LT(0, sample_at(&self->s, &attr, 0, -1, 0));
	ASSERT_EQ(0, start(&self->s));
	close(self->s.fd);
	self->s.fd = -1;
	ASSERT_LE(0, read_all(self));
	before = self->s.control[0]->head + self->s.control[1]->head;
	fault(10);
	EXPECT_LT(before, self->s.control[0]->head + self->s.control[1]->head);
	EXPECT_LE(10, read_all(self));
}

/* A CPU goes offline: its samples end, its ring can be read. */
TEST_F(life, cpu_offline)
{
	struct perf_event_attr attr = cpu_clock(1000000);
	int perf_fd, n;

	if (self->s.nr_cpus < 2 || geteuid())
		SKIP(return, "needs two CPUs, and root");
	perf_fd = perf_open(&attr, -1, 1);
	ASSERT_LE(0, perf_fd);
	ASSERT_LT(0, sample_fd(&self->s, perf_fd, 0, 0));
	ASSERT_EQ(0, start(&self->s));
	while (!self->s.control[1]->head)
		usleep(1000);
	if (!set_online(1, 0))
		SKIP(return, "CPU 1 cannot be taken offline");
	EXPECT_EQ(-1, sample_fd(&self->s, perf_fd, 0, 0));
	EXPECT_EQ(ENODEV, errno);
	EXPECT_SETTLED(self);
	n = read_all(self);
	EXPECT_EQ(self->stats.samples, n);
	EXPECT_LT(0, n);
	ASSERT_TRUE(set_online(1, 1));
	close(perf_fd);
}

/*
 * Tracepoints in what taking a sample does, and in the walk: the events that it
 * causes itself are counted, and it ends.
 */
TEST_F(life, recursion)
{
	static const char * const names[] = {
		"irq_vectors/irq_work_entry", "irq_vectors/reschedule_entry",
		"ipi/ipi_send_cpu", "kmem/kmem_cache_free",
		"kmem/kmem_cache_alloc", "exceptions/page_fault_user",
		"exceptions/page_fault_kernel", "raw_syscalls/sys_exit",
		"lock/contention_begin", "irq_vectors/local_timer_entry",
	};
	struct perf_event_attr attr;
	unsigned int i, added = 0;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		attr = tracepoint(names[i]);
		if (!attr.config)
			continue;
		attr.sample_type = 0;
		ASSERT_LT(0, sample_at(&self->s, &attr, 0, -1, 0))
		{
			TH_LOG("%s: %s", names[i], self->s.message);
		}
		added++;
	}
	if (!added)
		SKIP(return, "no such tracepoints");
	ASSERT_EQ(0, start(&self->s));
	for (i = 0; i < 20; i++) {
		fault(20);
		getppid();
		ASSERT_LE(0, read_all(self));
	}
	EXPECT_SETTLED(self);
	EXPECT_LT(0, self->stats.samples);
}

/* A storm of events into a small ring: what is lost is counted, and it ends. */
TEST_F(life, storm)
{
	struct perf_event_attr attr = cpu_clock(20000);
	struct sframe_unwind_sample_stats stats;
	struct sampled s;

	attr.inherit = 1;
	ASSERT_SAMPLED(&s, 1);
	ASSERT_LT(0, sample_at(&s, &attr, 0, -1, 0));
	ASSERT_EQ(0, start(&s));
	do {
		fault(10);
		spin(10000);
		ASSERT_EQ(0, sample_stats(&s, &stats));
	} while (stats.lost_full < 1000);
	ASSERT_EQ(0, stop(&s));
	EXPECT_ADDS_UP(&s);
	end_sampled(&s);
}

TEST_HARNESS_MAIN
