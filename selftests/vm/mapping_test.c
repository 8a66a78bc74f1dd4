// SPDX-License-Identifier: GPL-2.0
/*
 * A section is valid as long as its mapping: no rule of code that is gone is
 * used for other code mapped in its place.
 *
 * Racing: run with KCSAN.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

#include "common.h"
#include "userfaultfd.h"

/*
 * Two functions that request their stack, with frames of different sizes, so
 * that the rule of one is wrong for the other.
 */
static const unsigned char small_code[] = {
	0xb8, 0x10, 0x00, 0x00, 0x00, 0x0f, 0x05, 0xc3
};

static const unsigned char large_code[] = {
	0x48, 0x83, 0xec, 0x38,			/* sub $56,%rsp */
	0xb8, 0x10, 0x00, 0x00, 0x00, 0x0f, 0x05,
	0x48, 0x83, 0xc4, 0x38, 0xc3		/* add $56,%rsp; ret */
};

FIXTURE(mapping)
{
	int fd;
	int file;		/* page 0: small code, page 1: its section, */
	int other;		/* page 2: large code; the same in other */
	unsigned char *at;
	struct fake fake;
	struct stack stack;
	struct sframe_unwind_request req;
};

static int make_file(void)
{
	char name[] = "/tmp/mapping_test.XXXXXX";
	int file = mkstemp(name);

	unlink(name);
	if (ftruncate(file, 3 * PAGE) ||
	    pwrite(file, small_code, sizeof(small_code), 0) < 0 ||
	    pwrite(file, large_code, sizeof(large_code), 2 * PAGE) < 0)
		return -1;
	return file;
}

static unsigned char *map(unsigned char *at, int file, unsigned long page)
{
	return mmap(at, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED,
		    file, page * PAGE);
}

/* Code and section of the file, registered, and known to work. */
FIXTURE_SETUP(mapping)
{
	unsigned char section[FAKE_SECTION_SIZE];

	self->fd = open_client(0);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, register_own(self->fd));
	self->req = request_self();

	ASSERT_TRUE(make_fake(&self->fake));
	self->at = self->fake.text;
	memcpy(section, self->fake.section, sizeof(section));
	self->file = make_file();
	self->other = make_file();
	ASSERT_LE(0, self->file);
	ASSERT_LE(0, self->other);
	ASSERT_EQ(sizeof(section), pwrite(self->file, section, sizeof(section),
					  PAGE));
	ASSERT_EQ(sizeof(section), pwrite(self->other, section, sizeof(section),
					  PAGE));
	ASSERT_EQ(self->at, map(self->at, self->file, 0));
	ASSERT_EQ(self->at + PAGE, map(self->at + PAGE, self->file, 1));
	ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
}

FIXTURE_TEARDOWN(mapping)
{
	close(self->file);
	close(self->other);
	close(self->fd);
}

/* Check that a walk from the code at @at finds its caller by the section. */
#define ASSERT_USED(at)							\
	do {								\
		ASSERT_EQ(0, call_request_code(at, self->fd, &self->req)); \
		ASSERT_STACK(self->fd, &self->stack);			\
		ASSERT_LE(3, self->stack.head.nr_frames);		\
		EXPECT_EQ(SFRAME_UNWIND_FRAME_SFRAME, how(&self->stack, 1)); \
		EXPECT_GT(128, self->stack.head.ips[1] -		\
			       (uintptr_t)call_request_code);		\
	} while (0)

/* Check that the section has been removed as stale, not as corrupt. */
#define ASSERT_NOT_USED(at)						\
	do {								\
		struct sframe_unwind_stats s_;				\
		ASSERT_EQ(0, call_request_code(at, self->fd, &self->req)); \
		ASSERT_STACK(self->fd, &self->stack);			\
		EXPECT_EQ(1, self->stack.head.nr_frames);		\
		EXPECT_EQ(SFRAME_UNWIND_STOP_NO_RULE,			\
			  self->stack.head.stop);			\
		ASSERT_EQ(0, stats(self->fd, &s_));			\
		EXPECT_EQ(0, s_.corrupt);				\
		EXPECT_EQ(1, s_.stale);					\
		EXPECT_EQ(1, s_.sections);				\
	} while (0)

