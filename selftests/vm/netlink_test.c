// SPDX-License-Identifier: GPL-2.0
/*
 * The messages of the generic netlink family: each kind with its attributes, and what a
 * listener is told of messages that it does not get.
 *
 * Long: see selftests/check.
 * Racing: run with KCSAN.
 */
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

#include "common.h"
#include "netlink.h"
#include "process.h"
#include "section_storm.h"

#define WAIT_MS		20000	/* for a message that must come */
#define QUIET_MS	700	/* after which no message comes any more */
#define NR_FULL		20	/* batches, of which the queue has room for five */

/* Attributes of a section, and of the process; all have those of the event. */
#define A(name)		(1U << SFRAME_UNWIND_ATTR_##name)
#define HAS_EVENT	(A(NUMBER) | A(TIME))
#define HAS_PROCESS	(A(PID) | A(COMM))
#define HAS_ONE		(A(SPACE) | A(ID) | A(TEXT_START) | A(TEXT_SIZE) |	\
			 A(SFRAME_START) | A(SFRAME_SIZE))
#define V(message, name)	((message)->value[SFRAME_UNWIND_ATTR_##name])

FIXTURE(netlink)
{
	int fd;
	int sock;
	struct netlink_family family;
	struct netlink_message message;
	struct netlink_count count;
	struct fake fake;
	__u64 joined;
	bool offline;	/* CPU 1, by this test */
};

FIXTURE_SETUP(netlink)
{
	const int err = find_family(&self->family);

	if (err == EPROTONOSUPPORT)
		SKIP(return, "this kernel has no network");
	ASSERT_EQ(0, err);
	self->fd = open_client(0);
	ASSERT_LE(0, self->fd);
	self->sock = open_netlink();
	ASSERT_LE(0, self->sock);
	ASSERT_TRUE(make_fake(&self->fake));
	put_request_code(&self->fake);
}

FIXTURE_TEARDOWN(netlink)
{
	if (self->offline)
		set_online(1, true);
	close(self->sock);
	close(self->fd);
}

/*
 * As next_message(). With another listener, messages can come of what was before this one
 * has joined: they are skipped.
 */
static int take(FIXTURE_DATA(netlink) *self, int ms)
{
	int err;

	do {
		err = next_message(self->sock, &self->message, ms);
	} while (!err && V(&self->message, TIME) < self->joined);
	return err;
}

/*
 * Get the next message of this process that @command says, skipping those of others, which
 * may still be ending. Returns 0 or an errno, and adds up what it gets.
 */
static int next_of(FIXTURE_DATA(netlink) *self, unsigned int command, pid_t pid)
{
	int err;

	do {
		err = take(self, WAIT_MS);
		if (err)
			return err;
		count_message(&self->count, &self->message);
	} while (self->message.command != command ||
		 (pid && V(&self->message, PID) != (__u64)pid));
	return 0;
}

