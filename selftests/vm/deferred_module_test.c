// SPDX-License-Identifier: GPL-2.0
/*
 * Modules that get stacks, loaded and removed: the sample, under load, and one that does
 * not cancel its work.
 *
 * Long: see selftests/check.
 * Racing: run with KCSAN.
 */
#include <sched.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "common.h"
#include "process.h"
#include "trace_events.h"

#define SAMPLE		"/run/vm/sample/open_stacks.ko"
#define TIMED		"/run/vm/sample/timed_work.ko"
#define FORGETFUL	"/run/vm/sample/forget_work.ko"
#define EXITING		"/run/vm/sample/exit_work.ko"
#define STACKS		"/sys/kernel/debug/open_stacks"

/* How often a module is removed, if MODULE_ROUNDS does not say it. */
#define NR_ROUNDS	20
#define NR_WORKERS	4

/* Functions that are alone in their 256 bytes, for inside(). */
#define ALONE	__attribute__((noinline, aligned(256)))

static int load_module(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int err = fd < 0 || syscall(SYS_finit_module, fd, "", 0) ? errno : 0;

	if (fd >= 0)
		close(fd);
	return err;
}

static int unload_module(const char *name)
{
	return syscall(SYS_delete_module, name, O_NONBLOCK) ? errno : 0;
}

/* The counts of the sample. */
struct counts {
	unsigned long long opens, requested, refused, stacks;
};

static ALONE int open_here(const char *path)
{
	long ret = SYS_openat;

	asm volatile("mov %4, %%r10\n\tsyscall"
		     : "+a"(ret)
		     : "D"((long)AT_FDCWD), "S"(path), "d"((long)O_RDONLY), "r"(0L)
		     : "rcx", "r10", "r11", "memory");
	return ret;
}

static ALONE int open_deeper(const char *path)
{
	int fd = open_here(path);

	asm volatile("" ::: "memory");	/* no tail call */
	return fd;
}

/*
 * Read the sample's file, and count the stacks in it that go through open_here() in
 * *@nr_here, unless that is NULL.
 */
static bool read_sample(struct counts *c, unsigned int *nr_here)
{
	FILE *file = fopen(STACKS, "re");
	unsigned long long first, second;
	char line[2048], *at;
	bool good;

	if (!file)
		return false;
	good = fgets(line, sizeof(line), file) &&
	       sscanf(line, "opens %llu requested %llu refused %llu stacks %llu", &c->opens,
		      &c->requested, &c->refused, &c->stacks) == 4;
	while (fgets(line, sizeof(line), file)) {
		at = strstr(line, ": ");
		if (nr_here && at && sscanf(at + 2, "%llx %llx", &first, &second) == 2)
			*nr_here += inside(first, open_here, 256) &&
				    inside(second, open_deeper, 256);
	}
	fclose(file);
	return good;
}

/* Shared with the processes that are the load. */
struct load {
	atomic_bool stop;
	atomic_ulong opens;
};

FIXTURE(module)
{
	int fd;
	struct load *load;
};

FIXTURE_SETUP(module)
{
	if (access(SAMPLE, R_OK))
		SKIP(return, "no sample: qemu/build-module with SFU_TEST=1");
	self->fd = open_client(0);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, register_own(self->fd));
	self->load = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->load);
}

FIXTURE_TEARDOWN(module)
{
	self->load->stop = true;
	set_online(1, true);
	close(self->fd);
}

/* The stack of each open, when the call has ended. */
TEST_F(module, each_open)
{
	struct counts c;
	unsigned int nr = 0;

	ASSERT_EQ(0, load_module(SAMPLE));
	for (int i = 0; i < 32; i++)
		close(open_deeper("/dev/null"));
	EXPECT_TRUE(read_sample(&c, &nr));
	EXPECT_EQ(0, unload_module("open_stacks"));
	/* The last one is that of the file itself, which is pending. */
	EXPECT_LE(33, c.opens);
	EXPECT_LE(31, nr);
	EXPECT_EQ(0, c.refused);
	EXPECT_LE(c.stacks, c.requested);
}