TEST_F(mapping, control)
{
	ASSERT_USED(self->at);
	ASSERT_USED(self->at);
}

TEST_F(mapping, other_file_in_its_place)
{
	ASSERT_EQ(self->at, map(self->at, self->other, 2));
	ASSERT_NOT_USED(self->at);
}

/* Even where its rule would be right. */
TEST_F(mapping, equal_file_in_its_place)
{
	ASSERT_EQ(self->at, map(self->at, self->other, 0));
	ASSERT_NOT_USED(self->at);
}

TEST_F(mapping, other_part_of_the_file)
{
	ASSERT_EQ(self->at, map(self->at, self->file, 2));
	ASSERT_NOT_USED(self->at);
}

TEST_F(mapping, same_part_of_the_file_again)
{
	ASSERT_EQ(0, munmap(self->at, PAGE));
	ASSERT_EQ(self->at, map(self->at, self->file, 0));
	ASSERT_USED(self->at);
}

TEST_F(mapping, anonymous_in_its_place)
{
	ASSERT_EQ(self->at, mmap(self->at, PAGE,
				 PROT_READ | PROT_WRITE | PROT_EXEC,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
	memcpy(self->at, large_code, sizeof(large_code));
	ASSERT_NOT_USED(self->at);
}

TEST_F(mapping, file_in_place_of_anonymous)
{
	struct fake fake;

	ASSERT_EQ(0, unregister_id(self->fd, self->fake.reg.id));
	ASSERT_TRUE(make_fake(&fake));
	put_request_code(&fake);
	ASSERT_EQ(0, register_section(self->fd, &fake.reg));
	ASSERT_USED(fake.text);
	ASSERT_EQ(fake.text, map(fake.text, self->file, 2));
	ASSERT_NOT_USED(fake.text);
}

/* Moved code is registered neither at its new address nor at the old one. */
TEST_F(mapping, moved)
{
	unsigned char *to = mmap(NULL, PAGE, PROT_NONE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct sframe_unwind_stats s;

	ASSERT_NE(MAP_FAILED, to);
	ASSERT_EQ(to, mremap(self->at, PAGE, PAGE,
			     MREMAP_MAYMOVE | MREMAP_FIXED, to));
	ASSERT_EQ(0, call_request_code(to, self->fd, &self->req));
	ASSERT_STACK(self->fd, &self->stack);
	EXPECT_EQ(1, self->stack.head.nr_frames);
	ASSERT_EQ(0, stats(self->fd, &s));
	EXPECT_EQ(2, s.sections);
	/* The old address range can be used by others. */
	ASSERT_EQ(self->at, map(self->at, self->other, 2));
	ASSERT_NOT_USED(self->at);
}

TEST_F(mapping, section_unmapped)
{
	ASSERT_EQ(0, munmap(self->at + PAGE, PAGE));
	ASSERT_NOT_USED(self->at);
}

TEST_F(mapping, other_file_in_the_sections_place)
{
	ASSERT_EQ(self->at + PAGE, map(self->at + PAGE, self->other, 1));
	ASSERT_NOT_USED(self->at);
}

TEST_F(mapping, anonymous_in_the_sections_place)
{
	ASSERT_EQ(self->at + PAGE, mmap(self->at + PAGE, PAGE, PROT_READ,
					MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
					-1, 0));
	ASSERT_NOT_USED(self->at);
}

/* A change does not affect neighbouring mappings. */
TEST_F(mapping, neighbours_stay)
{
	struct fake fake;

	ASSERT_TRUE(make_fake(&fake));
	put_request_code(&fake);
	ASSERT_EQ(0, register_section(self->fd, &fake.reg));
	ASSERT_EQ(self->at, map(self->at, self->other, 2));
	ASSERT_USED(fake.text);
	ASSERT_EQ(0, call_request_code(self->at, self->fd, &self->req));
	ASSERT_STACK(self->fd, &self->stack);
	EXPECT_EQ(1, self->stack.head.nr_frames);
	ASSERT_USED(fake.text);
}

/* A removed section can be registered again for what is mapped now. */
TEST_F(mapping, registered_again)
{
	ASSERT_EQ(self->at, map(self->at, self->other, 0));
	ASSERT_NOT_USED(self->at);
	ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
	ASSERT_USED(self->at);
}

/* As with dlclose() and dlopen(), without a walk in between. */
TEST_F(mapping, registered_over)
{
	struct sframe_unwind_stats s;

	EXPECT_EQ(-1, register_section(self->fd, &self->fake.reg));
	EXPECT_EQ(EEXIST, errno);
	ASSERT_EQ(self->at, map(self->at, self->other, 0));
	ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
	ASSERT_USED(self->at);
	ASSERT_EQ(0, stats(self->fd, &s));
	EXPECT_EQ(2, s.sections);
	EXPECT_EQ(1, s.stale);
}

/* A runtime that makes its code writable and executable in turns. */
TEST_F(mapping, protection_changes)
{
	ASSERT_EQ(0, mprotect(self->at, PAGE, PROT_READ | PROT_WRITE));
	ASSERT_EQ(0, mprotect(self->at, PAGE, PROT_READ | PROT_EXEC));
	ASSERT_USED(self->at);
	ASSERT_EQ(0, mprotect(self->at + PAGE, PAGE, PROT_READ | PROT_WRITE));
	ASSERT_USED(self->at);
}

TEST_F(mapping, file_deleted_and_replaced)
{
	char name[] = "/tmp/mapping_test.XXXXXX", fresh[64];
	int file = mkstemp(name);
	unsigned char *p = self->at;

	ASSERT_LE(0, file);
	ASSERT_EQ(0, ftruncate(file, PAGE));
	ASSERT_EQ(sizeof(small_code), pwrite(file, small_code,
					     sizeof(small_code), 0));
	ASSERT_EQ(0, unregister_id(self->fd, self->fake.reg.id));
	ASSERT_EQ(p, map(p, file, 0));
	ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
	close(file);

	/* As in a package upgrade. The mapping still shows the old file. */
	snprintf(fresh, sizeof(fresh), "%s.new", name);
	file = open(fresh, O_RDWR | O_CREAT, 0700);
	ASSERT_LE(0, file);
	ASSERT_EQ(0, ftruncate(file, PAGE));
	ASSERT_EQ(sizeof(large_code), pwrite(file, large_code,
					     sizeof(large_code), 0));
	ASSERT_EQ(0, rename(fresh, name));
	ASSERT_USED(p);
	/* Until the program maps the new file. */
	ASSERT_EQ(p, map(p, file, 0));
	ASSERT_NOT_USED(p);
	close(file);
	unlink(name);
}

/* Code in several mappings of its file is one piece of code. */
TEST_F(mapping, split_by_protection)
{
	unsigned char *p = mmap(NULL, 3 * PAGE, PROT_READ | PROT_EXEC,
				MAP_PRIVATE, self->file, 0);

	ASSERT_NE(MAP_FAILED, p);
	self->fake.reg.text_start = (uintptr_t)p;
	self->fake.reg.text_size = 3 * PAGE;
	/* The section's addresses are relative to its own mapping. */
	self->fake.reg.sframe_start = (uintptr_t)self->fake.section;
	ASSERT_EQ(0, unregister_id(self->fd, self->fake.reg.id));
	ASSERT_EQ(0, mmap(self->fake.section, PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) !=
		     self->fake.section);
	write_fake_section(self->fake.section, p);
	ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
	ASSERT_EQ(0, mprotect(p + PAGE, PAGE, PROT_READ));
	ASSERT_USED(p);
}

/*
 * A call at the very end of a page returns to the next page. If the first page
 * was replaced, the second one must not be used to describe the call.
 */
TEST_F(mapping, call_at_the_end_of_a_page)
{
	static const unsigned char call[] = { 0xe8, 16, 0, 0, 0 };
	const int file = make_file();
	unsigned char *p;

	ASSERT_LE(0, file);
	pwrite(file, call, sizeof(call), PAGE - sizeof(call));
	pwrite(file, "\xc3", 1, PAGE);
	pwrite(file, small_code, sizeof(small_code), PAGE + 16);
	pwrite(file, call, sizeof(call), 3 * PAGE - sizeof(call));
	p = mmap(NULL, 2 * PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
	ASSERT_NE(MAP_FAILED, p);
	ASSERT_TRUE(make_fake(&self->fake));
	write_fake_section(self->fake.section, p);
	put32(self->fake.section + FAKE_FUNC_SIZE, 2 * PAGE);
	self->fake.reg.text_start = (uintptr_t)p;
	self->fake.reg.text_size = 2 * PAGE;
	ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));

	p += PAGE - sizeof(call);
	ASSERT_EQ(0, call_request_code(p, self->fd, &self->req));
	ASSERT_STACK(self->fd, &self->stack);
	ASSERT_LE(3, self->stack.head.nr_frames);
	EXPECT_EQ(SFRAME_UNWIND_FRAME_SFRAME, how(&self->stack, 2));

	p += sizeof(call) - PAGE;
	ASSERT_EQ(p, map(p, file, 2));
	p += PAGE - sizeof(call);
	ASSERT_EQ(0, call_request_code(p, self->fd, &self->req));
	ASSERT_STACK(self->fd, &self->stack);
	EXPECT_EQ(2, self->stack.head.nr_frames);
	EXPECT_EQ((uintptr_t)p + sizeof(call), self->stack.head.ips[1]);
	EXPECT_EQ(SFRAME_UNWIND_STOP_NO_RULE, self->stack.head.stop);
	close(file);
}

static unsigned int wait_for(pid_t pid)
{
	int status = -1;

	waitpid(pid, &status, 0);
	return status;
}

/* A child without the section's bytes loses the section; its parent keeps it. */
TEST_F(mapping, bytes_not_inherited)
{
	struct sframe_unwind_stats s;
	pid_t pid;

	ASSERT_EQ(0, madvise(self->at + PAGE, PAGE, MADV_DONTFORK));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		call_request_code(self->at, self->fd, &self->req);
		_exit(stats(self->fd, &s) || s.sections != 1 || s.stale != 1);
	}
	EXPECT_EQ(0, wait_for(pid));
	ASSERT_STACK(self->fd, &self->stack);
	EXPECT_EQ(SFRAME_UNWIND_STOP_NO_RULE, self->stack.head.stop);
	ASSERT_USED(self->at);
}

/* A child without the code has something else there, or nothing. */
TEST_F(mapping, code_not_inherited)
{
	struct sframe_unwind_stats s;
	pid_t pid;

	ASSERT_EQ(0, madvise(self->at, PAGE, MADV_DONTFORK));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		if (map(self->at, self->other, 2) != self->at)
			_exit(2);
		call_request_code(self->at, self->fd, &self->req);
		_exit(stats(self->fd, &s) || s.sections != 1 || s.stale != 1);
	}
	EXPECT_EQ(0, wait_for(pid));
	ASSERT_STACK(self->fd, &self->stack);
	EXPECT_EQ(1, self->stack.head.nr_frames);
	ASSERT_USED(self->at);
}

