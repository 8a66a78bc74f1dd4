// SPDX-License-Identifier: GPL-2.0
/*
 * Who may listen to the generic netlink family, which is about all processes: attempts in a
 * table, namespaces, sockets that were passed on, and groups that were joined before they
 * existed. And the module is removed while somebody listens.
 */
#include <glob.h>
#include <sched.h>
#include <signal.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#include "common.h"
#include "netlink.h"
#include "process.h"

#define NOBODY		65534
#define QUIET_MS	300
#define WAIT_MS		20000
#define DEAF_MS		200	/* longer than a group is deaf, see module/limits.h */
#define ALL_CAPABILITIES	((1ULL << 41) - 1)

/* Results of attempts, beside an errno that joining returns. */
#define UNSUPPORTED	200	/* the kernel has no such namespaces */
#define FAILED		201
#define HEARS		202	/* a message has come */
#define DEAF		203	/* it has joined, and none has come */

FIXTURE(privilege)
{
	int fd;
	struct netlink_family family;
};

FIXTURE_SETUP(privilege)
{
	const int err = find_family(&self->family);

	if (err == EPROTONOSUPPORT)
		SKIP(return, "this kernel has no network");
	ASSERT_EQ(0, err);
	self->fd = open_client(0);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(privilege)
{
	close(self->fd);
}

/* Whether messages can be filtered, see module/compat.h. */
static bool can_filter(void)
{
	unsigned int major = 0, minor = 0;
	struct utsname name;

	uname(&name);
	sscanf(name.release, "%u.%u", &major, &minor);
	return major > 6 || (major == 6 && minor >= 8);
}

/* What a socket gets of messages that this process causes; those of others are skipped. */
static int hear(int sock)
{
	struct netlink_message message;
	const int fd = open_client(0);
	int err;

	if (fd < 0)
		return FAILED;
	close(fd);
	do {
		err = next_message(sock, &message, QUIET_MS);
	} while (err && err != EAGAIN);
	return err ? DEAF : HEARS;
}

/* Join @group. Returns the errno, or what comes then. */
static int join_and_hear(uint32_t group)
{
	int sock = open_netlink(), err;

	if (sock < 0)
		return FAILED;
	err = join_group(sock, group);
	if (!err)
		err = hear(sock);
	close(sock);
	return err;
}

/* The same by bind(2), which takes a mask of the first 32 groups. */
static int bind_and_hear(uint32_t group)
{
	const struct sockaddr_nl address = {
		.nl_family = AF_NETLINK,
		.nl_groups = 1U << (group - 1),
	};
	int sock = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
	int err;

	if (group > 32)
		return UNSUPPORTED;
	if (sock < 0)
		return FAILED;
	err = bind(sock, (const struct sockaddr *)&address, sizeof(address)) ?
	      errno : hear(sock);
	close(sock);
	return err;
}

static bool write_file(const char *path, const char *text)
{
	const int fd = open(path, O_WRONLY | O_CLOEXEC);
	const bool done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return done;
}

/* Become root of a new user namespace, and of @others. */
static bool enter(int others)
{
	char map[32];
	uid_t uid = geteuid();

	if (unshare(CLONE_NEWUSER | others))
		return false;
	snprintf(map, sizeof(map), "0 %u 1", uid);
	return write_file("/proc/self/uid_map", map);
}

/* An attempt: what a process does before it joins, and the results that are right. */
struct attempt {
	const char *name;
	uid_t uid;
	__u64 capabilities;
	bool user_namespace;
	int namespaces;
	int result;
	int result2;
};

static const struct attempt attempts[] = {
	{ "root", 0, ALL_CAPABILITIES, false, 0, HEARS, HEARS },
	{ "CAP_SYS_ADMIN alone", 0, CAP_MASK(CAP_SYS_ADMIN), false, 0, HEARS, HEARS },
	{ "root in another mount namespace", 0, ALL_CAPABILITIES, false, CLONE_NEWNS,
	  HEARS, HEARS },
	{ "no capability", 0, 0, false, 0, EPERM, EPERM },
	{ "all others", 0, ALL_CAPABILITIES & ~CAP_MASK(CAP_SYS_ADMIN), false, 0, EPERM,
	  EPERM },
	{ "CAP_PERFMON alone", 0, CAP_MASK(CAP_PERFMON), false, 0, EPERM, EPERM },
	{ "CAP_NET_ADMIN alone", 0, CAP_MASK(CAP_NET_ADMIN), false, 0, EPERM, EPERM },
	{ "a user", USER, 0, false, 0, EPERM, EPERM },
	{ "nobody", NOBODY, 0, false, 0, EPERM, EPERM },
	{ "root of a user namespace", NOBODY, 0, true, 0, EPERM, EPERM },
	{ "root of a user and a PID namespace", NOBODY, 0, true, CLONE_NEWPID, EPERM,
	  EPERM },
	/* The number means nothing there. */
	{ "root of a user and a network namespace", NOBODY, 0, true, CLONE_NEWNET, DEAF,
	  ENOENT },
	{ "root in another network namespace", 0, ALL_CAPABILITIES, false, CLONE_NEWNET,
	  DEAF, ENOENT },
};

static int make_attempt(const struct attempt *attempt, uint32_t group,
			int (*join)(uint32_t group))
{
	const pid_t child = fork();

	if (child)
		return outcome_of(child);
	if (attempt->uid && become(attempt->uid))
		_exit(FAILED);
	if (attempt->user_namespace) {
		if (!enter(attempt->namespaces))
			_exit(UNSUPPORTED);
	} else if (attempt->namespaces && unshare(attempt->namespaces)) {
		_exit(UNSUPPORTED);
	}
	if (!attempt->uid && keep_capabilities(attempt->capabilities))
		_exit(FAILED);
	_exit(join(group));
}

TEST_F(privilege, attempts)
{
	const struct attempt *attempt;
	unsigned int i;
	int result;

	for (i = 0; i < sizeof(attempts) / sizeof(attempts[0]); i++) {
		attempt = &attempts[i];
		result = make_attempt(attempt, self->family.groups[GROUP_CLIENTS],
				      join_and_hear);
		EXPECT_TRUE(result == attempt->result || result == attempt->result2)
		{
			TH_LOG("%s: %d", attempt->name, result);
		}
		result = make_attempt(attempt, self->family.groups[GROUP_CLIENTS],
				      bind_and_hear);
		EXPECT_TRUE(result == attempt->result || result == attempt->result2 ||
			    result == UNSUPPORTED)
		{
			TH_LOG("%s, by bind: %d", attempt->name, result);
		}
	}
}

/* Each group has to be protected. */
TEST_F(privilege, all_groups)
{
	const struct attempt *nobody = &attempts[8];

	for (int i = 0; i < NR_GROUPS; i++)
		EXPECT_EQ(EPERM, make_attempt(nobody, self->family.groups[i],
					      join_and_hear));
}

/* The family is that of the initial network namespace. */
TEST_F(privilege, other_network_namespace)
{
	struct netlink_family family;
	const pid_t child = fork();

	if (!child)
		_exit(unshare(CLONE_NEWNET) ? UNSUPPORTED : find_family(&family));
	EXPECT_EQ(ENOENT, outcome_of(child));
}

/* Numbers of processes are those of the initial PID namespace. */
TEST_F(privilege, pid_namespace)
{
	struct netlink_message message;
	int sock = open_netlink();
	pid_t child, inner;
	int pipes[2];

	ASSERT_EQ(0, pipe(pipes));
	ASSERT_EQ(0, join_group(sock, self->family.groups[GROUP_CLIENTS]));
	child = fork();
	if (!child) {
		if (unshare(CLONE_NEWPID))
			_exit(UNSUPPORTED);
		/* Its number here, as this process sees it. */
		inner = fork();
		if (!inner)
			_exit(getpid() != 1 || open_client(0) < 0);
		_exit(write(pipes[1], &inner, sizeof(inner)) != sizeof(inner) ||
		      outcome_of(inner));
	}
	ASSERT_EQ(0, next_message(sock, &message, WAIT_MS));
	EXPECT_EQ(SFRAME_UNWIND_COMMAND_CLIENT_OPENED, message.command);
	ASSERT_EQ(0, outcome_of(child));
	ASSERT_EQ(sizeof(inner), read(pipes[0], &inner, sizeof(inner)));
	EXPECT_EQ((__u64)inner, message.value[SFRAME_UNWIND_ATTR_PID]);
	close(sock);
}

/* A socket that nobody has opened, and root has joined to @group; or -1. */
static int open_denied(uint32_t group)
{
	int sockets[2], sock;
	pid_t child;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets))
		return -1;
	child = fork();
	if (!child)
		_exit(become(NOBODY) || send_fd(sockets[1], open_netlink()));
	sock = receive_fd(sockets[0]);
	close(sockets[0]);
	close(sockets[1]);
	if (outcome_of(child) || sock < 0 || join_group(sock, group))
		return -1;
	return sock;
}

