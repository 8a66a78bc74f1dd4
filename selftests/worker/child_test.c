// SPDX-License-Identifier: GPL-2.0
/*
 * Children: what they inherit, and how they end. As root; with FUSE.
 */
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>

#include "common.h"
#include "stuck_file.h"

static struct child_spec spec;
static int status;

/* Start a child and wait for its end. */
static void run(int (*body)(void *), void *data)
{
	struct child *child;
	struct pollfd ended = { .events = POLLIN };

	spec.run = body;
	spec.data = data;
	status = -1;
	if (child_start(&child, &spec)) {
		tap_fail("child_start() failed");
		return;
	}
	ended.fd = child_fd(child);
	while (!child_collect(child, &status, NULL))
		poll(&ended, 1, 1000);
}

static int return_seven(void *data)
{
	(void)data;
	return 7;
}

static int kill_self(void *data)
{
	kill(getpid(), *(int *)data);
	return 0;
}

static void test_status(void)
{
	int number = SIGTERM;

	spec = (struct child_spec){ 0 };
	run(return_seven, NULL);
	EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 7);
	run(kill_self, &number);
	EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}

static int spin(void *data)
{
	const clock_t start = clock();

	(void)data;
	while (clock() - start < CLOCKS_PER_SEC / 20)
		;
	return 0;
}

static void test_usage(void)
{
	struct rusage usage;
	struct child *child;

	spec = (struct child_spec){ .run = spin };
	EXPECT_EQ(child_start(&child, &spec), 0);
	while (!child_collect(child, NULL, &usage))
		poll(NULL, 0, 5);
	EXPECT(usage.ru_utime.tv_sec * 1000000 + usage.ru_utime.tv_usec +
	       usage.ru_stime.tv_usec > 40000);
}