/* A name of a thread is not a line of the sample's file, nor several words. */
TEST_F(module, names_are_escaped)
{
	static const char name[] = "x\n\033 1 cookie";
	unsigned int nr = 0;
	char line[2048];
	FILE *file;

	ASSERT_EQ(0, load_module(SAMPLE));
	ASSERT_EQ(0, prctl(PR_SET_NAME, name));
	for (int i = 0; i < 8; i++)
		close(open_deeper("/dev/null"));
	file = fopen(STACKS, "re");
	ASSERT_NE(NULL, file);
	EXPECT_NE(NULL, fgets(line, sizeof(line), file));
	while (fgets(line, sizeof(line), file)) {
		nr += !strncmp(line, "x\\012\\033\\0401\\040cookie ", 25);
		EXPECT_NE(0, strncmp(line, "\033", 1));
	}
	fclose(file);
	EXPECT_EQ(0, unload_module("open_stacks"));
	EXPECT_LE(8, nr);
}

static void open_often(struct load *load)
{
	pid_t pid;
	int i;

	/* Also if the test has failed. */
	while (!load->stop && getppid() != 1) {
		pid = fork();
		for (i = 0; i < 100; i++)
			close(open_deeper("/dev/null"));
		load->opens += 100;
		if (!pid)
			execl("/bin/true", "true", NULL);
		waitpid(pid, NULL, 0);
	}
	_exit(0);
}

/* Wait in a call that opens a file until the other end of the FIFO is opened. */
static pid_t start_sleeper(const char *fifo)
{
	pid_t pid = fork();

	if (!pid) {
		open_deeper(fifo);
		_exit(0);
	}
	while (!sleeps_in(pid, SYS_openat))
		sched_yield();
	return pid;
}

static void start_load(struct load *load, pid_t *pids)
{
	for (int i = 0; i < NR_WORKERS; i++) {
		pids[i] = fork();
		if (!pids[i])
			open_often(load);
	}
}

static bool end_load(struct load *load, const pid_t *pids)
{
	bool ended = true;

	load->stop = true;
	for (int i = 0; i < NR_WORKERS; i++)
		ended &= waitpid(pids[i], NULL, 0) == pids[i];
	return ended;
}

static unsigned int nr_rounds(void)
{
	const char *asked = getenv("MODULE_ROUNDS");

	return asked ? strtoul(asked, NULL, 10) : NR_ROUNDS;
}

/* Removed while files are opened, and a stack is pending of a call that sleeps. */
TEST_F_TIMEOUT(module, removed_under_load, 1200)
{
	const unsigned int rounds = nr_rounds();
	unsigned long long stacks = 0;
	char fifo[32];
	pid_t pids[NR_WORKERS], sleeper = 0;
	struct counts c;
	unsigned int n;

	snprintf(fifo, sizeof(fifo), "/tmp/fifo%d", getpid());
	ASSERT_EQ(0, mkfifo(fifo, 0600));
	/*
	 * Loading and removing the sample changes code of the kernel. A CPU of QEMU may then
	 * die of what another one has changed: see README.md. So there is only one.
	 */
	ASSERT_TRUE(set_online(1, false));
	start_load(self->load, pids);
	for (n = 0; n < rounds || sleeper; n++) {
		ASSERT_EQ(0, load_module(SAMPLE));
		if (n % 10 == 0)
			sleeper = start_sleeper(fifo);
		/* Sometimes at once, sometimes after some stacks. */
		do {
			sched_yield();
			ASSERT_TRUE(read_sample(&c, NULL));
		} while (c.stacks < n % 4 * 10);
		stacks += c.stacks;
		ASSERT_EQ(0, unload_module("open_stacks"));
		if (n % 10 == 5) {
			close(open(fifo, O_WRONLY));
			EXPECT_EQ(sleeper, waitpid(sleeper, NULL, 0));
			sleeper = 0;
		}
	}
	EXPECT_TRUE(end_load(self->load, pids));
	EXPECT_TRUE(set_online(1, true));
	unlink(fifo);
	printf("# removed %u times while %lu files were opened, %llu stacks\n", n,
	       self->load->opens, stacks);
	EXPECT_LT(0, stacks);
}

