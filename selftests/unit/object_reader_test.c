// SPDX-License-Identifier: GPL-2.0
/*
 * What a reader of objects does with a child that the file has taken over: it does not
 * answer, or not what it should.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "../include/descriptors.h"
#include "tap.h"
#include "userspace/cli/profile/inspect.h"
#include "userspace/cli/profile/object_child.h"
#include "userspace/cli/profile/object_file.h"
#include "userspace/cli/profile/object_reader.h"
#include "userspace/worker/message.h"

/* What the child does; in memory that it does not share. */
static enum {
	HONEST,
	SILENT,			/* says nothing */
	SILENT_THEN,		/* answers no question */
	EXITS,
	SENDS_FILES,
	SENDS_FILES_EMPTY,	/* in messages without bytes */
	LIES,
	TELLS_MUCH,
	DAWDLES,		/* answers, but does nothing for a while before */
	SPINS,			/* has no answer, and never ends */
	GROWS,			/* takes 1.2 GiB of address space */
} volatile conduct;

static struct readers readers;

uid_t inspect_owner(uid_t owner)
{
	return owner;
}

static void send_files(bool is_empty)
{
	static const int files[16];
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(files))];
	} control = { .header = {
		.cmsg_level = SOL_SOCKET,
		.cmsg_type = SCM_RIGHTS,
		.cmsg_len = CMSG_LEN(sizeof(files)),
	} };
	struct iovec part = { "\3x", 2 };
	const struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = !is_empty,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};

	sendmsg(READER_SOCKET, &message, MSG_NOSIGNAL);
}

static void send_summary(bool is_lie)
{
	struct {
		struct answer answer;
		struct summary summary;
	} message;
	const int none[2] = { -1, -1 };

	memset(&message, is_lie ? 0xff : 0, sizeof(message));
	message.answer.nr = 0;
	if (!is_lie)
		message.answer.left = SECOND;
	message.summary.has_symbols = !is_lie;
	message_send(READER_SOCKET, &message, sizeof(message), NULL, 0, none);
}

/* Answer questions about symbols by a name of 32 KiB. */
static void tell_much(void)
{
	static char text[sizeof(struct answer) + 32768];
	struct answer *answer = (struct answer *)text;
	struct request request;
	int fds[2];

	memset(text, 'x', sizeof(text) - 1);
	*answer = (struct answer){ .nr = 1, .start = 1, .end = 2, .left = UINT64_MAX };
	while (message_receive(READER_SOCKET, &request, sizeof(request), fds,
			       false) == sizeof(request)) {
		fds[0] = fds[1] = -1;
		message_send(READER_SOCKET, text, sizeof(text), NULL, 0, fds);
	}
}

/* Answer that nothing is there, after 200 ms. */
static void dawdle(void)
{
	const struct answer nothing = { .left = UINT64_MAX };
	struct request request;
	int fds[2];

	while (message_receive(READER_SOCKET, &request, sizeof(request), fds,
			       false) == sizeof(request)) {
		usleep(200000);
		fds[0] = fds[1] = -1;
		message_send(READER_SOCKET, &nothing, sizeof(nothing), NULL, 0, fds);
	}
}

