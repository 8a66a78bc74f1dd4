// SPDX-License-Identifier: GPL-2.0
/*
 * Files given to the closers are closed, by them and never by this process,
 * whatever happens to them; and no user waits for another user's file.
 */
#include <signal.h>
#include <sys/stat.h>

#include "common.h"
#include "userspace/cli/attach/closer.h"

#define USER	((uid_t)1000)
#define OTHER	((uid_t)1001)

/* --- replaced functions of the system */

/* Number of stuck children of USER. */
static unsigned int nr_left;

unsigned int __wrap_children_left(uid_t user)
{
	return user == USER ? nr_left : 0;
}

unsigned int __wrap_children_left_of_all(void)
{
	return nr_left;
}

/* Whether a child is being started that holds all files. */
static bool is_birth;

bool __real_children_have_files(void);
bool __wrap_children_have_files(void)
{
	return is_birth || __real_children_have_files();
}

/* Whether a child of ours has the pipe @inode open. */
static bool has_child_with(ino_t inode)
{
	char path[64], link[64], pipe[32];
	struct dirent *entry;
	bool is_found = false;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)only_child());
	snprintf(pipe, sizeof(pipe), "pipe:[%lu]", (unsigned long)inode);
	dir = opendir(path);
	if (!dir)
		return false;
	while (!is_found && (entry = readdir(dir))) {
		const ssize_t length = readlinkat(dirfd(dir), entry->d_name,
						  link, sizeof(link) - 1);

		link[length > 0 ? length : 0] = '\0';
		is_found = !strcmp(link, pipe);
	}
	closedir(dir);
	return is_found;
}

/*
 * Number of times that this process has closed the watched file, and how often
 * when no child had it open any more.
 */
static int watched = -1;
static unsigned int nr_closed, nr_closed_last;

int __real_close(int fd);
int __wrap_close(int fd)
{
	struct stat stat;

	if (fd == watched && !fstat(fd, &stat)) {
		watched = -1;
		/* Give others time to be faster. */
		usleep(50000);
		nr_closed++;
		nr_closed_last += !has_child_with(stat.st_ino);
	}
	return __real_close(fd);
}

/* --- tests */

/* Hand over one end of a pipe. Returns the other one. */
static int hand_over(uid_t user)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		abort();
	closer_close(ends[1], user);
	return ends[0];
}

static void go_on(int other_end, int ms)
{
	struct pollfd files[CLOSERS_MAX + 1];
	const size_t nr = closers_files(files);

	files[nr] = (struct pollfd) { .fd = other_end };
	poll(files, nr + 1, ms);
	closers_handle(files);
}

/* Whether it has been closed by now. */
static bool is_closed_by_now(int other_end)
{
	struct pollfd file = { .fd = other_end };

	return poll(&file, 1, 0) == 1 && file.revents & POLLHUP;
}

/* Whether it is closed within ten seconds; closes the other end. */
static bool is_closed(int other_end)
{
	bool is_closed = false;

	for (int i = 0; i < 1000 && !is_closed; i++) {
		go_on(other_end, 10);
		is_closed = is_closed_by_now(other_end);
	}
	close(other_end);
	return is_closed;
}

/* Until all closers have answered. */
static void wait_for_closers(void)
{
	for (int i = 0; i < 1000 && closers_next() != UINT64_MAX; i++)
		go_on(-1, 10);
}

static void end_all(void)
{
	closers_end();
	if (!wait_for_children())
		tap_fail("there are processes left");
}

static void test_closed(void)
{
	closer_close(-1, USER);
	EXPECT(is_closed(hand_over(USER)));
	EXPECT(is_closed(hand_over(OTHER)));
	closers_end();
	EXPECT(is_closed(hand_over(USER)));
	closers_end();
	end_all();
}

static void test_never_closed_last(void)
{
	int ends[2];

	EXPECT(is_closed(hand_over(USER)));
	for (unsigned int i = 0; i < 3; i++) {
		EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
		watched = ends[1];
		closer_close(ends[1], USER);
		EXPECT(is_closed(ends[0]));
		EXPECT_EQ(nr_closed, i + 1);
		EXPECT_EQ(nr_closed_last, 0);
	}
	end_all();
}

static void test_killed(void)
{
	EXPECT(is_closed(hand_over(USER)));
	EXPECT_EQ(kill(only_child(), SIGKILL), 0);
	EXPECT(is_closed(hand_over(USER)));
	end_all();
}

