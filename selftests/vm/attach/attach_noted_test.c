// SPDX-License-Identifier: GPL-2.0
/*
 * How the code of sections that are attached with UNCHANGED is compared: which bytes of a
 * function, memory that cannot be read, and processes that end, change or do not answer
 * during the call.
 */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "attach_noted.h"
#include "process.h"
#include "sampled.h"
#include "userfaultfd.h"

/* --- which bytes */

/*
 * What a walk from @from of a function of @size finds after the byte at @offset of it has
 * changed.
 */
static enum outcome after_change_from(FIXTURE_DATA(noted) *self, size_t size,
				      size_t from, size_t offset)
{
	enum outcome outcome;

	if (!put_code(self, self->code + from) || !prepare(self, 1, size, 0) ||
	    attach(self->fd, &self->arg) ||
	    walk(self->fd, self->code + from) != CALLER ||
	    !change_byte(self->code + offset))
		return FAILED;
	outcome = walk(self->fd, self->code + from);
	if (has_ended_id(self->fd, self->arg.id) != (outcome == NO_RULE) ||
	    detach(self->fd, self->arg.id) || !change_byte(self->code + offset))
		return FAILED;
	return outcome;
}

/* The same, from its beginning. */
static enum outcome after_change(FIXTURE_DATA(noted) *self, size_t size,
				 size_t offset)
{
	return after_change_from(self, size, 0, offset);
}

/* A small function, also across the end of a page: the first bytes are the code itself. */
TEST_F(noted, small)
{
	const size_t first = sizeof(request_code);

	EXPECT_EQ(NO_RULE, after_change(self, 64, first));
	EXPECT_EQ(NO_RULE, after_change(self, 64, 63));
	EXPECT_EQ(CALLER, after_change(self, 64, 64));
	EXPECT_EQ(NO_RULE, after_change(self, 257, 255));
	EXPECT_EQ(NO_RULE, after_change(self, 257, 256));
	EXPECT_EQ(CALLER, after_change(self, 257, 257));
}

/* As long as all of it is compared. */
TEST_F(noted, whole)
{
	EXPECT_EQ(NO_RULE, after_change(self, COMPARED, COMPARED / 2 - 1));
	EXPECT_EQ(NO_RULE, after_change(self, COMPARED, COMPARED / 2));
	EXPECT_EQ(NO_RULE, after_change(self, COMPARED, COMPARED - 1));
	EXPECT_EQ(CALLER, after_change(self, COMPARED, COMPARED));
}

/* Longer ones: the first piece, and the one with the address. */
TEST_F(noted, long_functions)
{
	const size_t size = 3 * PAGE + 100, piece = COMPARED / 2;
	const size_t middle = 2 * piece + 16, end = 6 * piece + 12;
	const size_t froms[] = { 0, piece - 32, middle, end };

	for (size_t i = 0; i < sizeof(froms) / sizeof(froms[0]); i++) {
		const size_t from = froms[i];
		const size_t first = from / piece * piece;
		const size_t last = first + piece < size ? first + piece : size;

		EXPECT_EQ(NO_RULE, after_change_from(self, size, from, 40));
		EXPECT_EQ(NO_RULE, after_change_from(self, size, from, piece - 1));
		EXPECT_EQ(NO_RULE, after_change_from(self, size, from, last - 1));
		EXPECT_EQ(CALLER, after_change_from(self, size, from, last));
		if (!first)
			continue;
		EXPECT_EQ(NO_RULE, after_change_from(self, size, from, first));
		EXPECT_EQ(CALLER, after_change_from(self, size, from, first - 1));
		EXPECT_EQ(CALLER, after_change_from(self, size, from, piece));
	}
	EXPECT_EQ(CALLER, after_change(self, COMPARED + 1, COMPARED));
	EXPECT_EQ(NO_RULE, after_change(self, COMPARED + 1, piece - 1));
}

/* Each place of a long function can be the one: no other has what was noted of it. */
TEST_F(noted, all_pieces)
{
	const size_t size = 5 * PAGE - 7, piece = COMPARED / 2;

	ASSERT_EQ(0, mprotect(self->code, PAGES * PAGE, PROT_READ | PROT_WRITE));
	for (size_t i = 0; i < size / piece; i++) {
		unsigned char *const at = self->code + i * piece;

		memset(at, i, piece);
		memcpy(at + 100, request_code, sizeof(request_code));
	}
	ASSERT_EQ(0, mprotect(self->code, PAGES * PAGE, CODE));
	ASSERT_TRUE(prepare(self, 1, size, 0));
	ASSERT_EQ(0, attach(self->fd, &self->arg));
	for (size_t i = 0; i < size / piece; i++)
		EXPECT_EQ(CALLER, walk(self->fd, self->code + i * piece + 100));
	EXPECT_FALSE(has_ended_id(self->fd, self->arg.id));
}