/* Bytes that are not in memory are read in again. */
TEST_F(mapping, pages_dropped)
{
	ASSERT_EQ(0, madvise(self->at + PAGE, PAGE, MADV_DONTNEED));
	ASSERT_EQ(0, posix_fadvise(self->file, 0, 0, POSIX_FADV_DONTNEED));
	ASSERT_USED(self->at);
	madvise(self->at + PAGE, PAGE, MADV_PAGEOUT);
	ASSERT_USED(self->at);
}

/* A section in memory provided by a userfaultfd handler: the walk waits for it. */
struct handler {
	int uffd;
	unsigned char *page;
	unsigned char source[PAGE] __attribute__((aligned(PAGE)));
};

static void *handle_fault(void *arg)
{
	struct handler *handler = arg;

	if (!uffd_wait(handler->uffd) ||
	    !uffd_provide(handler->uffd, handler->page, handler->source, PAGE))
		return "no fault";
	return NULL;
}

static bool make_handler(struct handler *handler, unsigned char *page)
{
	memcpy(handler->source, page, PAGE);
	handler->page = page;
	handler->uffd = uffd_open(page, PAGE, 0);
	return handler->uffd >= 0 && !madvise(page, PAGE, MADV_DONTNEED);
}

TEST_F(mapping, bytes_by_userfaultfd)
{
	static struct handler handler;
	pthread_t thread;
	struct fake fake;
	void *failed;

	if (geteuid())
		SKIP(return, "needs root, for userfaultfd");
	ASSERT_TRUE(make_fake(&fake));
	put_request_code(&fake);
	ASSERT_EQ(0, register_section(self->fd, &fake.reg));
	ASSERT_TRUE(make_handler(&handler, fake.section));
	ASSERT_EQ(0, pthread_create(&thread, NULL, handle_fault, &handler));
	ASSERT_USED(fake.text);
	pthread_join(thread, &failed);
	EXPECT_EQ(NULL, failed);
}

