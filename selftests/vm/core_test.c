// SPDX-License-Identifier: GPL-2.0
/* A thread that dumps core to a program: a request must not truncate the core. */
#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "cgroup.h"
#include "common.h"
#include "process.h"

#define PATTERN	"/proc/sys/kernel/core_pattern"
#define SIZE	(8UL << 20)	/* bytes of memory in the core */

/* Named pipes: tells the handler to read the core, and returns the core's size. */
#define GO	"/run/sframe_unwind_core.go"
#define RESULT	"/run/sframe_unwind_core.result"
#define HANDLER	"core-handler"

/* The kernel runs this program as core handler, with the core on stdin. */
static __attribute__((constructor)) void handle_core(int argc, char **argv)
{
	static char buffer[1 << 16];
	unsigned long size = 0;
	char byte;
	ssize_t got;

	if (argc != 2 || strcmp(argv[1], HANDLER))
		return;
	if (read(open(GO, O_RDONLY), &byte, 1) != 1)
		_exit(1);
	while ((got = read(0, buffer, sizeof(buffer))) > 0)
		size += got;
	_exit(write(open(RESULT, O_WRONLY), &size, sizeof(size)) !=
	      sizeof(size));
}

FIXTURE(core)
{
	int fd;
	char before[256];
};

FIXTURE_SETUP(core)
{
	const int pattern = open(PATTERN, O_RDWR | O_CLOEXEC);
	char path[128] = "", line[160];

	if (pattern < 0)
		SKIP(return, "needs root, for %s", PATTERN);
	self->fd = open_client(0);
	ASSERT_LE(0, self->fd);
	ASSERT_LT(0, read(pattern, self->before, sizeof(self->before) - 1));
	close(pattern);
	ASSERT_LT(0, readlink("/proc/self/exe", path, sizeof(path) - 1));
	snprintf(line, sizeof(line), "|%s " HANDLER, path);
	unlink(GO);
	unlink(RESULT);
	ASSERT_EQ(0, mkfifo(GO, 0600));
	ASSERT_EQ(0, mkfifo(RESULT, 0600));
	ASSERT_TRUE(write_file(PATTERN, line));
}

FIXTURE_TEARDOWN(core)
{
	write_file(PATTERN, self->before);
	unlink(GO);
	unlink(RESULT);
	close(self->fd);
}

static pid_t fork_crash(void)
{
	const struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };
	const pid_t child = fork();
	void *memory;

	if (child)
		return child;
	memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(memory, 1, SIZE);
	setrlimit(RLIMIT_CORE, &limit);
	abort();
}

/* Whether the process waits for its core to be read. */
static bool is_dumping(pid_t pid)
{
	char name[64];

	snprintf(name, sizeof(name), "/proc/%d/status", pid);
	return read_number(name, "CoreDumping:") == 1 && is_asleep(pid);
}

/* The core is complete, and the record says that the thread exited. */
TEST_F(core, interrupted)
{
	struct sframe_unwind_request req = request_self();
	unsigned long size = 0;
	int go, result, status;

	req.flags = SFRAME_UNWIND_REQUEST_INTERRUPT;
	req.tid = fork_crash();
	ASSERT_LT(0, req.tid);
	go = open(GO, O_WRONLY);
	while (!is_dumping(req.tid))
		sched_yield();
	EXPECT_EQ(-1, request(self->fd, &req));
	EXPECT_EQ(ESRCH, errno);
	ASSERT_EQ(1, write(go, "x", 1));
	result = open(RESULT, O_RDONLY);
	ASSERT_EQ(sizeof(size), read(result, &size, sizeof(size)));
	EXPECT_LT(SIZE, size);
	ASSERT_EQ(req.tid, waitpid(req.tid, &status, 0));
	EXPECT_TRUE(WCOREDUMP(status));
	close(go);
	close(result);
}

/* A pending request does no harm. */
TEST_F(core, left_alone)
{
	struct sframe_unwind_request req = request_self();
	unsigned long size = 0;
	int go, result, status;
	struct stack stack;

	req.tid = fork_crash();
	ASSERT_LT(0, req.tid);
	go = open(GO, O_WRONLY);
	while (!is_dumping(req.tid))
		sched_yield();
	EXPECT_EQ(0, request(self->fd, &req));
	ASSERT_EQ(1, write(go, "x", 1));
	result = open(RESULT, O_RDONLY);
	ASSERT_EQ(sizeof(size), read(result, &size, sizeof(size)));
	EXPECT_LT(SIZE, size);
	ASSERT_EQ(req.tid, waitpid(req.tid, &status, 0));
	EXPECT_TRUE(WCOREDUMP(status));
	ASSERT_STACK(self->fd, &stack);
	EXPECT_EQ(SFRAME_UNWIND_STOP_EXITED, stack.head.stop);
	close(go);
	close(result);
}

TEST_HARNESS_MAIN
