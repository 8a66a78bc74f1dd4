// SPDX-License-Identifier: GPL-2.0
/*
 * A map, a jitdump and objects that are read in the sandbox; and what the reader does with a child
 * that the file has taken over.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "jit_dump_made.h"
#include "jit_objects_made.h"
#include "tap.h"
#include "userspace/cli/profile/inspect.h"
#include "userspace/cli/profile/jit_child.h"
#include "userspace/cli/profile/jit_reader.h"
#include "userspace/worker/message.h"

/* The real child. */
#define jit_child_run jit_child_honest
#include "userspace/cli/profile/jit_child.c"
#undef jit_child_run

/* What the child does; in memory that it does not share. */
static int (*volatile conduct)(void);

static struct readers readers;
static struct jit_table table;
static struct jit_reading reading = { .table = &table, .pid = MADE_PID };

uid_t inspect_owner(uid_t owner)
{
	return owner;
}

uint64_t object_file_size_max(const struct object_file *file)
{
	return file->stored;
}

int jit_child_run(void *data)
{
	return conduct ? conduct() : jit_child_honest(data);
}

/* Read bytes as a file of @user. */
static void read_bytes(const void *bytes, size_t size, uid_t user)
{
	const int fd = memfd_create("jit", MFD_CLOEXEC);
	const struct object_file file = {
		.fd = fd,
		.size = size,
		.stored = size,
		.owner = user,
		.user = user,
	};

	if (write(fd, bytes, size) != (ssize_t)size)
		exit(1);
	jit_table_free(&table);
	jit_read(&readers, &file, &reading);
	close(fd);
}

static const char *name_at(uint64_t address, uint64_t time)
{
	const struct jit_function *found = jit_table_find(&table, address, time);

	return found ? jit_table_name(&table, found) : "none";
}

/* --- honest */

static void test_map(void)
{
	static const char map[] = "1000 10 a\nbad\n2000 10 b\n";

	conduct = NULL;
	reading.kind = JIT_MAP;
	read_bytes(map, sizeof(map) - 1, 1);
	EXPECT(!reading.why);
	EXPECT_EQ(reading.result.fault, JIT_NO_LENGTH);
	EXPECT_EQ(reading.result.offset, 10);
	EXPECT_EQ(reading.result.nr_faults, 1);
	EXPECT(!strcmp(name_at(0x1005, 0), "a"));
	EXPECT(!strcmp(name_at(0x2005, 0), "b"));
}

static void test_dump(void)
{
	struct made_dump dump;

	conduct = NULL;
	reading.kind = JIT_DUMP;
	made_dump_begin(&dump);
	made_dump_load(&dump, 10, 0x1000, 0x10, "first");
	made_dump_load(&dump, 20, 0x1000, 0x10, "second");
	made_dump_move(&dump, 30, 0x1000, 0x2000, 0x10);
	made_dump_record(&dump, 3, 16, 40);
	read_bytes(dump.bytes, dump.size, 1);
	EXPECT(!reading.why);
	EXPECT_EQ(reading.result.nr_faults, 0);
	EXPECT(!strcmp(name_at(0x1005, 15), "first"));
	EXPECT(!strcmp(name_at(0x1005, 25), "second"));
	EXPECT(!strcmp(name_at(0x1005, 35), "none"));
	EXPECT(!strcmp(name_at(0x2005, 35), "second"));
	EXPECT(!strcmp(name_at(0x2005, 45), "none"));
}

static void test_objects(void)
{
	struct made_objects file;

	conduct = NULL;
	reading.kind = JIT_OBJECTS;
	made_objects_begin(&file, 10);
	made_objects_add(&file, 0x1000, 0x10, "first");
	made_objects_put(&file, "no ELF file", 11);
	made_objects_look(&file, 20, 30);
	made_objects_kind(&file, JIT_OBJECTS_GONE, 0);
	made_objects_add(&file, 0x1000, 0x10, "second");
	read_bytes(file.bytes, file.size, 1);
	EXPECT(!reading.why);
	EXPECT_EQ(reading.result.fault, JIT_OBJECT_NO_ELF);
	EXPECT_EQ(reading.result.nr_faults, 1);
	EXPECT(!strcmp(name_at(0x1005, 15), "first"));
	EXPECT(!strcmp(name_at(0x1005, 25), "none"));
	EXPECT(!strcmp(name_at(0x1005, 35), "second"));
}

