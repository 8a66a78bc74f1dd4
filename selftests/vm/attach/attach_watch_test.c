// SPDX-License-Identifier: GPL-2.0
/*
 * How the memory of sections attached with UNCHANGED is watched: memory without page
 * tables, and processes that change their page tables all the time.
 */
#include <pthread.h>
#include <time.h>

#include "attach_range.h"
#include "process.h"

#define CODE			(PROT_READ | PROT_EXEC)

/* What one page table of the highest level that may be missing maps. */
#define REGION			(1UL << 30)

FIXTURE(watch)
{
	int fd;
	int sframe_fd;
	unsigned char *code;
	struct sframe_unwind_attach arg;
};

FIXTURE_SETUP(watch)
{
	unsigned char *all;

	if (geteuid())
		SKIP(return, "needs root");
	/* Neighbours may have a page table together with it. */
	all = mmap(NULL, 3 * REGION, PROT_NONE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)all);
	self->code = (unsigned char *)(((uintptr_t)all + 2 * REGION - 1) &
				       ~(REGION - 1));
	ASSERT_EQ(0, mprotect(self->code, PAGE, CODE));
	self->sframe_fd = make_range_section();
	ASSERT_LE(0, self->sframe_fd);
	self->fd = open_client(0);
	ASSERT_LE(0, self->fd);
	self->arg = range_of(0, self->code, FAKE_SIZE, self->sframe_fd);
	self->arg.flags |= SFRAME_UNWIND_ATTACH_UNCHANGED;
}

FIXTURE_TEARDOWN(watch)
{
	close(self->sframe_fd);
	close(self->fd);
}

/* --- memory without page tables, for which mprotect() calls no notifier */

TEST_F(watch, written_before_a_walk)
{
	ASSERT_EQ(0, attach(self->fd, &self->arg));
	ASSERT_EQ(0, mprotect(self->code, PAGE, CODE | PROT_WRITE));
	memcpy(self->code, request_code, sizeof(request_code));
	EXPECT_EQ(NO_RULE, walk(self->fd, self->code));
	EXPECT_TRUE(has_ended_id(self->fd, self->arg.id));
	ASSERT_EQ(0, mprotect(self->code, PAGE, CODE));
	EXPECT_EQ(NO_RULE, walk(self->fd, self->code));
}

TEST_F(watch, written_between_walks)
{
	ASSERT_EQ(0, attach(self->fd, &self->arg));
	ASSERT_EQ(0, mprotect(self->code, PAGE, CODE | PROT_WRITE));
	memcpy(self->code, request_code, sizeof(request_code));
	ASSERT_EQ(0, mprotect(self->code, PAGE, CODE));
	EXPECT_TRUE(has_ended_id(self->fd, self->arg.id));
	EXPECT_EQ(NO_RULE, walk(self->fd, self->code));
}

/* --- a process whose page tables some thread always changes */

#define BUSY_SIZE		(24ULL << 30)
#define BUSY_THREADS		12
#define BUSY_ROUNDS		5
#define BUSY_SECONDS		60

static unsigned char *busy;

static void *change_all(void *data)
{
	(void)data;
	for (;;)
		madvise(busy, BUSY_SIZE, MADV_FREE);
	return NULL;
}

/* Of the code, so that the kernel cannot ignore it. */
static void *change_code(void *data)
{
	for (;;) {
		madvise(data, PAGE, MADV_FREE);
		usleep(1000);
	}
	return NULL;
}

static void be_busy(unsigned char *code, int ready)
{
	pthread_t thread;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	busy = mmap(NULL, BUSY_SIZE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (busy == MAP_FAILED)
		_exit(1);
	/* Fails if the kernel has none. */
	madvise(busy, BUSY_SIZE, MADV_NOHUGEPAGE);
	/* Page tables, without memory. */
	for (size_t i = 0; i < BUSY_SIZE; i += 2 << 20)
		((volatile unsigned char *)busy)[i];
	for (int i = 0; i < BUSY_THREADS; i++)
		if (pthread_create(&thread, NULL, change_all, NULL))
			_exit(1);
	if (pthread_create(&thread, NULL, change_code, code) ||
	    write(ready, "r", 1) != 1)
		_exit(1);
	pause();
	_exit(0);
}

/* Returns 0 if all can be attached and detached. */
static int attach_and_detach(int fd, struct sframe_unwind_attach *arg)
{
	for (int i = 0; i < BUSY_ROUNDS; i++)
		if (attach(fd, arg) || detach(fd, arg->id))
			return errno;
	return 0;
}

/* Returns the exit status of @pid; or -1 if it does not end. */
static int wait_for(pid_t pid)
{
	const time_t end = time(NULL) + BUSY_SECONDS;
	int status;

	do {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
		usleep(10000);
	} while (time(NULL) < end);
	return -1;
}

/* Neither ATTACH nor DETACH waits until such a process has a pause. */
TEST_F_TIMEOUT(watch, busy, 300)
{
	int ready[2];
	pid_t child, caller;
	char byte;

	ASSERT_EQ(0, pipe(ready));
	child = fork();
	if (!child)
		be_busy(self->code, ready[1]);
	close(ready[1]);
	ASSERT_EQ(1, read(ready[0], &byte, 1));
	close(ready[0]);
	self->arg.pid = child;
	caller = fork();
	if (!caller)
		_exit(attach_and_detach(self->fd, &self->arg));
	EXPECT_EQ(0, wait_for(caller));
	/* Then it can end in any case. */
	kill(child, SIGKILL);
	kill(caller, SIGKILL);
	EXPECT_EQ(child, waitpid(child, NULL, 0));
	waitpid(caller, NULL, 0);
}

TEST_HARNESS_MAIN
