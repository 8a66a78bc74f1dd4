// SPDX-License-Identifier: GPL-2.0
/*
 * Sections attached to addresses of another process: what that notices, how long its
 * state is kept, and how it ends.
 *
 * Long: see selftests/check.
 */
#include <pthread.h>
#include <sys/shm.h>

#include "attach_range.h"
#include "fuse_server.h"
#include "mmap_lock.h"
#include "observed.h"

/* Seconds after which the state of a process that has ended is certainly gone. */
#define SOON	6
/* Seconds without a walk after which a process is forgotten. */
#define IDLE	10

FIXTURE(process)
{
	int fd;
	int sframe_fd;
	struct observed other;
	struct sframe_unwind_attach other_arg;
};

FIXTURE_SETUP(process)
{
	struct elf_base readers;

	elf_base_init(&readers);
	make_readers(&readers);
	self->other.at = map_anonymous_code(&readers);
	ASSERT_NE(NULL, self->other.at);
	ASSERT_TRUE(start_observed(&self->other));
	self->sframe_fd = make_range_section();
	ASSERT_LE(0, self->sframe_fd);
	self->fd = open_client(0);
	ASSERT_LE(0, self->fd);
	self->other_arg = range_of(self->other.pid,
				   self->other.at + ELF_SMALL_VADDR, ELF_PAGE,
				   self->sframe_fd);
}

FIXTURE_TEARDOWN(process)
{
	end_observed(&self->other);
	close(self->sframe_fd);
	close(self->fd);
}

TEST_F(process, others_unnoticed)
{
	struct stack stack;

	if (geteuid())
		SKIP(return, "needs root");
	ASSERT_TRUE(take_stack(self->fd, &self->other, &stack));
	EXPECT_EQ(1, stack.head.nr_frames);
	EXPECT_EQ(SFRAME_UNWIND_STOP_NO_RULE, stack.head.stop);
	ASSERT_EQ(0, attach(self->fd, &self->other_arg));
	EXPECT_TRUE(observe(self->fd, &self->other));
	EXPECT_EQ(1, hits(self->fd, self->other_arg.id));
	EXPECT_FALSE(has_marker(self->other.pid));
	ASSERT_EQ(0, detach(self->fd, self->other_arg.id));
	ASSERT_TRUE(take_stack(self->fd, &self->other, &stack));
	EXPECT_EQ(1, stack.head.nr_frames);
}

/* Without walks, and without a client that requests any. */
TEST_F_TIMEOUT(process, others_are_kept, 120)
{
	const int other = open_client(0);

	if (geteuid())
		SKIP(return, "needs root");
	ASSERT_EQ(0, attach(other, &self->other_arg));
	EXPECT_TRUE(comes_to("observed", 1, SOON));
	EXPECT_FALSE(comes_to("observed", 0, IDLE + SOON));
	EXPECT_TRUE(observe(self->fd, &self->other));
	close(self->fd);
	EXPECT_FALSE(comes_to("observed", 0, SOON));
	self->fd = open_client(0);
	EXPECT_TRUE(observe(self->fd, &self->other));
	close(self->fd);
	close(other);
	EXPECT_TRUE(comes_to("observed", 0, SOON));
	self->fd = open_client(0);
}

TEST_F(process, others_by_exec)
{
	if (geteuid())
		SKIP(return, "needs root");
	ASSERT_EQ(0, attach(self->fd, &self->other_arg));
	EXPECT_TRUE(observe(self->fd, &self->other));
	ASSERT_TRUE(send_byte(&self->other, EXEC));
	EXPECT_TRUE(comes_to("spaces", 0, SOON));
	EXPECT_TRUE(has_ended_id(self->fd, self->other_arg.id));
	EXPECT_EQ(0, detach(self->fd, self->other_arg.id));
}

TEST_F(process, others_by_exit)
{
	if (geteuid())
		SKIP(return, "needs root");
	ASSERT_EQ(0, attach(self->fd, &self->other_arg));
	kill(self->other.pid, SIGKILL);
	EXPECT_TRUE(comes_to("spaces", 0, SOON));
	EXPECT_TRUE(has_ended_id(self->fd, self->other_arg.id));
	/* A zombie has no address space. */
	EXPECT_EQ(-1, attach(self->fd, &self->other_arg));
	EXPECT_EQ(ESRCH, errno);
}