/* Number of stacks that the module of the timers has got. */
static long nr_timed(void)
{
	FILE *file = fopen("/sys/module/timed_work/parameters/called", "re");
	long nr = -1;

	if (file && fscanf(file, "%ld", &nr) != 1)
		nr = -1;
	if (file)
		fclose(file);
	return nr;
}

/* The same with requests from interrupts, and with all CPUs. */
TEST_F_TIMEOUT(module, removed_on_all_cpus, 1200)
{
	const unsigned int rounds = nr_rounds();
	pid_t pids[NR_WORKERS];
	unsigned int n;
	long called, total = 0;

	start_load(self->load, pids);
	for (n = 0; n < rounds; n++) {
		ASSERT_EQ(0, load_module(TIMED));
		do {
			called = nr_timed();
			ASSERT_LE(0, called);
		} while (called < n % 4 * 10);
		total += called;
		ASSERT_EQ(0, unload_module("timed_work"));
	}
	EXPECT_TRUE(end_load(self->load, pids));
	printf("# removed %u times, %ld stacks\n", n, total);
	EXPECT_LT(0, total);
}

/* Returns whether the kernel's log has @text. */
static bool is_logged(const char *text)
{
	FILE *log = popen("dmesg", "re");
	bool found = false;
	char line[512];

	while (log && fgets(line, sizeof(line), log))
		found |= !!strstr(line, text);
	if (log)
		pclose(log);
	return found;
}

/* A stack is pending when the code of its callback is freed: it is lost. */
TEST_F(module, without_cancel)
{
	ASSERT_EQ(0, load_module(FORGETFUL));
	EXPECT_EQ(0, unload_module("forget_work"));
	EXPECT_TRUE(is_logged("forget_work: called 1 times"));
	EXPECT_TRUE(is_logged("module forget_work has not cancelled 1 works before its removal"));
	/* Once more, at the same place. */
	EXPECT_EQ(0, load_module(FORGETFUL));
	EXPECT_EQ(0, unload_module("forget_work"));
}

/* The counts of the module that requests in exiting threads. */
struct exiting {
	unsigned long long accepted, called, lost, exited, pending;
};

static bool read_exiting(struct exiting *e)
{
	FILE *file = fopen("/sys/module/exit_work/parameters/stats", "re");
	bool good;

	if (!file)
		return false;
	good = fscanf(file, "accepted %llu called %llu lost %llu exited %llu pending %llu",
		      &e->accepted, &e->called, &e->lost, &e->exited, &e->pending) == 5;
	fclose(file);
	return good;
}

/*
 * A thread that exits has no memory of its own when its task_works run: there the
 * callback would read and write that of another process. So it is not called.
 */
TEST_F(module, exiting)
{
	struct exiting e;
	struct traced t;
	pid_t pid;
	int i;

	/* It changes code of the kernel. */
	ASSERT_TRUE(set_online(1, false));
	ASSERT_TRUE(start_traced(&t, TRACED_EVENTS, 1024));
	ASSERT_EQ(0, load_module(EXITING));
	for (i = 0; i < 10; i++) {
		pid = fork();
		if (!pid)
			_exit(0);
		EXPECT_EQ(pid, waitpid(pid, NULL, 0));
	}
	EXPECT_TRUE(read_exiting(&e));
	EXPECT_EQ(0, unload_module("exit_work"));
	EXPECT_TRUE(stop_traced(&t));
	/* More threads may have exited after the counts were read. */
	EXPECT_LE(e.exited, sum_of(&t, "lost", "count", "reason", "exited"));
	EXPECT_EQ(0, sum_of(&t, "stack", NULL, NULL, NULL));
	end_traced(&t);
	EXPECT_TRUE(set_online(1, true));
	EXPECT_LE(10, e.accepted);
	EXPECT_EQ(0, e.called);
	EXPECT_LE(10, e.exited);
	EXPECT_EQ(e.exited, e.lost);
	EXPECT_EQ(e.accepted, e.lost + e.pending);
}

TEST_HARNESS_MAIN
