// SPDX-License-Identifier: GPL-2.0
/*
 * Sections attached to addresses of a process, detached and replaced, while walks use them,
 * while others do the same, and while the process ends.
 *
 * Long: see selftests/check.
 * Racing: run with KCSAN.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "attach_range.h"
#include "observed.h"

/* Seconds after which the state of a process that has ended is certainly gone. */
#define SOON	6

FIXTURE(race)
{
	int fd;
	int sframe_fd;
	struct elf_base elf;
	unsigned char *at;		/* anonymous code of this process */
	struct sframe_unwind_attach arg;
	long attachments;
	pthread_t thread;
	atomic_int stop;
	const char *why;		/* error message of the thread */
	unsigned int nr;		/* successes of the thread */
};

FIXTURE_SETUP(race)
{
	elf_base_init(&self->elf);
	self->at = map_anonymous_code(&self->elf);
	ASSERT_NE(NULL, self->at);
	self->sframe_fd = make_range_section();
	ASSERT_LE(0, self->sframe_fd);
	self->fd = open_client(0);
	ASSERT_LE(0, self->fd);
	self->arg = range_of(0, self->at + ELF_SMALL_VADDR, ELF_PAGE,
			     self->sframe_fd);
	self->attachments = counter("attachments");
}

FIXTURE_TEARDOWN(race)
{
	close(self->sframe_fd);
	close(self->fd);
}

/* Attach with a client of its own, and detach, until it is stopped. */
static void *attach_and_detach(void *data)
{
	FIXTURE_DATA(race) *self = data;
	struct sframe_unwind_attach arg = self->arg;
	const int fd = open_client(0);

	while (!atomic_load(&self->stop) && !self->why) {
		if (attach(fd, &arg))
			self->why = "attach";
		else if (detach(fd, arg.id))
			self->why = "detach";
		else
			self->nr++;
	}
	close(fd);
	return NULL;
}

static bool start(FIXTURE_DATA(race) *self, void *(*function)(void *))
{
	return !pthread_create(&self->thread, NULL, function, self);
}

/* Returns the thread's error message. */
static const char *stop(FIXTURE_DATA(race) *self)
{
	atomic_store(&self->stop, 1);
	pthread_join(self->thread, NULL);
	return self->why;
}

#define WALKS	5000

/* Each walk has the caller, or ends there because nothing is attached. */
TEST_F(race, walk)
{
	unsigned int nr[2] = {};

	ASSERT_TRUE(start(self, attach_and_detach));
	for (int i = 0; i < WALKS; i++) {
		const enum outcome outcome = walk_small(self->fd, self->at);

		if (outcome != CALLER && outcome != NO_RULE) {
			EXPECT_EQ(CALLER, outcome);
			break;
		}
		nr[outcome == CALLER]++;
	}
	EXPECT_EQ(NULL, stop(self));
	TH_LOG("%u walks with the caller, %u without, %u times attached", nr[1],
	       nr[0], self->nr);
	EXPECT_EQ(self->attachments, counter("attachments"));
	EXPECT_EQ(NO_RULE, walk_small(self->fd, self->at));
}

/* Two clients that replace each other's attachments, also with ranges that are shifted. */
TEST_F(race, replace)
{
	struct sframe_unwind_attach arg;

	self->arg.flags |= SFRAME_UNWIND_ATTACH_REPLACE;
	arg = self->arg;
	ASSERT_TRUE(start(self, attach_and_detach));
	for (int i = 0; i < WALKS; i++) {
		enum outcome outcome;

		arg.text_start = self->arg.text_start + i % 3 * FAKE_SIZE;
		arg.text_size = ELF_PAGE - 2 * FAKE_SIZE;
		ASSERT_EQ(0, attach(self->fd, &arg));
		outcome = walk_small(self->fd, self->at);
		if (outcome != CALLER && outcome != NO_RULE)
			EXPECT_EQ(CALLER, outcome);
		ASSERT_EQ(0, detach(self->fd, arg.id));
	}
	EXPECT_EQ(NULL, stop(self));
	EXPECT_EQ(self->attachments, counter("attachments"));
	/* Nothing is left in the table. */
	arg.flags = SFRAME_UNWIND_ATTACH_PROCESS;
	EXPECT_EQ(0, attach(self->fd, &arg));
}

