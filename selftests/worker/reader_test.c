// SPDX-License-Identifier: GPL-2.0
/*
 * Readers: how many replies a request for a file has. As root.
 */
#include <sys/socket.h>
#include <sys/stat.h>

#include "common.h"
#include "userspace/cli/attach/reader_task.h"
#include "userspace/worker/message.h"

#define USER 65534

static char directory[] = "/tmp/reader_test.XXXXXX";
static const int no_fds[2] = { -1, -1 };
static pid_t reader;
static int reader_socket;

/* Start a reader, as a child of this process. */
static void start_reader(void)
{
	int sockets[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets))
		abort();
	reader = fork();
	if (!reader) {
		dup2(sockets[1], READER_SOCKET);
		close_range(READER_SOCKET + 1, ~0U, 0);
		_exit(reader_run(NULL));
	}
	close(sockets[1]);
	reader_socket = sockets[0];
}

static void end_reader(void)
{
	close(reader_socket);
	waitpid(reader, NULL, 0);
}

/* Receive a reply, and close what comes with it. */
static bool hear(struct reader_reply *reply)
{
	static unsigned char rest[READER_MAX_REPLY];
	struct pollfd answer = { .fd = reader_socket, .events = POLLIN };
	ssize_t size;
	int fds[2];

	if (poll(&answer, 1, 60000) != 1)
		return false;
	size = message_receive(reader_socket, rest, sizeof(rest), fds, true);
	for (size_t i = 0; i < 2; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	memcpy(reply, rest, sizeof(*reply));
	return size >= (ssize_t)sizeof(*reply);
}

/* Wait until the reader has closed all descriptors that it does not need. */
static bool is_up(void)
{
	struct reader_request request = {
		.what = READER_MAPS,
		.mapping.pid = getpid(),
	};
	struct reader_reply reply;

	return !message_send(reader_socket, &request, sizeof(request), NULL, 0,
			     no_fds) &&
	       hear(&reply) && reply.is_last;
}

/* Map a copy of this program that belongs to @owner. */
static void map_file(const char *name, uid_t owner, struct mapping *mapping)
{
	size_t size;
	unsigned char *bytes = read_file("/proc/self/exe", &size);
	struct stat stat;
	char path[128];
	void *at;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size ||
	    fchown(fd, owner, owner) || fchmod(fd, 0755) || fstat(fd, &stat))
		abort();
	free(bytes);
	close(fd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	at = mmap(NULL, size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	if (at == MAP_FAILED)
		abort();
	close(fd);
	*mapping = (struct mapping) {
		.pid = getpid(),
		.start = (uintptr_t)at,
		.end = (uintptr_t)at + ((size + 4095) & ~4095UL),
		.key = { stat.st_dev, stat.st_ino },
	};
	snprintf(mapping->name, sizeof(mapping->name), "%s", path);
}

static bool ask(const struct mapping *mapping)
{
	struct reader_request request = {
		.what = READER_FILE,
		.mapping = *mapping,
		.max_bytes = 64 << 20,
		.max_others = 64 << 20,
	};

	return !message_send(reader_socket, &request, sizeof(request), NULL, 0,
			     no_fds);
}

static unsigned int count_open(void)
{
	unsigned int count = 0;
	char path[64];
	DIR *fds;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)reader);
	fds = opendir(path);
	while (fds && readdir(fds))
		count++;
	closedir(fds);
	return count;
}

/* The descriptors that were passed are closed right after the reply. */
static bool has_closed_all(unsigned int before)
{
	for (int i = 0; i < 1000 && count_open() != before; i++)
		usleep(10000);
	return count_open() == before;
}

static void test_trusted(void)
{
	struct mapping mapping;
	struct reader_reply reply;
	unsigned int before;

	map_file("trusted", 0, &mapping);
	start_reader();
	EXPECT(is_up());
	before = count_open();
	for (int i = 0; i < 3; i++) {
		EXPECT(ask(&mapping));
		EXPECT(hear(&reply));
		EXPECT_EQ(reply.error, 0);
		EXPECT(reply.file.is_trusted);
		EXPECT(reply.is_last);
	}
	EXPECT(has_closed_all(before));
	end_reader();
}

/* Closing a file of a user can block, so the result is sent before. */
static void test_of_user(void)
{
	struct mapping mapping;
	struct reader_reply reply;

	map_file("user", USER, &mapping);
	start_reader();
	for (int i = 0; i < 3; i++) {
		EXPECT(ask(&mapping));
		EXPECT(hear(&reply));
		EXPECT_EQ(reply.error, 0);
		EXPECT(!reply.file.is_trusted);
		EXPECT(!reply.is_last);
		EXPECT(hear(&reply));
		EXPECT(reply.is_last);
	}
	end_reader();
}

/* There is nothing to close. */
static void test_gone(void)
{
	struct mapping mapping;
	struct reader_reply reply;

	map_file("gone", USER, &mapping);
	mapping.name[0] = '\0';
	munmap((void *)(uintptr_t)mapping.start, mapping.end - mapping.start);
	start_reader();
	EXPECT(ask(&mapping));
	EXPECT(hear(&reply));
	EXPECT(reply.error);
	EXPECT(reply.is_last);
	end_reader();
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(test_trusted),
		TAP_TEST(test_of_user),
		TAP_TEST(test_gone),
	};
	char command[64];

	if (!mkdtemp(directory) || chmod(directory, 0755))
		return 2;
	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	snprintf(command, sizeof(command), "rm -rf %s", directory);
	return system(command) | tap_done();
}