/*
 * A socket of a user, which root has joined to a group by mistake. Where messages cannot be
 * filtered, it gets them.
 */
TEST_F(privilege, passed_socket)
{
	int sock = open_denied(self->family.groups[GROUP_CLIENTS]);

	ASSERT_LE(0, sock);
	EXPECT_EQ(can_filter() ? DEAF : HEARS, hear(sock));
	close(sock);
}

/* Number of the event of a client that is opened now; 0 if there is no message of it. */
static __u64 number_now(int sock)
{
	struct netlink_message message;
	const int fd = open_client(0);

	do {
		if (next_message(sock, &message, QUIET_MS))
			return 0;
	} while (message.command != SFRAME_UNWIND_COMMAND_CLIENT_OPENED ||
		 message.value[SFRAME_UNWIND_ATTR_PID] != (__u64)getpid());
	close(fd);
	return message.value[SFRAME_UNWIND_ATTR_NUMBER];
}

/* Events are not queued for sockets that get no messages, but for all others. */
TEST_F(privilege, only_denied)
{
	const uint32_t group = self->family.groups[GROUP_CLIENTS];
	int denied = open_denied(group), sock = open_netlink();
	__u64 before, after;

	if (!can_filter())
		SKIP(return, "this kernel cannot filter messages");
	ASSERT_LE(0, denied);
	usleep(DEAF_MS * 1000);
	ASSERT_EQ(0, join_group(sock, group));
	before = number_now(sock);
	ASSERT_LT(0, before);
	close(sock);
	for (int i = 0; i < 500; i++) {
		close(open_client(0));
		usleep(1000);
	}
	usleep(DEAF_MS * 1000);
	sock = open_netlink();
	ASSERT_EQ(0, join_group(sock, group));
	after = number_now(sock);
	ASSERT_LT(before, after);
	EXPECT_LT(after - before, 500);
	TH_LOG("%llu of 1000 events", (unsigned long long)(after - before));
	/* Closed and opened. */
	for (int i = 0; i < 10; i++) {
		EXPECT_EQ(after + 2, number_now(sock));
		after += 2;
	}
	close(denied);
	close(sock);
}

