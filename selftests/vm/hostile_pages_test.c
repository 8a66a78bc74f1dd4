// SPDX-License-Identifier: GPL-2.0
/*
 * Walks that need pages that do not arrive: of a userfaultfd without a handler,
 * of a FUSE server that stalls, behind the end of a file or of the stack. The
 * walk waits as any access by the thread would, can be killed, and raises no
 * signal.
 */
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "common.h"
#include "fuse.h"
#include "scene.h"
#include "userfaultfd.h"

/* Code, then pages of a file or of anonymous memory: section, table, stack. */
#define CODE_AT		0x100000000000UL
#define PAGES_AT	(CODE_AT + 0x10000)
#define SECTION_AT	(PAGES_AT + PAGE - FAKE_FDE)
#define TABLE		PAGE		/* offset of the page with the index */
#define STACK		(2 * PAGE)	/* of the stack's page */
#define PAGES_SIZE	(3 * PAGE)

/* Offset of the return address. */
#define RA_AT		(STACK + 256)

/* Contents of the pages; the header ends with the first one. */
static void make_pages(unsigned char *pages)
{
	unsigned char section[FAKE_SECTION_SIZE];

	memset(pages, 0, PAGES_SIZE);
	write_fake_section(section, NULL);
	put64(section + FAKE_FDE, CODE_AT - (SECTION_AT + FAKE_FDE));
	memcpy(pages + SECTION_AT - PAGES_AT, section, sizeof(section));
	put64(pages + RA_AT, SCENE_CALLER);
}

/* Map @size bytes at @at, of @file, or anonymous. */
static bool map(unsigned long at, size_t size, int prot, int file)
{
	const int flags = MAP_PRIVATE | MAP_FIXED |
			  (file < 0 ? MAP_ANONYMOUS : 0);

	return mmap((void *)at, size, prot, flags, file, 0) == (void *)at;
}

static bool map_code(void)
{
	if (!map(CODE_AT, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, -1))
		return false;
	memcpy((void *)CODE_AT, scene_code, sizeof(scene_code));
	return map_scene_caller();
}

static int register_pages(int fd)
{
	struct sframe_unwind_register reg = {
		.size = sizeof(reg),
		.sframe_start = SECTION_AT,
		.sframe_size = FAKE_SECTION_SIZE,
		.text_start = CODE_AT,
		.text_size = PAGE,
	};

	return register_section(fd, &reg);
}

/* Request the stack of code whose return address is at @sp. */
static long walk_from(int fd, __u64 sp)
{
	struct sframe_unwind_request req = request_self();
	const __u64 regs[DWARF_REGS] = { [DWARF_RSP] = sp };

	return enter_scene(regs, (void *)CODE_AT, fd, &req,
			   SFRAME_UNWIND_IOC_REQUEST);
}

/*
 * A walk waits for a page. It runs in a process of its own, so that the test
 * can answer, or kill it.
 */
FIXTURE(stall)
{
	int fd;
	int uffd;
	int pidfd;
	pid_t pid;
	int ends[2];
	struct fuse fuse;
	struct stack stack;
	unsigned char pages[3 * PAGE];
};

enum stall_end {
	ANSWERED,
	DIED,			/* the handler or server */
	KILLED,			/* the process being walked */
};

FIXTURE_VARIANT(stall)
{
	bool is_fuse;
	unsigned long page;
	enum stall_end end;
	unsigned int nr_frames;
	unsigned int stop, or_stop;
};

#define STALL(name, fuse, which, how, frames, ...)			\
	FIXTURE_VARIANT_ADD(stall, name) {				\
		.is_fuse = fuse, .page = which, .end = how,		\
		.nr_frames = frames, __VA_ARGS__			\
	}
#define STOP(why)	.stop = SFRAME_UNWIND_STOP_##why
#define OR_STOP(why)	.or_stop = SFRAME_UNWIND_STOP_##why