/* A file that cannot be closed delays other files of its user for one second. */
static void test_late(void)
{
	int first, second;

	EXPECT(is_closed(hand_over(USER)));
	EXPECT_EQ(kill(only_child(), SIGSTOP), 0);
	first = hand_over(USER);
	second = hand_over(USER);
	EXPECT(is_closed(hand_over(OTHER)));
	EXPECT(!is_closed_by_now(first) && !is_closed_by_now(second));
	EXPECT(is_closed(first));
	EXPECT(is_closed(second));
	end_all();
}

static void test_room(void)
{
	static int other_ends[CLOSERS_MAX_WAITING];

	nr_left = CHILDREN_MAX_LEFT;
	for (unsigned int i = 0; i < CLOSERS_MAX_WAITING; i++) {
		EXPECT(closers_have_room(USER));
		other_ends[i] = hand_over(USER);
	}
	EXPECT(!closers_have_room(USER));
	EXPECT(closers_have_room(OTHER));
	EXPECT(is_closed(hand_over(OTHER)));
	for (unsigned int i = 0; i < CLOSERS_MAX_WAITING; i++)
		EXPECT(!is_closed_by_now(other_ends[i]));
	nr_left = 0;
	for (unsigned int i = 0; i < CLOSERS_MAX_WAITING; i++)
		EXPECT(is_closed(other_ends[i]));
	EXPECT(closers_have_room(USER));
	end_all();
}

static uint64_t charged_ns;

static void charge(void *data, uid_t user, uint64_t ns)
{
	if (user == USER)
		*(uint64_t *)data += ns;
}

static void test_charge(void)
{
	EXPECT(is_closed(hand_over(OTHER)));
	/* It gets the next file, too: another one would not get any after that. */
	wait_for_closers();
	closers_set_charge(charge, &charged_ns);
	EXPECT(is_closed(hand_over(USER)));
	/* At the latest when the closer gets its next file. */
	for (int i = 0; !charged_ns && i < 100; i++)
		EXPECT(is_closed(hand_over(OTHER)));
	EXPECT(charged_ns);
	closers_set_charge(NULL, NULL);
	end_all();
}

/* Nothing is handed over while another child holds the files. */
static void test_birth(void)
{
	int other_end;

	EXPECT(is_closed(hand_over(USER)));
	is_birth = true;
	other_end = hand_over(USER);
	EXPECT(closers_next() != UINT64_MAX);
	for (int i = 0; i < 20; i++)
		go_on(other_end, 10);
	EXPECT(!is_closed_by_now(other_end));
	is_birth = false;
	EXPECT(is_closed(other_end));
	for (int i = 0; closers_next() != UINT64_MAX && i < 1000; i++)
		go_on(-1, 10);
	EXPECT_EQ(closers_next(), UINT64_MAX);
	end_all();
}

/*
 * Run in a process that exits with a waiting file, and with one of another
 * kind.
 */
static void end_with(int waiting, int other)
{
	nr_left = CHILDREN_MAX_LEFT;
	closer_close(waiting, USER);
	closers_end();
	/* Give the remaining child time to close what it must not keep. */
	usleep(200000);
	close(other);
	usleep(200000);
	_exit(0);
}

static void test_end(void)
{
	int waiting[2], other[2];
	pid_t pid;

	EXPECT(!pipe2(waiting, O_CLOEXEC) && !pipe2(other, O_CLOEXEC));
	pid = fork();
	if (!pid) {
		close(waiting[0]);
		close(other[0]);
		end_with(waiting[1], other[1]);
	}
	close(waiting[1]);
	close(other[1]);
	EXPECT(is_closed(other[0]));
	EXPECT(!is_closed_by_now(waiting[0]));
	EXPECT_EQ(waitpid(pid, NULL, 0), pid);
	EXPECT(is_closed(waiting[0]));
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(test_closed),
		TAP_TEST(test_never_closed_last),
		TAP_TEST(test_killed),
		TAP_TEST(test_late),
		TAP_TEST(test_room),
		TAP_TEST(test_charge),
		TAP_TEST(test_birth),
		TAP_TEST(test_end),
	};
	const unsigned int descriptors = count_descriptors();

	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	test_nothing_left(descriptors);
	return tap_done();
}
