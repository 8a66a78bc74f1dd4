// SPDX-License-Identifier: GPL-2.0
/*
 * Limits of attached sections: up to each limit, and one past it.
 *
 * Long: see selftests/check.
 * Racing: run with KCSAN.
 */
#include <sys/resource.h>

#include "attach_fixture.h"
#include "process.h"

TEST_F(attach, max_attached)
{
	struct sframe_unwind_query q = { .size = sizeof(q) };
	struct sframe_unwind_list_attached list;
	unsigned int i;
	__u64 first;

	ASSERT_EQ(0, query(self->fd, &q));
	ASSERT_EQ(0, attach(self->fd, &self->arg));
	first = self->arg.id;
	for (i = 1; i < q.max_attached; i++)
		ASSERT_EQ(0, attach(self->fd, &self->arg));
	EXPECT_EQ(-1, attach(self->fd, &self->arg));
	EXPECT_EQ(ENOSPC, errno);
	EXPECT_NE(0, self->message[0]);
	ASSERT_EQ(0, list_attached(self->fd, 0, NULL, 0, &list));
	EXPECT_EQ(q.max_attached, list.total);
	ASSERT_EQ(0, detach(self->fd, first));
	EXPECT_EQ(0, attach(self->fd, &self->arg));
	EXPECT_EQ(-1, attach(self->fd, &self->arg));
	EXPECT_EQ(ENOSPC, errno);
	EXPECT_EQ(CALLER, walk_small(self->fd, self->at));
}

/* The memory that an unprivileged client may use, up to the last page. */
#define OWN_MEMORY	(64UL << 20)
#define STEP		(4UL << 20)

TEST_F(attach, max_memory)
{
	struct sframe_unwind_list_attached list = {};
	size_t left;

	/* Too large by itself. */
	EXPECT_EQ(-1, attach_large(self->fd, &self->arg, OWN_MEMORY + 1));
	EXPECT_EQ(ENOSPC, errno);
	do {
		ASSERT_EQ(0, attach_large(self->fd, &self->arg, STEP));
		EXPECT_LE(STEP, self->arg.memory);
		ASSERT_EQ(0, list_attached(self->fd, 0, NULL, 0, &list));
	} while (list.memory + 2 * STEP < OWN_MEMORY);
	/* The exact limit: a large section takes whole pages and a constant. */
	left = (OWN_MEMORY - list.memory - (self->arg.memory - STEP)) / PAGE *
	       PAGE;
	EXPECT_EQ(-1, attach_large(self->fd, &self->arg, left + 1));
	EXPECT_EQ(ENOSPC, errno);
	EXPECT_NE(0, self->message[0]);
	EXPECT_EQ(0, attach_large(self->fd, &self->arg, left));
	ASSERT_EQ(0, list_attached(self->fd, 0, NULL, 0, &list));
	EXPECT_GE(OWN_MEMORY, list.memory);
	EXPECT_LT(OWN_MEMORY - PAGE, list.memory);
	EXPECT_EQ(CALLER, walk_small(self->fd, self->at));

	/* Another client has a limit of its own. */
	close(self->fd);
	self->fd = open_client(0);
	EXPECT_EQ(NO_RULE, walk_small(self->fd, self->at));
	EXPECT_EQ(0, attach_large(self->fd, &self->arg, STEP));
}

/* Nanoseconds of a walk through code that is mapped at a new address each time. */
static long discovery_time(int fd, int elf_fd)
{
	static unsigned char *at = (void *)0x100000000000;
	__u64 before, after;
	enum outcome outcome;

	at += 16 * PAGE;
	if (!map_elf_at(at, elf_fd))
		return -1;
	before = now_ns();
	outcome = walk_small(fd, at);
	after = now_ns();
	unmap_elf(at);
	return outcome == CALLER ? (long)(after - before) : -1;
}

static long least_discovery_time(int fd, int elf_fd)
{
	long least = 1000000000, time;
	int i;

	for (i = 0; i < 100; i++) {
		time = discovery_time(fd, elf_fd);
		if (time < least)
			least = time;
	}
	return least;
}

#define CLOSES	5000

static int compare_times(const void *a, const void *b)
{
	const long *time = a, *other = b;

	return (*time > *other) - (*time < *other);
}

/* Number of voluntary context switches of this thread. */
static long nr_sleeps(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nvcsw;
}

struct times {
	long discovery;	/* nanoseconds */
	long close;	/* nanoseconds of closing a client that has attached nothing */
	long sleeps;	/* total during all closes */
};

/* Take the median. */
static void take_close_times(struct times *taken)
{
	static long times[CLOSES];
	__u64 before;
	long sleeps;
	int i, fd;

	taken->sleeps = 0;
	for (i = 0; i < CLOSES; i++) {
		fd = open_client(0);
		sleeps = nr_sleeps();
		before = now_ns();
		close(fd);
		times[i] = now_ns() - before;
		taken->sleeps += nr_sleeps() - sleeps;
	}
	qsort(times, CLOSES, sizeof(times[0]), compare_times);
	taken->close = times[CLOSES / 2];
}