/* Map other memory in place of the code, and back, until it is stopped. */
static void *map_other_memory(void *data)
{
	FIXTURE_DATA(race) *self = data;
	unsigned char *code = self->at + ELF_SMALL_VADDR;
	unsigned char *spare = mmap(NULL, ELF_PAGE,
				    PROT_READ | PROT_WRITE | PROT_EXEC,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const int file = make_file(self->elf.small, sizeof(self->elf.small));

	memcpy(spare, self->elf.small, sizeof(self->elf.small));
	while (!atomic_load(&self->stop)) {
		if (mmap(code, ELF_PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED,
			 file, 0) == MAP_FAILED ||
		    mremap(spare, ELF_PAGE, ELF_PAGE, MREMAP_MAYMOVE | MREMAP_FIXED,
			   code) == MAP_FAILED) {
			self->why = "mmap";
			break;
		}
		spare = mmap(NULL, ELF_PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		memcpy(spare, self->elf.small, sizeof(self->elf.small));
		self->nr++;
	}
	close(file);
	return NULL;
}

/* The code is always the same, but of a file or not: attachments end all the time. */
TEST_F(race, other_memory)
{
	unsigned int ended = 0;

	ASSERT_EQ(0, attach(self->fd, &self->arg));
	ASSERT_TRUE(start(self, map_other_memory));
	for (int i = 0; i < WALKS; i++) {
		const enum outcome outcome = walk_small(self->fd, self->at);

		if (outcome != CALLER && outcome != NO_RULE) {
			EXPECT_EQ(CALLER, outcome);
			break;
		}
		if (!has_ended_id(self->fd, self->arg.id))
			continue;
		ended++;
		ASSERT_EQ(0, detach(self->fd, self->arg.id));
		/* As it is mapped at the moment: another one may be there soon. */
		ASSERT_EQ(0, attach(self->fd, &self->arg));
	}
	EXPECT_EQ(NULL, stop(self));
	TH_LOG("mapped %u times, ended %u times", self->nr, ended);
	EXPECT_LT(0, ended);
}

#define PROCESSES	300

/* Processes that are killed, or execute a program, while something is attached to them. */
TEST_F(race, ending_processes)
{
	unsigned int nr = 0, gone = 0;

	if (geteuid())
		SKIP(return, "needs root");
	for (int i = 0; i < PROCESSES; i++) {
		const pid_t child = fork();
		struct sframe_unwind_attach arg = self->arg;

		if (!child) {
			if (i % 2)
				execlp("true", "true", NULL);
			_exit(0);
		}
		arg.pid = child;
		for (;;) {
			if (!attach(self->fd, &arg)) {
				nr++;
				ASSERT_EQ(0, detach(self->fd, arg.id));
				continue;
			}
			/* Ended, or another program, which has nothing there. */
			ASSERT_TRUE(errno == ESRCH || errno == EFAULT ||
				    errno == EACCES || errno == EINVAL);
			gone++;
			break;
		}
		waitpid(child, NULL, 0);
	}
	TH_LOG("attached %u times to %u processes", nr, gone);
	EXPECT_EQ(PROCESSES, gone);
	EXPECT_EQ(self->attachments, counter("attachments"));
	EXPECT_TRUE(comes_to("observed", 0, SOON));
}

/* The last client that requests stacks is closed, again and again. */
static void *open_and_close(void *data)
{
	FIXTURE_DATA(race) *self = data;
	struct stack stack;

	while (!atomic_load(&self->stop)) {
		const int fd = open_client(0);
		struct sframe_unwind_request req = request_self();

		if (fd < 0 || request(fd, &req) || read_stack(fd, &stack))
			self->why = "request";
		close(fd);
		self->nr++;
	}
	return NULL;
}

/* The state of a process is freed for want of clients just when something is attached. */
TEST_F(race, kept_or_not)
{
	struct sframe_unwind_attach arg;
	struct observed other;
	struct elf_base readers = self->elf;
	const int fd = open_client(0);

	if (geteuid())
		SKIP(return, "needs root");
	make_readers(&readers);
	other.at = map_anonymous_code(&readers);
	ASSERT_TRUE(start_observed(&other));
	arg = range_of(other.pid, other.at + ELF_SMALL_VADDR, ELF_PAGE,
		       self->sframe_fd);
	ASSERT_TRUE(start(self, open_and_close));
	for (int i = 0; i < PROCESSES; i++) {
		const int asker = open_client(0);

		ASSERT_EQ(0, attach(fd, &arg));
		/* It is found by the state that was not freed. */
		EXPECT_TRUE(observe(asker, &other));
		close(asker);
		EXPECT_FALSE(has_ended_id(fd, arg.id));
		ASSERT_EQ(0, detach(fd, arg.id));
	}
	EXPECT_EQ(NULL, stop(self));
	end_observed(&other);
	close(fd);
}

TEST_HARNESS_MAIN
