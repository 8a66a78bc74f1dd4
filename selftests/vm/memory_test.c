// SPDX-License-Identifier: GPL-2.0
/*
 * Kernel memory that a user can cause to be used: charged to the memory cgroup,
 * and bounded by the limits on files, threads and processes.
 *
 * Racing: run with KCSAN.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>

#include "attach_fixture.h"
#include "cgroup.h"
#include "observed.h"
#include "process.h"

/* A sleeping thread: requests for it stay pending. */
struct sleeper {
	pthread_t thread;
	atomic_int tid;
	int pipe[2];
};

static void *sleep_in_read(void *arg)
{
	struct sleeper *sleeper = arg;
	char byte;

	atomic_store(&sleeper->tid, gettid());
	return (void *)read(sleeper->pipe[0], &byte, 1);
}

static bool start(struct sleeper *sleeper)
{
	atomic_store(&sleeper->tid, 0);
	if (pipe(sleeper->pipe) ||
	    pthread_create(&sleeper->thread, NULL, sleep_in_read, sleeper))
		return false;
	while (!atomic_load(&sleeper->tid) ||
	       !sleeps_in(sleeper->tid, SYS_read))
		sched_yield();
	return true;
}

static void end(struct sleeper *sleeper)
{
	close(sleeper->pipe[1]);
	pthread_join(sleeper->thread, NULL);
	close(sleeper->pipe[0]);
}

/*
 * Memory that other limits do not bound
 */

#define CLOSED	256

/*
 * A pending request keeps its client, but not the ring, which only readers
 * need.
 */
TEST_F(attach, closed_clients)
{
	long before, after;
	struct sleeper sleeper;
	int i, fd;

	if (!enter_group())
		SKIP(return, "needs root, for a memory cgroup");
	ASSERT_TRUE(start(&sleeper));
	before = read_number(GROUP "/memory.stat", "kernel");
	ASSERT_LE(0, before);
	for (i = 0; i < CLOSED; i++) {
		fd = open_client(0);
		ASSERT_EQ(0, try_request(fd, sleeper.tid));
		close(fd);
	}
	EXPECT_EQ(CLOSED, counter("requests"));
	after = read_number(GROUP "/memory.stat", "kernel");
	TH_LOG("%ld bytes of kernel memory each", (after - before) / CLOSED);
	EXPECT_GT(CLOSED * 8192, after - before);
	end(&sleeper);
	EXPECT_EQ(0, counter("requests"));
	leave_group();
}

/*
 * Nor if a walk for the client completes after close, with another request
 * pending.
 */
TEST_F(attach, closed_while_walked)
{
	struct sleeper sleeper, walked;
	int i, fd;

	ASSERT_TRUE(start(&sleeper));
	for (i = 0; i < 20; i++) {
		ASSERT_TRUE(start(&walked));
		fd = open_client(0);
		ASSERT_EQ(0, try_request(fd, sleeper.tid));
		ASSERT_EQ(0, try_request(fd, walked.tid));
		close(fd);
		end(&walked);
	}
	EXPECT_EQ(20, counter("requests"));
	EXPECT_EQ(0, counter("walks"));
	end(&sleeper);
	EXPECT_EQ(0, counter("requests"));
}

#define MAX_JOINED	4096

/* The limit of requests for one thread holds across clients, open or closed. */
TEST_F(attach, requests_of_a_thread)
{
	struct sframe_unwind_request req = request_self();
	struct sleeper sleeper, other;
	struct sframe_unwind_stats s;
	int i, fd = -1;

	ASSERT_TRUE(start(&sleeper));
	ASSERT_TRUE(start(&other));
	for (i = 0; i < MAX_JOINED; i++) {
		if (i % 1024 == 0) {
			close(fd);
			fd = open_client(0);
		}
		ASSERT_EQ(0, try_request(fd, sleeper.tid));
	}
	req.tid = sleeper.tid;
	req.message = (uintptr_t)self->message;
	req.message_size = sizeof(self->message);
	EXPECT_EQ(-1, request(self->fd, &req));
	EXPECT_EQ(EAGAIN, errno);
	EXPECT_NE(NULL, strstr(self->message, "for the thread"));
	EXPECT_EQ(0, try_request(self->fd, other.tid));
	end(&sleeper);
	ASSERT_EQ(0, stats(fd, &s));
	EXPECT_EQ(1024, s.accepted);
	EXPECT_EQ(0, s.pending);
	EXPECT_EQ(s.accepted, s.delivered + s.lost_full);
	/* Requests are accepted again. */
	ASSERT_TRUE(start(&sleeper));
	EXPECT_EQ(0, try_request(self->fd, sleeper.tid));
	end(&sleeper);
	end(&other);
	ASSERT_EQ(0, stats(self->fd, &s));
	EXPECT_EQ(2, s.delivered);
	close(fd);
}