STALL(uffd_stack_answered, false, STACK, ANSWERED, 2, STOP(NO_RULE));
STALL(uffd_table_answered, false, TABLE, ANSWERED, 2, STOP(NO_RULE));
/* Without its handler it is ordinary memory, filled with zeroes. */
STALL(uffd_stack_died, false, STACK, DIED, 1, STOP(COMPLETE));
STALL(uffd_table_died, false, TABLE, DIED, 1, STOP(NO_RULE));
STALL(uffd_stack_killed, false, STACK, KILLED, 1, STOP(KILLED),
      OR_STOP(STACK_UNREADABLE));
STALL(uffd_table_killed, false, TABLE, KILLED, 1, STOP(KILLED));
STALL(fuse_stack_answered, true, STACK, ANSWERED, 2, STOP(NO_RULE));
STALL(fuse_table_answered, true, TABLE, ANSWERED, 2, STOP(NO_RULE));
STALL(fuse_stack_died, true, STACK, DIED, 1, STOP(STACK_UNREADABLE));
STALL(fuse_table_died, true, TABLE, DIED, 1, STOP(SECTION_UNREADABLE));
STALL(fuse_stack_killed, true, STACK, KILLED, 1, STOP(KILLED),
      OR_STOP(STACK_UNREADABLE));
STALL(fuse_table_killed, true, TABLE, KILLED, 1, STOP(KILLED));

FIXTURE_SETUP(stall)
{
	self->uffd = -1;
	self->pid = 0;
	self->fuse.fd = -1;
	if (geteuid())
		SKIP(return, "needs root, for userfaultfd and FUSE");
	self->fd = open_client(0);
	ASSERT_LE(0, self->fd);
	make_pages(self->pages);
	ASSERT_EQ(0, pipe(self->ends));
	if (variant->is_fuse) {
		ASSERT_TRUE(fuse_mount(&self->fuse, self->pages, PAGES_SIZE));
	}
}

FIXTURE_TEARDOWN(stall)
{
	if (variant->is_fuse)
		fuse_unmount(&self->fuse);
	if (self->pid > 0) {
		kill(self->pid, SIGKILL);
		waitpid(self->pid, NULL, 0);
	}
	close(self->fd);
}

/* Map anonymous memory without @page, and send its userfaultfd to the parent. */
static bool map_uffd(FIXTURE_DATA(stall) *self, unsigned long page)
{
	unsigned long at;
	int uffd;

	if (!map(PAGES_AT, PAGES_SIZE, PROT_READ | PROT_WRITE, -1))
		return false;
	for (at = 0; at < PAGES_SIZE; at += PAGE) {
		if (at != page)
			memcpy((void *)(PAGES_AT + at), self->pages + at, PAGE);
	}
	uffd = uffd_open((void *)(PAGES_AT + page), PAGE, 0);
	if (uffd < 0 ||
	    write(self->ends[1], &uffd, sizeof(uffd)) != sizeof(uffd))
		return false;
	/* The parent copies the descriptor; close the original. */
	raise(SIGSTOP);
	return !close(uffd);
}

static bool map_fuse(FIXTURE_DATA(stall) *self)
{
	struct stat stat;
	int file;

	close(self->fuse.fd);
	file = open(self->fuse.path, O_RDONLY | O_CLOEXEC);
	/* The kernel does not know the size of the file before fstat(). */
	return !fstat(file, &stat) && stat.st_size == PAGES_SIZE &&
	       map(PAGES_AT, PAGES_SIZE, PROT_READ, file) && !close(file);
}

/* The process being walked. Its exit status is 0 if all checks passed. */
static int ask(FIXTURE_DATA(stall) *self, bool is_fuse, unsigned long page)
{
	struct sframe_unwind_stats s;

	if (!map_code() || !(is_fuse ? map_fuse(self) : map_uffd(self, page)))
		return 2;
	if (register_pages(self->fd))
		return 3;
	if (walk_from(self->fd, PAGES_AT + RA_AT))
		return 4;
	if (stats(self->fd, &s) || s.sections != 1 || s.corrupt || s.stale)
		return 5;
	return 0;
}