/*
 * A process that shares memory and sections with its parent, and can be killed
 * separately.
 */
struct sharer {
	int fd;
	unsigned char *text;
	struct sframe_unwind_request *req;
};

static int request_in_sharer(void *arg)
{
	struct sharer *sharer = arg;

	call_request_code(sharer->text, sharer->fd, sharer->req);
	return 0;
}

/* No handler provides the page, and the thread is killed: the section stays. */
TEST_F(mapping, killed_in_userfaultfd)
{
	static struct handler handler;
	static char stack[65536] __attribute__((aligned(16)));
	struct sharer sharer = { .fd = self->fd, .req = &self->req };
	struct fake fake;
	pid_t pid;

	if (geteuid())
		SKIP(return, "needs root, for userfaultfd");
	ASSERT_TRUE(make_fake(&fake));
	put_request_code(&fake);
	ASSERT_EQ(0, register_section(self->fd, &fake.reg));
	sharer.text = fake.text;
	ASSERT_TRUE(make_handler(&handler, fake.section));
	ASSERT_EQ(0, listen_to(self->fd, SFRAME_UNWIND_EVENTS_REMOVED));
	pid = clone(request_in_sharer, stack + sizeof(stack),
		    CLONE_VM | SIGCHLD, &sharer);
	ASSERT_LE(0, pid);
	ASSERT_NE(0, uffd_wait(handler.uffd));
	ASSERT_EQ(0, kill(pid, SIGKILL));
	EXPECT_EQ(SIGKILL, wait_for(pid));
	ASSERT_STACK(self->fd, &self->stack);
	EXPECT_EQ(SFRAME_UNWIND_STOP_KILLED, self->stack.head.stop);
	EXPECT_TRUE(is_empty(self->fd));
	/* Still registered, and usable once the bytes are present. */
	close(handler.uffd);
	memcpy(fake.section, handler.source, PAGE);
	ASSERT_USED(fake.text);
}

TEST_HARNESS_MAIN
