// SPDX-License-Identifier: GPL-2.0
/*
 * A walk waits for a page of the stack that does not come. What it has used is
 * detached meanwhile, and goes at once: the bytes, and what is charged for them.
 */
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "attach_fixture.h"
#include "cgroup.h"
#include "process.h"
#include "scene.h"

#define NOBODY_ELSE	54322	/* a user who has nothing locked */
#define LARGE		(16L << 20)	/* bytes of a section */
#define LOCKED		(LARGE + LARGE / 2)	/* that may be locked */

/* A thread that is walked, on a page that nobody provides. */
struct waiter {
	pthread_t thread;
	int fd;
	int uffd;
	const unsigned char *code;
	unsigned char *stack;
};

static bool make_stack(struct waiter *waiter)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = {
		.mode = UFFDIO_REGISTER_MODE_MISSING,
		.range.len = PAGE,
	};

	waiter->stack = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	waiter->uffd = syscall(SYS_userfaultfd, O_CLOEXEC);
	reg.range.start = (uintptr_t)waiter->stack;
	return waiter->stack != MAP_FAILED && waiter->uffd >= 0 &&
	       !ioctl(waiter->uffd, UFFDIO_API, &api) &&
	       !ioctl(waiter->uffd, UFFDIO_REGISTER, &reg);
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

/* Start it. Returns whether its walk waits now. */
static bool wait_for_walk(struct waiter *waiter)
{
	struct uffd_msg msg;

	return !pthread_create(&waiter->thread, NULL, be_walked, waiter) &&
	       read(waiter->uffd, &msg, sizeof(msg)) == sizeof(msg) &&
	       msg.event == UFFD_EVENT_PAGEFAULT;
}

/* Without the descriptor the page is one of zeroes. */
static const char *end_waiting(struct waiter *waiter)
{
	void *why;

	close(waiter->uffd);
	pthread_join(waiter->thread, &why);
	return why;
}

/* Bytes that the kernel has of what is as large as LARGE. */
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
	/* The same once more, to be walked before. */
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

/* The walk has found it itself. */
TEST_F(attach, detached_while_a_walk_waits)
{
	detach_while_waiting(_metadata, self, false);
}

/* It was there. */
TEST_F(attach, known_and_detached_while_a_walk_waits)
{
	detach_while_waiting(_metadata, self, true);
}

TEST_HARNESS_MAIN