/* What walks have found is freed when memory is short, and found again. */
TEST_F(process, others_sections_are_shed)
{
	int round;

	if (geteuid())
		SKIP(return, "needs root");
	ASSERT_EQ(0, attach(self->fd, &self->other_arg));
	for (round = 0; round < 3; round++) {
		EXPECT_TRUE(observe(self->fd, &self->other));
		EXPECT_LT(0, counter("sections"));
		ASSERT_TRUE(drop_caches());
		EXPECT_EQ(0, counter("sections"));
		EXPECT_EQ(0, counter("caches"));
		EXPECT_EQ(1, counter("observed"));
	}
	EXPECT_TRUE(observe(self->fd, &self->other));
	EXPECT_EQ(1, counter("observed"));
}

/* Without memory pressure, when there was no walk for a while. */
TEST_F_TIMEOUT(process, others_sections_are_shed_later, 120)
{
	if (geteuid())
		SKIP(return, "needs root");
	ASSERT_EQ(0, attach(self->fd, &self->other_arg));
	EXPECT_TRUE(observe(self->fd, &self->other));
	EXPECT_TRUE(comes_to("sections", 0, IDLE + SOON));
	EXPECT_EQ(1, counter("observed"));
	EXPECT_TRUE(observe(self->fd, &self->other));
}

static void *pause_for_ever(void *unused)
{
	for (;;)
		pause();
	return unused;
}

/* A process whose first thread has exited still has an address space. */
TEST_F(process, others_first_thread_has_exited)
{
	pthread_t thread;
	pid_t child;

	if (geteuid())
		SKIP(return, "needs root");
	child = fork();
	if (!child) {
		if (pthread_create(&thread, NULL, pause_for_ever, NULL))
			_exit(1);
		syscall(SYS_exit, 0);
	}
	while (thread_state(child) != 'Z')
		sched_yield();
	self->other_arg.pid = child;
	EXPECT_EQ(0, attach(self->fd, &self->other_arg));
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	EXPECT_EQ(-1, attach(self->fd, &self->other_arg));
	EXPECT_EQ(ESRCH, errno);
}

/* Attachments to a shared memory segment: it has as many as there are address spaces. */
static long nr_attached(int segment)
{
	struct shmid_ds ds = {};

	return shmctl(segment, IPC_STAT, &ds) ? -1 : (long)ds.shm_nattch;
}

/* Reading the section may take long: that must not keep the memory of the process. */
TEST_F(process, others_exit_while_the_section_is_read)
{
	unsigned char section[FAKE_SECTION_SIZE];
	struct fuse_server server = {};
	pid_t attacher, ended;
	int segment, fuse, i;
	void *memory;

	if (geteuid())
		SKIP(return, "needs root");
	segment = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600);
	ASSERT_LE(0, segment);
	memory = shmat(segment, NULL, 0);
	ASSERT_NE((void *)-1, memory);
	shmctl(segment, IPC_RMID, NULL);
	ended = fork();
	if (!ended) {
		pause();
		_exit(0);
	}
	ASSERT_EQ(0, shmdt(memory));
	ASSERT_EQ(1, nr_attached(segment));
	/* After the fork, as closing the file takes an answer of the server. */
	write_fake_section(section, section);
	if (!fuse_server_start(&server, section, sizeof(section), 0)) {
		kill(ended, SIGKILL);
		SKIP(return, "no FUSE: %s", strerror(errno));
	}
	fuse = fuse_server_open(&server);
	ASSERT_LE(0, fuse);
	self->other_arg.pid = ended;
	self->other_arg.sframe_fd = fuse;
	fuse_server_close_gate(&server);
	attacher = fork();
	if (!attacher)
		_exit(attach(self->fd, &self->other_arg) ? errno : 0);
	while (!atomic_load(&server.gate->reads))
		sched_yield();
	kill(ended, SIGKILL);
	ASSERT_EQ(ended, waitpid(ended, NULL, 0));
	/* The segment goes with the last of them. */
	for (i = 0; i < 1000 && nr_attached(segment) > 0; i++)
		usleep(1000);
	EXPECT_EQ(-1, nr_attached(segment));
	fuse_server_open_gate(&server);
	EXPECT_EQ(0, outcome_of(attacher));
	fuse_server_stop(&server);
	close(fuse);
}

TEST_HARNESS_MAIN
