// SPDX-License-Identifier: GPL-2.0
/*
 * Threads and processes concurrently attach, detach, list, walk, fork and exit
 * with one client: the limits hold, and nothing is left.
 *
 * Long: see selftests/check.
 * Racing: run with KCSAN.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "attach_fixture.h"
#include "marker.h"
#include "process.h"

#define THREADS	2

/* One of several threads, and its data. */
struct racer {
	pthread_t thread;
	unsigned int number;	/* of the threads that meet */
	atomic_uint *met;	/* arrivals of all threads */
	unsigned int meetings;	/* meetings of this thread */
	atomic_int *stop;
	int fd;
	const unsigned char *at;
	struct sframe_unwind_attach arg;
	__u64 *ids;
	unsigned int nr;	/* entries in @ids, or rounds */
	unsigned int done;	/* number of successes */
	const char *why;	/* error message */
};

static void start(struct racer *racer, const FIXTURE_DATA(attach) *self,
		  void *(*function)(void *))
{
	racer->fd = self->fd;
	racer->at = self->at;
	racer->arg = self->arg;
	racer->arg.message = 0;
	racer->arg.message_size = 0;
	if (pthread_create(&racer->thread, NULL, function, racer))
		racer->why = "pthread_create";
}

/*
 * Spin until all threads have arrived, each on a CPU of its own, so that they
 * continue at the same time.
 */
static void meet(struct racer *racer)
{
	const unsigned int all = THREADS * ++racer->meetings;
	unsigned int nr = atomic_fetch_add(racer->met, 1) + 1;
	cpu_set_t cpu;

	if (racer->meetings == 1) {
		CPU_ZERO(&cpu);
		CPU_SET(racer->number, &cpu);
		sched_setaffinity(0, sizeof(cpu), &cpu);
	}
	while (nr < all)
		nr = atomic_load(racer->met);
}

static const char *end(struct racer *racer)
{
	pthread_join(racer->thread, NULL);
	if (racer->why)
		fprintf(stderr, "# %s\n", racer->why);
	return racer->why;
}

/* Whether @fd has attached nothing and the counter has returned to its start. */
static bool is_nothing_left(int fd, long attachments)
{
	struct sframe_unwind_list_attached list;

	return !list_attached(fd, 0, NULL, 0, &list) && !list.total &&
	       !list.memory && counter("attachments") == attachments;
}

/*
 * The limits
 */

static void *attach_last(void *data)
{
	struct racer *racer = data;
	unsigned int i;

	for (i = 0; i < racer->nr; i++) {
		meet(racer);
		if (!attach(racer->fd, &racer->arg))
			racer->done++;
		else if (errno != ENOSPC)
			racer->why = "attach";
		/* The winner makes room for the next round. */
		else
			racer->arg.id = 0;
		meet(racer);
		if (racer->arg.id && detach(racer->fd, racer->arg.id))
			racer->why = "detach";
	}
	return NULL;
}

/*
 * Two threads compete for the last free place, @rounds times. Returns how often
 * one succeeded.
 */
static unsigned int race_for_last(const FIXTURE_DATA(attach) *self,
				  unsigned int rounds)
{
	struct racer racers[THREADS] = {};
	atomic_uint met = 0;
	unsigned int i, done = 0;

	for (i = 0; i < THREADS; i++) {
		racers[i].number = i;
		racers[i].met = &met;
		racers[i].nr = rounds;
		start(&racers[i], self, attach_last);
	}
	for (i = 0; i < THREADS; i++) {
		if (end(&racers[i]))
			return 0;
		done += racers[i].done;
	}
	return done;
}

TEST_F(attach, number_is_exact)
{
	struct sframe_unwind_query q = { .size = sizeof(q) };
	struct sframe_unwind_list_attached list;
	unsigned int i;

	ASSERT_EQ(0, query(self->fd, &q));
	for (i = 0; i + 1 < q.max_attached; i++)
		ASSERT_EQ(0, attach(self->fd, &self->arg));
	EXPECT_EQ(500, race_for_last(self, 500));
	ASSERT_EQ(0, list_attached(self->fd, 0, NULL, 0, &list));
	EXPECT_EQ(q.max_attached - 1, list.total);
	EXPECT_EQ(list.total * self->arg.memory, list.memory);
}

/* 16 of this size leave room for some small ones. */
#define PART	((64UL << 20) / 16 - PAGE)

