// SPDX-License-Identifier: GPL-2.0
/* Listing registrations, and events about those that a walk removes. */
#include <sys/wait.h>

#include "common.h"
#include "process.h"

FIXTURE(list)
{
	int fd;
	struct fake fake;
	struct sframe_unwind_list list;
	struct sframe_unwind_section entries[8];
};

FIXTURE_SETUP(list)
{
	self->fd = open_client(0);
	ASSERT_LE(0, self->fd);
	ASSERT_TRUE(make_fake(&self->fake));
	put_request_code(&self->fake);
	memset(self->entries, 0xa5, sizeof(self->entries));
	self->list = (struct sframe_unwind_list) {
		.size = sizeof(self->list),
		.sections = (uintptr_t)self->entries,
		.nr = 8,
	};
}

FIXTURE_TEARDOWN(list)
{
	free_fake(&self->fake);
	close(self->fd);
}

static int do_list(int fd, struct sframe_unwind_list *list)
{
	return ioctl(fd, SFRAME_UNWIND_IOC_LIST, list);
}

TEST_F(list, nothing)
{
	ASSERT_EQ(0, do_list(self->fd, &self->list));
	EXPECT_EQ(0, self->list.nr);
	EXPECT_EQ(0, self->list.total);
}

TEST_F(list, one)
{
	struct sframe_unwind_request req = request_self();
	const struct sframe_unwind_section *entry = self->entries;
	struct stack stack;

	ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
	ASSERT_EQ(0, do_list(self->fd, &self->list));
	ASSERT_EQ(1, self->list.nr);
	EXPECT_EQ(1, self->list.total);
	EXPECT_EQ(self->fake.reg.id, entry->id);
	EXPECT_EQ(self->fake.reg.sframe_start, entry->sframe_start);
	EXPECT_EQ(FAKE_SECTION_SIZE, entry->sframe_size);
	EXPECT_EQ(self->fake.reg.text_start, entry->text_start);
	EXPECT_EQ(self->fake.reg.text_size, entry->text_size);
	EXPECT_EQ(1, entry->num_fdes);
	EXPECT_EQ(0, entry->hits);
	EXPECT_EQ(SFRAME_UNWIND_SECTION_ACTIVE, entry->state);
	EXPECT_EQ(0xa5a5a5a5a5a5a5a5ULL, self->entries[1].id);

	ASSERT_EQ(0, call_request_code(self->fake.text, self->fd, &req));
	ASSERT_STACK(self->fd, &stack);
	/*
	 * The walk has found the program's own section, which may be listed
	 * before.
	 */
	self->list.nr = 8;
	self->list.from = self->fake.reg.text_start;
	ASSERT_EQ(0, do_list(self->fd, &self->list));
	EXPECT_EQ(self->fake.reg.id, entry->id);
	EXPECT_EQ(SFRAME_UNWIND_SECTION_REGISTERED, entry->source);
	EXPECT_EQ(0, entry->reserved);
	EXPECT_EQ(1, entry->hits);
}

TEST_F(list, in_parts)
{
	__u64 ids[20], last = 0;
	unsigned int i, seen = 0;

	self->fake.reg.text_size = 64;
	for (i = 0; i < 20; i++) {
		/* Register in a shuffled order. */
		self->fake.reg.text_start = (uintptr_t)self->fake.text +
					    64 * (i * 7 % 20);
		ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
		ids[i * 7 % 20] = self->fake.reg.id;
	}
	do {
		self->list.nr = 8;
		ASSERT_EQ(0, do_list(self->fd, &self->list));
		EXPECT_EQ(20, self->list.total);
		for (i = 0; i < self->list.nr; i++) {
			EXPECT_LT(last, self->entries[i].text_start);
			last = self->entries[i].text_start;
			EXPECT_EQ(ids[seen], self->entries[i].id);
			seen++;
		}
		self->list.from = last + 1;
	} while (self->list.nr);
	EXPECT_EQ(20, seen);
}