/* Copy the child's userfaultfd, and wait for its page fault. */
static bool wait_for_uffd(FIXTURE_DATA(stall) *self, unsigned long page)
{
	int theirs, status;

	if (read(self->ends[0], &theirs, sizeof(theirs)) != sizeof(theirs) ||
	    waitpid(self->pid, &status, WUNTRACED) != self->pid ||
	    !WIFSTOPPED(status))
		return false;
	self->uffd = syscall(SYS_pidfd_getfd, self->pidfd, theirs, 0);
	if (self->uffd < 0 || kill(self->pid, SIGCONT))
		return false;
	return uffd_wait(self->uffd) / PAGE == (PAGES_AT + page) / PAGE;
}

static bool answer(FIXTURE_DATA(stall) *self, bool is_fuse, unsigned long page)
{
	return is_fuse ? fuse_answer(&self->fuse) :
			 uffd_provide(self->uffd, (void *)(PAGES_AT + page),
				      self->pages + page, PAGE);
}

TEST_F(stall, walk)
{
	int status;

	self->pid = fork();
	ASSERT_LE(0, self->pid);
	if (!self->pid)
		_exit(ask(self, variant->is_fuse, variant->page));
	self->pidfd = syscall(SYS_pidfd_open, self->pid, 0);
	ASSERT_LE(0, self->pidfd);
	ASSERT_TRUE(variant->is_fuse ?
		    fuse_serve(&self->fuse, self->pidfd, variant->page) :
		    wait_for_uffd(self, variant->page));

	/* The walk is in progress. */
	EXPECT_TRUE(is_empty(self->fd));
	switch (variant->end) {
	case ANSWERED:
		ASSERT_TRUE(answer(self, variant->is_fuse, variant->page));
		/* The walk may need more pages. */
		if (variant->is_fuse)
			fuse_serve(&self->fuse, self->pidfd, FUSE_NO_PAGE);
		break;
	case DIED:
		close(self->uffd);
		fuse_die(&self->fuse);
		break;
	case KILLED:
		ASSERT_EQ(0, kill(self->pid, SIGKILL));
		break;
	}
	ASSERT_EQ(self->pid, waitpid(self->pid, &status, 0));
	self->pid = 0;
	EXPECT_EQ(variant->end == KILLED ? SIGKILL : 0, status);

	ASSERT_STACK(self->fd, &self->stack);
	EXPECT_EQ(variant->nr_frames, self->stack.head.nr_frames);
	EXPECT_TRUE(self->stack.head.stop == variant->stop ||
		    self->stack.head.stop == variant->or_stop)
	{
		TH_LOG("stop %u", self->stack.head.stop);
	}
	if (self->stack.head.nr_frames > 1) {
		EXPECT_EQ(SCENE_CALLER, self->stack.head.ips[1]);
	}
	EXPECT_TRUE(is_empty(self->fd));
}

/* Pages of the stack that never become available. */
FIXTURE(pages)
{
	int fd;
	int file;
	struct stack stack;
};

static volatile sig_atomic_t nr_signals;

static void count_signal(int sig)
{
	nr_signals++;
}

FIXTURE_SETUP(pages)
{
	static unsigned char pages[3 * PAGE];

	self->fd = open_client(0);
	ASSERT_LE(0, self->fd);
	self->file = memfd_create("pages", MFD_CLOEXEC);
	make_pages(pages);
	ASSERT_EQ(PAGES_SIZE, write(self->file, pages, PAGES_SIZE));
	ASSERT_TRUE(map_code());
	ASSERT_TRUE(map(PAGES_AT, PAGES_SIZE, PROT_READ | PROT_WRITE,
			self->file));
	ASSERT_EQ(0, register_pages(self->fd));
	signal(SIGSEGV, count_signal);
	signal(SIGBUS, count_signal);
}

