// SPDX-License-Identifier: GPL-2.0
/*
 * An intact section that cannot be read at the moment: the stop reason says so,
 * and the section stays.
 *
 * Racing: run with KCSAN.
 */
#include <sched.h>
#include <sys/wait.h>

#include "../../module/test/test.h"
#include "cgroup.h"
#include "common.h"
#include "userfaultfd.h"

FIXTURE(unreadable)
{
	int fd;
	struct fake fake;
	struct stack stack;
	struct sframe_unwind_request req;
};

FIXTURE_SETUP(unreadable)
{
	self->fd = open_client(0);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, register_own(self->fd));
	ASSERT_TRUE(make_fake(&self->fake));
	put_request_code(&self->fake);
	self->req = request_self();
}

FIXTURE_TEARDOWN(unreadable)
{
	close(self->fd);
}

#define ASSERT_NOTHING_REMOVED()					\
	do {								\
		struct sframe_unwind_stats s_;				\
		ASSERT_EQ(0, stats(self->fd, &s_));			\
		EXPECT_EQ(0, s_.corrupt);				\
		EXPECT_EQ(0, s_.stale);					\
		EXPECT_EQ(2, s_.sections);				\
	} while (0)

/* Pages for which a userfaultfd raises SIGBUS until the test provides them. */
TEST_F(unreadable, page_to_come)
{
	static unsigned char source[PAGE] __attribute__((aligned(PAGE)));
	int uffd;

	ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
	memcpy(source, self->fake.section, PAGE);
	uffd = uffd_open(self->fake.section, PAGE, UFFD_FEATURE_SIGBUS);
	if (uffd < 0 && errno == EPERM)
		SKIP(return, "needs root, for userfaultfd");
	ASSERT_LE(0, uffd);
	ASSERT_EQ(0, madvise(self->fake.section, PAGE, MADV_DONTNEED));

	ASSERT_EQ(0, call_request_code(self->fake.text, self->fd, &self->req));
	ASSERT_STACK(self->fd, &self->stack);
	EXPECT_EQ(1, self->stack.head.nr_frames);
	EXPECT_EQ(SFRAME_UNWIND_STOP_SECTION_UNREADABLE, self->stack.head.stop);
	ASSERT_NOTHING_REMOVED();

	ASSERT_TRUE(uffd_provide(uffd, self->fake.section, source, PAGE));
	ASSERT_EQ(0, call_request_code(self->fake.text, self->fd, &self->req));
	ASSERT_STACK(self->fd, &self->stack);
	EXPECT_LE(3, self->stack.head.nr_frames);
	ASSERT_NOTHING_REMOVED();
	close(uffd);
}

/*
 * The limit of a memory cgroup
 */

#define TABLE_SPAN	(2UL << 20)	/* bytes mapped by one page table page */

/*
 * A section whose header is in memory, but whose functions are where the
 * process has no page table yet, and cannot get one because of the limit.
 */
static bool split_section(struct fake *fake)
{
	const int file = memfd_create("section", MFD_CLOEXEC);
	unsigned char section[FAKE_SECTION_SIZE], *map, *at;

	if (ftruncate(file, 2 * PAGE))
		return false;
	map = mmap(NULL, 3 * TABLE_SPAN, PROT_NONE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	at = map + TABLE_SPAN - (uintptr_t)map % TABLE_SPAN + TABLE_SPAN - PAGE;
	if (mmap(at, 2 * PAGE, PROT_READ, MAP_SHARED | MAP_FIXED, file, 0) != at)
		return false;
	/* The index begins with the second page. */
	fake->section = at + PAGE - FAKE_FDE;
	write_fake_section(section, fake->text);
	put64(section + FAKE_FDE,
	      (uintptr_t)fake->text - (uintptr_t)(fake->section + FAKE_FDE));
	if (pwrite(file, section, sizeof(section), PAGE - FAKE_FDE) !=
	    sizeof(section))
		return false;
	close(file);
	fake->reg.sframe_start = (uintptr_t)fake->section;
	return true;
}

/* Counts its argument down to 0. Its frame is as the fake row says. */
static const unsigned char spin_code[] = {
	0x48, 0xff, 0xcf,	/* dec %rdi */
	0x75, 0xfb,		/* jnz */
	0xc3,			/* ret */
};

/*
 * Spin in the code until the timer's request has been delivered. Touches only
 * memory that has been touched before. Returns whether a stack was read.
 */
static bool spin(struct fake *fake, int fd, struct stack *stack)
{
	for (int i = 0; i < 10000; i++) {
		((void (*)(unsigned long))(uintptr_t)fake->text)(100000);
		while (read(fd, stack, sizeof(*stack)) > 0) {
			if (stack->head.nr_frames &&
			    stack->head.ips[0] - (uintptr_t)fake->text < PAGE)
				return true;
		}
	}
	return false;
}

static struct stack limited[2];

/* No memory for a page table page. */
TEST_F(unreadable, memory_limit)
{
	struct sfu_test_timer_spec timer = { .size = sizeof(timer) };
	cpu_set_t cpu;
	bool got[2];
	int fd, max;

	fd = open_test_client(O_NONBLOCK);
	if (fd < 0 && errno == ENOENT)
		SKIP(return, "sframe_unwind_test is not loaded");
	ASSERT_LE(0, fd);
	if (!write_file("/proc/self/oom_score_adj", "-1000") || !enter_group())
		SKIP(return, "needs root, for a memory cgroup");
	max = open(GROUP "/memory.max", O_WRONLY | O_CLOEXEC);
	ASSERT_LE(0, max);
	memcpy(self->fake.text, spin_code, sizeof(spin_code));
	ASSERT_TRUE(split_section(&self->fake));
	ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
	CPU_ZERO(&cpu);
	CPU_SET(sched_getcpu(), &cpu);
	ASSERT_EQ(0, sched_setaffinity(0, sizeof(cpu), &cpu));

	memset(limited, 0xff, sizeof(limited));
	timer.max_depth = 16;
	timer.period = 2000000;
	ASSERT_EQ(0, ioctl(fd, SFU_TEST_IOC_TIMER, &timer));
	ASSERT_EQ(1, write(max, "0", 1));
	got[0] = spin(&self->fake, fd, &limited[0]);
	ASSERT_EQ(3, write(max, "max", 3));
	while (read(fd, &self->stack, sizeof(self->stack)) > 0)
		;
	got[1] = spin(&self->fake, fd, &limited[1]);
	close(fd);
	leave_group();

	ASSERT_TRUE(got[0]);
	EXPECT_EQ(SFRAME_UNWIND_STOP_SECTION_UNREADABLE, limited[0].head.stop);
	EXPECT_EQ(1, limited[0].head.nr_frames);
	ASSERT_TRUE(got[1]);
	EXPECT_LE(2, limited[1].head.nr_frames);
	ASSERT_NOTHING_REMOVED();
}

TEST_HARNESS_MAIN
