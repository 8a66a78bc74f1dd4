// SPDX-License-Identifier: GPL-2.0
/*
 * Removal of the module: refused while it is in use, in whatever way, and
 * possible at any other moment. SFU_MODULE names the module's file.
 */
#include <ctype.h>
#include <dirent.h>
#include <sched.h>
#include <signal.h>
#include <time.h>

#include "../../module/test/test.h"
#include "../include/attach.h"
#include "../include/observed.h"
#include "child.h"
#include "module.h"
#include "rmmod_sample.h"

/*
 * Removals of the module under load, and attempts for each. A round takes half
 * a second on two idle CPUs and several seconds on busy ones: then there are
 * fewer rounds, to stay within the harness's time limit.
 */
#define NR_ROUNDS	200
#define MAX_SECONDS	(TEST_TIMEOUT_DEFAULT / 2)
#define MAX_TRIES	3000
#define NR_WORKERS	3

static int load(void)
{
	return load_module(getenv("SFU_MODULE") ?: "sframe_unwind.ko");
}

/* The test module, whose timers request stacks. */
static int load_test(void)
{
	return load_module("sframe_unwind_test.ko");
}

/* Returns EAGAIN while the module or the test module is in use. */
static int unload(void)
{
	const int err = unload_module("sframe_unwind_test");

	return err && err != ENOENT ? err : unload_module("sframe_unwind");
}

FIXTURE(rmmod)
{
	struct child child;
};

FIXTURE_SETUP(rmmod)
{
	ASSERT_EQ(0, load());
}

/* At the end of each test the module can be removed. */
FIXTURE_TEARDOWN(rmmod)
{
	EXPECT_EQ(0, unload());
}

TEST_F(rmmod, open_client)
{
	int fd = open_client(0);

	ASSERT_LE(0, fd);
	EXPECT_EQ(EAGAIN, unload());
	close(fd);
}

/*
 * A descriptor in flight between two sockets belongs to no process, but is
 * open.
 */
TEST_F(rmmod, client_in_flight)
{
	int fd = open_client(0), pair[2];

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	ASSERT_EQ(0, send_fd(pair[0], fd));
	close(fd);
	EXPECT_EQ(EAGAIN, unload());
	close(pair[0]);
	close(pair[1]);
}

/* Open a client and register a section. */
static int open_registered(void)
{
	int fd = open_client(0);

	if (register_own(fd))
		_exit(1);
	return fd;
}

static void register_and_close(const struct child *child)
{
	close(open_registered());
	say_and_wait(child);
}

/* The marker of a process keeps the module. */
TEST_F(rmmod, registered)
{
	ASSERT_TRUE(start(&self->child, register_and_close));
	EXPECT_EQ(EAGAIN, unload());
	EXPECT_TRUE(end(&self->child));
}

static void register_and_exec(const struct child *child)
{
	char command[64];

	open_registered();
	dup2(child->said, 100);
	dup2(child->told, 101);
	snprintf(command, sizeof(command), "echo >&100; read -r x <&101");
	execl("/bin/bash", "bash", "-c", command, NULL);
	_exit(1);
}

TEST_F(rmmod, executed)
{
	ASSERT_TRUE(start(&self->child, register_and_exec));
	/* The process still exists, but with another address space. */
	EXPECT_EQ(0, unload());
	EXPECT_EQ(0, load());
	EXPECT_TRUE(end(&self->child));
}

static void register_and_fork(const struct child *child)
{
	close(open_registered());
	if (fork())
		_exit(0);
	say_and_wait(child);
}

/* An inherited registration keeps the module, too. */
TEST_F(rmmod, forked)
{
	ASSERT_EQ(0, prctl(PR_SET_CHILD_SUBREAPER, 1));
	ASSERT_TRUE(start(&self->child, register_and_fork));
	ASSERT_EQ(self->child.pid, waitpid(self->child.pid, NULL, 0));
	EXPECT_EQ(EAGAIN, unload());
	ASSERT_TRUE(tell(&self->child));
	/* Reap the grandchild. */
	EXPECT_LT(0, wait(NULL));
}

