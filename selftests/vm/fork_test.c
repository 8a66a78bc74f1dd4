// SPDX-License-Identifier: GPL-2.0
/*
 * Lifetime of registrations: fork, vfork, threads, exec, exit, and the marker.
 *
 * Racing: run with KCSAN.
 */
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "common.h"
#include "marker.h"

FIXTURE(life)
{
	int fd;
	struct fake fake;
	struct stack stack;
	struct sframe_unwind_request req;
};

FIXTURE_SETUP(life)
{
	self->fd = open_client(0);
	ASSERT_LE(0, self->fd);
	ASSERT_TRUE(make_fake(&self->fake));
	put_request_code(&self->fake);
	self->req = request_self();
}

FIXTURE_TEARDOWN(life)
{
	free_fake(&self->fake);
	close(self->fd);
}

/* Whether a walk gets from the fake function to its caller by its section. */
static bool unwinds(int fd, const struct fake *fake)
{
	struct sframe_unwind_request req = request_self();
	struct stack stack;

	if (call_request_code(fake->text, fd, &req) || read_stack(fd, &stack))
		return false;
	return stack.head.nr_frames >= 2 &&
	       stack.head.ips[0] == (uintptr_t)fake->text + REQUEST_CODE_IP &&
	       how(&stack, 1) == SFRAME_UNWIND_FRAME_SFRAME &&
	       stack.head.ips[1] - (uintptr_t)call_request_code < 128;
}

/* Run @code in a child, where it must be true. */
#define EXPECT_IN_CHILD(code)						\
	do {								\
		int status_;						\
		pid_t pid_ = fork();					\
		ASSERT_LE(0, pid_);					\
		if (!pid_)						\
			_exit((code) ? 0 : 1);				\
		ASSERT_EQ(pid_, waitpid(pid_, &status_, 0));		\
		EXPECT_EQ(0, status_);					\
	} while (0)

TEST_F(life, control)
{
	EXPECT_FALSE(unwinds(self->fd, &self->fake));
	ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
	EXPECT_TRUE(unwinds(self->fd, &self->fake));
	ASSERT_EQ(0, unregister_id(self->fd, self->fake.reg.id));
	EXPECT_FALSE(unwinds(self->fd, &self->fake));
}

TEST_F(life, fork_duplicates)
{
	ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
	EXPECT_IN_CHILD(count_sections(self->fd) == 1);
	EXPECT_IN_CHILD(unwinds(self->fd, &self->fake));
	EXPECT_EQ(1, count_sections(self->fd));
}

TEST_F(life, grandchild)
{
	ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
	EXPECT_IN_CHILD(({
		int status = 1;
		pid_t pid = fork();

		if (!pid)
			_exit(unwinds(self->fd, &self->fake) ? 0 : 1);
		waitpid(pid, &status, 0);
		!status;
	}));
}

TEST_F(life, child_changes_its_own)
{
	ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
	EXPECT_IN_CHILD(!unregister_id(self->fd, self->fake.reg.id) &&
			count_sections(self->fd) == 0 &&
			!unwinds(self->fd, &self->fake));
	EXPECT_EQ(1, count_sections(self->fd));
	EXPECT_TRUE(unwinds(self->fd, &self->fake));
	EXPECT_IN_CHILD(({
		struct fake other;

		make_fake(&other) && !register_section(self->fd, &other.reg) &&
			count_sections(self->fd) == 2;
	}));
	EXPECT_EQ(1, count_sections(self->fd));
}

TEST_F(life, parent_changes_its_own)
{
	int status, go[2];
	pid_t pid;
	char byte;

	ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
	ASSERT_EQ(0, pipe(go));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		/* Wait until the parent has unregistered. */
		if (read(go[0], &byte, 1) != 1)
			_exit(2);
		_exit(unwinds(self->fd, &self->fake) ? 0 : 1);
	}
	ASSERT_EQ(0, unregister_id(self->fd, self->fake.reg.id));
	EXPECT_EQ(0, count_sections(self->fd));
	ASSERT_EQ(1, write(go[1], "x", 1));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
}

/*
 * Number of nodes of section trees in the whole system, or -1 without
 * privilege.
 */
static long count_nodes(void)
{
	FILE *f = fopen("/sys/kernel/debug/sframe_unwind/counters", "r");
	long value = -1;
	char line[64];

	while (f && fgets(line, sizeof(line), f) &&
	       sscanf(line, "nodes %ld", &value) != 1)
		;
	if (f)
		fclose(f);
	return value;
}