/* More than one message. */
static void test_large_map(void)
{
	static char map[400000];
	size_t size = 0;

	conduct = NULL;
	reading.kind = JIT_MAP;
	for (unsigned int i = 0; i < 10000; i++)
		size += sprintf(map + size, "%x 10 function_%u\n", i * 16, i);
	read_bytes(map, size, 1);
	EXPECT(!reading.why);
	EXPECT_EQ(table.nr, 10000);
	EXPECT(!strcmp(name_at(16 * 9999 + 3, 0), "function_9999"));
}

/* --- not honest */

static void wait_to_be_asked(void)
{
	int fds[2];
	char none;

	message_receive(READER_SOCKET, &none, sizeof(none), fds, false);
}

static void send_bytes(const void *bytes, size_t size)
{
	const int none[2] = { -1, -1 };

	wait_to_be_asked();
	message_send(READER_SOCKET, bytes, size, NULL, 0, none);
}

static struct {
	struct jit_item item;
	char rest[64];
} said[3];

static const struct jit_item good = {
	.start = 0x1000,
	.size = 0x10,
	.kind = JIT_ITEM_MADE,
	.length = 2,
};

/* A sound function, then an item of the test's, which is not sound. */
static struct {
	const char *what;
	struct jit_item item;
	const char *name;
	unsigned int size;
} lies[] = {
	{ "an unknown kind", { .kind = 99 }, NULL, 40 },
	{ "kind 0", { .kind = 0 }, NULL, 40 },
	{ "half an item", { .kind = JIT_ITEM_END_ALL }, NULL, 20 },
	{ "a name behind the message", { .start = 1, .size = 1, .kind = JIT_ITEM_MADE, .length = 100 }, "x", 48 },
	{ "a name of 4 GiB", { .start = 1, .size = 1, .kind = JIT_ITEM_MADE, .length = UINT32_MAX }, "x", 48 },
	{ "a name that wraps", { .start = 1, .size = 1, .kind = JIT_ITEM_MADE, .length = UINT32_MAX - 6 }, "x", 48 },
	{ "a name without its 0", { .start = 1, .size = 1, .kind = JIT_ITEM_MADE, .length = 3 }, "xyz", 48 },
	{ "a 0 within a name", { .start = 1, .size = 1, .kind = JIT_ITEM_MADE, .length = 8 }, "x", 48 },
	{ "no name", { .start = 1, .size = 1, .kind = JIT_ITEM_MADE, .length = 0 }, NULL, 40 },
	{ "an empty name", { .start = 1, .size = 1, .kind = JIT_ITEM_MADE, .length = 1 }, "", 48 },
	{ "a function of 0 bytes", { .start = 1, .kind = JIT_ITEM_MADE, .length = 2 }, "x", 48 },
	{ "a function behind the last address", { .start = 9, .size = UINT64_MAX, .kind = JIT_ITEM_MADE, .length = 2 }, "x", 48 },
	{ "a function in the kernel", { .start = 1ULL << 63, .size = 1, .kind = JIT_ITEM_MADE, .length = 2 }, "x", 48 },
	{ "the name of itself", { .start = 1, .size = 1, .kind = JIT_ITEM_SAME, .number = 1 }, NULL, 40 },
	{ "the name of function -1", { .start = 1, .size = 1, .kind = JIT_ITEM_SAME, .number = UINT32_MAX }, NULL, 40 },
	{ "the end of a function that is not there", { .kind = JIT_ITEM_END, .number = 1 }, NULL, 40 },
	{ "the end of function -1", { .kind = JIT_ITEM_END, .number = UINT32_MAX }, NULL, 40 },
	{ "an unknown fault", { .kind = JIT_ITEM_DONE, .number = NR_JIT_FAULTS }, NULL, 40 },
	{ "many faults", { .size = 1ULL << 32, .kind = JIT_ITEM_DONE }, NULL, 40 },
	{ "more behind the end", { .kind = JIT_ITEM_DONE }, NULL, 48 },
};

static unsigned int lie;

static int do_lie(void)
{
	memset(said, 0, sizeof(said));
	said[0].item = good;
	strcpy(said[0].rest, "a");
	memcpy(said[0].rest + 8, &lies[lie].item, sizeof(struct jit_item));
	if (lies[lie].name)
		strcpy(said[0].rest + 8 + sizeof(struct jit_item), lies[lie].name);
	send_bytes(said, 48 + lies[lie].size);
	pause();
	return 0;
}

