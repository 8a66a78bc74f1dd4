// SPDX-License-Identifier: GPL-2.0
/*
 * Memory that a user makes the module keep counts against RLIMIT_MEMLOCK, and
 * is uncharged again.
 *
 * Long: see selftests/check.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "attach_fixture.h"
#include "process.h"

#define NOBODY_ELSE	54321	/* a user without locked memory */
#define LOCKED	(1L << 20)	/* the limit */
#define BATCH	512

/* Results of a child. */
struct found {
	long taken;		/* objects created until refused */
	long again;		/* as above, after all were released */
	int error;		/* errno of the refusal */
};

/* Create one object: returns 0, or -1 with errno. Release all, or NULL. */
struct what {
	int (*take)(void);
	void (*give_back)(void);
};

static struct sframe_unwind_attach attachment;
static struct sframe_unwind_register code;
static int fds[256], nr_fds, fd;

static int take_client(void)
{
	fds[nr_fds] = open_client(0);
	if (fds[nr_fds] < 0)
		return -1;
	return try_request(fds[nr_fds++], 0);
}

static void close_clients(void)
{
	while (nr_fds)
		close(fds[--nr_fds]);
}

static int take_attachment(void)
{
	return attach(fd, &attachment);
}

static void close_client(void)
{
	close(fd);
	fd = open_client(0);
}

static int take_sections(void)
{
	static struct sframe_unwind_batch_entry entries[BATCH];
	struct sframe_unwind_batch batch = {
		.size = sizeof(batch),
		.entries = (uintptr_t)entries,
		.nr = BATCH,
	};
	int i;

	for (i = 0; i < BATCH; i++) {
		entries[i] = (struct sframe_unwind_batch_entry) {
			.sframe_start = code.sframe_start,
			.sframe_size = code.sframe_size,
			.text_start = code.text_start++,
			.text_size = 1,
		};
	}
	if (ioctl(fd, SFRAME_UNWIND_IOC_REGISTER_BATCH, &batch))
		return -1;
	for (i = 0; i < BATCH; i++) {
		errno = entries[i].error;
		if (errno)
			return -1;
	}
	return 0;
}

static void unregister_sections(void)
{
	struct sframe_unwind_unregister unreg = {
		.size = sizeof(unreg),
		.sframe_start = code.sframe_start,
	};

	unregister_section(fd, &unreg);
}

static int take_requests_of(pid_t tid)
{
	int client = open_client(0), i, err = 0;

	for (i = 0; client >= 0 && !err && i < 16; i++)
		err = try_request(client, tid);
	close(client);
	return client < 0 ? -1 : err;
}

/* Requests by closed clients for a thread that stays in the kernel. */
static atomic_int sleeper;

static void *sleep_for_ever(void *unused)
{
	atomic_store(&sleeper, gettid());
	pause();
	return unused;
}

static int take_requests(void)
{
	static int left;
	pthread_t thread;

	/* A thread can have 4,096 pending requests. */
	if (!left--) {
		atomic_store(&sleeper, 0);
		if (pthread_create(&thread, NULL, sleep_for_ever, NULL))
			return -1;
		while (!atomic_load(&sleeper) ||
		       !sleeps_in(atomic_load(&sleeper), SYS_pause))
			sched_yield();
		left = 200;
	}
	return take_requests_of(atomic_load(&sleeper));
}

#define MAX_FOUND	4096	/* see limits.h */

/* Mappings of a file whose section is found, in a process that has registered. */
static int take_found(void)
{
	const struct rlimit locked = { LOCKED / 2, LOCKED / 2 };
	static unsigned char *next = (unsigned char *)0x500000000000;
	static int elf_fd, nr;
	enum outcome outcome;
	struct elf_base elf;

	if (!nr++) {
		elf_base_init(&elf);
		elf_fd = make_file(&elf, sizeof(elf));
		code.size = sizeof(code);
		code.text_size = PAGE;
		if (setrlimit(RLIMIT_MEMLOCK, &locked) ||
		    register_section(fd, &code))
			return -1;
	}
	errno = 0;
	/* One more would make the module forget all of them. */
	if (nr == MAX_FOUND - 16 || !map_elf_at(next, elf_fd))
		return -1;
	outcome = walk_small(fd, next);
	unmap_elf(next);
	next += 0x100000;
	errno = ENOMEM;
	return outcome == CALLER ? 0 : -1;
}