FIXTURE_TEARDOWN(pages)
{
	struct sframe_unwind_stats s;

	ASSERT_EQ(0, stats(self->fd, &s));
	EXPECT_EQ(0, s.corrupt);
	EXPECT_EQ(1, s.sections);
	EXPECT_EQ(0, nr_signals);
	close(self->file);
	close(self->fd);
}

/* Twice: the second walk uses cached rules. */
#define EXPECT_FROM(sp, why, nr)					\
	do {								\
		for (int i_ = 0; i_ < 2; i_++) {			\
			ASSERT_EQ(0, walk_from(self->fd, sp));		\
			ASSERT_STACK(self->fd, &self->stack);		\
			EXPECT_EQ(SFRAME_UNWIND_STOP_##why,		\
				  self->stack.head.stop);		\
			EXPECT_EQ(nr, self->stack.head.nr_frames);	\
		}							\
	} while (0)

#define STACK_AT	((void *)(PAGES_AT + STACK))

TEST_F(pages, control)
{
	EXPECT_FROM(PAGES_AT + RA_AT, NO_RULE, 2);
	EXPECT_EQ(SCENE_CALLER, self->stack.head.ips[1]);
}

TEST_F(pages, no_access)
{
	ASSERT_EQ(0, mprotect(STACK_AT, PAGE, PROT_NONE));
	EXPECT_FROM(PAGES_AT + RA_AT, STACK_UNREADABLE, 1);
	/* The page below is readable; the word behind its end is not. */
	EXPECT_FROM(PAGES_AT + STACK - 8, COMPLETE, 1);
	EXPECT_FROM(PAGES_AT + STACK, STACK_UNREADABLE, 1);
	ASSERT_EQ(0, mprotect(STACK_AT, PAGE, PROT_READ));
	EXPECT_FROM(PAGES_AT + RA_AT, NO_RULE, 2);
}

/* The end of the stack coincides with the end of a mapping. */
TEST_F(pages, end_of_memory)
{
	put64((unsigned char *)STACK_AT + PAGE - 8, SCENE_CALLER);
	EXPECT_FROM(PAGES_AT + PAGES_SIZE - 8, NO_RULE, 2);
	EXPECT_FROM(PAGES_AT + PAGES_SIZE, STACK_UNREADABLE, 1);
	EXPECT_FROM(PAGES_AT + PAGES_SIZE - 4, NO_PROGRESS, 1);
	ASSERT_EQ(0, munmap(STACK_AT, PAGE));
	EXPECT_FROM(PAGES_AT + RA_AT, STACK_UNREADABLE, 1);
}

/* Memory that is allocated on access. */
TEST_F(pages, dropped)
{
	ASSERT_EQ(0, madvise(STACK_AT, PAGE, MADV_DONTNEED));
	EXPECT_FROM(PAGES_AT + RA_AT, NO_RULE, 2);
	ASSERT_TRUE(map(PAGES_AT + STACK, PAGE, PROT_READ | PROT_WRITE, -1));
	put64((unsigned char *)PAGES_AT + RA_AT, SCENE_CALLER);
	EXPECT_FROM(PAGES_AT + RA_AT, NO_RULE, 2);
	ASSERT_EQ(0, madvise(STACK_AT, PAGE, MADV_DONTNEED));
	EXPECT_FROM(PAGES_AT + RA_AT, COMPLETE, 1);
}

/* An access by the thread would raise SIGBUS; the walk does not. */
TEST_F(pages, behind_end_of_file)
{
	ASSERT_EQ(0, ftruncate(self->file, STACK));
	EXPECT_FROM(PAGES_AT + RA_AT, STACK_UNREADABLE, 1);
	ASSERT_EQ(0, ftruncate(self->file, PAGES_SIZE));
	EXPECT_FROM(PAGES_AT + RA_AT, COMPLETE, 1);
}

TEST_HARNESS_MAIN