#define ASSERT_NEXT(name, pid)						\
	ASSERT_EQ(0, next_of(self, SFRAME_UNWIND_COMMAND_##name, pid))

#define JOIN(name)							\
	do {								\
		self->joined = now_ns();				\
		ASSERT_EQ(0, join_group(self->sock,			\
					self->family.groups[GROUP_##name]));	\
	} while (0)

TEST_F(netlink, sections)
{
	const __u64 before = now_ns();
	const struct sframe_unwind_register *reg = &self->fake.reg;
	struct netlink_message *message = &self->message;
	__u64 space;

	JOIN(SECTIONS);
	ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
	ASSERT_NEXT(SECTION_ADDED, getpid());
	EXPECT_EQ(HAS_EVENT | HAS_PROCESS | HAS_ONE | A(SOURCE) | A(NR_SECTIONS),
		  message->has);
	EXPECT_EQ(reg->id, V(message, ID));
	EXPECT_EQ(reg->text_start, V(message, TEXT_START));
	EXPECT_EQ(reg->text_size, V(message, TEXT_SIZE));
	EXPECT_EQ(reg->sframe_start, V(message, SFRAME_START));
	EXPECT_EQ(reg->sframe_size, V(message, SFRAME_SIZE));
	EXPECT_EQ(SFRAME_UNWIND_NETLINK_REGISTERED, V(message, SOURCE));
	EXPECT_EQ(1, V(message, NR_SECTIONS));
	EXPECT_LE(before, V(message, TIME));
	EXPECT_GE(now_ns(), V(message, TIME));
	/* The harness forks each test. */
	EXPECT_EQ(0, strcmp("netlink_test", message->comm));
	space = V(message, SPACE);
	EXPECT_NE(0, space);

	ASSERT_EQ(0, unregister_id(self->fd, reg->id));
	ASSERT_NEXT(SECTION_REMOVED, getpid());
	EXPECT_EQ(HAS_EVENT | HAS_PROCESS | HAS_ONE | A(REASON) | A(NR_SECTIONS),
		  message->has);
	EXPECT_EQ(reg->id, V(message, ID));
	EXPECT_EQ(space, V(message, SPACE));
	EXPECT_EQ(SFRAME_UNWIND_NETLINK_UNREGISTERED, V(message, REASON));
	EXPECT_EQ(0, self->count.missing);
	EXPECT_EQ(0, self->count.dropped);
}

/* A child has all sections of its parent, until it exits; then the parent does. */
TEST_F(netlink, fork_and_exit)
{
	struct netlink_message *message = &self->message;
	pid_t child;
	__u64 space;

	ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
	JOIN(SECTIONS);
	child = fork();
	if (!child)
		_exit(0);
	ASSERT_NEXT(SECTION_ADDED, getpid());
	EXPECT_EQ(HAS_EVENT | HAS_PROCESS | A(SPACE) | A(SOURCE) | A(NR_SECTIONS),
		  message->has);
	EXPECT_EQ(SFRAME_UNWIND_NETLINK_FORK, V(message, SOURCE));
	EXPECT_EQ(1, V(message, NR_SECTIONS));
	space = V(message, SPACE);
	ASSERT_NEXT(SECTION_REMOVED, child);
	EXPECT_EQ(HAS_EVENT | HAS_PROCESS | A(SPACE) | A(REASON) | A(NR_SECTIONS),
		  message->has);
	EXPECT_EQ(SFRAME_UNWIND_NETLINK_GONE, V(message, REASON));
	EXPECT_EQ(space, V(message, SPACE));
	EXPECT_EQ(1, V(message, NR_SECTIONS));
	EXPECT_EQ(0, outcome_of(child));
}

/* The message has what the record has. */
TEST_F(netlink, corrupt)
{
	struct sframe_unwind_request req = request_self();
	struct netlink_message *message = &self->message;
	struct sframe_unwind_removed removed;

	JOIN(SECTIONS);
	ASSERT_EQ(0, listen_to(self->fd, SFRAME_UNWIND_EVENTS_REMOVED));
	ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
	self->fake.section[FAKE_INFO] = 0x40;
	ASSERT_EQ(0, call_request_code(self->fake.text, self->fd, &req));
	ASSERT_EQ(sizeof(removed), read(self->fd, &removed, sizeof(removed)));
	ASSERT_EQ(SFRAME_UNWIND_RECORD_REMOVED, removed.record.type);

	ASSERT_NEXT(SECTION_REMOVED, getpid());
	EXPECT_EQ(SFRAME_UNWIND_NETLINK_CORRUPT, V(message, REASON));
	ASSERT_NEXT(SECTION_CORRUPT, getpid());
	EXPECT_EQ(HAS_EVENT | HAS_PROCESS | HAS_ONE | A(REASON) | A(IP) | A(OFFSET) |
		  A(DEFECT) | A(FILE), message->has);
	EXPECT_EQ(removed.id, V(message, ID));
	EXPECT_EQ(removed.ip, V(message, IP));
	EXPECT_EQ(removed.text_start, V(message, TEXT_START));
	EXPECT_EQ(removed.sframe_start, V(message, SFRAME_START));
	EXPECT_EQ(removed.defect_offset, V(message, OFFSET));
	EXPECT_NE(0, V(message, OFFSET));
	EXPECT_EQ(SFRAME_UNWIND_NETLINK_CORRUPT, V(message, REASON));
	EXPECT_EQ(0, strcmp(removed.defect, message->defect));
	EXPECT_NE('\0', message->defect[0]);
	EXPECT_EQ(0, strcmp("", message->file));
}

/* The bytes of a name are passed on as they are; a long one loses its start. */
TEST_F(netlink, hostile_file_names)
{
	static const char * const names[] = {
		"/tmp/a\033[31m\n\\\" pid=1\303\244b",
		"/tmp/\377\376\200\001\177}\",\"a\":{",
		"/tmp/1234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890\n",
	};
	struct sframe_unwind_request req = request_self();
	unsigned char *text;
	char want[256];
	size_t length;
	int file;

	JOIN(SECTIONS);
	for (unsigned int i = 0; i < 3; i++) {
		file = open(names[i], O_RDWR | O_CREAT | O_CLOEXEC, 0700);
		ASSERT_LE(0, file);
		ASSERT_EQ(PAGE, (size_t)write(file, self->fake.text, PAGE));
		text = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
		unlink(names[i]);
		if (text == MAP_FAILED)
			SKIP(return, "/tmp: %s", strerror(errno));
		write_fake_section(self->fake.section, text);
		self->fake.reg.text_start = (uintptr_t)text;
		ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
		self->fake.section[FAKE_INFO] = 0x40;
		ASSERT_EQ(0, call_request_code(text, self->fd, &req));
		ASSERT_NEXT(SECTION_CORRUPT, getpid());
		length = snprintf(want, sizeof(want), "%s (deleted)", names[i]);
		EXPECT_EQ(0, strcmp(want + (length > 127 ? length - 127 : 0),
				    self->message.file));
		munmap(text, PAGE);
		close(file);
	}
}

/* A name of a thread is passed on as well. */
TEST_F(netlink, hostile_thread_name)
{
	JOIN(SECTIONS);
	ASSERT_EQ(0, prctl(PR_SET_NAME, "\033[2J\n\"\\\377"));
	ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
	ASSERT_NEXT(SECTION_ADDED, getpid());
	EXPECT_EQ(0, strcmp("\033[2J\n\"\\\377", self->message.comm));
}

TEST_F(netlink, clients)
{
	struct netlink_message *message = &self->message;
	pid_t child;
	__u64 id;
	int fd;

	JOIN(CLIENTS);
	fd = open_client(0);
	ASSERT_LE(0, fd);
	ASSERT_NEXT(CLIENT_OPENED, getpid());
	EXPECT_EQ(HAS_EVENT | HAS_PROCESS | A(CLIENT) | A(UID), message->has);
	EXPECT_EQ(0, V(message, UID));
	id = V(message, CLIENT);
	EXPECT_NE(0, id);
	close(fd);
	ASSERT_NEXT(CLIENT_CLOSED, getpid());
	EXPECT_EQ(HAS_EVENT | HAS_PROCESS | A(CLIENT) | A(UID), message->has);
	EXPECT_EQ(id, V(message, CLIENT));

	child = fork();
	if (!child)
		_exit(become(USER) || open_client(0) < 0);
	ASSERT_NEXT(CLIENT_OPENED, child);
	EXPECT_EQ(USER, V(message, UID));
	EXPECT_LT(id, V(message, CLIENT));
	id = V(message, CLIENT);
	ASSERT_NEXT(CLIENT_CLOSED, child);
	EXPECT_EQ(id, V(message, CLIENT));
	EXPECT_EQ(0, outcome_of(child));
}

/* Losses are added up, and told ten times a second at most. */
TEST_F(netlink, losses)
{
	struct sframe_unwind_request req = request_self();
	struct netlink_message *message = &self->message;
	__u64 sum = 0, total = 0, first = 0, last = 0;
	unsigned int messages = 0;
	struct sframe_unwind_stats s;
	const __u64 start = now_ns();

	JOIN(LOSSES);
	ASSERT_EQ(0, register_own(self->fd));
	do {
		ASSERT_EQ(0, request(self->fd, &req));
		ASSERT_EQ(0, stats(self->fd, &s));
	} while (!s.lost_full || now_ns() - start < 2000000000);
	ASSERT_EQ(0, s.pending);
	while (!take(self, QUIET_MS)) {
		ASSERT_EQ(SFRAME_UNWIND_COMMAND_LOSSES, message->command);
		EXPECT_EQ(HAS_EVENT | A(LOSS) | A(COUNT) | A(TOTAL), message->has);
		if (V(message, LOSS) != SFRAME_UNWIND_LOSS_FULL)
			continue;
		if (messages) {
			EXPECT_EQ(total + V(message, COUNT), V(message, TOTAL));
		} else {
			first = V(message, TIME);
		}
		sum += V(message, COUNT);
		total = V(message, TOTAL);
		last = V(message, TIME);
		messages++;
	}
	EXPECT_EQ(s.lost_full, sum);
	EXPECT_LE(1, messages);
	/* Two messages are 100 ms apart; what is rounded to jiffies may be less. */
	EXPECT_LE(messages, (last - first) / 90000000 + 1);
	TH_LOG("%llu losses in %u messages", (unsigned long long)sum, messages);
}

/* Stacks of a closed client, and records of removed sections. */
TEST_F(netlink, other_losses)
{
	struct sframe_unwind_request req = request_self();
	const pid_t child = fork_sleeper(0);
	struct netlink_message *message = &self->message;
	struct sframe_unwind_stats s = {};
	__u64 closed = 0, removals = 0;
	int fd = open_client(0);

	JOIN(LOSSES);
	while (!is_asleep(child))
		sched_yield();
	req.tid = child;
	for (unsigned int i = 0; i < 3; i++)
		ASSERT_EQ(0, request(fd, &req));
	close(fd);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);

	req.tid = 0;
	ASSERT_EQ(0, listen_to(self->fd, SFRAME_UNWIND_EVENTS_REMOVED));
	while (!s.lost_full) {
		ASSERT_EQ(0, request(self->fd, &req));
		ASSERT_EQ(0, stats(self->fd, &s));
	}
	for (unsigned int i = 0; i < 4; i++) {
		self->fake.section[FAKE_INFO] = 0;
		ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
		self->fake.section[FAKE_INFO] = 0x40;
		ASSERT_EQ(0, call_request_code(self->fake.text, self->fd, &req));
	}
	ASSERT_EQ(0, stats(self->fd, &s));
	while (!take(self, QUIET_MS)) {
		if (V(message, LOSS) == SFRAME_UNWIND_LOSS_CLOSED)
			closed += V(message, COUNT);
		else if (V(message, LOSS) == SFRAME_UNWIND_LOSS_REMOVAL)
			removals += V(message, COUNT);
	}
	EXPECT_EQ(3, closed);
	EXPECT_EQ(s.lost_events, removals);
	EXPECT_LT(0, s.lost_events);
}

/*
 * Many events: batches of sections that are registered and unregistered.
 */

/* Get all messages until it is quiet. Returns how often the socket had an overrun. */
static unsigned int drain(FIXTURE_DATA(netlink) *self, int ms)
{
	unsigned int overruns = 0;
	int err;

	while ((err = take(self, ms)) != EAGAIN) {
		if (!err)
			count_message(&self->count, &self->message);
		overruns += err == ENOBUFS;
	}
	return overruns;
}

#define EXPECT_SUM(caused)						\
	do {								\
		const struct netlink_count *count_ = &self->count;	\
		EXPECT_EQ(caused, count_->events + count_->dropped +	\
			  count_->missing);				\
		EXPECT_FALSE(count_->told_twice);			\
		TH_LOG("%llu events: %llu delivered, %llu dropped, %llu missing",	\
		       (unsigned long long)(caused),			\
		       (unsigned long long)count_->events,		\
		       (unsigned long long)count_->dropped,		\
		       (unsigned long long)count_->missing);		\
	} while (0)

/* A listener that does not read is told that some are missing, and how many. */
TEST_F(netlink, overrun)
{
	struct section_storm storm = {};
	const int small = 4096;
	__u64 caused = 0;

	ASSERT_TRUE(make_section_storm(&storm, &self->fake));
	ASSERT_EQ(0, setsockopt(self->sock, SOL_SOCKET, SO_RCVBUF, &small,
				sizeof(small)));
	JOIN(SECTIONS);
	ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
	ASSERT_NEXT(SECTION_ADDED, getpid());
	for (unsigned int i = 0; i < 3; i++) {
		ASSERT_TRUE(blow_sections(&storm, self->fd));
		caused += 2 * STORM_BATCH;
	}
	usleep(300000);
	EXPECT_LE(1, drain(self, QUIET_MS));
	/* The last message shows what is missing before it. */
	ASSERT_EQ(0, unregister_id(self->fd, self->fake.reg.id));
	ASSERT_NEXT(SECTION_REMOVED, getpid());
	EXPECT_EQ(self->fake.reg.id, V(&self->message, ID));
	EXPECT_LT(0, self->count.missing);
	EXPECT_SUM(caused + 2);
}

/*
 * Faster than messages can be sent: what the queue has no room for is told. The worker that
 * sends them has next to no time while the only CPU is this thread's.
 */
TEST_F(netlink, dropped)
{
	const struct sched_param first = { .sched_priority = 1 };
	const struct sched_param usual = { .sched_priority = 0 };
	const int large = 8 << 20;
	struct section_storm storm = {};
	__u64 caused = 2;

	ASSERT_TRUE(make_section_storm(&storm, &self->fake));
	ASSERT_EQ(0, setsockopt(self->sock, SOL_SOCKET, SO_RCVBUFFORCE, &large,
				sizeof(large)));
	JOIN(SECTIONS);
	ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
	ASSERT_NEXT(SECTION_ADDED, getpid());
	self->offline = set_online(1, false);
	ASSERT_TRUE(self->offline);
	ASSERT_EQ(0, sched_setscheduler(0, SCHED_FIFO, &first));
	for (unsigned int i = 0; i < NR_FULL; i++) {
		ASSERT_TRUE(blow_sections(&storm, self->fd));
		caused += 2 * STORM_BATCH;
	}
	ASSERT_EQ(0, sched_setscheduler(0, SCHED_OTHER, &usual));
	ASSERT_EQ(0, unregister_id(self->fd, self->fake.reg.id));
	drain(self, 2 * QUIET_MS);
	EXPECT_LT(0, self->count.dropped);
	EXPECT_SUM(caused);
}

/* Many events of sections do not displace those of clients. */
TEST_F(netlink, clients_in_a_storm)
{
	struct section_storm storm = {};
	int other = open_netlink();
	unsigned int opened = 0;
	const __u64 before = now_ns();

	ASSERT_TRUE(make_section_storm(&storm, &self->fake));
	/* Not read. */
	ASSERT_EQ(0, join_group(other, self->family.groups[GROUP_SECTIONS]));
	JOIN(CLIENTS);
	for (unsigned int i = 0; i < 20; i++) {
		for (unsigned int j = 0; j < 20; j++)
			ASSERT_TRUE(blow_sections(&storm, self->fd));
		close(open_client(0));
		while (!take(self, 0))
			opened += self->message.command == SFRAME_UNWIND_COMMAND_CLIENT_OPENED;
	}
	while (!take(self, QUIET_MS)) {
		EXPECT_NE(SFRAME_UNWIND_COMMAND_CLIENTS_DROPPED, self->message.command);
		opened += self->message.command == SFRAME_UNWIND_COMMAND_CLIENT_OPENED;
	}
	EXPECT_EQ(20, opened);
	TH_LOG("in %llu ms", (unsigned long long)(now_ns() - before) / 1000000);
	close(other);
}

static int blow_for(int fd, struct section_storm *storm, unsigned int ms)
{
	const __u64 start = now_ns();
	__u64 caused = 0, due, now;

	/* 20,000 events a second, or as many as the machine can. */
	do {
		if (!blow_sections(storm, fd))
			return -1;
		caused += 2 * STORM_BATCH;
		due = start + caused * 50000;
		now = now_ns();
		if (now < due)
			usleep((due - now) / 1000);
	} while (now - start < ms * 1000000ULL);
	return caused;
}

/* While another process causes 20,000 events a second. */
TEST_F(netlink, storm)
{
	const char *seconds = getenv("STORM_SECONDS");
	const unsigned int ms = (seconds ? atoi(seconds) : 3) * 1000;
	struct section_storm storm = {};
	int pipes[2], caused = 0;
	unsigned int overruns;
	pid_t child;

	ASSERT_TRUE(make_section_storm(&storm, &self->fake));
	ASSERT_EQ(0, pipe(pipes));
	JOIN(SECTIONS);
	ASSERT_EQ(0, register_section(self->fd, &self->fake.reg));
	ASSERT_NEXT(SECTION_ADDED, getpid());
	child = fork();
	if (!child) {
		caused = blow_for(self->fd, &storm, ms);
		_exit(write(pipes[1], &caused, sizeof(caused)) < 0 || caused < 0);
	}
	overruns = drain(self, QUIET_MS + 1000);
	ASSERT_EQ(0, outcome_of(child));
	ASSERT_EQ(sizeof(caused), read(pipes[0], &caused, sizeof(caused)));
	ASSERT_LT(0, caused);
	overruns += drain(self, QUIET_MS);
	ASSERT_EQ(0, unregister_id(self->fd, self->fake.reg.id));
	ASSERT_NEXT(SECTION_REMOVED, getpid());
	/* Fork and exit of the child are one event each. */
	EXPECT_SUM(caused + 4ULL);
	/* A slow kernel on a busy machine has managed 900 a second. */
	EXPECT_LE(is_slow_kernel() ? ms / 10 : ms * 5ULL, self->count.events + self->count.dropped +
		  self->count.missing);
	EXPECT_EQ(!overruns, !self->count.missing);
	printf("# %d events in %u s: %lu received, %lu dropped, %lu missing\n", caused,
	       ms / 1000, self->count.events, self->count.dropped, self->count.missing);
}

/* A storm of losses is a few messages. */
TEST_F(netlink, storm_of_losses)
{
	struct sframe_unwind_request req = request_self();
	__u64 sum = 0, messages = 0, before;
	const __u64 start = now_ns();
	struct sframe_unwind_stats s = {};

	ASSERT_EQ(0, register_own(self->fd));
	while (!s.lost_full) {
		ASSERT_EQ(0, request(self->fd, &req));
		ASSERT_EQ(0, stats(self->fd, &s));
	}
	before = s.lost_full;
	JOIN(LOSSES);
	while (now_ns() - start < 3000000000)
		ASSERT_EQ(0, request(self->fd, &req));
	ASSERT_EQ(0, stats(self->fd, &s));
	while (!take(self, QUIET_MS)) {
		if (V(&self->message, LOSS) != SFRAME_UNWIND_LOSS_FULL)
			continue;
		sum += V(&self->message, COUNT);
		messages++;
	}
	EXPECT_EQ(s.lost_full - before, sum);
	EXPECT_LE(messages, 60);
	TH_LOG("%llu losses in %llu messages", (unsigned long long)sum,
	       (unsigned long long)messages);
}

TEST_HARNESS_MAIN
