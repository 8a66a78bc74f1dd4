// SPDX-License-Identifier: GPL-2.0
/*
 * Processes that do not use the device: the state that walks create for them,
 * and when it is freed.
 *
 * Long: see selftests/check.
 */
#include "cgroup.h"
#include "observed.h"

#define NR_CHILDREN	3

/*
 * Seconds until the next periodic check has certainly freed something, and the
 * period of one check.
 */
#define SOON		6
#define ONE_LOOK	3
/* Seconds without a walk after which a process is forgotten. */
#define IDLE		10

FIXTURE(observe)
{
	int fd;
	int elf_fd;
	struct elf_base elf;
	struct observed child[NR_CHILDREN];
	unsigned char *own;	/* code of a file that requests a stack */
};

FIXTURE_SETUP(observe)
{
	int own_fd, i;

	if (geteuid())
		SKIP(return, "needs root, for CAP_PERFMON");
	elf_base_init(&self->elf);
	own_fd = make_file(&self->elf, sizeof(self->elf));
	self->own = map_elf(own_fd);
	close(own_fd);
	make_readers(&self->elf);
	self->elf_fd = make_file(&self->elf, sizeof(self->elf));
	for (i = 0; i < NR_CHILDREN; i++) {
		self->child[i].at = map_elf(self->elf_fd);
		ASSERT_TRUE(start_observed(&self->child[i]));
	}
	/* Opened now, so that the children do not inherit it. */
	self->fd = open_client(0);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(observe)
{
	int i;

	for (i = 0; i < NR_CHILDREN; i++)
		end_observed(&self->child[i]);
	close(self->fd);
	close(self->elf_fd);
}

/* Nothing is visible in the process, and results are cached. */
TEST_F(observe, no_marker)
{
	long before;

	EXPECT_TRUE(observe(self->fd, &self->child[0]));
	EXPECT_FALSE(has_marker(self->child[0].pid));
	before = counter("total_discovered");
	EXPECT_TRUE(observe(self->fd, &self->child[0]));
	EXPECT_EQ(before, counter("total_discovered"));
	EXPECT_EQ(1, counter("observed"));
	EXPECT_FALSE(has_marker(self->child[0].pid));
}

/* Also the VM's init, which outlives the module. */
TEST_F(observe, init)
{
	struct sframe_unwind_request req = request_self();
	struct stack stack;

	/* Wake it; it sleeps until the tests are over. */
	req.flags = SFRAME_UNWIND_REQUEST_INTERRUPT;
	req.tid = 1;
	ASSERT_EQ(0, request(self->fd, &req));
	ASSERT_STACK(self->fd, &stack);
	EXPECT_EQ(1, stack.head.pid);
	EXPECT_FALSE(has_marker(1));
}

/* Closing the last client that requested stacks frees the state. */
TEST_F(observe, client_closed)
{
	const int other = open_client(0);
	int i;

	ASSERT_EQ(0, listen_to(other, 0));
	for (i = 0; i < NR_CHILDREN; i++)
		EXPECT_TRUE(observe(self->fd, &self->child[i]));
	EXPECT_EQ(NR_CHILDREN, counter("observed"));
	EXPECT_LT(0, counter("sections"));
	EXPECT_EQ(NR_CHILDREN, counter("caches"));
	close(self->fd);
	EXPECT_TRUE(comes_to("observed", 0, SOON));
	/* Counted down a little later, like what the spaces own. */
	EXPECT_TRUE(comes_to("spaces", 0, SOON));
	EXPECT_TRUE(comes_to("sections", 0, SOON));
	EXPECT_TRUE(comes_to("nodes", 0, SOON));
	EXPECT_TRUE(comes_to("caches", 0, SOON));
	EXPECT_TRUE(comes_to("cache_pages", 0, SOON));
	for (i = 0; i < NR_CHILDREN; i++)
		EXPECT_EQ(0, kill(self->child[i].pid, 0));
	/* A client that has not requested anything before. */
	self->fd = other;
	EXPECT_TRUE(observe(self->fd, &self->child[0]));
}

#define ROUNDS	5

/* At once, not at the next periodic check. */
TEST_F(observe, client_closed_at_once)
{
	__u64 least = ~0ULL, took;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		ASSERT_TRUE(observe(self->fd, &self->child[0]));
		took = now_ns();
		close(self->fd);
		EXPECT_TRUE(comes_to("observed", 0, SOON));
		took = now_ns() - took;
		if (took < least)
			least = took;
		self->fd = open_client(0);
	}
	/*
	 * Checks are two seconds apart; the first is two seconds after the
	 * first walk.
	 */
	EXPECT_GT(1000000000ULL, least);
}