/*
 * The module, removed and loaded again
 */

FIXTURE(reload)
{
	bool unloaded;
};

static int load_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int err = fd < 0 || syscall(SYS_finit_module, fd, "", 0) ? errno : 0;

	if (fd >= 0)
		close(fd);
	return err;
}

/* Load @name, of the directory MODULES, or which the VM has loaded at its start. */
static int load(const char *name)
{
	const char *directory = getenv("MODULES");
	char loaded[256] = "", *path;
	int err = ENOENT, fd;
	glob_t names;

	if (directory) {
		snprintf(loaded, sizeof(loaded), "%s/%s.ko", directory, name);
		return load_file(loaded);
	}

	if (glob("/run/vm/modules/*.name", 0, NULL, &names))
		return ENOENT;
	for (size_t i = 0; i < names.gl_pathc; i++) {
		path = names.gl_pathv[i];
		fd = open(path, O_RDONLY | O_CLOEXEC);
		memset(loaded, 0, sizeof(loaded));
		if (read(fd, loaded, sizeof(loaded) - 1) > 0)
			loaded[strcspn(loaded, "\n")] = '\0';
		close(fd);
		if (strcmp(loaded, name))
			continue;
		strcpy(strrchr(path, '.'), ".ko");
		err = load_file(path);
	}
	globfree(&names);
	return err;
}