TEST_F(list, file_name)
{
	struct sframe_unwind_register own = own_section();
	char name[256], want[256] = "";

	ASSERT_LT(0, readlink("/proc/self/exe", want, sizeof(want) - 1));
	ASSERT_EQ(0, register_section(self->fd, &own));
	self->list.nr = 1;
	self->list.name = (uintptr_t)name;
	self->list.name_size = sizeof(name);
	ASSERT_EQ(0, do_list(self->fd, &self->list));
	EXPECT_STREQ(want, name);
	EXPECT_EQ(own.id, self->entries[0].id);

	/* Truncated, with its NUL, and nothing is written behind it. */
	memset(name, 0xa5, sizeof(name));
	self->list.name_size = 4;
	ASSERT_EQ(0, do_list(self->fd, &self->list));
	EXPECT_EQ(3, strlen(name));
	EXPECT_EQ((char)0xa5, name[4]);
	ASSERT_EQ(0, unregister_id(self->fd, own.id));

	/* Anonymous memory has no name. */
	ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
	ASSERT_EQ(0, do_list(self->fd, &self->list));
	EXPECT_STREQ("", name);
}

TEST_F(list, stale)
{
	ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
	ASSERT_EQ(0, munmap(self->fake.section, PAGE));
	ASSERT_EQ(0, do_list(self->fd, &self->list));
	ASSERT_EQ(1, self->list.nr);
	EXPECT_EQ(SFRAME_UNWIND_SECTION_STALE, self->entries[0].state);
}

TEST_F(list, bad_arguments)
{
	char message[128] = "";

	ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
	self->list.message = (uintptr_t)message;
	self->list.message_size = sizeof(message);
	self->list.name = (uintptr_t)message;
	self->list.nr = 2;
	EXPECT_EQ(-1, do_list(self->fd, &self->list));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_STREQ("name is given with nr 2, not 1", message);
	self->list.nr = 1;
	self->list.name = 8;
	self->list.name_size = 8;
	EXPECT_EQ(-1, do_list(self->fd, &self->list));
	EXPECT_EQ(EFAULT, errno);
	self->list.name = 0;
	self->list.sections = 8;
	EXPECT_EQ(-1, do_list(self->fd, &self->list));
	EXPECT_EQ(EFAULT, errno);
	self->list.nr = 0;
	EXPECT_EQ(0, do_list(self->fd, &self->list));
	EXPECT_EQ(1, self->list.total);
}

/* Read an event, which must be waiting. */
static bool read_removed(int fd, struct sframe_unwind_removed *removed)
{
	memset(removed, 0xa5, sizeof(*removed));
	return !is_empty(fd) &&
	       read(fd, removed, sizeof(*removed)) == sizeof(*removed) &&
	       removed->record.size == sizeof(*removed) &&
	       removed->record.type == SFRAME_UNWIND_RECORD_REMOVED &&
	       !removed->record.reserved && !removed->reserved;
}

TEST_F(list, event_of_corruption)
{
	struct sframe_unwind_request req = request_self();
	struct sframe_unwind_removed removed;
	int listener = open_client(0);
	struct stack stack;

	ASSERT_LE(0, listener);
	ASSERT_EQ(0, listen_to(listener, SFRAME_UNWIND_EVENTS_REMOVED));
	ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
	self->fake.section[FAKE_INFO] = 0x40;
	ASSERT_EQ(0, call_request_code(self->fake.text, self->fd, &req));
	ASSERT_STACK(self->fd, &stack);
	ASSERT_TRUE(read_removed(listener, &removed));
	EXPECT_EQ(SFRAME_UNWIND_CAUSE_CORRUPT, removed.cause);
	EXPECT_EQ(self->fake.reg.id, removed.id);
	EXPECT_EQ(self->fake.reg.sframe_start, removed.sframe_start);
	EXPECT_EQ(self->fake.reg.text_start, removed.text_start);
	EXPECT_EQ(self->fake.reg.text_size, removed.text_size);
	EXPECT_EQ((uintptr_t)self->fake.text + REQUEST_CODE_IP, removed.ip);
	EXPECT_EQ(FAKE_INFO, removed.defect_offset);
	EXPECT_EQ(getpid(), removed.pid);
	EXPECT_EQ(gettid(), removed.tid);
	EXPECT_STREQ("reserved bit in FDE info", removed.defect);
	EXPECT_STREQ("", removed.name);
	EXPECT_TRUE(is_empty(listener));
	close(listener);
}