/* One requesting client keeps the state. */
TEST_F(observe, another_client)
{
	const int other = open_client(0);

	ASSERT_TRUE(observe(other, &self->child[0]));
	ASSERT_TRUE(observe(self->fd, &self->child[1]));
	ASSERT_EQ(2, counter("observed"));
	close(self->fd);
	self->fd = other;
	/* Longer than a periodic check takes. */
	EXPECT_FALSE(comes_to("observed", 0, 3));
	EXPECT_EQ(2, counter("observed"));
}

/* Processes that are no longer observed are forgotten, others are not. */
TEST_F(observe, idle)
{
	const __u64 start = now_ns(), end = start + 3 * IDLE * 1000000000ULL;
	long before;

	ASSERT_TRUE(observe(self->fd, &self->child[0]));
	ASSERT_TRUE(observe(self->fd, &self->child[1]));
	ASSERT_EQ(2, counter("observed"));
	before = counter("total_discovered");
	while (counter("observed") == 2 && now_ns() < end) {
		ASSERT_TRUE(observe(self->fd, &self->child[1]));
		usleep(10000);
	}
	EXPECT_EQ(1, counter("observed"));
	EXPECT_LE(IDLE * 1000000000ULL, now_ns() - start);
	EXPECT_EQ(before, counter("total_discovered"));
	EXPECT_TRUE(observe(self->fd, &self->child[0]));
	EXPECT_EQ(2, counter("observed"));
}

/* The process observed first exits, and then the other one. */
TEST_F(observe, exit)
{
	int i;

	ASSERT_TRUE(observe(self->fd, &self->child[0]));
	for (i = 0; i < 2; i++) {
		ASSERT_TRUE(observe(self->fd, &self->child[!i]));
		ASSERT_EQ(2, counter("observed"));
		end_observed(&self->child[0]);
		EXPECT_TRUE(comes_to("observed", 1, SOON));
		EXPECT_TRUE(observe(self->fd, &self->child[1]));
		ASSERT_TRUE(start_observed(&self->child[0]));
	}
}

TEST_F(observe, exec)
{
	struct sframe_unwind_request req = request_self();
	struct observed *child = &self->child[0];
	struct stack stack;

	req.flags = SFRAME_UNWIND_REQUEST_INTERRUPT;

	ASSERT_TRUE(observe(self->fd, child));
	ASSERT_TRUE(send_byte(child, EXEC));
	EXPECT_TRUE(comes_to("observed", 0, SOON));
	EXPECT_EQ(0, kill(child->pid, 0));
	/* It runs another program now. */
	while (!is_asleep(child->pid))
		sched_yield();
	req.tid = child->pid;
	ASSERT_EQ(0, request(self->fd, &req));
	ASSERT_STACK(self->fd, &stack);
	EXPECT_NE((uintptr_t)child->at + ELF_SMALL_VADDR + REQUEST_CODE_IP,
		  stack.head.ips[0]);
	EXPECT_FALSE(has_marker(child->pid));
}

/* Whether the kernel has KASAN, which keeps freed memory for a while: in slabinfo it is in use. */
static bool keeps_freed_memory(void)
{
	FILE *file = fopen("/proc/kallsyms", "re");
	bool found = false;
	char line[512];

	while (file && !found && fgets(line, sizeof(line), file))
		found = strstr(line, " kasan_report\n");
	if (file)
		fclose(file);
	return found;
}

#define NR_EXITS	400

/*
 * The number of states stays small, even if processes exit faster than the
 * periodic checks, and although one of them stays. Their mm_structs are freed,
 * too.
 */
TEST_F(observe, many_exits)
{
	const long before = read_number("/proc/slabinfo", "mm_struct");
	long most = 0;
	pid_t pid;
	int i;

	ASSERT_LT(0, before);
	for (i = 0; i < NR_EXITS; i++) {
		if (i % 16 == 0)
			ASSERT_TRUE(observe(self->fd, &self->child[0]));
		pid = fork();
		if (!pid)
			_exit(walk_small(self->fd, self->own));
		ASSERT_EQ(CALLER, outcome_of(pid));
		if (i % 8 == 0 && counter("observed") > most)
			most = counter("observed");
	}
	TH_LOG("%ld at the most", most);
	EXPECT_GT(16, most);
	EXPECT_TRUE(comes_to("observed", 1, SOON));
	/* Counted down a little later. */
	EXPECT_TRUE(comes_to("spaces", 1, SOON));
	if (!keeps_freed_memory())
		EXPECT_GT(before + NR_EXITS / 2,
			  read_number("/proc/slabinfo", "mm_struct"));
}

