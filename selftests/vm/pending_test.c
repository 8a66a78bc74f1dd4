// SPDX-License-Identifier: GPL-2.0
/*
 * Files that are not in the page cache: walks do not wait for them, do not make
 * their server or permission daemon act on the thread's behalf, and do not
 * cache failures.
 *
 * Long: see selftests/check.
 */
#include <sched.h>
#include <sys/fanotify.h>
#include <sys/swap.h>
#include <sys/syscall.h>

#include "cgroup.h"
#include "elf_map.h"
#include "process.h"
#include "slow_disk.h"

/* Files read at the same time for one user, and from one file system: limits.h. */
#define MAX_READINGS	2
#define MAX_READINGS_OF_ONE	4

static bool is_resident(void *page)
{
	unsigned char vec = 0;

	return !mincore(page, PAGE, &vec) && vec & 1;
}

/* References to the module, without that of the test module. */
static long references(void)
{
	return read_number("/sys/module/sframe_unwind/refcnt", "") -
	       !access("/sys/module/sframe_unwind_test", F_OK);
}

/* Map @file, run its code, and drop all other pages from the page cache. */
static unsigned char *map_dropped(int file)
{
	unsigned char *at = map_elf(file);

	if (!at || madvise(at + ELF_SMALL_VADDR, PAGE, MADV_RANDOM) ||
	    *(volatile unsigned char *)(at + ELF_SMALL_VADDR) == 0)
		return NULL;
	posix_fadvise(file, 0, PAGE, POSIX_FADV_DONTNEED);
	return is_resident(at) ? NULL : at;
}

/* Files on a slow disk. */
FIXTURE(disk)
{
	int fd;
	struct slow_disk disk;
	unsigned char *at[DISK_FILES];
	int file[DISK_FILES];
};

FIXTURE_SETUP(disk)
{
	struct elf_base elf;
	unsigned int i;

	self->fd = -1;
	memset(&self->disk, 0, sizeof(self->disk));
	elf_base_init(&elf);
	/* Their section extends to the end of the file. */
	elf.sframe.fre_len = (DISK_FILE_PAGES - 2) * PAGE;
	elf.phdr[ELF_SFRAME].p_filesz = (DISK_FILE_PAGES - 1) * PAGE;
	elf.phdr[ELF_SFRAME].p_memsz = elf.phdr[ELF_SFRAME].p_filesz;
	if (!disk_make(&self->disk, &elf, sizeof(elf)))
		SKIP(return, "needs root, FUSE, loop devices and romfs");
	/* Opened now, because the server inherits all files open at its start. */
	self->fd = open_client(0);
	ASSERT_LE(0, self->fd);
	for (i = 0; i < DISK_FILES; i++) {
		self->file[i] = disk_open(&self->disk, i);
		ASSERT_LE(0, self->file[i]);
		self->at[i] = map_dropped(self->file[i]);
		ASSERT_NE(NULL, self->at[i]);
	}
}

FIXTURE_TEARDOWN(disk)
{
	unsigned int i;

	for (i = 0; i < DISK_FILES; i++) {
		if (self->at[i])
			unmap_elf(self->at[i]);
		close(self->file[i]);
	}
	close(self->fd);
	disk_end(&self->disk);
}

/* Walk until no file is being read any more. */
#define WALK_ON(self, nr)						\
	({								\
		enum outcome outcome_;					\
		do {							\
			sched_yield();					\
			outcome_ = walk_small((self)->fd,		\
					      (self)->at[nr]);		\
		} while (outcome_ == PENDING);				\
		outcome_;						\
	})

/* The headers, then the section, which is not mapped. */
TEST_F(disk, read_for_the_next_walk)
{
	EXPECT_EQ(PENDING, walk_small(self->fd, self->at[0]));
	while (!is_resident(self->at[0]))
		sched_yield();
	EXPECT_EQ(CALLER, WALK_ON(self, 0));
	EXPECT_EQ(0, section_of(self->fd, self->at[0] + ELF_SMALL_VADDR)
			     .sframe_start);
	/* The result is cached. */
	posix_fadvise(self->file[0], 0, 0, POSIX_FADV_DONTNEED);
	EXPECT_EQ(CALLER, walk_small(self->fd, self->at[0]));
}