/* In place of what reads the file. */
int object_child_run(void *data)
{
	(void)data;
	if (conduct == SENDS_FILES || conduct == SENDS_FILES_EMPTY)
		send_files(conduct == SENDS_FILES_EMPTY);
	if (conduct == SILENT || conduct == SENDS_FILES ||
	    conduct == SENDS_FILES_EMPTY)
		pause();
	if (conduct == EXITS)
		return NO_SANDBOX;
	if (conduct == GROWS)
		mmap(NULL, 1200 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	send_summary(conduct == LIES);
	if (conduct == TELLS_MUCH)
		tell_much();
	if (conduct == DAWDLES)
		dawdle();
	while (conduct == SPINS)
		;
	pause();
	return 0;
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec / 1e9;
}

/* What has been counted for files of this conduct. */
static struct reader_owner *owner(void)
{
	return &readers.owners[pairs_find(&readers.keys, 1000 + conduct, 0)];
}

static bool open_reader(struct object *object)
{
	struct object_file file = {
		.fd = memfd_create("object", MFD_CLOEXEC),
		.size = 4096,
		.stored = 4096,
		.user = 1000 + conduct,
	};

	*object = (struct object){ 0 };
	return object_reader_open(&readers, object, &file);
}

static void honest(void)
{
	const struct object_file first = { .user = 1000 };
	struct object object;

	/* The first owner of all. */
	EXPECT_EQ(*readers_bytes(&readers, &first), 0);
	conduct = HONEST;
	EXPECT(open_reader(&object));
	EXPECT(!object.why);
	object_reader_close(object.reader);
}

static void silent(void)
{
	const double begin = now();
	struct object object;

	conduct = SILENT;
	EXPECT(!open_reader(&object));
	EXPECT(now() - begin < 20);
	EXPECT(strstr(object.why, "takes too much time"));
	object_reader_close(object.reader);
}

static void silent_later(void)
{
	const double begin = now();
	struct object object;

	conduct = SILENT_THEN;
	EXPECT(open_reader(&object));
	EXPECT(!object_reader_find(object.reader, 1));
	EXPECT(now() - begin < 20);
	/* It is not asked again. */
	EXPECT(!object_reader_find(object.reader, 2));
	EXPECT(now() - begin < 20);
	object_reader_close(object.reader);
}

static void exits(void)
{
	struct object object;

	conduct = EXITS;
	EXPECT(!open_reader(&object));
	EXPECT(strstr(object.why, "there is no sandbox"));
	object_reader_close(object.reader);
	/* That is not the fault of the file. */
	EXPECT_EQ(owner()->failures, 0);
}

static void test_files(void)
{
	const unsigned int before = count_descriptors();
	struct object object;

	for (int i = 0; i < 3; i++) {
		EXPECT(!open_reader(&object));
		object_reader_close(object.reader);
	}
	/* Pipes to children that are ending. */
	usleep(100000);
	EXPECT(count_descriptors() <= before + 3);
}

static void sends_files(void)
{
	conduct = SENDS_FILES;
	test_files();
}

static void sends_files_empty(void)
{
	conduct = SENDS_FILES_EMPTY;
	test_files();
}

static void lies(void)
{
	struct object object;

	conduct = LIES;
	EXPECT(open_reader(&object));
	EXPECT(object.nr_segments <= SEGMENTS_MAX);
	EXPECT_EQ(strnlen(object.why, 200), 127);
	object_reader_close(object.reader);
}

/* Names that are many times the file are cut, and those before are not. */
static void tells_much(void)
{
	const struct symbol *symbol;
	struct object object;

	conduct = TELLS_MUCH;
	EXPECT(open_reader(&object));
	symbol = object_reader_find(object.reader, 1);
	EXPECT(symbol && strlen(symbol->name) == 32767);
	for (uint64_t address = 2; address < 600; address++)
		symbol = object_reader_find(object.reader, address);
	EXPECT(symbol && strlen(symbol->name) < 100);
	object_reader_close(object.reader);
}

/* Doing nothing counts, however often an answer comes in time; then no file of the owner is read any more. */
static void dawdles(void)
{
	struct object object, other;

	conduct = DAWDLES;
	EXPECT(open_reader(&object));
	for (uint64_t address = 1; address < 6; address++)
		object_reader_find(object.reader, address);
	/* A second; but on a busy machine, waiting for a CPU does not count. */
	EXPECT(owner()->used_ns > SECOND / 10 && owner()->used_ns < 2 * SECOND);
	owner()->used_ns = 119 * SECOND;
	owner()->since = now() * SECOND;
	for (uint64_t address = 6; address < 100 && !owner()->failures; address++)
		object_reader_find(object.reader, address);
	EXPECT_EQ(owner()->failures, 1);
	EXPECT(!open_reader(&other));
	EXPECT(strstr(other.why, "of a user whose files took too much time"));
	object_reader_close(other.reader);
	object_reader_close(object.reader);
	conduct = HONEST;
	EXPECT(open_reader(&object));
	object_reader_close(object.reader);
}

/* A child that has removed its own limits may not work for ever. */
static void spins(void)
{
	const double begin = now();
	struct object object;

	conduct = SPINS;
	EXPECT(open_reader(&object));
	owner()->used_ns = 119 * SECOND;
	EXPECT(!object_reader_find(object.reader, 1));
	EXPECT(now() - begin < 30);
	EXPECT_EQ(owner()->failures, 1);
	object_reader_close(object.reader);
}

/* Some of the time is given back: more than in the beginning may have been used. */
static void is_given_back(void)
{
	struct object object;

	conduct = HONEST;
	EXPECT(open_reader(&object));
	object_reader_close(object.reader);
	owner()->used_ns = 125 * SECOND;
	owner()->since -= 1000 * SECOND;
	EXPECT(open_reader(&object));
	EXPECT_EQ(owner()->failures, 0);
	object_reader_close(object.reader);
}

/* Files of one cache, whoever they are from, do not count for each other. */
static void copies(void)
{
	struct object_file file = { .size = 4096, .stored = 4096, .user = 7, .is_copy = true };
	struct object object;

	for (ino_t inode = 1; inode < 8; inode++) {
		file.inode = inode;
		*readers_bytes(&readers, &file) = inode;
		readers.owners[pairs_find(&readers.keys, 1ULL << 32, inode)].failures = inode < 7 ? 6 : 0;
	}
	file.fd = memfd_create("object", MFD_CLOEXEC);
	object = (struct object){ 0 };
	conduct = HONEST;
	EXPECT(object_reader_open(&readers, &object, &file));
	object_reader_close(object.reader);
}

static bool is_live(const struct object *object)
{
	for (uint32_t i = 0; i < readers.nr; i++)
		if (readers.live[i] == object->reader)
			return true;
	return false;
}

/* What a child has taken is not what it says; and it is the owner's children that are ended for it. */
static void grows(void)
{
	struct object honest, large[4];

	conduct = HONEST;
	EXPECT(open_reader(&honest));
	conduct = GROWS;
	for (unsigned int i = 0; i < 4; i++)
		EXPECT(open_reader(&large[i]));
	EXPECT(is_live(&honest));
	EXPECT(!is_live(&large[0]) && !is_live(&large[1]));
	EXPECT(is_live(&large[3]));
	for (unsigned int i = 0; i < 4; i++)
		object_reader_close(large[i].reader);
	object_reader_close(honest.reader);
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(honest),
		TAP_TEST(silent),
		TAP_TEST(silent_later),
		TAP_TEST(exits),
		TAP_TEST(sends_files),
		TAP_TEST(sends_files_empty),
		TAP_TEST(lies),
		TAP_TEST(tells_much),
		TAP_TEST(dawdles),
		TAP_TEST(spins),
		TAP_TEST(is_given_back),
		TAP_TEST(copies),
		TAP_TEST(grows),
	};

	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	readers_free(&readers);
	return tap_done();
}