static void register_and_end(const struct child *child)
{
	close(open_registered());
	unmap_marker();
	say_and_wait(child);
}

TEST_F(rmmod, marker_unmapped)
{
	ASSERT_TRUE(start(&self->child, register_and_end));
	EXPECT_EQ(0, unload());
	EXPECT_EQ(0, load());
	EXPECT_TRUE(end(&self->child));
}

static void just_wait(const struct child *child)
{
	say_and_wait(child);
	say_and_wait(child);
}

/* Request the stack of the child, and close the client. */
static int request_of(const struct child *child)
{
	int fd = open_client(0);
	int err = try_request(fd, child->pid);

	close(fd);
	return err;
}

/* A request keeps the module until the thread returns to user space. */
TEST_F(rmmod, pending_asleep)
{
	ASSERT_TRUE(start(&self->child, just_wait));
	wait_until_in(&self->child, SYS_read);
	ASSERT_EQ(0, request_of(&self->child));
	EXPECT_EQ(EAGAIN, unload());
	ASSERT_TRUE(tell(&self->child));
	ASSERT_TRUE(hear(&self->child));
	EXPECT_TRUE(end(&self->child));
}

TEST_F(rmmod, pending_stopped)
{
	ASSERT_TRUE(start(&self->child, just_wait));
	ASSERT_TRUE(stop(&self->child));
	ASSERT_EQ(0, request_of(&self->child));
	EXPECT_EQ(EAGAIN, unload());
	ASSERT_TRUE(tell(&self->child));
	EXPECT_EQ(EAGAIN, unload());
	ASSERT_EQ(0, kill(self->child.pid, SIGCONT));
	ASSERT_TRUE(hear(&self->child));
	/* The walk has left nothing in the child. */
	EXPECT_EQ(0, unload());
	EXPECT_EQ(0, load());
	EXPECT_TRUE(end(&self->child));
}

TEST_F(rmmod, pending_killed)
{
	ASSERT_TRUE(start(&self->child, just_wait));
	ASSERT_TRUE(stop(&self->child));
	ASSERT_EQ(0, request_of(&self->child));
	EXPECT_EQ(EAGAIN, unload());
	EXPECT_TRUE(end(&self->child));
}

static void read_asleep(const struct child *child)
{
	char buffer[64];
	int fd = open_client(0);

	say(child);
	/* Blocks, because no record arrives. */
	if (read(fd, buffer, sizeof(buffer)) < 0)
		_exit(1);
}

static void poll_asleep(const struct child *child)
{
	struct pollfd pfd = { .fd = open_client(0), .events = POLLIN };

	say(child);
	poll(&pfd, 1, -1);
}

TEST_F(rmmod, reader_asleep)
{
	ASSERT_TRUE(start(&self->child, read_asleep));
	wait_until_in(&self->child, SYS_read);
	EXPECT_EQ(EAGAIN, unload());
	EXPECT_TRUE(end(&self->child));
}

TEST_F(rmmod, poller_asleep)
{
	ASSERT_TRUE(start(&self->child, poll_asleep));
	wait_until_in(&self->child, SYS_poll);
	EXPECT_EQ(EAGAIN, unload());
	EXPECT_TRUE(end(&self->child));
}

/* Exit with a timer running that requests stacks until then. */
static void run_timer(const struct child *child)
{
	struct sfu_test_timer_spec spec = {
		.size = sizeof(spec),
		.max_depth = 64,
		.period = 1000000,
	};
	int fd = open_test_client(0);

	if (ioctl(fd, SFU_TEST_IOC_TIMER, &spec))
		_exit(1);
	say(child);
	for (;;)
		asm volatile("");
}

TEST_F(rmmod, timer)
{
	ASSERT_EQ(0, load_test());
	ASSERT_TRUE(start(&self->child, run_timer));
	EXPECT_EQ(EAGAIN, unload());
	EXPECT_TRUE(end(&self->child));
}

static void sample_mapped(const struct child *child)
{
	int fd = open_client(0);

	if (!take_samples(fd))
		_exit(1);
	/* The rings are mapped: the file is not closed, and samples go on. */
	close(fd);
	say_and_wait(child);
}