static void test_lies(void)
{
	static const char map[] = "1000 10 a\n";

	conduct = do_lie;
	for (lie = 0; lie < sizeof(lies) / sizeof(lies[0]); lie++) {
		/* Of another user each time: too many faults end the reading. */
		readers_free(&readers);
		read_bytes(map, sizeof(map) - 1, 100 + lie);
		if (!reading.why || !strstr(reading.why, "did not tell what it should"))
			tap_fail("%s", reading.why ? reading.why : "read");
		if (strcmp(name_at(0x1005, 0), "a"))
			tap_fail("what was sound is not used");
		if (table.nr != 1)
			tap_fail("%u functions", table.nr);
		tap_case("child tells %s", lies[lie].what);
	}
}

static void expect_why(const char *why, int (*does)(void))
{
	readers_free(&readers);
	conduct = does;
	read_bytes("1000 10 a\n", 10, 1);
	EXPECT(reading.why && strstr(reading.why, why));
}

static int do_exit(void)
{
	return 0;
}

static int do_exit_without_sandbox(void)
{
	return NO_SANDBOX;
}

static int do_nothing(void)
{
	pause();
	return 0;
}

static int do_tell_for_ever(void)
{
	static const struct jit_item item = { .kind = JIT_ITEM_END_ALL };

	for (unsigned int i = 0; i < UINT32_MAX; i++)
		send_bytes(&item, sizeof(item));
	return 0;
}

static int do_say_nothing(void)
{
	send_bytes("", 0);
	pause();
	return 0;
}

static int do_send_files(void)
{
	const struct jit_item item = { .kind = JIT_ITEM_END_ALL };
	const int fds[2] = { READER_FILE, READER_FILE };

	wait_to_be_asked();
	message_send(READER_SOCKET, &item, sizeof(item), NULL, 0, fds);
	pause();
	return 0;
}

static void test_exits(void)
{
	expect_why("too much time or memory", do_exit);
}

static void test_no_sandbox(void)
{
	expect_why("no sandbox", do_exit_without_sandbox);
	EXPECT_EQ(readers.failures, 0);
}

static void test_silent(void)
{
	expect_why("too much time or memory", do_nothing);
	EXPECT_EQ(readers.failures, 1);
}

static void test_endless(void)
{
	expect_why("too much time or memory", do_tell_for_ever);
}

static void test_empty_message(void)
{
	expect_why("too much time or memory", do_say_nothing);
}

/* Files that it sends are closed. */
static void test_sends_files(void)
{
	const int before = dup(0);
	int after;

	close(before);
	expect_why("too much time or memory", do_send_files);
	after = dup(0);
	close(after);
	EXPECT_EQ(after, before);
}

/* After some files that took too much, no file of their owner is read; those of others are. */
static void test_owner(void)
{
	readers_free(&readers);
	conduct = do_exit;
	for (unsigned int i = 0; i < 6; i++)
		read_bytes("1000 10 a\n", 10, 7);
	conduct = NULL;
	reading.kind = JIT_MAP;
	read_bytes("1000 10 a\n", 10, 7);
	EXPECT(reading.why && strstr(reading.why, "is of a user whose files"));
	read_bytes("1000 10 a\n", 10, 8);
	EXPECT(!reading.why);
	EXPECT_EQ(table.nr, 1);
}

static void test_sizes(void)
{
	struct object_file file = { .fd = -1, .size = JIT_FILE_MAX + 1 };

	readers_free(&readers);
	file.stored = file.size;
	jit_table_free(&table);
	jit_read(&readers, &file, &reading);
	EXPECT(reading.why && strstr(reading.why, "more than 4 GiB"));
	file.stored = 1000;
	file.size = 1001;
	jit_read(&readers, &file, &reading);
	EXPECT(reading.why && strstr(reading.why, "too many holes"));
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(test_map),
		TAP_TEST(test_dump),
		TAP_TEST(test_objects),
		TAP_TEST(test_large_map),
		TAP_TEST(test_exits),
		TAP_TEST(test_no_sandbox),
		TAP_TEST(test_silent),
		TAP_TEST(test_endless),
		TAP_TEST(test_empty_message),
		TAP_TEST(test_sends_files),
		TAP_TEST(test_owner),
		TAP_TEST(test_sizes),
	};

	test_lies();
	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	jit_table_free(&table);
	readers_free(&readers);
	return tap_done();
}