/* Fork copies no node, however many there are; a change copies only a few. */
TEST_F(life, fork_shares_the_trees)
{
	long before;
	int i;

	if (count_nodes() < 0)
		SKIP(return, "needs root, for debugfs");
	self->fake.reg.text_size = 1;
	for (i = 0; i < 1000; i++) {
		ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
		self->fake.reg.text_start++;
	}
	before = count_nodes();
	EXPECT_IN_CHILD(count_nodes() == before &&
			count_sections(self->fd) == 1000 &&
			!unregister_id(self->fd, self->fake.reg.id) &&
			count_nodes() > before &&
			count_nodes() < before + 12 &&
			count_sections(self->fd) == 999);
	EXPECT_EQ(1000, count_sections(self->fd));
}

/* A child registers the first section in a space that its parent had emptied. */
TEST_F(life, fork_of_an_empty_space)
{
	ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
	ASSERT_EQ(0, unregister_id(self->fd, self->fake.reg.id));
	EXPECT_IN_CHILD(!register_section(self->fd, &self->fake.reg) &&
			unwinds(self->fd, &self->fake));
	EXPECT_EQ(0, count_sections(self->fd));
}

TEST_F(life, vfork_shares)
{
	pid_t pid;
	int status;

	ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
	pid = vfork();
	ASSERT_LE(0, pid);
	if (!pid) {
		/* The same address space, therefore the same registrations. */
		_exit(unregister_id(self->fd, self->fake.reg.id) ? 1 : 0);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(0, count_sections(self->fd));
}

static void *count_in_thread(void *fd)
{
	return (void *)(uintptr_t)count_sections((int)(uintptr_t)fd);
}

TEST_F(life, threads_share)
{
	pthread_t thread;
	void *seen;

	ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
	ASSERT_EQ(0, pthread_create(&thread, NULL, count_in_thread,
				    (void *)(uintptr_t)self->fd));
	pthread_join(thread, &seen);
	EXPECT_EQ(1, (uintptr_t)seen);
}

/* After exec the client is still open, but nothing is registered. */
TEST_F(life, exec_drops)
{
	char fd[16];
	int status;
	pid_t pid;

	ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		snprintf(fd, sizeof(fd), "%d", self->fd);
		fcntl(self->fd, F_SETFD, 0);
		setenv("LIFE_TEST_FD", fd, 1);
		execl("/proc/self/exe", "fork_test", NULL);
		_exit(99);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
}

/* Second part of exec_drops: runs before main() in the new program. */
static __attribute__((constructor)) void after_exec(void)
{
	const char *fd = getenv("LIFE_TEST_FD");

	if (fd)
		_exit(count_sections(atoi(fd)));
}

TEST_F(life, one_marker)
{
	struct fake other;
	unsigned int number;

	find_marker(getpid(), &number);
	EXPECT_EQ(0, number);
	ASSERT_TRUE(make_fake(&other));
	ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
	ASSERT_EQ(0, register_section(self->fd, &other.reg));
	find_marker(getpid(), &number);
	EXPECT_EQ(1, number);
}

TEST_F(life, marker_is_inaccessible)
{
	unsigned int number;
	char *marker;
	int fd[2];

	ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
	marker = find_marker(getpid(), &number);
	ASSERT_NE(NULL, marker);
	ASSERT_EQ(0, pipe(fd));
	EXPECT_EQ(-1, write(fd[1], marker, 1));
	EXPECT_EQ(EFAULT, errno);
	EXPECT_EQ(-1, mprotect(marker, PAGE, PROT_READ));
	EXPECT_EQ(EACCES, errno);
	EXPECT_EQ(-1, mprotect(marker, PAGE, PROT_EXEC));
	EXPECT_EQ(EACCES, errno);
	EXPECT_TRUE(unwinds(self->fd, &self->fake));
}

TEST_F(life, marker_unmapped)
{
	unsigned int number;
	char *marker;

	ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
	marker = find_marker(getpid(), &number);
	ASSERT_EQ(0, munmap(marker, PAGE));
	EXPECT_EQ(0, count_sections(self->fd));
	EXPECT_FALSE(unwinds(self->fd, &self->fake));
	/* Registering works again from the start. */
	ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
	EXPECT_TRUE(unwinds(self->fd, &self->fake));
}

TEST_F(life, marker_moved)
{
	unsigned int number;
	char *marker, *to;

	ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
	marker = find_marker(getpid(), &number);
	to = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, to);
	to = mremap(marker, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to);
	if (to != MAP_FAILED) {
		EXPECT_EQ(to, find_marker(getpid(), &number));
	}
	EXPECT_EQ(1, count_sections(self->fd));
	EXPECT_TRUE(unwinds(self->fd, &self->fake));
	EXPECT_IN_CHILD(unwinds(self->fd, &self->fake));
}

