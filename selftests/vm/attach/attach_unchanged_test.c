// SPDX-License-Identifier: GPL-2.0
/*
 * Sections attached to addresses of a process with UNCHANGED: to which memory, and that
 * they are never used for other code.
 *
 * Long: see selftests/check.
 * Racing: run with KCSAN.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "attach_range.h"
#include "observed.h"

#define CODE			(PROT_READ | PROT_EXEC)

FIXTURE(unchanged)
{
	int fd;
	int sframe_fd[2];		/* for request_code, and for deep_code */
	unsigned char *code;		/* two pages, the second not executable */
	unsigned char copies[2][PAGE];	/* of request_code and deep_code */
	struct sframe_unwind_attach arg;
	long attachments;
	atomic_int announced;		/* what code is there: 1 or 2; or 0 */
	atomic_int stop;
	unsigned int nr;		/* sections that the thread has attached */
	const char *why;		/* error message of the thread */
	char message[256];
};

static int make_deep_section(void)
{
	unsigned char section[FAKE_SECTION_SIZE];

	write_fake_section(section, section);
	section[FAKE_ROW_WORD] = 48;
	return make_file(section, sizeof(section));
}

/* Map code at @at, from @file if that is not -1. @kind is 0 or 1. */
static bool map_code_of(unsigned char *at, int kind, int file)
{
	if (mmap(at, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED |
		 (file < 0 ? MAP_ANONYMOUS : 0), file, 0) != at)
		return false;
	if (kind)
		memcpy(at, deep_code, sizeof(deep_code));
	else
		memcpy(at, request_code, sizeof(request_code));
	return !mprotect(at, PAGE, CODE);
}

static bool map_code(unsigned char *at, int kind)
{
	return map_code_of(at, kind, -1);
}

FIXTURE_SETUP(unchanged)
{
	if (geteuid())
		SKIP(return, "needs root");
	self->code = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)self->code);
	ASSERT_TRUE(map_code(self->code, 0));
	self->sframe_fd[0] = make_range_section();
	self->sframe_fd[1] = make_deep_section();
	ASSERT_LE(0, self->sframe_fd[0]);
	ASSERT_LE(0, self->sframe_fd[1]);
	self->fd = open_client(0);
	ASSERT_LE(0, self->fd);
	self->arg = range_of(0, self->code, FAKE_SIZE, self->sframe_fd[0]);
	self->arg.flags |= SFRAME_UNWIND_ATTACH_UNCHANGED;
	self->arg.code = (uintptr_t)self->copies[0];
	memcpy(self->copies[0], request_code, sizeof(request_code));
	memcpy(self->copies[1], deep_code, sizeof(deep_code));
	self->arg.message = (uintptr_t)self->message;
	self->arg.message_size = sizeof(self->message);
	self->attachments = counter("attachments");
}

FIXTURE_TEARDOWN(unchanged)
{
	close(self->sframe_fd[0]);
	close(self->sframe_fd[1]);
	close(self->fd);
}

/* --- arguments */

TEST_F(unchanged, without_process)
{
	self->arg.flags = SFRAME_UNWIND_ATTACH_UNCHANGED;
	self->arg.text_start = 0;
	self->arg.text_size = 0;
	EXPECT_EQ(-1, attach(self->fd, &self->arg));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_STREQ("UNCHANGED or code without PROCESS", self->message);
	self->arg.flags = SFRAME_UNWIND_ATTACH_PROCESS;
	EXPECT_EQ(-1, attach(self->fd, &self->arg));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_STREQ("code without UNCHANGED", self->message);
}

TEST_F(unchanged, feature)
{
	struct sframe_unwind_query query = { .size = sizeof(query) };

	ASSERT_EQ(0, ioctl(self->fd, SFRAME_UNWIND_IOC_QUERY, &query));
	EXPECT_NE(0, query.features & SFRAME_UNWIND_FEATURE_ATTACH_UNCHANGED);
}