/*
 * Many at the same time. Their state is freed when the last client closes, and
 * when they have exited.
 */
TEST_F(observe, many_at_once)
{
	static struct observed many[200];
	__u64 start;
	int i;

	/* So that the children do not inherit it. */
	close(self->fd);
	for (i = 0; i < 200; i++) {
		many[i].at = self->child[0].at;
		ASSERT_TRUE(start_observed(&many[i]));
	}
	self->fd = open_client(0);
	start = now_ns();
	for (i = 0; i < 200; i++)
		EXPECT_TRUE(observe(self->fd, &many[i]));
	/* In a slow kernel the first one may have been idle for too long. */
	if (now_ns() - start < IDLE * 1000000000ULL)
		EXPECT_EQ(200, counter("observed"));
	close(self->fd);
	/* Those that one check did not reach wait for the next. */
	EXPECT_TRUE(comes_to("observed", 0, ONE_LOOK));
	self->fd = open_client(0);
	for (i = 0; i < 200; i++) {
		EXPECT_TRUE(observe(self->fd, &many[i]));
		EXPECT_FALSE(has_marker(many[i].pid));
		end_observed(&many[i]);
	}
	EXPECT_TRUE(comes_to("observed", 0, SOON));
}

/*
 * A process that requests its own stack, and then registers
 */

/*
 * Registering creates the marker; discovered sections are found again, because
 * they are charged now.
 */
TEST_F(observe, registers)
{
	struct sframe_unwind_section found;
	struct fake fake;
	long before;

	ASSERT_TRUE(make_fake(&fake));
	put_request_code(&fake);
	EXPECT_EQ(CALLER, walk_small(self->fd, self->own));
	EXPECT_FALSE(has_marker(getpid()));
	found = section_of(self->fd, self->own + ELF_SMALL_VADDR);
	EXPECT_EQ(SFRAME_UNWIND_SECTION_FOUND, found.source);
	before = counter("total_discovered");
	EXPECT_EQ(1, counter("observed"));

	ASSERT_EQ(0, register_section(self->fd, &fake.reg));
	EXPECT_TRUE(has_marker(getpid()));
	EXPECT_EQ(0, counter("observed"));
	EXPECT_EQ(1, counter("spaces"));
	EXPECT_EQ(CALLER, walk(self->fd, fake.text));
	EXPECT_EQ(CALLER, walk_small(self->fd, self->own));
	EXPECT_NE(found.id,
		  section_of(self->fd, self->own + ELF_SMALL_VADDR).id);
	EXPECT_LT(before, counter("total_discovered"));
	found = section_of(self->fd, self->own + ELF_SMALL_VADDR);

	/* The state then stays. */
	close(self->fd);
	self->fd = open_client(0);
	EXPECT_EQ(found.id,
		  section_of(self->fd, self->own + ELF_SMALL_VADDR).id);
	free_fake(&fake);
}

/* EVENTS creates the marker, too. */
TEST_F(observe, listens)
{
	EXPECT_EQ(CALLER, walk_small(self->fd, self->own));
	ASSERT_EQ(0, listen_to(self->fd, SFRAME_UNWIND_EVENTS_REMOVED));
	EXPECT_TRUE(has_marker(getpid()));
	EXPECT_EQ(0, counter("observed"));
	EXPECT_EQ(CALLER, walk_small(self->fd, self->own));
}

/* The other calls do not. */
TEST_F(observe, looks)
{
	struct sframe_unwind_stats s;

	EXPECT_EQ(0, stats(self->fd, &s));
	EXPECT_EQ(0, section_of(self->fd, self->own).id);
	EXPECT_EQ(-1, unregister_id(self->fd, 1));
	EXPECT_EQ(ENOENT, errno);
	EXPECT_EQ(0, counter("spaces"));
	EXPECT_EQ(CALLER, walk_small(self->fd, self->own));
	EXPECT_EQ(0, stats(self->fd, &s));
	EXPECT_EQ(0, s.sections);
	EXPECT_FALSE(has_marker(getpid()));
}