/* Two markers in one address space: fork must create one space for them. */
TEST_F(life, marker_copied)
{
	unsigned int number;
	char *marker, *copy;

	ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
	marker = find_marker(getpid(), &number);
	copy = mremap(marker, 0, PAGE, MREMAP_MAYMOVE);
	if (copy == MAP_FAILED)
		copy = mremap(marker, PAGE, PAGE,
			      MREMAP_MAYMOVE | MREMAP_DONTUNMAP);
	if (copy == MAP_FAILED)
		return;		/* this kernel does not allow it */
	find_marker(getpid(), &number);
	ASSERT_EQ(2, number);
	EXPECT_IN_CHILD(unwinds(self->fd, &self->fake) &&
			!unregister_id(self->fd, self->fake.reg.id));
	ASSERT_EQ(0, munmap(marker, PAGE));
	EXPECT_TRUE(unwinds(self->fd, &self->fake));
	ASSERT_EQ(0, munmap(copy, PAGE));
	EXPECT_FALSE(unwinds(self->fd, &self->fake));
	EXPECT_EQ(0, count_sections(self->fd));
}

TEST_F(life, marker_not_inherited)
{
	unsigned int number;
	char *marker;

	ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
	marker = find_marker(getpid(), &number);
	ASSERT_EQ(0, madvise(marker, PAGE, MADV_DONTFORK));
	EXPECT_IN_CHILD(count_sections(self->fd) == 0 &&
			!unwinds(self->fd, &self->fake) &&
			!register_section(self->fd, &self->fake.reg) &&
			unwinds(self->fd, &self->fake));
	EXPECT_EQ(1, count_sections(self->fd));
}

/* madvise() does not change the marker. */
TEST_F(life, marker_and_advice)
{
	unsigned char in_memory;
	unsigned int number;
	char *marker;
	int advice;

	ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
	marker = find_marker(getpid(), &number);
	ASSERT_NE(NULL, marker);
	for (advice = 0; advice < 128; advice++) {
		/* MADV_DONTFORK has an effect: see marker_not_inherited. */
		if (advice != MADV_DONTFORK)
			madvise(marker, PAGE, advice);
	}
	EXPECT_EQ(-1, msync(marker, PAGE, MS_SYNC));
	msync(marker, PAGE, MS_ASYNC | MS_INVALIDATE);
	EXPECT_EQ(0, mincore(marker, PAGE, &in_memory));
	EXPECT_EQ(0, in_memory & 1);
	mlock(marker, PAGE);
	munlock(marker, PAGE);
	syscall(SYS_mbind, marker, PAGE, 0, NULL, 0, 2);
	syscall(SYS_process_madvise, -1, NULL, 0, 0, 0);
	EXPECT_EQ(marker, find_marker(getpid(), &number));
	EXPECT_EQ(1, number);
	EXPECT_TRUE(unwinds(self->fd, &self->fake));
	EXPECT_IN_CHILD(unwinds(self->fd, &self->fake));
}

/* Mapping over the marker unmaps it; the kernel may do both in any order. */
TEST_F(life, marker_remapped)
{
	unsigned int number;
	char *marker;

	ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
	marker = find_marker(getpid(), &number);
	syscall(SYS_remap_file_pages, marker, PAGE, 0, 0, 0);
	find_marker(getpid(), &number);
	EXPECT_GE(1, number);
	EXPECT_GE(1, count_sections(self->fd));
	if (!count_sections(self->fd))
		ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
	EXPECT_TRUE(unwinds(self->fd, &self->fake));
	EXPECT_IN_CHILD(unwinds(self->fd, &self->fake));
}

TEST_F(life, marker_and_locked_memory)
{
	ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
	if (mlockall(MCL_CURRENT | MCL_FUTURE))
		SKIP(return, "mlockall: %s", strerror(errno));
	EXPECT_TRUE(unwinds(self->fd, &self->fake));
	EXPECT_IN_CHILD(unwinds(self->fd, &self->fake));
	munlockall();
}

/* Many at once, so that fork, exit and the hash of spaces run concurrently. */
TEST_F(life, many_children)
{
	int status, round, i;
	pid_t pids[16];

	ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
	for (round = 0; round < 8; round++) {
		for (i = 0; i < 16; i++) {
			pids[i] = fork();
			ASSERT_LE(0, pids[i]);
			if (!pids[i])
				_exit(count_sections(self->fd) == 1 &&
				      !unregister_id(self->fd,
						     self->fake.reg.id) &&
				      count_sections(self->fd) == 0 ? 0 : 1);
		}
		for (i = 0; i < 16; i++) {
			ASSERT_EQ(pids[i], waitpid(pids[i], &status, 0));
			EXPECT_EQ(0, status);
		}
	}
	EXPECT_TRUE(unwinds(self->fd, &self->fake));
}

TEST_HARNESS_MAIN