TEST_F(attach, memory_is_exact)
{
	struct sframe_unwind_attach large = self->arg;
	struct sframe_unwind_list_attached list;
	unsigned int i, nr = 0;
	__u64 memory = 0;

	large.sframe_fd = make_file(&self->sframe, sizeof(self->sframe));
	ASSERT_TRUE(grow_section(&large, PART));
	for (i = 0; i < 16; i++)
		ASSERT_EQ(0, attach(self->fd, &large));
	while (!attach(self->fd, &self->arg)) {
		memory = self->arg.memory;
		nr++;
	}
	EXPECT_EQ(ENOSPC, errno);
	ASSERT_LT(1, nr);
	ASSERT_EQ(0, list_attached(self->fd, 0, NULL, 0, &list));
	EXPECT_EQ(16 * large.memory + nr * memory, list.memory);
	EXPECT_LT(64UL << 20, list.memory + memory);
	/* Detach the first small one. */
	ASSERT_EQ(0, detach(self->fd, large.id + 1));
	EXPECT_EQ(500, race_for_last(self, 500));
	ASSERT_EQ(0, list_attached(self->fd, 0, NULL, 0, &list));
	EXPECT_EQ(16 + nr - 1, list.total);
	EXPECT_EQ(16 * large.memory + (nr - 1) * memory, list.memory);
	close(large.sframe_fd);
}

/*
 * Two threads detach the same section
 */

#define DETACHED	500

static void *detach_all(void *data)
{
	struct racer *racer = data;
	unsigned int i;

	for (i = 0; i < racer->nr; i++) {
		meet(racer);
		if (!detach(racer->fd, racer->ids[i]))
			racer->done++;
		else if (errno != ENOENT)
			racer->why = "detach";
	}
	return NULL;
}

TEST_F(attach, detached_once)
{
	const long before = counter("attachments");
	struct racer racers[THREADS] = {};
	atomic_uint met = 0;
	__u64 ids[DETACHED];
	unsigned int i;

	for (i = 0; i < DETACHED; i++) {
		self->arg.flags = i % 3 ? SFRAME_UNWIND_ATTACH_PREFER : 0;
		ASSERT_EQ(0, attach(self->fd, &self->arg));
		ids[i] = self->arg.id;
	}
	for (i = 0; i < THREADS; i++) {
		racers[i].number = i;
		racers[i].met = &met;
		racers[i].ids = ids;
		racers[i].nr = DETACHED;
		start(&racers[i], self, detach_all);
	}
	for (i = 0; i < THREADS; i++)
		EXPECT_EQ(NULL, end(&racers[i]));
	EXPECT_EQ(DETACHED, racers[0].done + racers[1].done);
	EXPECT_TRUE(is_nothing_left(self->fd, before));
	EXPECT_EQ(NO_RULE, walk_small(self->fd, self->at));
}

/*
 * Everything at the same time
 */

#define ROUNDS	300

static void *attach_and_detach(void *data)
{
	struct racer *racer = data;
	unsigned int i;
	__u64 last = 0;

	for (i = 0; i < ROUNDS && !racer->why; i++) {
		racer->arg.flags = i % 2 ? SFRAME_UNWIND_ATTACH_PREFER : 0;
		if (attach(racer->fd, &racer->arg))
			racer->why = "attach";
		else if (racer->arg.id <= last)
			racer->why = "an id that is not the next";
		else if (detach(racer->fd, racer->arg.id))
			racer->why = "detach";
		last = racer->arg.id;
	}
	return NULL;
}

/* Ids must ascend, and no entry may be torn. */
static void *list_all(void *data)
{
	struct sframe_unwind_attached entries[8];
	struct sframe_unwind_list_attached list;
	struct racer *racer = data;
	unsigned int i;
	__u64 from;

	while (!racer->why && !atomic_load(racer->stop)) {
		from = 0;
		if (list_attached(racer->fd, from, entries, 8, &list) ||
		    list.total > THREADS || list.memory % (list.total ?: 1))
			racer->why = "list";
		for (i = 0; i < list.nr; i++) {
			if (entries[i].id < from || entries[i].num_fdes != 2 ||
			    entries[i].build_id_size != ELF_ID_SIZE)
				racer->why = "an entry";
			from = entries[i].id + 1;
		}
	}
	return NULL;
}

static void *walk_all(void *data)
{
	struct racer *racer = data;
	const int fd = open_client(0);
	enum outcome outcome;

	while (!racer->why && !atomic_load(racer->stop)) {
		outcome = walk_small(fd, racer->at);
		if (outcome != NO_RULE && outcome != CALLER)
			racer->why = "a wrong stack";
	}
	close(fd);
	return NULL;
}