#define CHILDREN	20

/*
 * After a process has exited, sections attached for it keep little memory, and
 * so do clients that listen to its events.
 */
TEST_F(attach, rules_of_the_gone)
{
	const long caches = counter("caches"), sections = counter("sections");
	const long images = counter("images");
	pid_t child;
	int i;

	for (i = 0; i < CHILDREN; i++) {
		child = fork();
		if (!child)
			_exit(attach(self->fd, &self->arg) ||
			      listen_to(self->fd, SFRAME_UNWIND_EVENTS_REMOVED) ?
				      FAILED : walk_small(self->fd, self->at));
		ASSERT_EQ(CALLER, outcome_of(child));
	}
	EXPECT_EQ(images + CHILDREN, counter("images"));
	EXPECT_EQ(caches, counter("caches"));
	EXPECT_EQ(sections, counter("sections"));
}

/*
 * A user that takes as much as possible
 */

#define LIMIT	(4L << 20)	/* bytes in addition to those used at the start */
#define LARGE	(1L << 20)	/* bytes of a section */

struct hog {
	int sock;		/* connected to the test */
	int fd;
	struct sframe_unwind_register reg;
	struct sframe_unwind_attach *attach;
	int large_elf;
	struct sleeper sleeper;
	__u64 next;		/* start of the code registered next */
};

/*
 * Functions that each use some memory, called repeatedly. Return 0, or -1 with
 * errno.
 */

static int take_section(struct hog *hog)
{
	hog->reg.text_start = hog->next++;
	return register_section(hog->fd, &hog->reg);
}

static int take_batch(struct hog *hog)
{
	struct sframe_unwind_batch_entry entries[512];
	struct sframe_unwind_batch batch = {
		.size = sizeof(batch),
		.entries = (uintptr_t)entries,
		.nr = 512,
	};
	unsigned int i;

	for (i = 0; i < 512; i++) {
		entries[i] = (struct sframe_unwind_batch_entry) {
			.sframe_start = hog->reg.sframe_start,
			.sframe_size = hog->reg.sframe_size,
			.text_start = hog->next++,
			.text_size = 1,
		};
	}
	if (ioctl(hog->fd, SFRAME_UNWIND_IOC_REGISTER_BATCH, &batch))
		return -1;
	for (i = 0; i < 512; i++) {
		errno = entries[i].error;
		if (errno)
			return -1;
	}
	return 0;
}

static int take_client(struct hog *hog)
{
	const int fd = open_client(0);

	(void)hog;
	return fd < 0 || try_request(fd, 0) ? -1 : 0;
}

static int take_client_with_events(struct hog *hog)
{
	const int fd = open_client(0);

	(void)hog;
	return fd < 0 ? -1 : listen_to(fd, SFRAME_UNWIND_EVENTS_REMOVED);
}

/*
 * Create a thread with the maximum number of requests, whose clients are
 * closed.
 */
static int take_requests(struct hog *hog)
{
	int i, fd = -1;

	if (!start(&hog->sleeper))
		return -1;
	for (i = 0; i < MAX_JOINED; i++) {
		if (i % 256 == 0) {
			close(fd);
			fd = open_client(0);
		}
		if (try_request(fd, hog->sleeper.tid))
			return -1;
	}
	close(fd);
	return 0;
}

static int take_fork(struct hog *hog)
{
	int done[2];
	pid_t child;
	char error;

	if (pipe(done))
		return -1;
	child = fork();
	if (!child) {
		/* The test waits until all copies of the socket are closed. */
		close(hog->sock);
		error = take_section(hog) ? errno : 0;
		if (write(done[1], &error, 1) != 1)
			_exit(1);
		pause();
	}
	close(done[1]);
	error = ENOMEM;		/* if the child was killed before it could write */
	if (child > 0 && read(done[0], &error, 1) != 1)
		errno = ENOMEM;
	else if (child > 0)
		errno = error;
	close(done[0]);
	return child < 0 || errno ? -1 : 0;
}