TEST_F(unchanged, writable)
{
	ASSERT_EQ(0, mprotect(self->code, PAGE, CODE | PROT_WRITE));
	EXPECT_EQ(-1, attach(self->fd, &self->arg));
	EXPECT_EQ(EACCES, errno);
	EXPECT_EQ(self->attachments, counter("attachments"));
}

TEST_F(unchanged, not_executable)
{
	self->arg.text_size = PAGE + FAKE_SIZE;
	EXPECT_EQ(-1, attach(self->fd, &self->arg));
	EXPECT_EQ(EACCES, errno);
}

TEST_F(unchanged, of_a_file)
{
	const int file = make_file(request_code, sizeof(request_code));

	ASSERT_NE(MAP_FAILED, mmap(self->code, PAGE, CODE,
				   MAP_PRIVATE | MAP_FIXED, file, 0));
	EXPECT_EQ(-1, attach(self->fd, &self->arg));
	EXPECT_EQ(EACCES, errno);
	close(file);
}

/* Though that is anonymous memory for the kernel. */
TEST_F(unchanged, of_dev_zero)
{
	const int file = open("/dev/zero", O_RDWR | O_CLOEXEC);

	ASSERT_TRUE(map_code_of(self->code, 0, file));
	EXPECT_EQ(-1, attach(self->fd, &self->arg));
	EXPECT_EQ(EACCES, errno);
	close(file);
}