/* Descriptors 0 and 1 must be a pipe, 2 /dev/null, and no others open. */
static int check_descriptors(void *data)
{
	char byte = 0;

	(void)data;
	if (write(1, "x", 1) != 1 || read(0, &byte, 1) != 1 || byte != 'x')
		return 1;
	if (write(2, "x", 1) != 1 || read(2, &byte, 1) != 0)
		return 2;
	for (int fd = 3; fd < 1000; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			return 3;
	return 0;
}

static void test_descriptors(void)
{
	int pipe_fds[2], keep[3];
	int other = open("/dev/null", O_RDWR);

	EXPECT_EQ(pipe(pipe_fds), 0);
	EXPECT_EQ(dup2(other, 900), 900);
	keep[0] = pipe_fds[0];
	keep[1] = pipe_fds[1];
	keep[2] = -1;
	spec = (struct child_spec){ .keep = keep, .nr_keep = 3 };
	run(check_descriptors, NULL);
	EXPECT_EQ(status, 0);
	/* Also if they have to swap places. */
	EXPECT_EQ(dup2(0, 901), 901);
	EXPECT_EQ(dup2(1, 902), 902);
	EXPECT_EQ(dup2(pipe_fds[1], 0), 0);
	EXPECT_EQ(dup2(pipe_fds[0], 1), 1);
	keep[0] = 1;
	keep[1] = 0;
	run(check_descriptors, NULL);
	dup2(901, 0);
	dup2(902, 1);
	for (int fd = 900; fd < 903; fd++)
		close(fd);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
	close(other);
	EXPECT_EQ(status, 0);
}

static void handler(int number)
{
	(void)number;
}

/* Whether the set of signals in @line of /proc/self/status is empty. */
static bool are_none(const char *text, const char *line)
{
	const char *at = strstr(text, line);

	return at && !strtoull(at + strlen(line), NULL, 16);
}

static int check_signals(void *data)
{
	static char text[8192];
	const int fd = open("/proc/self/status", O_RDONLY);

	(void)data;
	if (read(fd, text, sizeof(text) - 1) < 0)
		return 1;
	return !are_none(text, "\nSigBlk:") + !are_none(text, "\nSigIgn:") * 2 +
	       !are_none(text, "\nSigCgt:") * 4;
}

static void test_signals(void)
{
	sigset_t blocked, before, now;

	signal(SIGUSR1, handler);
	signal(SIGTERM, handler);
	signal(SIGINT, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGTERM);
	sigaddset(&blocked, SIGRTMAX);
	sigprocmask(SIG_BLOCK, &blocked, &before);
	spec = (struct child_spec){ 0 };
	run(check_signals, NULL);
	sigprocmask(SIG_SETMASK, &before, &now);
	EXPECT_EQ(status, 0);
	EXPECT(sigismember(&now, SIGTERM) && !sigismember(&now, SIGUSR2));
	signal(SIGUSR1, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	signal(SIGINT, SIG_DFL);
	signal(SIGPIPE, SIG_DFL);
}

static int check_oom(void *data)
{
	char text[16] = "";
	const int fd = open("/proc/self/oom_score_adj", O_RDONLY);

	(void)data;
	if (read(fd, text, sizeof(text) - 1) < 0)
		return 1;
	return atoi(text) != 1000;
}

static void test_oom_score(void)
{
	spec = (struct child_spec){ 0 };
	run(check_oom, NULL);
	EXPECT_EQ(status, 0);
}

static int stay(void *data)
{
	(void)data;
	return pause();
}

static void test_leave(void)
{
	struct child *children[10];

	spec = (struct child_spec){ .run = stay };
	for (int i = 0; i < 10; i++)
		EXPECT_EQ(child_start(&children[i], &spec), 0);
	for (int i = 0; i < 10; i++) {
		EXPECT(!child_collect(children[i], NULL, NULL));
		child_leave(children[i]);
	}
	child_leave(NULL);
	EXPECT(wait_for_children());
	EXPECT_EQ(children_left_of_all(), 0);
}

/* A child must not outlive its parent. */
static int sleep_ms(void *data)
{
	poll(NULL, 0, *(int *)data);
	return 0;
}

/* A child told to end has a second to do so. */
static void test_retire(void)
{
	int soon = 300, late = 60000;
	struct child *child;
	int tries = 0;

	spec = (struct child_spec){ .run = sleep_ms, .data = &soon, .user = 5 };
	EXPECT_EQ(child_start(&child, &spec), 0);
	child_retire(child);
	spec.data = &late;
	EXPECT_EQ(child_start(&child, &spec), 0);
	child_retire(child);
	EXPECT_EQ(children_left_of_all(), 2);
	for (; children_left_of_all() == 2 && tries < 80; tries++) {
		poll(NULL, 0, 10);
		children_collect_left();
	}
	EXPECT_EQ(children_left_of_all(), 1);
	for (tries = 0; children_left_of_all() && tries < 1000; tries++) {
		poll(NULL, 0, 10);
		children_collect_left();
		/* It has not been killed yet, so it does not count as stuck. */
		EXPECT_EQ(children_left(5), 0);
	}
	EXPECT_EQ(children_left_of_all(), 0);
	child_retire(NULL);
}

static int is_slow;

int __real_close_range(unsigned int first, unsigned int last, int flags);
int __wrap_close_range(unsigned int first, unsigned int last, int flags)
{
	if (is_slow)
		poll(NULL, 0, 300);
	return __real_close_range(first, last, flags);
}

/* A new child holds all files of its parent until it has closed them. */
static void test_birth(void)
{
	struct pollfd other_end = { 0 };
	struct child *children[3];
	int ends[2];

	while (children_have_files())
		poll(NULL, 0, 10);
	EXPECT(!pipe2(ends, O_CLOEXEC));
	other_end.fd = ends[0];
	is_slow = 1;
	spec = (struct child_spec){ .run = stay };
	for (int i = 0; i < 3; i++)
		EXPECT_EQ(child_start(&children[i], &spec), 0);
	is_slow = 0;
	EXPECT(children_have_files());
	close(ends[1]);
	for (int tries = 0; children_have_files() && tries < 1000; tries++)
		poll(NULL, 0, 10);
	EXPECT(!children_have_files());
	EXPECT(poll(&other_end, 1, 0) == 1 && other_end.revents & POLLHUP);
	/* A child that dies first holds none either. */
	is_slow = 1;
	child_leave(children[0]);
	EXPECT_EQ(child_start(&children[0], &spec), 0);
	is_slow = 0;
	for (int i = 0; i < 3; i++)
		child_leave(children[i]);
	EXPECT(wait_for_children());
	EXPECT(!children_have_files());
	EXPECT_EQ(children_left_of_all(), 0);
	close(ends[0]);
}

static void test_death_of_parent(void)
{
	int pids[2];
	pid_t parent, child;
	struct pollfd ended = { .events = POLLIN };

	EXPECT_EQ(pipe(pids), 0);
	parent = fork();
	if (!parent) {
		const int keep[] = { -1, pids[1] };
		struct child *started;

		spec = (struct child_spec){
			.run = stay, .keep = keep, .nr_keep = 2
		};
		if (child_start(&started, &spec))
			_exit(1);
		/* /proc/PID/fdinfo of the pidfd contains the child's PID. */
		dprintf(pids[1], "%d %d\n", getpid(), child_fd(started));
		pause();
	}
	{
		char text[64] = "", path[64], line[256];
		int parent_pid, fd;
		FILE *info;

		EXPECT(read(pids[0], text, sizeof(text) - 1) > 0);
		EXPECT_EQ(sscanf(text, "%d %d", &parent_pid, &fd), 2);
		snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", parent_pid,
			 fd);
		info = fopen(path, "re");
		EXPECT(info);
		child = 0;
		while (fgets(line, sizeof(line), info))
			sscanf(line, "Pid: %d", &child);
		fclose(info);
	}
	EXPECT(child > 0);
	ended.fd = syscall(SYS_pidfd_open, child, 0);
	EXPECT(ended.fd >= 0);
	EXPECT_EQ(poll(&ended, 1, 0), 0);
	kill(parent, SIGKILL);
	EXPECT_EQ(waitpid(parent, NULL, 0), parent);
	EXPECT_EQ(poll(&ended, 1, 10000), 1);
	close(ended.fd);
	close(pids[0]);
	close(pids[1]);
}

/* --- children that cannot be killed */

static int open_stuck(void *data)
{
	return open(data, O_RDONLY) < 0;
}

static void test_stuck(void)
{
	struct child *child;
	struct stuck_file file;

	EXPECT(stuck_file_make(&file));
	spec = (struct child_spec){
		.run = open_stuck, .data = file.path, .user = 1234
	};
	for (unsigned int i = 0; i < CHILDREN_MAX_LEFT; i++) {
		EXPECT_EQ(child_start(&child, &spec), 0);
		EXPECT(stuck_file_wait(&file, i + 1));
		EXPECT(!child_collect(child, NULL, NULL));
		child_leave(child);
	}
	EXPECT_EQ(children_left_of_all(), CHILDREN_MAX_LEFT);
	/* They count only after they have had time to die. */
	EXPECT_EQ(children_left(1234), 0);
	poll(NULL, 0, (CHILDREN_DYING_SECONDS + 2) * 1000);
	EXPECT_EQ(children_left(1234), CHILDREN_MAX_LEFT);
	EXPECT_EQ(children_left(1235), 0);
	EXPECT_EQ(child_start(&child, &spec), -EBUSY);
	EXPECT(!child);
	/* Other users are not affected. */
	spec = (struct child_spec){ .user = 1235 };
	run(return_seven, NULL);
	EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 7);
	stuck_file_end(&file);
	EXPECT(wait_for_children());
	EXPECT_EQ(children_left(1234), 0);
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(test_status),
		TAP_TEST(test_usage),
		TAP_TEST(test_descriptors),
		TAP_TEST(test_signals),
		TAP_TEST(test_oom_score),
		TAP_TEST(test_leave),
		TAP_TEST(test_retire),
		TAP_TEST(test_birth),
		TAP_TEST(test_death_of_parent),
		TAP_TEST(test_stuck),
	};
	const unsigned int descriptors = count_descriptors();

	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	test_nothing_left(descriptors);
	return tap_done();
}