TEST_F(rmmod, sampling)
{
	ASSERT_TRUE(start(&self->child, sample_mapped));
	EXPECT_EQ(EAGAIN, unload());
	EXPECT_TRUE(end(&self->child));
}

/* Walk through a file that has a section attached. */
static void walk_attached(const struct child *child)
{
	struct sframe_unwind_attach arg;
	struct elf_sframe sframe;
	int fd = open_client(0);
	struct elf_base elf;

	if (!make_bare(&elf, &sframe, &arg))
		_exit(1);
	arg.flags = SFRAME_UNWIND_ATTACH_SYSTEM;
	if (attach(fd, &arg) || walk_small(fd, map_elf(arg.elf_fd)) != CALLER)
		_exit(1);
	/* Closing removes the attachment, and what the walk has found. */
	close(fd);
	say_and_wait(child);
}

TEST_F(rmmod, attached)
{
	ASSERT_TRUE(start(&self->child, walk_attached));
	EXPECT_EQ(0, unload());
	EXPECT_EQ(0, load());
	EXPECT_TRUE(end(&self->child));
}

#define NR_OBSERVED	200

/* Number of objects in a slab cache, or -1. */
static long slab_objects(const char *kind)
{
	FILE *file = fopen("/proc/slabinfo", "r");
	char line[256], name[64];
	long value = -1, objects;

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%63s %ld", name, &objects) == 2 &&
		    !strcmp(name, kind))
			value = objects;
	}
	if (file)
		fclose(file);
	return value;
}

/* Number of processes with a marker. */
static unsigned int count_marked(void)
{
	unsigned int nr = 0;
	struct dirent *entry;
	DIR *dir = opendir("/proc");

	while ((entry = readdir(dir))) {
		if (isdigit(entry->d_name[0]))
			nr += has_marker(atoi(entry->d_name));
	}
	closedir(dir);
	return nr;
}

/* Seconds after its last walk that an observed process is forgotten. */
#define OBSERVED_SECONDS	10

/* Observed processes that still exist do not keep the module. */
TEST_F(rmmod, observed)
{
	static struct observed observed[NR_OBSERVED];
	time_t when[NR_OBSERVED];
	struct elf_base elf;
	long before, counted;
	unsigned char *at;
	int i, fd, nr_recent = 0;

	elf_base_init(&elf);
	make_readers(&elf);
	at = map_elf(make_file(&elf, sizeof(elf)));
	ASSERT_NE(NULL, at);
	for (i = 0; i < NR_OBSERVED; i++) {
		observed[i].at = at;
		ASSERT_TRUE(start_observed(&observed[i]));
	}
	before = slab_objects("mm_struct");
	fd = open_client(0);
	for (i = 0; i < NR_OBSERVED; i++) {
		when[i] = time(NULL);
		EXPECT_TRUE(observe(fd, &observed[i]));
	}
	counted = counter("observed");
	/* On a slow machine the first ones are forgotten already. */
	for (i = 0; i < NR_OBSERVED; i++)
		nr_recent += time(NULL) - when[i] < OBSERVED_SECONDS - 1;
	EXPECT_GE(NR_OBSERVED, counted);
	EXPECT_LE(nr_recent, counted);
	EXPECT_LT(0, nr_recent);
	EXPECT_EQ(0, count_marked());
	close(fd);
	/* It does not wait for state that is freed soon. */
	EXPECT_EQ(0, unload());
	EXPECT_EQ(0, load());
	for (i = 0; i < NR_OBSERVED; i++)
		end_observed(&observed[i]);
	printf("# mm_struct: %ld before, %ld after all have gone\n", before,
	       slab_objects("mm_struct"));
	unmap_elf(at);
}

