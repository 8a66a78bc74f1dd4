// SPDX-License-Identifier: GPL-2.0
/*
 * Sections attached to addresses of a process with UNCHANGED: to which memory, which
 * changes end them, and that they are never used for other code.
 *
 * Racing: run with KCSAN.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "attach_range.h"
#include "observed.h"

#define CODE			(PROT_READ | PROT_EXEC)

/*
 * Code that requests its own stack as request_code does, but has 40 bytes on the stack
 * then.
 */
static const unsigned char deep_code[] = {
	0x48, 0x83, 0xec, 0x28,		/* sub $40,%rsp */
	0xb8, 0x10, 0x00, 0x00, 0x00,	/* mov $__NR_ioctl,%eax */
	0x0f, 0x05,			/* syscall */
	0x48, 0x83, 0xc4, 0x28,		/* add $40,%rsp */
	0xc3,				/* ret */
};

FIXTURE(unchanged)
{
	int fd;
	int sframe_fd[2];		/* for request_code, and for deep_code */
	int empty_fd;			/* a section with an empty function */
	unsigned char *code;		/* two pages, the second not executable */
	struct sframe_unwind_attach arg;
	long attachments;
	atomic_int announced;		/* what code is there: 1 or 2; or 0 */
	atomic_int stop;
	unsigned int nr;		/* sections that the thread has attached */
	unsigned int nr_late;		/* and those that it could not any more */
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

static int make_empty_section(void)
{
	unsigned char section[FAKE_SECTION_SIZE];

	write_fake_section(section, section);
	put32(section + FAKE_FUNC_SIZE, 0);
	return make_file(section, sizeof(section));
}

/* Map code at @at. @kind is 0 or 1. */
static bool map_code(unsigned char *at, int kind)
{
	if (mmap(at, PAGE, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != at)
		return false;
	if (kind)
		memcpy(at, deep_code, sizeof(deep_code));
	else
		memcpy(at, request_code, sizeof(request_code));
	return !mprotect(at, PAGE, CODE);
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
	self->empty_fd = make_empty_section();
	ASSERT_LE(0, self->sframe_fd[0]);
	ASSERT_LE(0, self->sframe_fd[1]);
	ASSERT_LE(0, self->empty_fd);
	self->fd = open_client(0);
	ASSERT_LE(0, self->fd);
	self->arg = range_of(0, self->code, FAKE_SIZE, self->sframe_fd[0]);
	self->arg.flags |= SFRAME_UNWIND_ATTACH_UNCHANGED;
	self->arg.message = (uintptr_t)self->message;
	self->arg.message_size = sizeof(self->message);
	self->attachments = counter("attachments");
}

FIXTURE_TEARDOWN(unchanged)
{
	close(self->empty_fd);
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
	EXPECT_STREQ("UNCHANGED without PROCESS", self->message);
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

/* Also for the own process. */
TEST_F(unchanged, privilege)
{
	const pid_t child = fork();

	if (!child) {
		if (setresuid(65534, 65534, 65534))
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
	/* Nothing is watched any more. */
	EXPECT_TRUE(map_code(self->code, 1));
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

/* As if it was written before, which is not noticed if it had no page tables. */
static bool make_unreadable(unsigned char *code)
{
	return !mprotect(code, PAGE, PROT_EXEC);
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
	{ "make_unreadable", make_unreadable },
};

/* It has ended when the call returns: no walk has to find that out. */
TEST_F(unchanged, ends)
{
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		__u64 before;

		TH_LOG("%s", changes[i].name);
		ASSERT_TRUE(map_code(self->code, 0));
		ASSERT_NE(MAP_FAILED, mmap(self->code + PAGE, PAGE,
					   PROT_READ | PROT_WRITE,
					   MAP_PRIVATE | MAP_ANONYMOUS |
					   MAP_FIXED, -1, 0));
		self->code[PAGE] = 1;
		self->arg.sframe_fd = self->sframe_fd[0];
		ASSERT_EQ(0, attach(self->fd, &self->arg));
		before = self->arg.id;
		EXPECT_EQ(CALLER, walk(self->fd, self->code));
		EXPECT_FALSE(has_ended_id(self->fd, before));
		ASSERT_TRUE(changes[i].change(self->code));
		EXPECT_TRUE(has_ended_id(self->fd, before));
		ASSERT_TRUE(map_code(self->code, 1));
		EXPECT_EQ(NO_RULE, walk(self->fd, self->code));
		/* Others can be attached there, also before it is detached. */
		self->arg.sframe_fd = self->sframe_fd[1];
		ASSERT_EQ(0, attach(self->fd, &self->arg));
		EXPECT_EQ(CALLER, walk(self->fd, self->code));
		ASSERT_EQ(0, detach(self->fd, before));
		EXPECT_EQ(CALLER, walk(self->fd, self->code));
		ASSERT_EQ(0, detach(self->fd, self->arg.id));
	}
	EXPECT_EQ(self->attachments, counter("attachments"));
}

/* One byte of the range is enough. */
TEST_F(unchanged, a_part)
{
	ASSERT_EQ(0, mprotect(self->code + PAGE, PAGE, CODE));
	self->arg.text_size = PAGE + 1;
	ASSERT_EQ(0, attach(self->fd, &self->arg));
	EXPECT_EQ(CALLER, walk(self->fd, self->code));
	ASSERT_EQ(0, munmap(self->code + PAGE, PAGE));
	EXPECT_TRUE(has_ended_id(self->fd, self->arg.id));
	EXPECT_EQ(NO_RULE, walk(self->fd, self->code));
}

TEST_F(unchanged, process_ends)
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
	EXPECT_TRUE(has_ended_id(self->fd, self->arg.id));
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

/* --- in the place of another one */

TEST_F(unchanged, in_its_place)
{
	struct sframe_unwind_attach first = self->arg;

	first.sframe_fd = self->empty_fd;
	ASSERT_EQ(0, attach(self->fd, &first));
	EXPECT_EQ(NO_RULE, walk(self->fd, self->code));
	/* Without its id, it is in the way. */
	EXPECT_EQ(-1, attach(self->fd, &self->arg));
	EXPECT_EQ(EEXIST, errno);
	self->arg.share_id = first.id;
	ASSERT_EQ(0, attach(self->fd, &self->arg));
	EXPECT_EQ(CALLER, walk(self->fd, self->code));
	EXPECT_TRUE(has_ended_id(self->fd, first.id));
	EXPECT_FALSE(has_ended_id(self->fd, self->arg.id));
	ASSERT_EQ(0, detach(self->fd, first.id));
	EXPECT_EQ(CALLER, walk(self->fd, self->code));
	/* Each is watched by itself. */
	ASSERT_EQ(0, munmap(self->code, PAGE));
	EXPECT_TRUE(has_ended_id(self->fd, self->arg.id));
}

/* Only of one's own attachments with UNCHANGED. */
TEST_F(unchanged, in_the_place_of_others)
{
	struct sframe_unwind_attach first = self->arg;
	const int other = open_client(0);

	self->arg.share_id = 1ULL << 60;
	EXPECT_EQ(-1, attach(self->fd, &self->arg));
	EXPECT_EQ(ENOENT, errno);
	EXPECT_STREQ("no attachment with UNCHANGED has id 1152921504606846976",
		     self->message);
	ASSERT_EQ(0, attach(other, &first));
	self->arg.share_id = first.id;
	EXPECT_EQ(-1, attach(self->fd, &self->arg));
	EXPECT_EQ(ENOENT, errno);
	EXPECT_FALSE(has_ended_id(other, first.id));
	close(other);
	first.flags &= ~SFRAME_UNWIND_ATTACH_UNCHANGED;
	ASSERT_EQ(0, attach(self->fd, &first));
	self->arg.share_id = first.id;
	EXPECT_EQ(-1, attach(self->fd, &self->arg));
	EXPECT_EQ(ENOENT, errno);
	EXPECT_FALSE(has_ended_id(self->fd, first.id));
}

TEST_F(unchanged, not_in_its_place)
{
	struct sframe_unwind_attach first = self->arg;

	ASSERT_EQ(0, attach(self->fd, &first));
	self->arg.share_id = first.id;
	self->arg.flags |= SFRAME_UNWIND_ATTACH_REPLACE;
	EXPECT_EQ(-1, attach(self->fd, &self->arg));
	EXPECT_EQ(EINVAL, errno);
	self->arg.flags &= ~SFRAME_UNWIND_ATTACH_REPLACE;
	self->arg.text_size++;
	EXPECT_EQ(-1, attach(self->fd, &self->arg));
	EXPECT_EQ(ESTALE, errno);
	self->arg.text_size--;
	self->arg.text_start++;
	self->arg.text_size--;
	EXPECT_EQ(-1, attach(self->fd, &self->arg));
	self->arg.text_start--;
	self->arg.text_size++;
	/* What there was is still there. */
	EXPECT_EQ(CALLER, walk(self->fd, self->code));
	/* The same code, mapped anew: it could be other code. */
	ASSERT_TRUE(map_code(self->code, 0));
	EXPECT_EQ(-1, attach(self->fd, &self->arg));
	EXPECT_EQ(ESTALE, errno);
	ASSERT_EQ(0, detach(self->fd, first.id));
	EXPECT_EQ(-1, attach(self->fd, &self->arg));
	EXPECT_EQ(ENOENT, errno);
	EXPECT_EQ(self->attachments, counter("attachments"));
}

/* --- code that is made, freed and made anew at the same address */

/* Whether attaching has failed because the code is not there any more. */
static bool is_gone(int error)
{
	return error == EACCES || error == EFAULT || error == ESTALE;
}

/*
 * Attach as a debugger would that reads what is announced: watch first, then look what
 * code is there, then attach the section for it.
 */
static void *follow(void *data)
{
	FIXTURE_DATA(unchanged) *self = data;
	const int fd = open_client(0);

	while (!atomic_load(&self->stop) && !self->why) {
		struct sframe_unwind_attach first = self->arg, arg = self->arg;
		int kind;

		first.sframe_fd = self->empty_fd;
		if (attach(fd, &first)) {
			if (!is_gone(errno))
				self->why = strerror(errno);
			continue;
		}
		kind = atomic_load(&self->announced);
		if (kind) {
			arg.sframe_fd = self->sframe_fd[kind - 1];
			arg.share_id = first.id;
			if (!attach(fd, &arg)) {
				self->nr++;
				while (!has_ended_id(fd, arg.id) &&
				       !atomic_load(&self->stop))
					sched_yield();
				detach(fd, arg.id);
			} else if (is_gone(errno)) {
				self->nr_late++;
			} else {
				self->why = strerror(errno);
			}
		}
		detach(fd, first.id);
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
	for (int i = 0; i < ROUNDS && (i < MIN_ROUNDS || time(NULL) < end);
	     i++, rounds++) {
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
	TH_LOG("%u rounds: %u walks with the caller, %u without; attached %u times, %u times too late",
	       rounds, nr[1], nr[0], self->nr, self->nr_late);
	EXPECT_LE(rounds / 100, self->nr);
	EXPECT_LE(rounds / 100, nr[1]);
	EXPECT_NE(0, self->nr);
	EXPECT_NE(0, nr[1]);
	EXPECT_EQ(self->attachments, counter("attachments"));
}

TEST_HARNESS_MAIN