/* Close a client of its own that has sections attached. */
static void *attach_and_close(void *data)
{
	struct racer *racer = data;
	int i, fd;

	while (!racer->why && !atomic_load(racer->stop)) {
		fd = open_client(0);
		for (i = 0; i < 5; i++) {
			if (attach(fd, &racer->arg))
				racer->why = "attach";
		}
		close(fd);
	}
	return NULL;
}

TEST_F(attach, all_at_once)
{
	static void *(*const others[])(void *) = {
		list_all, walk_all, attach_and_close
	};
	const long before = counter("attachments");
	struct racer racers[THREADS] = {}, other[3] = {};
	atomic_int stop = 0;
	int i;

	for (i = 0; i < THREADS; i++)
		start(&racers[i], self, attach_and_detach);
	for (i = 0; i < 3; i++) {
		other[i].stop = &stop;
		start(&other[i], self, others[i]);
	}
	for (i = 0; i < THREADS; i++)
		EXPECT_EQ(NULL, end(&racers[i]));
	atomic_store(&stop, 1);
	for (i = 0; i < 3; i++)
		EXPECT_EQ(NULL, end(&other[i]));
	EXPECT_TRUE(is_nothing_left(self->fd, before));
	EXPECT_EQ(NO_RULE, walk_small(self->fd, self->at));
}

/*
 * Processes
 */

/* Detach the first one listed. */
static void *detach_listed(void *data)
{
	struct sframe_unwind_list_attached list;
	struct sframe_unwind_attached entry;
	struct racer *racer = data;

	while (!racer->why && !atomic_load(racer->stop)) {
		if (list_attached(racer->fd, 0, &entry, 1, &list))
			racer->why = "list";
		else if (list.nr && detach(racer->fd, entry.id))
			racer->why = "detach";
	}
	return NULL;
}

/* A child that shares the client: attaches, walks, and exits. */
static void be_child(int fd, struct sframe_unwind_attach *arg,
		     const unsigned char *at, int number)
{
	const int own = open_client(0);
	enum outcome outcome;

	if (attach(fd, arg) || attach(own, arg))
		_exit(1);
	outcome = walk_small(own, at);
	if (outcome != CALLER)
		_exit(2);
	if (number % 2)
		execl("/bin/true", "true", NULL);
	_exit(0);
}

TEST_F(attach, processes_come_and_go)
{
	const long before = counter("attachments");
	struct racer detacher = {}, walker = {};
	atomic_int stop = 0;
	pid_t child;
	int i;

	detacher.stop = &stop;
	walker.stop = &stop;
	start(&detacher, self, detach_listed);
	start(&walker, self, walk_all);
	for (i = 0; i < 60; i++) {
		child = fork();
		if (!child)
			be_child(self->fd, &self->arg, self->at, i);
		EXPECT_EQ(0, outcome_of(child));
	}
	atomic_store(&stop, 1);
	EXPECT_EQ(NULL, end(&detacher));
	EXPECT_EQ(NULL, end(&walker));
	close(self->fd);
	self->fd = open_client(0);
	EXPECT_TRUE(is_nothing_left(self->fd, before));
}

/*
 * The table of the process's own attachments, while another thread looks at its stamp
 * without a lock
 */

#define TABLES	3000

static void *take_own_stack(void *data)
{
	struct racer *racer = data;
	__u64 ips[2];
	struct sframe_unwind_own_stack own = {
		.size = sizeof(own),
		.ips = (uintptr_t)ips,
		.max_depth = 1,
	};

	while (!atomic_load(racer->stop)) {
		if (ioctl(racer->fd, SFRAME_UNWIND_IOC_STACK, &own))
			racer->why = "the own stack";
	}
	return NULL;
}

TEST_F(attach, tables_come_and_go)
{
	struct racer racer = {};
	atomic_int stop = 0;
	int i;

	racer.stop = &stop;
	start(&racer, self, take_own_stack);
	/* The table is made, and then this is no section. */
	self->arg.sframe_fd = self->elf_fd;
	for (i = 0; i < TABLES; i++) {
		EXPECT_EQ(-1, attach(self->fd, &self->arg));
		ASSERT_TRUE(unmap_marker());
	}
	atomic_store(&stop, 1);
	EXPECT_EQ(NULL, end(&racer));
}

TEST_HARNESS_MAIN