/* The event names the file of the code that a corrupt section describes. */
TEST_F(list, event_names_the_file)
{
	struct sframe_unwind_register own = own_section();
	struct sframe_unwind_request req = request_self();
	struct sframe_unwind_removed removed;
	char want[256] = "";

	ASSERT_LT(0, readlink("/proc/self/exe", want, sizeof(want) - 1));
	/* A broken section for the program's own code. */
	own.sframe_start = self->fake.reg.sframe_start;
	own.sframe_size = self->fake.reg.sframe_size;
	write_fake_section(self->fake.section, (void *)own.text_start);
	put32(self->fake.section + FAKE_FUNC_SIZE, own.text_size);
	self->fake.section[FAKE_ROW_INFO] = 0x63;
	ASSERT_EQ(0, listen_to(self->fd, SFRAME_UNWIND_EVENTS_REMOVED));
	ASSERT_EQ(0, register_section(self->fd, &own));
	ASSERT_EQ(0, request(self->fd, &req));
	ASSERT_TRUE(read_removed(self->fd, &removed));
	EXPECT_STREQ("invalid data word size", removed.defect);
	EXPECT_EQ(0, strcmp(want + (strlen(want) < 128 ? 0 :
				    strlen(want) - 127), removed.name));
}

TEST_F(list, event_of_a_stale_section)
{
	struct sframe_unwind_request req = request_self();
	struct sframe_unwind_removed removed;

	ASSERT_EQ(0, listen_to(self->fd, SFRAME_UNWIND_EVENTS_REMOVED));
	ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
	ASSERT_EQ(0, munmap(self->fake.section, PAGE));
	ASSERT_EQ(0, call_request_code(self->fake.text, self->fd, &req));
	ASSERT_TRUE(read_removed(self->fd, &removed));
	EXPECT_EQ(SFRAME_UNWIND_CAUSE_STALE, removed.cause);
}

TEST_F(list, event_of_an_unreadable_section)
{
	struct sframe_unwind_request req = request_self();
	struct sframe_unwind_removed removed;

	ASSERT_EQ(0, listen_to(self->fd, SFRAME_UNWIND_EVENTS_REMOVED));
	ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
	ASSERT_EQ(0, mprotect(self->fake.section, PAGE, PROT_NONE));
	ASSERT_EQ(0, call_request_code(self->fake.text, self->fd, &req));
	ASSERT_TRUE(read_removed(self->fd, &removed));
	EXPECT_EQ(SFRAME_UNWIND_CAUSE_UNREADABLE, removed.cause);
}

/*
 * No event without having asked, after cancelling, or from another address
 * space.
 */
TEST_F(list, no_event)
{
	struct sframe_unwind_request req = request_self();
	int quiet = open_client(0), status;
	pid_t pid;

	ASSERT_LE(0, quiet);
	ASSERT_EQ(0, listen_to(quiet, SFRAME_UNWIND_EVENTS_REMOVED));
	ASSERT_EQ(0, listen_to(quiet, 0));
	ASSERT_EQ(0, listen_to(self->fd, SFRAME_UNWIND_EVENTS_REMOVED));
	ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		int other = open_client(0);

		self->fake.section[FAKE_INFO] = 0x40;
		_exit(call_request_code(self->fake.text, other, &req));
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_TRUE(is_empty(self->fd));
	EXPECT_TRUE(is_empty(quiet));
	EXPECT_EQ(-1, listen_to(self->fd, 2));
	EXPECT_EQ(EINVAL, errno);
	close(quiet);
}

#define MAX_LISTENERS	64

/* Cause an event: a walk removes a section. */
static long make_event(int fd, struct fake *fake)
{
	struct sframe_unwind_request req = request_self();

	write_fake_section(fake->section, fake->text);
	if (register_section(fd, &fake->reg))
		return -1;
	fake->section[FAKE_INFO] = 0x40;
	return call_request_code(fake->text, fd, &req);
}

/* Open the maximum number of listeners, and one client that does not listen. */
static int make_listeners(int *fd)
{
	int i;

	for (i = 0; i < MAX_LISTENERS; i++) {
		fd[i] = open_client(0);
		if (listen_to(fd[i], SFRAME_UNWIND_EVENTS_REMOVED))
			return -1;
	}
	fd[i] = open_client(0);
	return fd[i];
}

static void close_listeners(const int *fd)
{
	int i;

	for (i = 0; i <= MAX_LISTENERS; i++)
		close(fd[i]);
}