#define CLIENTS		2
#define MANY_ATTACHED	(CLIENTS * 16384)

static int attach_many(struct sframe_unwind_attach *arg)
{
	int i, fd = -1;

	for (i = 0; i < MANY_ATTACHED; i++) {
		if (i % (MANY_ATTACHED / CLIENTS) == 0)
			fd = open_client(0);
		if (attach(fd, arg))
			return -1;
	}
	return fd;
}

/*
 * Give the file a section of its own: then each lookup searches the attached
 * sections for a preferred one, in vain.
 */
static bool give_section(struct elf_base *elf, struct sframe_unwind_attach *arg)
{
	elf->phdr[ELF_SFRAME].p_type = PT_GNU_SFRAME;
	return pwrite(arg->elf_fd, elf, sizeof(*elf), 0) == sizeof(*elf);
}

/*
 * Attach many sections, then search them until the other end of @sock is
 * closed.
 */
static int be_in_the_way(struct sframe_unwind_attach *arg, int sock)
{
	const struct rlimit unlimited = { RLIM_INFINITY, RLIM_INFINITY };
	const int fd = open_client(0);
	char byte;

	/* Lift RLIMIT_MEMLOCK, so that the process can attach that much. */
	if (setrlimit(RLIMIT_MEMLOCK, &unlimited) || become(USER) ||
	    attach_many(arg) < 0 || write(sock, "x", 1) != 1)
		return 1;
	while (recv(sock, &byte, 1, MSG_DONTWAIT) < 0) {
		if (discovery_time(fd, arg->elf_fd) < 0)
			return 1;
	}
	return 0;
}

static struct times take_times(int fd, int elf_fd)
{
	struct times times;

	take_close_times(&times);
	times.discovery = least_discovery_time(fd, elf_fd);
	return times;
}

/* Sections that other processes attach and search cost this one nothing. */
TEST_F(attach, in_nobody_elses_way)
{
	struct times before, after;
	int sock[2];
	pid_t other;
	char byte;

	ASSERT_TRUE(give_section(&self->elf, &self->arg));
	before = take_times(self->fd, self->elf_fd);
	ASSERT_LT(0, before.discovery);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sock))
		SKIP(return, "a kernel without sockets");
	other = fork();
	if (!other) {
		close(sock[0]);
		_exit(be_in_the_way(&self->arg, sock[1]));
	}
	close(sock[1]);
	ASSERT_EQ(1, read(sock[0], &byte, 1));
	after = take_times(self->fd, self->elf_fd);
	close(sock[0]);
	EXPECT_EQ(0, outcome_of(other));
	TH_LOG("to look at a file %ld ns, to close %ld ns; with %u attached by another process %ld ns, %ld ns, waiting %ld times",
	       before.discovery, before.close, MANY_ATTACHED, after.discovery,
	       after.close, after.sleeps);
	EXPECT_LT(0, after.discovery);
	EXPECT_GT(3 * before.discovery, after.discovery);
	EXPECT_GT(3 * before.close, after.close);
	/* No sleeping on locks or grace periods; memory allocation may sleep. */
	EXPECT_GT(5, after.sleeps);
}

/* Nor do they cost the process that has attached them. */
TEST_F(attach, not_in_ones_own_way)
{
	long before, after;

	ASSERT_TRUE(give_section(&self->elf, &self->arg));
	before = least_discovery_time(self->fd, self->elf_fd);
	ASSERT_LE(0, attach_many(&self->arg));
	after = least_discovery_time(self->fd, self->elf_fd);
	TH_LOG("%ld ns, with %u attached %ld ns", before, MANY_ATTACHED, after);
	ASSERT_LT(0, before);
	EXPECT_LT(0, after);
	EXPECT_GT(3 * before, after);
}

/* Nanoseconds of listing one attachment, and of failing to detach one. */
static long least_list_time(int fd, __u64 id)
{
	struct sframe_unwind_list_attached list;
	struct sframe_unwind_attached entry;
	long least = 1000000000, time;
	__u64 before;
	int i;

	for (i = 0; i < 100; i++) {
		before = now_ns();
		if (list_attached(fd, id, &entry, 1, &list) || list.nr != 1 ||
		    entry.id != id || !detach(fd, id + (1ULL << 40)))
			return -1;
		time = now_ns() - before;
		if (time < least)
			least = time;
	}
	return least;
}

TEST_F(attach, list_and_detach_from_anywhere)
{
	long few, first, last;

	ASSERT_EQ(0, attach(self->fd, &self->arg));
	few = least_list_time(self->fd, self->arg.id);
	close(self->fd);
	self->fd = attach_many(&self->arg);
	ASSERT_LE(0, self->fd);
	first = least_list_time(self->fd, self->arg.id - 16383);
	last = least_list_time(self->fd, self->arg.id);
	TH_LOG("%ld ns; with 16384 attached, the first %ld ns, the last %ld ns",
	       few, first, last);
	ASSERT_LT(0, few);
	EXPECT_LT(0, first);
	EXPECT_LT(0, last);
	EXPECT_GT(3 * few, first);
	EXPECT_GT(3 * few, last);
}

TEST_HARNESS_MAIN
