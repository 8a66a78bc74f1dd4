// SPDX-License-Identifier: GPL-2.0
/*
 * A walk waits for a page of the stack that does not arrive, or for the mmap
 * lock. A section that it has used is detached meanwhile; its memory and its
 * charge must be released at once.
 */
#include <pthread.h>
#include <sys/resource.h>

#include "attach_fixture.h"
#include "cgroup.h"
#include "mmap_lock.h"
#include "process.h"
#include "scene.h"
#include "userfaultfd.h"

#define NOBODY_ELSE	54322	/* a user without locked memory */
#define LARGE		(16L << 20)	/* bytes of a section */
#define LOCKED		(LARGE + LARGE / 2)	/* the limit */

/* A thread whose walk waits for a page that the test never provides. */
struct waiter {
	pthread_t thread;
	int fd;
	int uffd;
	const unsigned char *code;
	unsigned char *stack;
};

static bool make_stack(struct waiter *waiter)
{
	waiter->stack = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (waiter->stack == MAP_FAILED)
		return false;
	waiter->uffd = uffd_open(waiter->stack, PAGE, 0);
	return waiter->uffd >= 0;
}

static void *be_walked(void *data)
{
	struct waiter *waiter = data;
	struct sframe_unwind_request req = request_self();
	const __u64 regs[DWARF_REGS] = {
		[DWARF_RSP] = (uintptr_t)waiter->stack,
	};

	return enter_scene(regs, waiter->code, waiter->fd, &req,
			   SFRAME_UNWIND_IOC_REQUEST) ? "no request" : NULL;
}

/* Start the thread. Returns whether its walk waits. */
static bool wait_for_walk(struct waiter *waiter)
{
	return !pthread_create(&waiter->thread, NULL, be_walked, waiter) &&
	       uffd_wait(waiter->uffd);
}

/* Once the userfaultfd is closed, the page reads as zeroes. */
static const char *end_waiting(struct waiter *waiter)
{
	void *why;

	close(waiter->uffd);
	pthread_join(waiter->thread, &why);
	return why;
}

/* Kernel memory that includes allocations as large as LARGE. */
static long kernel_memory(void)
{
	return read_number("/proc/meminfo", "VmallocUsed:") << 10;
}

static void detach_while_waiting(struct __test_metadata *_metadata,
				 FIXTURE_DATA(attach) *self, bool is_known)
{
	const struct rlimit locked = { LOCKED, LOCKED };
	struct waiter waiter = {
		.fd = self->fd,
		.code = self->at + ELF_SMALL_VADDR,
	};
	static struct stack stack;
	long memory;
	__u64 id;

	if (geteuid())
		SKIP(return, "needs root, for userfaultfd, and to become another user");
	ASSERT_EQ(sizeof(scene_code),
		  pwrite(self->elf_fd, scene_code, sizeof(scene_code),
			 ELF_AT(small)));
	/* The same code once more, for an earlier walk. */
	ASSERT_EQ(sizeof(elf_small_code),
		  pwrite(self->elf_fd, elf_small_code, sizeof(elf_small_code),
			 ELF_AT(small) + 32));
	ASSERT_TRUE(make_stack(&waiter));
	ASSERT_EQ(0, setrlimit(RLIMIT_MEMLOCK, &locked));
	ASSERT_EQ(0, become(NOBODY_ELSE));

	memory = kernel_memory();
	ASSERT_EQ(0, attach_large(self->fd, &self->arg, LARGE));
	id = self->arg.id;
	EXPECT_LT(memory + LARGE / 2, kernel_memory());
	EXPECT_EQ(-1, attach(self->fd, &self->arg));
	EXPECT_EQ(ENOMEM, errno);
	if (is_known) {
		EXPECT_EQ(CALLER, walk(self->fd, waiter.code + 32));
	}
	ASSERT_TRUE(wait_for_walk(&waiter));
	EXPECT_EQ(1 + is_known, hits(self->fd, id));

	ASSERT_EQ(0, detach(self->fd, id));
	EXPECT_TRUE(is_empty(self->fd));
	EXPECT_GT(memory + LARGE / 2, kernel_memory());
	EXPECT_EQ(0, attach(self->fd, &self->arg));

	EXPECT_EQ(NULL, end_waiting(&waiter));
	ASSERT_STACK(self->fd, &stack);
	EXPECT_EQ(SFRAME_UNWIND_STOP_COMPLETE, stack.head.stop);
}

/* The waiting walk itself has found the section. */
TEST_F(attach, detached_while_a_walk_waits)
{
	detach_while_waiting(_metadata, self, false);
}

/* An earlier walk has found the section. */
TEST_F(attach, known_and_detached_while_a_walk_waits)
{
	detach_while_waiting(_metadata, self, true);
}

/* A process whose first thread is walked; shared with the test. */
struct victim {
	struct mmap_lock lock;
	int fd;
	const unsigned char *code;	/* a copy of the code is 32 bytes further on */
	atomic_bool go;			/* start the second walk */
};

/*
 * The first walk caches the section. The second one touches only user memory
 * that the first one has touched, so that it waits for nothing but the lock.
 */
static void be_victim(struct victim *victim)
{
	if (!mmap_lock_prepare(&victim->lock) ||
	    walk(victim->fd, victim->code + 32) != CALLER ||
	    !mmap_lock_hold(&victim->lock))
		_exit(FAILED);
	while (!atomic_load(&victim->go))
		usleep(1000);
	_exit(walk(victim->fd, victim->code));
}

static pid_t start_victim(struct victim *victim, struct fuse *fuse)
{
	const pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		fuse_die(fuse);
		be_victim(victim);
	}
	return pid;
}

TEST_F(attach, detached_while_a_walk_waits_for_the_mmap_lock)
{
	static const unsigned char page[PAGE];
	struct victim *victim = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	atomic_uint never = 0;
	struct fuse fuse;
	long memory;
	pid_t pid;

	if (geteuid())
		SKIP(return, "needs root, for FUSE, and to attach for all");
	ASSERT_NE(MAP_FAILED, victim);
	ASSERT_TRUE(fuse_mount(&fuse, page, sizeof(page)));
	ASSERT_EQ(sizeof(elf_small_code),
		  pwrite(self->elf_fd, elf_small_code, sizeof(elf_small_code),
			 ELF_AT(small) + 32));
	memory = kernel_memory();
	self->arg.flags = SFRAME_UNWIND_ATTACH_SYSTEM;
	ASSERT_EQ(0, attach_large(self->fd, &self->arg, LARGE));
	EXPECT_LT(memory + LARGE / 2, kernel_memory());

	victim->fd = self->fd;
	victim->code = self->at + ELF_SMALL_VADDR;
	victim->lock.path = fuse.path;
	pid = start_victim(victim, &fuse);
	ASSERT_TRUE(mmap_lock_block(&victim->lock, &fuse, pid));
	atomic_store(&victim->go, true);
	ASSERT_TRUE(stays_blocked(pid, &never));

	ASSERT_EQ(0, detach(self->fd, self->arg.id));
	EXPECT_GT(memory + LARGE / 2, kernel_memory());

	EXPECT_TRUE(fuse_answer(&fuse));
	EXPECT_EQ(NO_RULE, outcome_of(pid));
	fuse_unmount(&fuse);
}

TEST_HARNESS_MAIN