static int take_attachment(struct hog *hog)
{
	return ioctl(hog->fd, SFRAME_UNWIND_IOC_ATTACH, hog->attach);
}

/* Map a file whose section is in no PT_LOAD, as in discover_test. */
static int take_file(struct hog *hog)
{
	unsigned char *at = map_elf(hog->large_elf);
	enum outcome outcome;

	if (!at || munmap(at, PAGE))
		return -1;
	outcome = walk_small(hog->fd, at);
	errno = ENOMEM;
	return outcome == CALLER ? 0 : -1;
}

FIXTURE(hog)
{
	struct hog hog;
	int sock[2];
	pid_t pid;
};

/* @enough: number of calls of @take that would use far more than LIMIT. */
FIXTURE_VARIANT(hog)
{
	int (*take)(struct hog *hog);
	unsigned int enough;
};

#define HOG_VARIANT(name, what, number)		\
	FIXTURE_VARIANT_ADD(hog, name)		\
	{					\
		.take = what,			\
		.enough = number,		\
	}

HOG_VARIANT(sections, take_section, 60000);
HOG_VARIANT(batches, take_batch, 60000 / 512);
HOG_VARIANT(clients, take_client, 64);
HOG_VARIANT(events, take_client_with_events, 64);
HOG_VARIANT(requests, take_requests, 16);
HOG_VARIANT(forks, take_fork, 400);
HOG_VARIANT(attachments, take_attachment, 16);
HOG_VARIANT(files, take_file, 16);

static bool set_up(struct hog *hog, struct sframe_unwind_attach *attach)
{
	const size_t text_size = 16 * PAGE;
	unsigned char *text = mmap(NULL, text_size + PAGE,
				   PROT_READ | PROT_WRITE | PROT_EXEC,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct elf_base elf;
	struct elf_sframe sframe = elf_sframe_at(0);

	if (text == MAP_FAILED)
		return false;
	hog->fd = open_client(0);
	write_fake_section(text + text_size, text);
	hog->next = (uintptr_t)text;
	hog->reg = (struct sframe_unwind_register) {
		.size = sizeof(hog->reg),
		.sframe_start = (uintptr_t)text + text_size,
		.sframe_size = FAKE_SECTION_SIZE,
		.text_size = 1,
	};

	elf_base_init(&elf);
	elf.sframe.fre_len = LARGE;
	elf.phdr[ELF_SFRAME].p_filesz = 2 * LARGE;
	elf.phdr[ELF_SFRAME].p_memsz = 2 * LARGE;
	hog->large_elf = make_file(&elf, sizeof(elf));
	if (hog->large_elf < 0 || ftruncate(hog->large_elf, 4 * LARGE))
		return false;

	elf.phdr[ELF_SFRAME].p_type = PT_NULL;
	sframe.fre_len = LARGE;
	*attach = (struct sframe_unwind_attach) {
		.size = sizeof(*attach),
		.elf_fd = make_file(&elf, sizeof(elf)),
		.sframe_fd = make_file(&sframe, sizeof(sframe)),
		.sframe_size = 2 * LARGE,
		.build_id_size = ELF_ID_SIZE,
	};
	memcpy(attach->build_id, elf.note.id, ELF_ID_SIZE);
	hog->attach = attach;
	return !ftruncate(attach->sframe_fd, 4 * LARGE);
}

/*
 * The hog: prepare, call @take until it fails, report, and stay. RLIMIT_MEMLOCK
 * is lifted, so that only the cgroup limits it.
 */
static void live(struct hog *hog, int (*take)(struct hog *hog),
		 unsigned int enough)
{
	const struct rlimit locked = { RLIM_INFINITY, RLIM_INFINITY };
	struct sframe_unwind_attach attach;
	unsigned char error;
	unsigned int i;

	if (setpgid(0, 0) || !enter_group() ||
	    setrlimit(RLIMIT_MEMLOCK, &locked) || become(USER) ||
	    !set_up(hog, &attach) || take(hog) || write(hog->sock, "r", 1) != 1 ||
	    read(hog->sock, &error, 1) != 1)
		_exit(1);
	for (i = 0; i < enough; i++) {
		if (take(hog))
			break;
	}
	error = i < enough ? errno : 0;
	if (write(hog->sock, &error, 1) != 1)
		_exit(1);
	pause();
}

FIXTURE_SETUP(hog)
{
	char limit[32], ready;

	if (geteuid() || !make_group())
		SKIP(return, "needs root, for a memory cgroup");
	memset(&self->hog, 0, sizeof(self->hog));
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, self->sock))
		SKIP(return, "a kernel without sockets");
	self->pid = fork();
	ASSERT_LE(0, self->pid);
	if (!self->pid) {
		close(self->sock[0]);
		self->hog.sock = self->sock[1];
		live(&self->hog, variant->take, variant->enough);
		_exit(1);
	}
	close(self->sock[1]);
	ASSERT_EQ(1, read(self->sock[0], &ready, 1));
	ASSERT_TRUE(forbid_swap());
	snprintf(limit, sizeof(limit), "%ld",
		 read_number(GROUP "/memory.current", "") + LIMIT);
	ASSERT_TRUE(write_file(GROUP "/memory.max", limit));
}

