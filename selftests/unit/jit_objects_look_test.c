// SPDX-License-Identifier: GPL-2.0
/*
 * Objects that a process announces to debuggers: looks at a process, here this one, which
 * announces anything.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "jit_objects_scene.h"
#include "userspace/cli/attach/announced.h"
#include "userspace/cli/attach/clock.h"

struct entry {
	uint64_t next;
	uint64_t before;
	uint64_t object;
	uint64_t size;
};

/* Found by its name: the linker exports it. */
struct {
	uint32_t version;
	uint32_t action;
	uint64_t relevant;
	uint64_t first;
} __jit_debug_descriptor = { .version = 1 };

#define ENTRIES	8u

static struct entry entries[ENTRIES];
static struct made_object objects[ENTRIES];
static struct jit_objects_look look;
static int objects_fd = -1;

/* Announce the first @nr objects that have a size. */
static void announce(unsigned int nr)
{
	uint64_t before = 0, *link = &__jit_debug_descriptor.first;

	*link = 0;
	for (unsigned int i = 0; i < nr; i++) {
		if (!entries[i].size)
			continue;
		entries[i].object = (uintptr_t)&objects[i];
		entries[i].before = before;
		entries[i].next = 0;
		before = (uintptr_t)&entries[i];
		*link = before;
		link = &entries[i].next;
	}
}

static void set_object(unsigned int i, uint64_t start, const char *name)
{
	made_object(&objects[i], start, 0x10, name);
	entries[i].size = sizeof(objects[i]);
}

static uint64_t size_of(int fd)
{
	struct stat status;

	return fstat(fd, &status) ? 0 : status.st_size;
}

/* Look, and put what is new into the file. Returns its bytes. */
static uint64_t look_again(void)
{
	static char bytes[1 << 20];
	const uint64_t size = size_of(objects_fd);
	ssize_t got = 0;
	int fd;

	fd = jit_objects_look(getpid(), objects_fd, &look);
	if (fd >= 0) {
		got = pread(fd, bytes, sizeof(bytes), 0);
		if (got <= 0 || pwrite(objects_fd, bytes, got, size) != got)
			exit(1);
		close(fd);
	}
	look.was_partial = look.has_more || look.is_full || !look.is_read;
	if (look.is_read)
		look.before = look.began;
	parse_fd(objects_fd, size + got);
	return got;
}

static void begin_looks(void)
{
	static const uint64_t magic = JIT_OBJECTS_MAGIC;

	close(objects_fd);
	objects_fd = memfd_create("objects", MFD_CLOEXEC);
	if (write(objects_fd, &magic, sizeof(magic)) != sizeof(magic))
		exit(1);
	look = (struct jit_objects_look){ .room = 1 << 20 };
	memset(entries, 0, sizeof(entries));
	__jit_debug_descriptor.version = 1;
	announce(0);
}

static void look_at_nothing(void)
{
	begin_looks();
	EXPECT_EQ(look_again(), 0);
	EXPECT(look.is_read && look.has_list && !look.is_full && !look.has_more);
	EXPECT_EQ(result.nr_faults, 0);
	__jit_debug_descriptor.version = 2;
	EXPECT_EQ(look_again(), 0);
	EXPECT(look.is_read && !look.has_list);
}

static void look_at_some(void)
{
	uint64_t before;

	begin_looks();
	set_object(0, CODE, "zero");
	set_object(1, CODE + 0x100, "one");
	announce(ENTRIES);
	EXPECT(look_again() > 0);
	EXPECT(look.is_read && look.has_list && !look.is_full && !look.has_more);
	EXPECT_EQ(result.nr_faults, 0);
	EXPECT_NAME(CODE, 1, "zero");
	EXPECT_NAME(CODE + 0x100, now_ns(), "one");
	/* Nothing is new. */
	EXPECT_EQ(look_again(), 0);
	before = look.began;
	/* One more, before the others. */
	set_object(2, CODE + 0x200, "two");
	announce(ENTRIES);
	EXPECT(look_again() > 0);
	EXPECT_EQ(table.nr, 3);
	EXPECT_NAME(CODE + 0x200, before - 1, "none");
	EXPECT_NAME(CODE + 0x200, before, "two");
	/* One is taken back. */
	entries[1].size = 0;
	announce(ENTRIES);
	before = now_ns();
	EXPECT_EQ(look_again(), 2 * sizeof(struct jit_objects_record));
	EXPECT_NAME(CODE + 0x100, before, "one");
	EXPECT_NAME(CODE + 0x100, now_ns(), "none");
	EXPECT_NAME(CODE, now_ns(), "zero");
	EXPECT_EQ(look_again(), 0);
}

/* The same entry, object and size, with another name. */
static void look_at_another(void)
{
	uint64_t before, after;

	begin_looks();
	set_object(0, CODE, "old");
	announce(ENTRIES);
	EXPECT(look_again() > 0);
	before = look.began;
	set_object(0, CODE, "new");
	after = now_ns();
	EXPECT(look_again() > 0);
	EXPECT_EQ(table.nr, 2);
	EXPECT_NAME(CODE, before - 1, "old");
	EXPECT_NAME(CODE, after, "none");
	EXPECT_NAME(CODE, now_ns(), "new");
}