/* It can be mapped elsewhere, too, and be written there. */
TEST_F(unchanged, shared)
{
	ASSERT_NE(MAP_FAILED, mmap(self->code, PAGE, CODE,
				   MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
	EXPECT_EQ(-1, attach(self->fd, &self->arg));
	EXPECT_EQ(EACCES, errno);
}

TEST_F(unchanged, not_mapped)
{
	ASSERT_EQ(0, munmap(self->code, PAGE));
	EXPECT_EQ(-1, attach(self->fd, &self->arg));
	EXPECT_EQ(EFAULT, errno);
}

/* As for other attachments to processes. */
TEST_F(unchanged, privilege)
{
	pid_t child = fork();

	if (!child) {
		if (setresuid(USER, USER, USER))
			_exit(2);
		_exit(attach(self->fd, &self->arg) ||
		      walk(self->fd, self->code) != CALLER);
	}
	EXPECT_EQ(0, outcome_of(child));
	self->arg.pid = getpid();
	child = fork();
	if (!child) {
		if (setresuid(USER, USER, USER))
			_exit(2);
		_exit(attach(self->fd, &self->arg) != -1 || errno != EPERM);
	}
	EXPECT_EQ(0, outcome_of(child));
	EXPECT_EQ(0, attach(self->fd, &self->arg));
}

/* --- what ends it */

TEST_F(unchanged, lasts)
{
	struct sframe_unwind_list_attached list;
	struct sframe_unwind_attached entry;
	pid_t child;

	ASSERT_EQ(0, attach(self->fd, &self->arg));
	EXPECT_EQ(CALLER, walk(self->fd, self->code));
	/* Pages copied on write, neighbours, and what is mapped elsewhere. */
	child = fork();
	if (!child) {
		const int fd = open_client(0);

		/* The child does not inherit it. */
		_exit(mprotect(self->code, PAGE, CODE | PROT_WRITE) ||
		      walk(fd, self->code) != NO_RULE);
	}
	EXPECT_EQ(0, outcome_of(child));
	self->code[PAGE] = 1;
	EXPECT_EQ(0, mprotect(self->code + PAGE, PAGE, PROT_READ));
	EXPECT_EQ(0, munmap(self->code + PAGE, PAGE));
	madvise(self->code, PAGE, 21 /* MADV_PAGEOUT */);
	EXPECT_EQ(CALLER, walk(self->fd, self->code));
	EXPECT_FALSE(has_ended_id(self->fd, self->arg.id));
	ASSERT_EQ(0, list_attached(self->fd, 0, &entry, 1, &list));
	EXPECT_EQ(SFRAME_UNWIND_ATTACH_PROCESS | SFRAME_UNWIND_ATTACH_UNCHANGED,
		  entry.flags);
	ASSERT_EQ(0, detach(self->fd, self->arg.id));
	EXPECT_EQ(NO_RULE, walk(self->fd, self->code));
	EXPECT_EQ(self->attachments, counter("attachments"));
}

/* Mappings elsewhere change all the time, so that the code is compared all the time. */
static void *change_others(void *data)
{
	FIXTURE_DATA(unchanged) *self = data;

	while (!atomic_load(&self->stop)) {
		mprotect(self->code + PAGE, PAGE, PROT_READ);
		mprotect(self->code + PAGE, PAGE, PROT_READ | PROT_WRITE);
	}
	return NULL;
}

#define UNRELATED_WALKS		3000

TEST_F_TIMEOUT(unchanged, unrelated, 120)
{
	unsigned int nr[2] = {};
	pthread_t thread;

	ASSERT_EQ(0, attach(self->fd, &self->arg));
	ASSERT_EQ(0, pthread_create(&thread, NULL, change_others, self));
	for (int i = 0; i < UNRELATED_WALKS; i++)
		nr[walk(self->fd, self->code) == CALLER]++;
	atomic_store(&self->stop, 1);
	pthread_join(thread, NULL);
	EXPECT_EQ(0, nr[0]);
	EXPECT_EQ(UNRELATED_WALKS, nr[1]);
	EXPECT_FALSE(has_ended_id(self->fd, self->arg.id));
}

static bool unmap(unsigned char *code)
{
	return !munmap(code, PAGE);
}

static bool map_over(unsigned char *code)
{
	return map_code(code, 0);
}

static bool move_away(unsigned char *code)
{
	return mremap(code, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED,
		      code + PAGE) != MAP_FAILED;
}

static bool move_over(unsigned char *code)
{
	return mremap(code + PAGE, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED,
		      code) != MAP_FAILED;
}

static bool make_writable(unsigned char *code)
{
	return !mprotect(code, PAGE, PROT_READ | PROT_WRITE);
}

static bool make_all(unsigned char *code)
{
	return !mprotect(code, PAGE, CODE | PROT_WRITE);
}

static bool make_data(unsigned char *code)
{
	return !mprotect(code, PAGE, PROT_READ);
}

static const struct {
	const char *name;
	bool (*change)(unsigned char *code);
} changes[] = {
	{ "unmap", unmap },
	{ "map_over", map_over },
	{ "move_away", move_away },
	{ "move_over", move_over },
	{ "make_writable", make_writable },
	{ "make_all", make_all },
	{ "make_data", make_data },
};

/* Map what the changes need, and attach. */
static bool begin_change(FIXTURE_DATA(unchanged) *self, const char *name)
{
	fprintf(stderr, "# %s\n", name);
	if (!map_code(self->code, 0) ||
	    mmap(self->code + PAGE, PAGE, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
		return false;
	self->code[PAGE] = 1;
	self->arg.sframe_fd = self->sframe_fd[0];
	self->arg.code = (uintptr_t)self->copies[0];
	return !attach(self->fd, &self->arg);
}

TEST_F(unchanged, other_code)
{
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		__u64 before;

		ASSERT_TRUE(begin_change(self, changes[i].name));
		before = self->arg.id;
		EXPECT_EQ(CALLER, walk(self->fd, self->code));
		ASSERT_TRUE(changes[i].change(self->code));
		ASSERT_TRUE(map_code(self->code, 1));
		EXPECT_FALSE(has_ended_id(self->fd, before));
		EXPECT_EQ(NO_RULE, walk(self->fd, self->code));
		EXPECT_TRUE(has_ended_id(self->fd, before));
		EXPECT_EQ(NO_RULE, walk(self->fd, self->code));
		/* Others can be attached there, also before it is detached. */
		self->arg.sframe_fd = self->sframe_fd[1];
		self->arg.code = (uintptr_t)self->copies[1];
		ASSERT_EQ(0, attach(self->fd, &self->arg));
		EXPECT_EQ(CALLER, walk(self->fd, self->code));
		ASSERT_EQ(0, detach(self->fd, before));
		EXPECT_EQ(CALLER, walk(self->fd, self->code));
		ASSERT_EQ(0, detach(self->fd, self->arg.id));
	}
	EXPECT_EQ(self->attachments, counter("attachments"));
}

/* Without a walk before, too. */
TEST_F(unchanged, other_code_at_first)
{
	ASSERT_EQ(0, attach(self->fd, &self->arg));
	ASSERT_TRUE(map_code(self->code, 1));
	EXPECT_EQ(NO_RULE, walk(self->fd, self->code));
	EXPECT_TRUE(has_ended_id(self->fd, self->arg.id));
}

/* The copy counts, not what is there at the time of the call. */
TEST_F(unchanged, other_copy)
{
	self->arg.sframe_fd = self->sframe_fd[1];
	self->arg.code = (uintptr_t)self->copies[1];
	ASSERT_EQ(0, attach(self->fd, &self->arg));
	EXPECT_EQ(NO_RULE, walk(self->fd, self->code));
	EXPECT_TRUE(has_ended_id(self->fd, self->arg.id));
	ASSERT_EQ(0, attach(self->fd, &self->arg));
	ASSERT_TRUE(map_code(self->code, 1));
	EXPECT_EQ(CALLER, walk(self->fd, self->code));
	/* Itself can be the copy. */
	ASSERT_EQ(0, detach(self->fd, self->arg.id));
	self->arg.code = self->arg.text_start;
	ASSERT_EQ(0, attach(self->fd, &self->arg));
	EXPECT_EQ(CALLER, walk(self->fd, self->code));
}

/* It is the same code, whatever was there in between. */
TEST_F(unchanged, same_code)
{
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		ASSERT_TRUE(begin_change(self, changes[i].name));
		EXPECT_EQ(CALLER, walk(self->fd, self->code));
		ASSERT_TRUE(changes[i].change(self->code));
		ASSERT_TRUE(map_code(self->code, 0));
		EXPECT_EQ(CALLER, walk(self->fd, self->code));
		EXPECT_FALSE(has_ended_id(self->fd, self->arg.id));
		ASSERT_EQ(0, detach(self->fd, self->arg.id));
	}
}

/* What is writable now can be other code by the next instruction. */
TEST_F(unchanged, writable_meanwhile)
{
	ASSERT_EQ(0, attach(self->fd, &self->arg));
	EXPECT_EQ(CALLER, walk(self->fd, self->code));
	ASSERT_EQ(0, mprotect(self->code, PAGE, CODE | PROT_WRITE));
	EXPECT_EQ(NO_RULE, walk(self->fd, self->code));
	ASSERT_EQ(0, mprotect(self->code, PAGE, CODE));
	EXPECT_EQ(CALLER, walk(self->fd, self->code));
	EXPECT_FALSE(has_ended_id(self->fd, self->arg.id));
	ASSERT_EQ(0, mprotect(self->code, PAGE, CODE | PROT_WRITE));
	memcpy(self->code, deep_code, sizeof(deep_code));
	EXPECT_EQ(NO_RULE, walk(self->fd, self->code));
	ASSERT_EQ(0, mprotect(self->code, PAGE, CODE));
	EXPECT_EQ(NO_RULE, walk(self->fd, self->code));
	EXPECT_TRUE(has_ended_id(self->fd, self->arg.id));
}

TEST_F(unchanged, written)
{
	ASSERT_EQ(0, attach(self->fd, &self->arg));
	EXPECT_EQ(CALLER, walk(self->fd, self->code));
	ASSERT_TRUE(make_writable(self->code));
	memcpy(self->code, deep_code, sizeof(deep_code));
	ASSERT_EQ(0, mprotect(self->code, PAGE, CODE));
	EXPECT_EQ(NO_RULE, walk(self->fd, self->code));
	EXPECT_TRUE(has_ended_id(self->fd, self->arg.id));
}

/* Nor is it used for a file with the same code. */
TEST_F(unchanged, file_meanwhile)
{
	const int file = make_file(request_code, sizeof(request_code));

	ASSERT_EQ(0, attach(self->fd, &self->arg));
	ASSERT_NE(MAP_FAILED, mmap(self->code, PAGE, CODE,
				   MAP_PRIVATE | MAP_FIXED, file, 0));
	EXPECT_EQ(NO_RULE, walk(self->fd, self->code));
	EXPECT_TRUE(has_ended_id(self->fd, self->arg.id));
	close(file);
}

TEST_F_TIMEOUT(unchanged, process_ends, 60)
{
	struct observed other = { .at = self->code };
	int status;

	other.pid = fork();
	if (!other.pid) {
		pause();
		_exit(0);
	}
	self->arg.pid = other.pid;
	ASSERT_EQ(0, attach(self->fd, &self->arg));
	EXPECT_FALSE(has_ended_id(self->fd, self->arg.id));
	kill(other.pid, SIGKILL);
	ASSERT_EQ(other.pid, waitpid(other.pid, &status, 0));
	/* Spaces that have ended are looked for from time to time. */
	while (!has_ended_id(self->fd, self->arg.id))
		usleep(10000);
}

/* The client may be closed before the process ends, or after it. */
TEST_F(unchanged, close)
{
	const int other = open_client(0);

	ASSERT_EQ(0, attach(other, &self->arg));
	EXPECT_EQ(CALLER, walk(self->fd, self->code));
	close(other);
	EXPECT_EQ(NO_RULE, walk(self->fd, self->code));
	EXPECT_EQ(self->attachments, counter("attachments"));
	EXPECT_EQ(0, munmap(self->code, PAGE));
}

/* --- limits */

/*
 * They count as all attachments of a client do, also when they have ended: one that takes
 * the place of another one needs room of its own, until that is detached.
 */
TEST_F_TIMEOUT(unchanged, max_attached, 120)
{
	struct sframe_unwind_query query = { .size = sizeof(query) };
	struct sframe_unwind_attach arg = self->arg;
	struct sframe_unwind_list_attached list;
	const int other = open_client(0);
	__u64 first;

	ASSERT_EQ(0, ioctl(self->fd, SFRAME_UNWIND_IOC_QUERY, &query));
	ASSERT_EQ(0, attach(self->fd, &arg));
	first = arg.id;
	/* Each ends the one before. */
	arg.flags |= SFRAME_UNWIND_ATTACH_REPLACE;
	for (unsigned int i = 1; i < query.max_attached; i++)
		ASSERT_EQ(0, attach(self->fd, &arg));
	EXPECT_EQ(-1, attach(self->fd, &arg));
	EXPECT_EQ(ENOSPC, errno);
	EXPECT_STREQ("the client has 16384 sections attached", self->message);
	EXPECT_EQ(CALLER, walk(self->fd, self->code));
	EXPECT_FALSE(has_ended_id(self->fd, arg.id));
	ASSERT_EQ(0, list_attached(self->fd, 0, NULL, 0, &list));
	EXPECT_EQ(query.max_attached, list.total);
	EXPECT_EQ(self->attachments + query.max_attached,
		  counter("attachments"));
	/* It is that client's limit. */
	self->arg.flags |= SFRAME_UNWIND_ATTACH_REPLACE;
	EXPECT_EQ(0, attach(other, &self->arg));
	close(other);
	/* None is left that is used. */
	EXPECT_EQ(NO_RULE, walk(self->fd, self->code));
	self->arg.flags &= ~SFRAME_UNWIND_ATTACH_REPLACE;
	EXPECT_EQ(-1, attach(self->fd, &self->arg));
	EXPECT_EQ(ENOSPC, errno);
	ASSERT_EQ(0, detach(self->fd, first));
	EXPECT_EQ(0, attach(self->fd, &self->arg));
	EXPECT_EQ(CALLER, walk(self->fd, self->code));
}

/* --- code that is made, freed and made anew at the same address */

/*
 * Attach the section for the code that was announced, and a copy of that, as long as it is.
 * Other code may be there by the time of the call.
 */
static void *follow(void *data)
{
	FIXTURE_DATA(unchanged) *self = data;
	const int fd = open_client(0);

	while (!atomic_load(&self->stop) && !self->why) {
		struct sframe_unwind_attach arg = self->arg;
		int kind, err = 0;

		kind = atomic_load(&self->announced);
		if (kind) {
			arg.flags |= SFRAME_UNWIND_ATTACH_REPLACE;
			arg.sframe_fd = self->sframe_fd[kind - 1];
			arg.code = (uintptr_t)self->copies[kind - 1];
			err = attach(fd, &arg);
			/* It is not there any more. */
			if (err && (errno == EACCES || errno == EFAULT)) {
				err = 0;
				kind = 0;
			}
		}
		if (err)
			self->why = strerror(errno);
		if (err || !kind)
			continue;
		self->nr++;
		/* Detached late, when other code may be there. */
		while (atomic_load(&self->announced) == kind &&
		       !atomic_load(&self->stop))
			sched_yield();
		sched_yield();
		detach(fd, arg.id);
	}
	close(fd);
	return NULL;
}

/* Rounds at least, which are enough to see that it works, and at most; and seconds. */
#define MIN_ROUNDS	50
#define ROUNDS		1500
#define MAX_SECONDS	20

TEST_F_TIMEOUT(unchanged, made_anew, 300)
{
	const time_t end = time(NULL) + MAX_SECONDS;
	unsigned int nr[2] = {}, rounds = 0;
	pthread_t thread;

	ASSERT_EQ(0, pthread_create(&thread, NULL, follow, self));
	/* The thread may get little CPU time. */
	for (int i = 0; i < ROUNDS && (i < MIN_ROUNDS || nr[1] <= rounds / 100 ||
				       time(NULL) < end); i++, rounds++) {
		const int kind = i % 2;

		ASSERT_TRUE(map_code(self->code, kind));
		atomic_store(&self->announced, kind + 1);
		for (int j = 0; j < 4 + i % 40; j++) {
			const enum outcome outcome = walk(self->fd, self->code);

			if (outcome != CALLER && outcome != NO_RULE) {
				TH_LOG("round %d, walk %d", i, j);
				EXPECT_EQ(CALLER, outcome);
				i = ROUNDS;
				break;
			}
			nr[outcome == CALLER]++;
		}
		atomic_store(&self->announced, 0);
		/* Or the next round maps over it. */
		if (i % 3)
			ASSERT_TRUE(i % 2 ? unmap(self->code) :
					    make_writable(self->code));
	}
	atomic_store(&self->stop, 1);
	pthread_join(thread, NULL);
	if (self->why)
		TH_LOG("%s: %s", self->why, self->message);
	EXPECT_EQ(NULL, self->why);
	TH_LOG("%u rounds: %u walks with the caller, %u without; attached %u times",
	       rounds, nr[1], nr[0], self->nr);
	EXPECT_LE(rounds / 100, self->nr);
	EXPECT_LE(rounds / 100, nr[1]);
	EXPECT_NE(0, self->nr);
	EXPECT_NE(0, nr[1]);
	EXPECT_EQ(self->attachments, counter("attachments"));
}

TEST_HARNESS_MAIN