/* Of one function, wherever it is, and of no other. */
TEST_F(noted, each_by_itself)
{
	ASSERT_TRUE(prepare(self, PAGES, 64, PAGE));
	for (unsigned int i = 0; i < PAGES; i++) {
		unsigned char *const at = self->code + i * PAGE;

		ASSERT_EQ(0, mprotect(at, PAGE, PROT_READ | PROT_WRITE));
		memcpy(at, request_code, sizeof(request_code));
		at[32] = i;
		ASSERT_EQ(0, mprotect(at, PAGE, CODE));
	}
	ASSERT_EQ(0, attach(self->fd, &self->arg));
	for (unsigned int i = 0; i < PAGES; i++)
		EXPECT_EQ(CALLER, walk(self->fd, self->code + i * PAGE));
	ASSERT_TRUE(change_byte(self->code + 5 * PAGE + 32));
	for (unsigned int i = 0; i < PAGES; i++)
		if (i != 5)
			EXPECT_EQ(CALLER, walk(self->fd, self->code + i * PAGE));
	EXPECT_EQ(NO_RULE, walk(self->fd, self->code + 5 * PAGE));
	EXPECT_TRUE(has_ended_id(self->fd, self->arg.id));
}

/* --- memory that cannot be read */

/* Of the copy, only the code of functions is read. */
TEST_F(noted, unreadable_copy)
{
	unsigned char *copy = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char message[64];

	ASSERT_NE(MAP_FAILED, (void *)copy);
	memcpy(copy, self->code, 3 * PAGE);
	ASSERT_EQ(0, mprotect(copy + PAGE, PAGE, PROT_NONE));
	ASSERT_TRUE(prepare(self, 2, 64, PAGE));
	self->arg.code = (uintptr_t)copy;
	EXPECT_EQ(-1, attach(self->fd, &self->arg));
	EXPECT_EQ(EFAULT, errno);
	snprintf(message, sizeof(message),
		 "the copy of the code cannot be read at %p", copy + PAGE);
	EXPECT_STREQ(message, self->message);
	ASSERT_TRUE(prepare(self, 2, 64, 2 * PAGE));
	self->arg.code = (uintptr_t)copy;
	EXPECT_EQ(0, attach(self->fd, &self->arg));
	EXPECT_EQ(CALLER, walk(self->fd, self->code));
	ASSERT_EQ(0, detach(self->fd, self->arg.id));
	/* Of a long one, all of it. */
	ASSERT_TRUE(prepare(self, 1, 3 * PAGE, 0));
	self->arg.code = (uintptr_t)copy;
	EXPECT_EQ(-1, attach(self->fd, &self->arg));
	EXPECT_EQ(EFAULT, errno);
	EXPECT_STREQ(message, self->message);
	/* Addresses that are not of user space. */
	self->arg.code = 0;
	EXPECT_EQ(-1, attach(self->fd, &self->arg));
	EXPECT_EQ(EFAULT, errno);
	self->arg.code = -64;
	EXPECT_EQ(-1, attach(self->fd, &self->arg));
	EXPECT_EQ(EFAULT, errno);
	self->arg.code = 1ULL << 63;
	EXPECT_EQ(-1, attach(self->fd, &self->arg));
	EXPECT_EQ(EFAULT, errno);
}

TEST_F(noted, without_permission)
{
	ASSERT_TRUE(prepare(self, 2, 64, PAGE));
	ASSERT_EQ(0, mprotect(self->code + PAGE, PAGE, PROT_NONE));
	EXPECT_EQ(-1, attach(self->fd, &self->arg));
	EXPECT_EQ(EACCES, errno);
}

/* Thrown away after the call: it is zero then. */
TEST_F(noted, thrown_away)
{
	ASSERT_TRUE(put_code(self, self->code + PAGE - 64));
	ASSERT_TRUE(prepare(self, 1, 128, 0));
	self->arg.text_start += PAGE - 64;
	self->arg.code += PAGE - 64;
	ASSERT_EQ(0, attach(self->fd, &self->arg));
	ASSERT_EQ(0, madvise(self->code + PAGE, PAGE, MADV_DONTNEED));
	EXPECT_EQ(NO_RULE, walk(self->fd, self->code + PAGE - 64));
	EXPECT_TRUE(has_ended_id(self->fd, self->arg.id));
}