/* With the fallback the stack continues by frame pointers, marked as a guess. */
TEST_F(disk, fallback)
{
	struct sframe_unwind_request req = request_self();
	struct stack stack;

	fuse_server_close_gate(&self->disk.server);
	req.flags = SFRAME_UNWIND_REQUEST_FP_FALLBACK;
	ASSERT_EQ(0, call_request_code(self->at[0] + ELF_SMALL_VADDR, self->fd,
				       &req));
	ASSERT_STACK(self->fd, &stack);
	EXPECT_TRUE(stack.head.nr_frames > 1 ||
		    stack.head.stop == SFRAME_UNWIND_STOP_PENDING);
	req.flags = 0;
	ASSERT_EQ(0, call_request_code(self->at[0] + ELF_SMALL_VADDR, self->fd,
				       &req));
	ASSERT_STACK(self->fd, &stack);
	EXPECT_EQ(1, stack.head.nr_frames);
	EXPECT_EQ(SFRAME_UNWIND_STOP_PENDING, stack.head.stop);
	fuse_server_open_gate(&self->disk.server);
}

/*
 * Read file 0, and wait for the end of the reading: the walk can find the pages
 * before the worker gives up its reference to the module. What is left is the
 * reference of the client.
 */
#define READ_FIRST(self)						\
	do {								\
		EXPECT_EQ(CALLER, WALK_ON(self, 0));			\
		while (references() != 1)				\
			sched_yield();					\
	} while (0)

/* Only a few files are read at a time from a disk that does not answer. */
TEST_F(disk, stalled)
{
	unsigned int i;

	READ_FIRST(self);
	fuse_server_close_gate(&self->disk.server);
	for (i = 1; i < DISK_FILES; i++) {
		EXPECT_EQ(PENDING, walk_small(self->fd, self->at[i]));
		EXPECT_EQ(PENDING, walk_small(self->fd, self->at[i]));
	}
	EXPECT_EQ(1 + MAX_READINGS, references());
	fuse_server_open_gate(&self->disk.server);
	for (i = 1; i < DISK_FILES; i++)
		EXPECT_EQ(CALLER, WALK_ON(self, i));
}

/* Nor do several users together cause many reads. */
TEST_F(disk, stalled_for_all)
{
	unsigned int i, j;
	pid_t child;

	READ_FIRST(self);
	fuse_server_close_gate(&self->disk.server);
	for (i = 1; i < DISK_FILES; i += MAX_READINGS) {
		child = fork();
		if (!child) {
			int wrong = become(USER + i);

			for (j = i; j < i + MAX_READINGS && j < DISK_FILES; j++)
				wrong |= walk_small(self->fd, self->at[j]) !=
					 PENDING;
			_exit(wrong);
		}
		EXPECT_EQ(0, outcome_of(child));
	}
	EXPECT_EQ(1 + MAX_READINGS_OF_ONE, references());
	fuse_server_open_gate(&self->disk.server);
	for (i = 1; i < DISK_FILES; i++)
		EXPECT_EQ(CALLER, WALK_ON(self, i));
}

