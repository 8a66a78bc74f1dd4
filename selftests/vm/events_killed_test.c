// SPDX-License-Identifier: GPL-2.0
/*
 * EVENTS waits for the mmap lock, to map the marker, and its process is killed:
 * the call ends at once, with EINTR.
 */
#include <sys/prctl.h>
#include <sys/wait.h>

#include "mmap_lock.h"

#define TRACEFS		"/sys/kernel/tracing"
#define INSTANCE	TRACEFS "/instances/events_killed_test"
#define EVENT		INSTANCE "/events/raw_syscalls/sys_exit"

/* A process that calls EVENTS; shared with the test. */
struct caller {
	struct mmap_lock lock;
	int fd;
	atomic_bool go;
};

static void be_caller(struct caller *caller)
{
	if (!mmap_lock_prepare(&caller->lock) || !mmap_lock_hold(&caller->lock))
		_exit(1);
	while (!atomic_load(&caller->go))
		usleep(1000);
	listen_to(caller->fd, SFRAME_UNWIND_EVENTS_REMOVED);
	_exit(0);
}

static bool write_to(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_TRUNC);
	bool done = fd >= 0 &&
		    write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return done;
}

/*
 * Trace the results of system calls, in a tracing instance of our own: nothing
 * else tells the result of a call whose process has been killed.
 */
static bool start_tracing(void)
{
	if (access(TRACEFS "/instances", F_OK))
		mount("tracefs", TRACEFS, "tracefs", 0, NULL);
	rmdir(INSTANCE);
	return !mkdir(INSTANCE, 0700);
}

/* The result of the ioctl of thread @tid, or 1 if it has not been traced. */
static long traced_result(pid_t tid)
{
	FILE *trace = fopen(INSTANCE "/trace", "r");
	char line[256], wanted[32], *at;
	long result = 1;

	snprintf(wanted, sizeof(wanted), "-%d ", tid);
	while (trace && fgets(line, sizeof(line), trace)) {
		at = strstr(line, "NR 16 = ");		/* __NR_ioctl */
		if (line[0] != '#' && at && strstr(line, wanted))
			result = strtol(at + strlen("NR 16 = "), NULL, 10);
	}
	if (trace)
		fclose(trace);
	return result;
}

TEST(eintr)
{
	static const unsigned char page[PAGE];
	struct caller *caller = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	atomic_uint never = 0;
	struct fuse fuse;
	long result = 1;
	pid_t pid;
	int status;

	if (geteuid() || !start_tracing())
		SKIP(return, "no tracing: %s", strerror(errno));
	ASSERT_NE(MAP_FAILED, caller);
	ASSERT_TRUE(fuse_mount(&fuse, page, sizeof(page)));
	caller->lock.path = fuse.path;
	caller->fd = open_client(0);
	ASSERT_LE(0, caller->fd);
	ASSERT_TRUE(write_to(EVENT "/filter", "id == 16"));
	ASSERT_TRUE(write_to(EVENT "/enable", "1"));
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		fuse_die(&fuse);
		be_caller(caller);
	}
	ASSERT_TRUE(mmap_lock_block(&caller->lock, &fuse, pid));
	atomic_store(&caller->go, true);
	ASSERT_TRUE(stays_blocked(pid, &never));
	EXPECT_EQ(1, traced_result(pid));

	/* The fault still holds the lock: nothing but the signal ends the call. */
	ASSERT_EQ(0, kill(pid, SIGKILL));
	for (int i = 0; i < 1000 && result == 1; i++) {
		usleep(10000);
		result = traced_result(pid);
	}
	EXPECT_EQ(-EINTR, result);

	EXPECT_TRUE(fuse_answer(&fuse));
	EXPECT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(WIFSIGNALED(status));
	write_to(EVENT "/enable", "0");
	rmdir(INSTANCE);
	fuse_unmount(&fuse);
	close(caller->fd);
}

TEST_HARNESS_MAIN