#define WAIT_SECONDS		60

/* Returns the exit status of @pid; or -1 if it does not end. */
static int wait_for(pid_t pid)
{
	const time_t end = time(NULL) + WAIT_SECONDS;
	int status;

	do {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
		usleep(10000);
	} while (time(NULL) < end);
	return -1;
}

/* Nobody answers the userfaultfd: the call must not wait for that. */
TEST_F(noted, missing_pages)
{
	static unsigned char copy[2 * PAGE];
	struct pollfd asked = { .events = POLLIN };
	pid_t caller;
	int uffd;

	ASSERT_TRUE(prepare(self, 2, 64, PAGE));
	self->arg.pid = getpid();
	self->arg.code = (uintptr_t)copy;
	ASSERT_EQ(0, madvise(self->code + PAGE, PAGE, MADV_DONTNEED));
	uffd = uffd_open(self->code + PAGE, PAGE, 0);
	ASSERT_LE(0, uffd);
	ASSERT_EQ(0, fcntl(uffd, F_SETFL, O_NONBLOCK));
	caller = fork();
	if (!caller)
		_exit(attach(self->fd, &self->arg) ? errno : 0);
	EXPECT_EQ(EACCES, wait_for(caller));
	kill(caller, SIGKILL);
	waitpid(caller, NULL, 0);
	asked.fd = uffd;
	EXPECT_EQ(0, poll(&asked, 1, 0));
	close(uffd);
}

/* Who answers could give any code. */
TEST_F(noted, userfaultfd_later)
{
	int uffd;

	ASSERT_TRUE(prepare(self, 1, 64, 0));
	ASSERT_EQ(0, attach(self->fd, &self->arg));
	EXPECT_EQ(CALLER, walk(self->fd, self->code));
	uffd = uffd_open(self->code, PAGE, 0);
	ASSERT_LE(0, uffd);
	EXPECT_EQ(NO_RULE, walk(self->fd, self->code));
	close(uffd);
	EXPECT_EQ(CALLER, walk(self->fd, self->code));
}

/* --- processes that change during the call */

#define MANY			16384U
#define CHANGING_ROUNDS		60

/* End, or execute another program, after a while. */
static void change_soon(unsigned int round)
{
	usleep(round * 300);
	if (round % 2)
		execlp("true", "true", NULL);
	_exit(0);
}

TEST_F_TIMEOUT(noted, process_that_ends, 300)
{
	const long attachments = counter("attachments");
	unsigned int attached = 0;

	ASSERT_TRUE(prepare(self, MANY, 2, 4));
	for (unsigned int i = 0; i < CHANGING_ROUNDS; i++) {
		pid_t child = fork();

		if (!child)
			change_soon(i);
		self->arg.pid = child;
		if (!attach(self->fd, &self->arg)) {
			attached++;
			EXPECT_EQ(0, outcome_of(child));
			EXPECT_EQ(0, detach(self->fd, self->arg.id));
			continue;
		}
		EXPECT_TRUE(errno == ESRCH || errno == EFAULT || errno == EACCES)
			TH_LOG("%s: %s", strerror(errno), self->message);
		EXPECT_EQ(0, outcome_of(child));
	}
	TH_LOG("attached %u times", attached);
	EXPECT_NE(0, attached);
	EXPECT_EQ(attachments, counter("attachments"));
}

#define BUSY_SIZE		(64UL << 20)
#define BUSY_THREADS		4
#define BUSY_ROUNDS		20

static unsigned char *busy;

static void *change_all(void *data)
{
	(void)data;
	for (;;) {
		mprotect(busy, BUSY_SIZE, PROT_READ);
		mprotect(busy, BUSY_SIZE, PROT_READ | PROT_WRITE);
	}
	return NULL;
}