FIXTURE_TEARDOWN(hog)
{
	int status;

	kill(-self->pid, SIGKILL);
	waitpid(self->pid, &status, 0);
	/* Its children are reaped by init. */
	while (rmdir(GROUP) && errno == EBUSY)
		sched_yield();
}

/*
 * A process with a nearly full cgroup that is observed by others is not killed
 * for the memory that this needs: the section exceeds the limit.
 */
TEST(observed_in_a_tight_cgroup)
{
	const int fd = open_client(0);
	struct observed observed;
	struct stack stack;
	struct elf_base elf;
	char limit[32];
	int elf_fd;

	if (geteuid() || !make_group())
		SKIP(return, "needs root, for a memory cgroup");
	elf_base_init(&elf);
	make_readers(&elf);
	elf.sframe.fre_len = LARGE;
	elf.phdr[ELF_SFRAME].p_filesz = 2 * LARGE;
	elf.phdr[ELF_SFRAME].p_memsz = 2 * LARGE;
	elf_fd = make_file(&elf, sizeof(elf));
	ASSERT_EQ(0, ftruncate(elf_fd, 4 * LARGE));
	observed.at = map_elf(elf_fd);
	ASSERT_NE(NULL, observed.at);
	ASSERT_EQ(0, munmap(observed.at, PAGE));
	/* Started in the cgroup, so that all of its memory is charged there. */
	ASSERT_TRUE(enter_group());
	ASSERT_TRUE(start_observed(&observed));
	ASSERT_TRUE(move_to_group("/sys/fs/cgroup/cgroup.procs"));
	while (!sleeps(&observed))
		sched_yield();
	ASSERT_TRUE(forbid_swap());
	snprintf(limit, sizeof(limit), "%ld",
		 read_number(GROUP "/memory.current", "") + LARGE / 4);
	ASSERT_TRUE(write_file(GROUP "/memory.max", limit));

	EXPECT_TRUE(take_stack(fd, &observed, &stack));
	EXPECT_TRUE(take_stack(fd, &observed, &stack));
	EXPECT_EQ(0, read_number(GROUP "/memory.events", "oom_kill"));
	EXPECT_EQ(0, kill(observed.pid, 0));
	end_observed(&observed);
	close(fd);
	leave_group();
}

#define AVAILABLE()	(read_number("/proc/meminfo", "MemAvailable:") * 1024)

/*
 * The cgroup's limit stops the hog, by ENOMEM or by the OOM killer, and other
 * processes lose nothing.
 */
TEST_F(hog, stopped_by_the_limit)
{
	const long before = AVAILABLE();
	unsigned char error = ENOMEM;
	long after, kills, taken;
	bool killed;

	ASSERT_EQ(1, write(self->sock[0], "g", 1));
	killed = recv(self->sock[0], &error, 1, 0) != 1;
	after = AVAILABLE();
	taken = read_number(GROUP "/memory.current", "");
	kills = read_number(GROUP "/memory.events", "oom_kill");
	TH_LOG("%s, %ld OOM kills, %ld KiB in the cgroup, %ld fewer available",
	       strerror(error), kills, taken / 1024, (before - after) / 1024);
	EXPECT_TRUE(killed ? kills > 0 : error == ENOMEM);
	EXPECT_GT(4 * LIMIT, before - after);
}

TEST_HARNESS_MAIN