/* The thread to be walked has exited while its file is being read. */
TEST_F(disk, module_stays_while_it_reads)
{
	int status;
	pid_t pid;

	close(self->fd);
	self->fd = -1;
	ASSERT_EQ(0, references());
	fuse_server_close_gate(&self->disk.server);
	pid = fork();
	if (!pid) {
		self->fd = open_client(0);
		_exit(walk_small(self->fd, self->at[0]) == PENDING ? 0 : 1);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(-1, syscall(SYS_delete_module, "sframe_unwind", O_NONBLOCK));
	EXPECT_EQ(EWOULDBLOCK, errno);
	EXPECT_EQ(1, references());
	fuse_server_open_gate(&self->disk.server);
	while (references())
		sched_yield();
}

/* An error is not cached, but the file is not tried again for a moment. */
TEST_F(disk, error)
{
	atomic_store(&self->disk.server.gate->fails, true);
	EXPECT_EQ(PENDING, walk_small(self->fd, self->at[0]));
	EXPECT_EQ(NO_RULE, WALK_ON(self, 0));
	atomic_store(&self->disk.server.gate->fails, false);
	while (walk_small(self->fd, self->at[0]) == NO_RULE)
		sched_yield();
	EXPECT_EQ(CALLER, WALK_ON(self, 0));
}

/* A permission daemon that is walked does not wait for itself. */
TEST_F(disk, permission_daemon)
{
	const int group = fanotify_init(FAN_CLASS_CONTENT | FAN_CLOEXEC |
					FAN_NONBLOCK, O_RDONLY);
	struct fanotify_event_metadata event;

	if (group < 0)
		SKIP(return, "no fanotify");
	ASSERT_EQ(0, fanotify_mark(group, FAN_MARK_ADD | FAN_MARK_MOUNT,
				   FAN_ACCESS_PERM, AT_FDCWD, self->disk.dir));
	EXPECT_EQ(PENDING, walk_small(self->fd, self->at[0]));
	EXPECT_EQ(CALLER, WALK_ON(self, 0));
	EXPECT_EQ(-1, read(group, &event, sizeof(event)));
	EXPECT_EQ(EAGAIN, errno);
	close(group);
}

/* Files of FUSE: pages that are not in the page cache are not requested. */
FIXTURE(fuse)
{
	int fd;
	int file;
	struct fuse_server server;
	unsigned char *at;
	unsigned char bytes[3 * PAGE];
};

FIXTURE_VARIANT(fuse)
{
	unsigned int open_flags;
	enum outcome outcome;	/* expected once the file has been read */
};

FIXTURE_VARIANT_ADD(fuse, cached) { .outcome = CALLER };
FIXTURE_VARIANT_ADD(fuse, direct) {
	.open_flags = FOPEN_DIRECT_IO,
	.outcome = NO_RULE,
};

FIXTURE_SETUP(fuse)
{
	struct elf_base elf;

	if (geteuid())
		SKIP(return, "needs root, for FUSE");
	self->fd = open_client(0);
	ASSERT_LE(0, self->fd);
	elf_base_init(&elf);
	memcpy(self->bytes, &elf, sizeof(elf));
	ASSERT_TRUE(fuse_server_start(&self->server, self->bytes,
				      sizeof(self->bytes),
				      variant->open_flags));
	self->file = fuse_server_open(&self->server);
	ASSERT_LE(0, self->file);
	self->at = map_dropped(self->file);
	ASSERT_NE(NULL, self->at);
}

FIXTURE_TEARDOWN(fuse)
{
	unmap_elf(self->at);
	close(self->file);
	fuse_server_stop(&self->server);
	close(self->fd);
}

/* A server that never answers: walks do not wait, and cache nothing. */
TEST_F(fuse, not_asked)
{
	const unsigned int reads = atomic_load(&self->server.gate->reads);
	char byte;

	fuse_server_close_gate(&self->server);
	EXPECT_EQ(NO_RULE, walk_small(self->fd, self->at));
	EXPECT_EQ(NO_RULE, walk_small(self->fd, self->at));
	EXPECT_EQ(reads, atomic_load(&self->server.gate->reads));
	fuse_server_open_gate(&self->server);
	/* The program itself reads the page. */
	ASSERT_EQ(1, pread(self->file, &byte, 1, 0));
	EXPECT_EQ(variant->outcome, walk_small(self->fd, self->at));
}

/* Pages of memory files that were swapped out, or never existed. */
static bool swap_on(void)
{
	return !system("modprobe zram 2>/dev/null; "
		       "echo 16M >/sys/block/zram0/disksize && "
		       "mkswap /dev/zram0 >/dev/null") &&
	       !swapon("/dev/zram0", 0);
}

TEST(swapped_out)
{
	const int fd = open_client(0);
	struct elf_base elf;
	enum outcome outcome;
	unsigned char *at;
	int file, tries;

	if (geteuid() || !swap_on())
		SKIP(return, "needs root, and zram");
	elf_base_init(&elf);
	file = make_file(&elf, sizeof(elf));
	at = map_elf(file);
	ASSERT_NE(NULL, at);
	/* Another user of the page may prevent this at the moment. */
	for (tries = 0; tries < 1000 && is_resident(at); tries++) {
		void *map = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, file, 0);

		(void)*(volatile char *)map;
		madvise(map, PAGE, MADV_PAGEOUT);
		munmap(map, PAGE);
	}
	if (!is_resident(at)) {
		EXPECT_EQ(PENDING, walk_small(fd, at));
		while (!is_resident(at))
			sched_yield();
	}
	EXPECT_LT(tries, 1000);
	/* The page may exist before its contents have been read. */
	do {
		outcome = walk_small(fd, at);
	} while (outcome == PENDING);
	EXPECT_EQ(CALLER, outcome);
	unmap_elf(at);
	close(file);
	close(fd);
	swapoff("/dev/zram0");
}

/* Memory that nothing can read, not even the kernel. */
TEST(secret_memory)
{
	const int file = syscall(SYS_memfd_secret, 0);
	const int fd = open_client(0);
	struct elf_base elf;
	unsigned char *all, *code;

	if (file < 0)
		SKIP(return, "no secret memory");
	elf_base_init(&elf);
	ASSERT_EQ(0, ftruncate(file, 3 * PAGE));
	all = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (all == MAP_FAILED && errno == EAGAIN)
		SKIP(return, "no memory may be locked");
	ASSERT_NE(MAP_FAILED, all);
	memcpy(all, &elf, sizeof(elf));
	code = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_SHARED, file,
		    ELF_SMALL_OFFSET);
	if (code == MAP_FAILED && (errno == EPERM || errno == EACCES))
		SKIP(return, "secret memory is not executable");
	ASSERT_NE(MAP_FAILED, code);
	EXPECT_EQ(NO_RULE, walk(fd, code));
	EXPECT_EQ(NO_RULE, walk(fd, code));
	close(fd);
}

TEST_HARNESS_MAIN