static void be_busy(int ready)
{
	pthread_t thread;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	busy = mmap(NULL, BUSY_SIZE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (busy == MAP_FAILED)
		_exit(1);
	for (size_t i = 0; i < BUSY_SIZE; i += PAGE)
		((volatile unsigned char *)busy)[i];
	for (int i = 0; i < BUSY_THREADS; i++)
		if (pthread_create(&thread, NULL, change_all, NULL))
			_exit(1);
	if (write(ready, "r", 1) != 1)
		_exit(1);
	pause();
	_exit(0);
}

/* Returns 0 if all can be attached and detached. */
static int attach_and_detach(int fd, struct sframe_unwind_attach *arg)
{
	for (int i = 0; i < BUSY_ROUNDS; i++)
		if (attach(fd, arg) || detach(fd, arg->id))
			return errno;
	return 0;
}

/* A process whose mappings are changed by some thread all the time. */
TEST_F_TIMEOUT(noted, busy, 300)
{
	int ready[2];
	pid_t child, caller;
	char byte;

	ASSERT_TRUE(prepare(self, PAGES, 64, PAGE));
	ASSERT_EQ(0, pipe(ready));
	child = fork();
	if (!child)
		be_busy(ready[1]);
	close(ready[1]);
	ASSERT_EQ(1, read(ready[0], &byte, 1));
	close(ready[0]);
	self->arg.pid = child;
	caller = fork();
	if (!caller)
		_exit(attach_and_detach(self->fd, &self->arg));
	EXPECT_EQ(0, wait_for(caller));
	kill(child, SIGKILL);
	kill(caller, SIGKILL);
	EXPECT_EQ(child, waitpid(child, NULL, 0));
	waitpid(caller, NULL, 0);
}

/* --- samples */

/* Code that has 40 bytes on the stack for a while. */
static const unsigned char spin_code[] = {
	0x48, 0x83, 0xec, 0x28,		/* sub $40,%rsp */
	0xb9, 0x00, 0x00, 0x20, 0x00,	/* mov $0x200000,%ecx */
	0xff, 0xc9,			/* 1: dec %ecx */
	0x75, 0xfc,			/* jne 1b */
	0x48, 0x83, 0xc4, 0x28,		/* add $40,%rsp */
	0xc3,				/* ret */
};

#define SAMPLE_ROUNDS		20

static __attribute__((noinline)) void spin(const void *code)
{
	((void (*)(void))(uintptr_t)code)();
	asm volatile("" ::: "memory");	/* no tail call */
}

/* Returns the number of samples in the code with a caller; sets *@nr to all there. */
static unsigned int with_caller(struct sampled *s, const unsigned char *code,
				unsigned int *nr)
{
	static struct taken t;
	unsigned int found = 0;

	while (take(s, &t) == 1) {
		if (!t.nr_user || t.user[0] - (uintptr_t)code >= sizeof(spin_code))
			continue;
		++*nr;
		found += t.nr_user > 1;
	}
	return found;
}

/*
 * A function of a section that a walk has just used, by another function of it, has become
 * other code: what is sampled at once there has no rule, either.
 */
TEST_F_TIMEOUT(noted, sampled_at_once, 120)
{
	struct perf_event_attr attr = cpu_clock(100000);
	unsigned char *const other = self->code + PAGE;
	unsigned int nr = 0, found = 0, ended = 0;
	struct sampled s;

	ASSERT_TRUE(stay_on_one_cpu());
	ASSERT_SAMPLED(&s, 64);
	for (unsigned int i = 0; i < SAMPLE_ROUNDS; i++) {
		ASSERT_TRUE(prepare(self, 2, 64, PAGE));
		ASSERT_EQ(0, attach(s.fd, &self->arg));
		if (!i)
			ASSERT_LE(0, sample_at(&s, &attr, 0, -1, 0));
		ASSERT_EQ(0, mprotect(other, PAGE, PROT_READ | PROT_WRITE));
		memcpy(other, spin_code, sizeof(spin_code));
		ASSERT_EQ(0, mprotect(other, PAGE, CODE));
		/* The section has been checked for all of its code. */
		EXPECT_EQ(CALLER, walk(self->fd, self->code));
		ASSERT_EQ(0, start(&s));
		spin(other);
		ASSERT_EQ(0, stop(&s));
		found += with_caller(&s, other, &nr);
		ended += has_ended_id(s.fd, self->arg.id);
		ASSERT_EQ(0, detach(s.fd, self->arg.id));
		ASSERT_EQ(0, mprotect(other, PAGE, PROT_READ | PROT_WRITE));
		memset(other, 0x90, PAGE);
		ASSERT_EQ(0, mprotect(other, PAGE, CODE));
	}
	TH_LOG("%u samples, %u with a caller; found in %u rounds", nr, found,
	       ended);
	EXPECT_LE(SAMPLE_ROUNDS / 2, ended);
	EXPECT_EQ(0, found);
	end_sampled(&s);
}

TEST_HARNESS_MAIN