static void look_without_room(void)
{
	uint64_t before;

	begin_looks();
	set_object(0, CODE, "zero");
	set_object(1, CODE + 0x100, "one");
	announce(ENTRIES);
	look.room = sizeof(struct jit_objects_record) + sizeof(objects[0]);
	EXPECT(look_again() > 0);
	EXPECT(look.is_read && look.is_full);
	EXPECT_EQ(result.fault, JIT_OBJECTS_LEFT);
	EXPECT_EQ(table.nr, 1);
	before = look.began;
	/* What is gone is still told. */
	entries[0].size = 0;
	announce(ENTRIES);
	look.room = 0;
	EXPECT_EQ(look_again(), 2 * sizeof(struct jit_objects_record));
	EXPECT(look.is_full);
	EXPECT_NAME(CODE, before - 1, "zero");
	EXPECT_NAME(CODE, before, "none");
	EXPECT_EQ(look_again(), 0);
}

/* Objects that are no objects; each is told once. */
static void look_at_lies(void)
{
	begin_looks();
	set_object(0, CODE, "zero");
	set_object(1, CODE + 0x100, "one");
	set_object(2, CODE + 0x200, "two");
	set_object(3, CODE + 0x300, "three");
	announce(ENTRIES);
	entries[0].object = 8;
	entries[1].size = UINT64_MAX;
	entries[2].size = ANNOUNCED_MAX_SIZE + 1;
	EXPECT(look_again() > 0);
	/* What cannot be read may be there the next time. */
	EXPECT(look.is_read && look.has_more);
	EXPECT_EQ(result.fault, JIT_OBJECT_LARGE);
	EXPECT_EQ(result.nr_faults, 2);
	EXPECT_EQ(table.nr, 1);
	EXPECT_NAME(CODE + 0x300, 1, "three");
	EXPECT_EQ(look_again(), 0);
}

/* A list that is in a circle has no end: nothing is known to be gone. */
static void look_at_circle(void)
{
	begin_looks();
	set_object(0, CODE, "zero");
	set_object(1, CODE + 0x100, "one");
	announce(ENTRIES);
	EXPECT(look_again() > 0);
	EXPECT_EQ(table.nr, 2);
	entries[1].size = 0;
	announce(ENTRIES);
	entries[0].next = (uintptr_t)&entries[0];
	EXPECT_EQ(look_again(), 0);
	EXPECT(!look.is_read);
	EXPECT_NAME(CODE + 0x100, now_ns(), "one");
}

/* There is no such process. */
static void look_at_nobody(void)
{
	look = (struct jit_objects_look){ .room = 1 << 20 };
	EXPECT_EQ(jit_objects_look(1 << 30, -1, &look), -1);
	EXPECT(!look.is_read && !look.has_list);
}

/* The list is torn: what is new may be in the place of what is gone. */
static void look_at_torn_list(void)
{
	uint64_t first, torn;

	begin_looks();
	set_object(0, CODE, "zero");
	set_object(1, CODE + 0x100, "one");
	announce(ENTRIES);
	EXPECT(look_again() > 0);
	first = look.began;
	entries[0].size = 0;
	set_object(2, CODE, "two");
	announce(ENTRIES);
	entries[2].next = (uintptr_t)&entries[2];
	torn = now_ns();
	EXPECT(look_again() > 0);
	EXPECT(!look.is_read);
	EXPECT_NAME(CODE, torn, "zero");
	EXPECT_NAME(CODE, now_ns(), "two");
	announce(ENTRIES);
	EXPECT(look_again() > 0);
	EXPECT(look.is_read);
	EXPECT_NAME(CODE, first - 1, "zero");
	EXPECT_NAME(CODE, first, "none");
	EXPECT_NAME(CODE, torn, "none");
	EXPECT_NAME(CODE, now_ns(), "two");
	EXPECT_NAME(CODE + 0x100, now_ns(), "one");
}

/* An object that was left for the next look is where one is gone. */
static void look_in_parts(void)
{
	uint64_t first, last;

	begin_looks();
	set_object(0, CODE, "zero");
	announce(ENTRIES);
	EXPECT(look_again() > 0);
	first = look.began;
	entries[0].size = 0;
	set_object(1, CODE, "one");
	announce(ENTRIES);
	entries[1].object = 8;
	EXPECT(look_again() > 0);
	EXPECT(look.is_read && look.has_more);
	EXPECT_NAME(CODE, first - 1, "zero");
	EXPECT_NAME(CODE, first, "none");
	announce(ENTRIES);
	last = now_ns();
	EXPECT(look_again() > 0);
	EXPECT(!look.has_more);
	EXPECT_NAME(CODE, last, "none");
	EXPECT_NAME(CODE, now_ns(), "one");
	/* From then on, it is sure again. */
	set_object(2, CODE + 0x100, "two");
	announce(ENTRIES);
	EXPECT(look_again() > 0);
	EXPECT_NAME(CODE + 0x100, look.began - 1, "two");
}

/* Of what is the first that is known, nothing else can have the place. */
static void first_look_in_parts(void)
{
	begin_looks();
	set_object(0, CODE, "zero");
	set_object(1, CODE + 0x100, "one");
	announce(ENTRIES);
	entries[1].object = 8;
	EXPECT(look_again() > 0);
	EXPECT(look.has_more);
	EXPECT_NAME(CODE, 1, "zero");
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(look_at_nothing),
		TAP_TEST(look_at_some),
		TAP_TEST(look_at_another),
		TAP_TEST(look_without_room),
		TAP_TEST(look_at_lies),
		TAP_TEST(look_at_circle),
		TAP_TEST(look_at_torn_list),
		TAP_TEST(look_in_parts),
		TAP_TEST(first_look_in_parts),
		TAP_TEST(look_at_nobody),
	};

	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	jit_table_free(&table);
	close(objects_fd);
	return tap_done();
}