/* Only so many clients can listen to an address space. */
TEST_F(list, most_listeners)
{
	struct sframe_unwind_events events = {
		.size = sizeof(events),
		.flags = SFRAME_UNWIND_EVENTS_REMOVED,
	};
	struct sframe_unwind_removed removed;
	int fd[MAX_LISTENERS + 1], i;
	char message[128] = "";

	ASSERT_LE(0, make_listeners(fd));
	/* Listening again does not count twice. */
	ASSERT_EQ(0, listen_to(fd[0], SFRAME_UNWIND_EVENTS_REMOVED));
	events.message = (uintptr_t)message;
	events.message_size = sizeof(message);
	EXPECT_EQ(-1, ioctl(fd[MAX_LISTENERS], SFRAME_UNWIND_IOC_EVENTS,
			    &events));
	EXPECT_EQ(ENOSPC, errno);
	EXPECT_NE(NULL, strstr(message, "64 clients"));
	ASSERT_EQ(0, make_event(self->fd, &self->fake));
	for (i = 0; i < MAX_LISTENERS; i++)
		EXPECT_TRUE(read_removed(fd[i], &removed));
	EXPECT_TRUE(is_empty(fd[i]));
	close_listeners(fd);
}

/*
 * Closing a client or cancelling makes room; other processes have their own
 * limit.
 */
TEST_F(list, room_for_listeners)
{
	int fd[MAX_LISTENERS + 1], status, last;
	pid_t pid;

	last = make_listeners(fd);
	ASSERT_LE(0, last);
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		_exit(!!listen_to(last, SFRAME_UNWIND_EVENTS_REMOVED));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(-1, listen_to(last, SFRAME_UNWIND_EVENTS_REMOVED));
	close(fd[0]);
	EXPECT_EQ(0, listen_to(last, SFRAME_UNWIND_EVENTS_REMOVED));
	ASSERT_EQ(0, listen_to(fd[1], 0));
	fd[0] = open_client(0);
	EXPECT_EQ(0, listen_to(fd[0], SFRAME_UNWIND_EVENTS_REMOVED));
	EXPECT_EQ(-1, listen_to(fd[1], SFRAME_UNWIND_EVENTS_REMOVED));
	EXPECT_EQ(ENOSPC, errno);
	close_listeners(fd);
}

/* A client that listened to an address space that is gone, then to another. */
TEST_F(list, listener_moves)
{
	struct sframe_unwind_removed removed;
	int listener = open_client(0), status;
	pid_t pid;

	ASSERT_LE(0, listener);
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		_exit(listen_to(listener, SFRAME_UNWIND_EVENTS_REMOVED) ||
		      make_event(self->fd, &self->fake));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_EQ(0, status);
	ASSERT_TRUE(read_removed(listener, &removed));
	EXPECT_EQ(pid, removed.pid);
	ASSERT_EQ(0, make_event(self->fd, &self->fake));
	EXPECT_TRUE(is_empty(listener));
	ASSERT_EQ(0, listen_to(listener, SFRAME_UNWIND_EVENTS_REMOVED));
	ASSERT_EQ(0, make_event(self->fd, &self->fake));
	ASSERT_TRUE(read_removed(listener, &removed));
	EXPECT_EQ(getpid(), removed.pid);
	close(listener);
}

/* Events that do not fit into the ring are counted. */
TEST_F(list, events_lost)
{
	struct sframe_unwind_request req = request_self();
	struct sframe_unwind_stats s;

	ASSERT_EQ(0, listen_to(self->fd, SFRAME_UNWIND_EVENTS_REMOVED));
	do {
		ASSERT_EQ(0, request(self->fd, &req));
		ASSERT_EQ(0, stats(self->fd, &s));
	} while (!s.lost_full);
	self->fake.section[FAKE_INFO] = 0x40;
	ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
	ASSERT_EQ(0, call_request_code(self->fake.text, self->fd, &req));
	ASSERT_EQ(0, stats(self->fd, &s));
	EXPECT_EQ(1, s.corrupt);
	EXPECT_EQ(1, s.lost_events);
}