/* Use the module briefly in different ways, in a process that ends soon. */
static void live_shortly(unsigned int what)
{
	struct sframe_unwind_request req = request_self();
	struct sfu_test_timer_spec spec = {
		.size = sizeof(spec),
		.max_depth = 64,
		.period = 100000,
	};
	unsigned int i;
	pid_t pid;
	int fd = what & 2 ? open_test_client(O_NONBLOCK) : open_client(O_NONBLOCK);

	/* The module may be unloaded at the moment. */
	if (fd < 0)
		return;
	if (what & 1)
		register_own(fd);
	if (what & 2)
		ioctl(fd, SFU_TEST_IOC_TIMER, &spec);
	if (what & 64)
		take_samples(fd);
	for (i = 0; i < 4; i++)
		request(fd, &req);
	if (what & 4)
		close(fd);
	if (what & 8 && !fork()) {
		request(fd, &req);
		_exit(0);
	}
	if (what & 16) {
		pid = fork();
		if (!pid)
			pause();
		req.tid = pid;
		request(fd, &req);
		if (pid > 0)
			kill(pid, SIGKILL);
	}
	if (what & 32)
		kill(getpid(), SIGKILL);
}

/* Shared with the workers. */
struct shared {
	bool stop, pause;
	unsigned int idle, lives;
};

static void work(struct shared *shared, unsigned int what)
{
	pid_t pid;

	while (!__atomic_load_n(&shared->stop, __ATOMIC_ACQUIRE)) {
		if (__atomic_load_n(&shared->pause, __ATOMIC_ACQUIRE)) {
			__atomic_add_fetch(&shared->idle, 1, __ATOMIC_ACQ_REL);
			while (__atomic_load_n(&shared->pause, __ATOMIC_ACQUIRE))
				sched_yield();
			__atomic_sub_fetch(&shared->idle, 1, __ATOMIC_ACQ_REL);
		}
		pid = fork();
		if (!pid) {
			live_shortly(what);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
		__atomic_add_fetch(&shared->lives, 1, __ATOMIC_RELAXED);
		/* All ways, in a different order in each worker. */
		what = what * 5 + 3;
	}
	_exit(0);
}

/*
 * Remove the module while the workers run; if that fails in many attempts,
 * pause them. Returns whether no pause was needed, or -1.
 */
static int remove_under_load(struct shared *shared)
{
	int tries, err;

	for (tries = 0; tries < MAX_TRIES; tries++) {
		err = unload();
		if (err != EAGAIN)
			return err ? -1 : 1;
		sched_yield();
	}
	__atomic_store_n(&shared->pause, true, __ATOMIC_RELEASE);
	while (__atomic_load_n(&shared->idle, __ATOMIC_ACQUIRE) < NR_WORKERS)
		sched_yield();
	/* Grandchildren may still be exiting. */
	for (tries = 0; tries < 10000; tries++) {
		err = unload();
		if (err != EAGAIN)
			break;
		usleep(1000);
	}
	__atomic_store_n(&shared->pause, false, __ATOMIC_RELEASE);
	while (__atomic_load_n(&shared->idle, __ATOMIC_ACQUIRE))
		sched_yield();
	return err ? -1 : 0;
}

TEST_F(rmmod, under_load)
{
	struct shared *shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	const time_t until = time(NULL) + MAX_SECONDS;
	unsigned int i, raced = 0;
	int ret;

	ASSERT_NE(MAP_FAILED, shared);
	for (i = 0; i < NR_WORKERS; i++) {
		if (!fork())
			work(shared, i);
	}
	for (i = 0; i < NR_ROUNDS && time(NULL) < until; i++) {
		ret = remove_under_load(shared);
		EXPECT_LE(0, ret);
		EXPECT_EQ(0, load());
		EXPECT_EQ(0, load_test());
		if (ret < 0)
			break;
		raced += ret;
	}
	__atomic_store_n(&shared->stop, true, __ATOMIC_RELEASE);
	while (waitpid(-1, NULL, 0) > 0)
		;
	printf("# removed %u times, %u of them while workers ran; they ran %u times\n",
	       i, raced, shared->lives);
	EXPECT_LT(0, raced);
	/* The workers' last children may still be exiting. */
	for (i = 0; i < 10000 && unload(); i++)
		usleep(1000);
	EXPECT_EQ(0, load());
}

TEST_HARNESS_MAIN