/* Spaces of processes that were observed may take a moment to go. */
static int unload(const char *name)
{
	int err = EAGAIN;

	for (int i = 0; i < 100 && (err == EAGAIN || err == EBUSY); i++) {
		if (i)
			usleep(100000);
		err = syscall(SYS_delete_module, name, O_NONBLOCK) ? errno : 0;
	}
	return err;
}

FIXTURE_SETUP(reload)
{
	struct netlink_family family;

	if (geteuid())
		SKIP(return, "needs root");
	if (find_family(&family) == EPROTONOSUPPORT)
		SKIP(return, "this kernel has no network");
	/* As in deferred_module_test.c. */
	ASSERT_TRUE(set_online(1, false));
}

FIXTURE_TEARDOWN(reload)
{
	if (self->unloaded) {
		EXPECT_EQ(0, load("sframe_unwind"));
		load("sframe_unwind_test");
	}
	set_online(1, true);
}

#define UNLOAD()							\
	do {								\
		unload("sframe_unwind_test");				\
		ASSERT_EQ(0, unload("sframe_unwind"));			\
		self->unloaded = true;					\
	} while (0)

#define LOAD()								\
	do {								\
		ASSERT_EQ(0, load("sframe_unwind"));			\
		load("sframe_unwind_test");				\
		self->unloaded = false;					\
	} while (0)

/* Listeners, also with messages that they have not read, do not matter. */
TEST_F(reload, with_listeners)
{
	struct netlink_message message;
	struct netlink_family family;
	int socks[4], i;

	ASSERT_EQ(0, find_family(&family));
	for (i = 0; i < 4; i++) {
		socks[i] = open_netlink();
		ASSERT_LE(0, socks[i]);
		for (int j = 0; j < NR_GROUPS; j++)
			ASSERT_EQ(0, join_group(socks[i], family.groups[j]));
	}
	/* The last ones are still queued. */
	for (i = 0; i < 30; i++)
		close(open_client(0));
	UNLOAD();
	EXPECT_EQ(ENOENT, find_family(&family));
	for (i = 0; i < 4; i++)
		EXPECT_EQ(0, next_message(socks[i], &message, 0));
	LOAD();
	/* They are in no group any more. */
	for (i = 0; i < 4; i++) {
		while (!next_message(socks[i], &message, 0))
			;
	}
	for (i = 0; i < 4; i++) {
		EXPECT_EQ(DEAF, hear(socks[i]));
		close(socks[i]);
	}
}

/* Join each group that does not exist yet, as nobody. Returns how many could be joined. */
static int join_unknown(int sock)
{
	int joined = 0;

	for (uint32_t group = 1; group <= 256; group++)
		joined += !join_group(sock, group);
	return joined;
}

/* Groups that were joined before they existed. */
TEST_F(reload, joined_before)
{
	int sockets[2], sock, i;
	pid_t child;

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets));
	UNLOAD();
	child = fork();
	if (!child) {
		if (become(NOBODY))
			_exit(0);
		sock = open_netlink();
		i = join_unknown(sock);
		if (send_fd(sockets[1], sock))
			_exit(0);
		_exit(i);
	}
	sock = receive_fd(sockets[0]);
	ASSERT_LE(0, sock);
	i = outcome_of(child);
	TH_LOG("%d groups joined before", i);
	LOAD();
	for (i = 0; i < 10; i++)
		EXPECT_EQ(DEAF, hear(sock));
	close(sock);
}

TEST_HARNESS_MAIN