/* A child has its parent's registrations, and then one less. */
TEST_F(list, other_process)
{
	int ready[2], go[2];
	char byte = 0;
	pid_t child;

	if (geteuid())
		SKIP(return, "needs root");
	ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
	ASSERT_EQ(0, pipe(ready));
	ASSERT_EQ(0, pipe(go));
	child = fork();
	ASSERT_LE(0, child);
	if (!child) {
		if (write(ready[1], &byte, 1) != 1 || read(go[0], &byte, 1) != 1 ||
		    munmap(self->fake.text, self->fake.reg.text_size) ||
		    write(ready[1], &byte, 1) != 1)
			_exit(1);
		pause();
	}
	ASSERT_EQ(1, read(ready[0], &byte, 1));
	self->list.pid = child;
	ASSERT_EQ(0, do_list(self->fd, &self->list));
	EXPECT_EQ(1, self->list.total);
	ASSERT_EQ(1, self->list.nr);
	EXPECT_EQ(self->fake.reg.text_start, self->entries[0].text_start);
	EXPECT_EQ(SFRAME_UNWIND_SECTION_ACTIVE, self->entries[0].state);
	/* Its mappings are not looked at; those of the caller are. */
	ASSERT_EQ(1, write(go[1], &byte, 1));
	ASSERT_EQ(1, read(ready[0], &byte, 1));
	self->list.nr = 8;
	ASSERT_EQ(0, do_list(self->fd, &self->list));
	ASSERT_EQ(1, self->list.nr);
	EXPECT_EQ(SFRAME_UNWIND_SECTION_ACTIVE, self->entries[0].state);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	EXPECT_EQ(-1, do_list(self->fd, &self->list));
	EXPECT_EQ(ESRCH, errno);
	close(ready[0]);
	close(ready[1]);
	close(go[0]);
	close(go[1]);
}

/* The caller itself, by its process or thread id. */
TEST_F(list, own_process_by_id)
{
	const struct sframe_unwind_section *entry = self->entries;
	char name[64] = "?";

	ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
	self->list.pid = getpid();
	self->list.nr = 1;
	self->list.name = (uintptr_t)name;
	self->list.name_size = sizeof(name);
	ASSERT_EQ(0, do_list(self->fd, &self->list));
	ASSERT_EQ(1, self->list.nr);
	EXPECT_EQ(self->fake.reg.id, entry->id);
	EXPECT_STREQ("", name);
	ASSERT_EQ(0, munmap(self->fake.text, self->fake.reg.text_size));
	ASSERT_EQ(0, do_list(self->fd, &self->list));
	EXPECT_EQ(SFRAME_UNWIND_SECTION_STALE, entry->state);
}

static int list_with(int fd, pid_t pid, __u64 capabilities)
{
	struct sframe_unwind_list list = { .size = sizeof(list), .pid = pid };
	const pid_t child = fork();

	if (!child) {
		if (keep_capabilities(capabilities))
			_exit(255);
		_exit(ioctl(fd, SFRAME_UNWIND_IOC_LIST, &list) ? errno : 0);
	}
	return outcome_of(child);
}

TEST_F(list, other_process_needs_a_capability)
{
	const __u64 perfmon = CAP_MASK(CAP_PERFMON);
	const __u64 admin = CAP_MASK(CAP_SYS_ADMIN);

	if (geteuid())
		SKIP(return, "needs root");
	EXPECT_EQ(0, list_with(self->fd, 1, perfmon));
	EXPECT_EQ(0, list_with(self->fd, 1, admin));
	EXPECT_EQ(ESRCH, list_with(self->fd, 1, 0));
	EXPECT_EQ(ESRCH, list_with(self->fd, 1, CAP_MASK(CAP_SYS_PTRACE)));
	EXPECT_EQ(0, list_with(self->fd, 0, 0));
}

TEST_F(list, bad_process)
{
	char name[64];

	self->list.pid = -1;
	EXPECT_EQ(-1, do_list(self->fd, &self->list));
	EXPECT_EQ(EINVAL, errno);
	/* The names of another process's files are in its /proc/PID/maps. */
	self->list.pid = getppid();
	self->list.nr = 1;
	self->list.name = (uintptr_t)name;
	self->list.name_size = sizeof(name);
	EXPECT_EQ(-1, do_list(self->fd, &self->list));
	EXPECT_EQ(geteuid() ? ESRCH : EINVAL, errno);
	self->list.name = 0;
	/* A thread of the kernel has no sections. */
	self->list.pid = 2;
	if (!geteuid()) {
		ASSERT_EQ(0, do_list(self->fd, &self->list));
		EXPECT_EQ(0, self->list.nr);
		EXPECT_EQ(0, self->list.total);
	}
}

TEST_HARNESS_MAIN