/* Without a marker, fork is not noticed. */
TEST_F(observe, fork_begins_anew)
{
	const unsigned char *code = self->own + ELF_SMALL_VADDR;
	long before;
	pid_t child;

	EXPECT_EQ(CALLER, walk_small(self->fd, self->own));
	before = counter("total_discovered");
	child = fork();
	if (!child)
		_exit(!section_of(self->fd, code).id &&
		      walk_small(self->fd, self->own) == CALLER &&
		      section_of(self->fd, code).id &&
		      counter("total_discovered") > before ? 0 : 1);
	EXPECT_EQ(0, outcome_of(child));
	before = counter("total_discovered");
	EXPECT_NE(0, section_of(self->fd, code).id);
	EXPECT_EQ(CALLER, walk_small(self->fd, self->own));
	EXPECT_EQ(before, counter("total_discovered"));
}

/* Unmapping the marker resets the state. */
TEST_F(observe, marker_unmapped)
{
	struct fake fake;

	ASSERT_TRUE(make_fake(&fake));
	ASSERT_EQ(0, register_section(self->fd, &fake.reg));
	ASSERT_TRUE(unmap_marker());
	EXPECT_EQ(0, counter("spaces"));
	EXPECT_EQ(CALLER, walk_small(self->fd, self->own));
	EXPECT_EQ(1, counter("observed"));
	ASSERT_EQ(0, register_section(self->fd, &fake.reg));
	EXPECT_EQ(0, counter("observed"));
	EXPECT_EQ(CALLER, walk_small(self->fd, self->own));
	free_fake(&fake);
}

/*
 * Memory pressure
 */

/* Cached rules and observed state are freed; registrations are not. */
TEST_F(observe, memory_is_short)
{
	struct sframe_unwind_stats s;
	struct fake fake;
	int round;

	ASSERT_TRUE(make_fake(&fake));
	put_request_code(&fake);
	ASSERT_EQ(0, register_section(self->fd, &fake.reg));
	for (round = 0; round < 3; round++) {
		EXPECT_EQ(CALLER, walk(self->fd, fake.text));
		EXPECT_TRUE(observe(self->fd, &self->child[0]));
		EXPECT_EQ(2, counter("caches"));
		EXPECT_EQ(2, counter("spaces"));
		EXPECT_EQ(1, counter("observed"));
		ASSERT_TRUE(drop_caches());
		EXPECT_EQ(0, counter("caches"));
		EXPECT_EQ(0, counter("cache_pages"));
		EXPECT_EQ(0, counter("observed"));
		EXPECT_EQ(1, counter("spaces"));
	}
	/* Also without observed processes. */
	EXPECT_EQ(CALLER, walk(self->fd, fake.text));
	EXPECT_EQ(1, counter("caches"));
	ASSERT_TRUE(drop_caches());
	EXPECT_EQ(0, counter("caches"));
	EXPECT_EQ(CALLER, walk(self->fd, fake.text));
	ASSERT_EQ(0, stats(self->fd, &s));
	EXPECT_EQ(1, s.sections);
	free_fake(&fake);
}

/* While other threads walk, which must always get the right stack. */
TEST_F(observe, memory_is_always_short)
{
	const __u64 end = now_ns() + 2000000000ULL;
	unsigned int walks = 0, wrong = 0;
	struct fake fake;
	pid_t dropper;

	ASSERT_TRUE(make_fake(&fake));
	put_request_code(&fake);
	dropper = fork();
	while (!dropper)
		drop_caches();
	while (now_ns() < end) {
		wrong += walk_small(self->fd, self->own) != CALLER;
		wrong += !observe(self->fd, &self->child[walks % NR_CHILDREN]);
		walks++;
	}
	ASSERT_EQ(0, register_section(self->fd, &fake.reg));
	while (now_ns() < end + 2000000000ULL) {
		wrong += walk_small(self->fd, self->own) != CALLER;
		wrong += walk(self->fd, fake.text) != CALLER;
		walks++;
	}
	TH_LOG("%u rounds", walks);
	EXPECT_EQ(0, wrong);
	kill(dropper, SIGKILL);
	waitpid(dropper, NULL, 0);
	free_fake(&fake);
}

TEST_HARNESS_MAIN