/*
 * Sections of many functions. So many functions are walked through that the
 * module creates a directory; once directories do not fit, smaller sections are
 * registered.
 */
#define FUNCTIONS	4096
#define DIRECTORY	(FUNCTIONS * 4)
#define DIRECTORIES	((LOCKED / 2 - (256 << 10)) / DIRECTORY)

static int take_directory(void)
{
	const struct rlimit locked = { LOCKED / 2, LOCKED / 2 };
	static int nr;
	unsigned char *text, *section, *fde;
	int i;

	text = mmap(NULL, FUNCTIONS * (4 + 16) + PAGE,
		    PROT_READ | PROT_WRITE | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (text == MAP_FAILED || setrlimit(RLIMIT_MEMLOCK, &locked))
		return -1;
	section = text + FUNCTIONS * 4;
	write_fake_section(section, text);
	put32(section + FAKE_NUM_FDES, FUNCTIONS);
	put32(section + FAKE_FRE_OFF, FUNCTIONS * 16);
	for (i = 0; i < FUNCTIONS; i++) {
		fde = section + FAKE_FDE + 16 * i;
		put64(fde, (uintptr_t)text + 4 * i - (uintptr_t)fde);
		put32(fde + 8, 4);
		put32(fde + 12, 0);
	}
	memcpy(section + FAKE_FDE + 16 * FUNCTIONS,
	       "\x01\0\0\0\0\0\x03\x08", 8);
	code = (struct sframe_unwind_register) {
		.size = sizeof(code),
		.sframe_start = (uintptr_t)section,
		.sframe_size = FUNCTIONS * 16 + PAGE,
		.text_start = (uintptr_t)text,
		.text_size = FUNCTIONS * 4,
	};
	if (register_section(fd, &code))
		return -1;
	/* Walk through one of 32 functions, each at an address of its own. */
	for (i = 0; i < FUNCTIONS / 32 && nr < DIRECTORIES; i++) {
		memcpy(text + 32 * i, request_code, sizeof(request_code));
		if (walk(fd, text + 32 * i) != CALLER)
			return -1;
	}
	nr++;
	return 0;
}

static long take_all(const struct what *what)
{
	long nr = 0;

	while (nr < 100000 && !what->take())
		nr++;
	return nr;
}

static bool set_up(unsigned char *text)
{
	struct elf_base elf;
	struct elf_sframe sframe;

	if (!make_bare(&elf, &sframe, &attachment))
		return false;
	write_fake_section(text + 64 * PAGE, text);
	code = (struct sframe_unwind_register) {
		.sframe_start = (uintptr_t)text + 64 * PAGE,
		.sframe_size = FAKE_SECTION_SIZE,
		.text_start = (uintptr_t)text,
	};
	fd = open_client(0);
	return fd >= 0;
}

static int live(const struct what *what, struct found *found, bool privileged)
{
	const struct rlimit locked = { LOCKED, LOCKED };
	unsigned char *text = mmap(NULL, 65 * PAGE,
				   PROT_READ | PROT_WRITE | PROT_EXEC,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (text == MAP_FAILED || setrlimit(RLIMIT_MEMLOCK, &locked) ||
	    (!privileged && become(NOBODY_ELSE)) || !set_up(text))
		return 1;
	found->taken = take_all(what);
	found->error = errno;
	if (what->give_back) {
		what->give_back();
		code.text_start = (uintptr_t)text;
		found->again = take_all(what);
	}
	return 0;
}

FIXTURE(charge)
{
	struct found *found;
};

FIXTURE_SETUP(charge)
{
	if (geteuid())
		SKIP(return, "needs root, to become another user");
	self->found = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->found);
	/* A worker frees the memory of the previous case's process. */
	while (counter("nodes") || counter("sections"))
		sched_yield();
}

FIXTURE_TEARDOWN(charge)
{
	munmap(self->found, PAGE);
}

static int run(FIXTURE_DATA(charge) *self, const struct what *what)
{
	const pid_t child = fork();

	if (!child)
		_exit(live(what, self->found, false));
	return outcome_of(child);
}

/*
 * Each object took at least @bytes, and the cached data not much more; in a debug kernel
 * locks are larger, and so are objects.
 */
#define EXPECT_EACH_OF(memory, bytes)					\
	do {								\
		TH_LOG("%ld until refused", self->found->taken);	\
		EXPECT_EQ(ENOMEM, self->found->error);			\
		EXPECT_GE((memory) / (bytes), self->found->taken);	\
		EXPECT_LE((memory) / (bytes) / (is_slow_kernel() ? 3 : 2), \
			  self->found->taken);				\
	} while (0)

#define EXPECT_EACH(bytes)	EXPECT_EACH_OF(LOCKED, bytes)

TEST_F(charge, clients)
{
	const struct what what = { take_client, close_clients };

	ASSERT_EQ(0, run(self, &what));
	EXPECT_EACH(256 << 10);
	EXPECT_EQ(self->found->taken, self->found->again);
}

TEST_F(charge, registrations)
{
	const struct what what = { take_sections, unregister_sections };

	ASSERT_EQ(0, run(self, &what));
	EXPECT_EACH(BATCH * 110);
	EXPECT_LE(self->found->taken - 1, self->found->again);
}

TEST_F(charge, attachments)
{
	const struct what what = { take_attachment, close_client };

	ASSERT_EQ(0, run(self, &what));
	EXPECT_EACH(256);
	EXPECT_EQ(self->found->taken, self->found->again);
}

TEST_F(charge, requests_of_closed_clients)
{
	const struct what what = { take_requests, NULL };

	ASSERT_EQ(0, run(self, &what));
	EXPECT_EACH(16 * 144);
}

/* As for mlock(): CAP_IPC_LOCK lifts the limit. */
TEST_F(charge, privileged)
{
	const struct what what = { take_client, close_clients };
	const pid_t child = fork();

	if (!child) {
		const struct rlimit files = { 64, 64 };

		setrlimit(RLIMIT_NOFILE, &files);
		_exit(live(&what, self->found, true));
	}
	ASSERT_EQ(0, outcome_of(child));
	EXPECT_EQ(EMFILE, self->found->error);
	EXPECT_LT(32, self->found->taken);
}

/* The memory of a process is released when it exits; large amounts by a worker. */
TEST_F(charge, ends_with_the_process)
{
	const struct what what = { take_sections, NULL };
	const long nodes = counter("nodes"), sections = counter("sections");
	long first;
	int i;

	ASSERT_EQ(0, run(self, &what));
	first = self->found->taken;
	ASSERT_LT(0, first);
	for (i = 0; i < 20; i++) {
		while (counter("nodes") > nodes ||
		       counter("sections") > sections)
			sched_yield();
		ASSERT_EQ(0, run(self, &what));
		EXPECT_EQ(first, self->found->taken);
	}
}

/* Sections found for a process that registers, which may lock half as much. */
TEST_F(charge, found_for_who_registers)
{
	const struct what what = { take_found, NULL };

	ASSERT_EQ(0, run(self, &what));
	/* Minus the client's ring. */
	EXPECT_EACH_OF(LOCKED / 2 - (256 << 10), 128);
}

/* A directory created later reduces the room for other sections. */
TEST_F(charge, directories)
{
	const struct what what = { take_directory, NULL };

	ASSERT_EQ(0, run(self, &what));
	TH_LOG("%ld until refused", self->found->taken);
	EXPECT_EQ(ENOMEM, self->found->error);
	EXPECT_LE(DIRECTORIES / 2, self->found->taken);
	/* Where no directory fits, some sections still do. */
	EXPECT_GE(DIRECTORIES + 2 * DIRECTORY / 100, self->found->taken);
}

/* Sections found for mappings that are gone do not accumulate. */
TEST_F(charge, found)
{
	const long sections = counter("sections");
	unsigned char *text, *next = (unsigned char *)0x500000000000;
	struct elf_base elf;
	int elf_fd, i;

	text = mmap(NULL, 65 * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_TRUE(set_up(text));
	code.size = sizeof(code);
	code.text_size = PAGE;
	ASSERT_EQ(0, register_section(fd, &code));
	elf_base_init(&elf);
	elf_fd = make_file(&elf, sizeof(elf));
	for (i = 0; i < MAX_FOUND + 500; i++) {
		ASSERT_TRUE(map_elf_at(next, elf_fd));
		ASSERT_EQ(CALLER, walk_small(fd, next));
		unmap_elf(next);
		next += 0x100000;
	}
	EXPECT_GE(sections + MAX_FOUND + 16, counter("sections"));
	close(fd);
}

TEST_HARNESS_MAIN
