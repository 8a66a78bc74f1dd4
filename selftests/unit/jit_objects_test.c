// SPDX-License-Identifier: GPL-2.0
/*
 * Objects that a process announces to debuggers: the functions that their symbols tell, with
 * their lives, of files that may have anything; and looks at a process, here this one.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "jit_objects_made.h"
#include "tap.h"
#include "userspace/cli/attach/announced.h"
#include "userspace/cli/attach/clock.h"
#include "userspace/cli/profile/jit_parse.h"
#include "userspace/cli/profile/jit_table.h"

#define CODE	0x7f1234567000
#define FIRST	(8 + sizeof(struct jit_objects_record))	/* offset of the first object */

static struct made_objects file;
static struct jit_table table;
static struct jit_result result;

/* --- what is in a file */

static bool make(void *data, const struct jit_made *made)
{
	(void)data;
	if (jit_check_range(made->start, made->size) || !made->name ||
	    !*made->name || strlen(made->name) >= JIT_NAME_SIZE)
		tap_fail("an impossible function");
	jit_table_add(&table, made->start, made->size, made->time, made->name);
	return true;
}

static bool end(void *data, uint32_t number, uint64_t time)
{
	(void)data;
	if (number >= table.nr)
		tap_fail("function %u ends", number);
	else
		jit_table_end(&table, number, time);
	return true;
}

static void parse_fd(int fd, uint64_t size)
{
	static const struct jit_ops ops = { .make = make, .end = end };

	jit_table_free(&table);
	jit_parse_objects(fd, size, &ops, NULL, &result);
	jit_table_finish(&table);
}

static void parse(void)
{
	const int fd = memfd_create("objects", MFD_CLOEXEC);

	if (write(fd, file.bytes, file.size) != (ssize_t)file.size)
		exit(1);
	parse_fd(fd, file.size);
	close(fd);
}

static const char *name_at(uint64_t address, uint64_t time)
{
	const struct jit_function *found = jit_table_find(&table, address, time);

	return found ? jit_table_name(&table, found) : "none";
}

#define EXPECT_NAME(address, time, name)	\
	EXPECT(!strcmp(name_at(address, time), name))

static void relocatable(void)
{
	struct made_object object;

	made_object(&object, CODE, 0x40, "php_loop");
	object.symbols[1].st_value = 0x10;
	object.symbols[1].st_size = 0x20;
	made_objects_begin(&file, 100);
	made_objects_put(&file, &object, sizeof(object));
	parse();
	EXPECT_EQ(result.nr_faults, 0);
	EXPECT_EQ(table.nr, 1);
	EXPECT_NAME(CODE + 0xf, 50, "none");
	EXPECT_NAME(CODE + 0x10, 50, "php_loop");
	EXPECT_NAME(CODE + 0x2f, JIT_NOW, "php_loop");
	EXPECT_NAME(CODE + 0x30, 50, "none");
}

/* Of a linked object, and one of no section, the symbols have the addresses. */
static void absolute(void)
{
	struct made_object object;

	made_objects_begin(&file, 100);
	made_object(&object, CODE, 0x40, "linked");
	object.header.e_type = ET_DYN;
	object.symbols[1].st_value = CODE + 0x10;
	object.symbols[1].st_size = 0x20;
	made_objects_put(&file, &object, sizeof(object));
	made_object(&object, CODE, 0x40, "of_no_section");
	object.symbols[1].st_shndx = SHN_ABS;
	object.symbols[1].st_value = CODE + 0x100;
	made_objects_put(&file, &object, sizeof(object));
	parse();
	EXPECT_EQ(result.nr_faults, 0);
	EXPECT_EQ(table.nr, 2);
	EXPECT_NAME(CODE + 0x10, 50, "linked");
	EXPECT_NAME(CODE + 0x100, 50, "of_no_section");
}

/* Data, and functions that are elsewhere, are no functions. */
static void other_symbols(void)
{
	struct made_object object;

	made_objects_begin(&file, 100);
	made_object(&object, CODE, 0x40, "data");
	object.symbols[1].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT);
	made_objects_put(&file, &object, sizeof(object));
	made_object(&object, CODE, 0x40, "elsewhere");
	object.symbols[1].st_shndx = SHN_UNDEF;
	made_objects_put(&file, &object, sizeof(object));
	parse();
	EXPECT_EQ(result.nr_faults, 0);
	EXPECT_EQ(table.nr, 0);
}

/* --- lives */

/* What comes, and what goes, was there in all of the time that is not known. */
static void life(void)
{
	made_objects_begin(&file, 100);
	made_objects_add(&file, CODE, 0x10, "first");
	made_objects_look(&file, 200, 300);
	made_objects_add(&file, CODE + 0x10, 0x10, "second");
	made_objects_look(&file, 400, 500);
	made_objects_kind(&file, JIT_OBJECTS_GONE, 0);
	parse();
	EXPECT_EQ(result.nr_faults, 0);
	EXPECT_NAME(CODE, 0, "first");
	EXPECT_NAME(CODE, 499, "first");
	EXPECT_NAME(CODE, 500, "none");
	EXPECT_NAME(CODE + 0x10, 199, "none");
	EXPECT_NAME(CODE + 0x10, 200, "second");
	EXPECT_NAME(CODE + 0x10, 999, "second");
}

/* Of memory that was used again, nobody knows what it had between two looks. */
static void used_again(void)
{
	made_objects_begin(&file, 100);
	made_objects_add(&file, CODE, 0x20, "old");
	made_objects_add(&file, CODE + 0x40, 0x20, "other");
	made_objects_look(&file, 200, 300);
	made_objects_kind(&file, JIT_OBJECTS_GONE, 0);
	made_objects_kind(&file, JIT_OBJECTS_GONE, 1);
	made_objects_add(&file, CODE + 0x1f, 0x21, "new");
	made_objects_look(&file, 400, 500);
	made_objects_add(&file, CODE + 0x40, 0x10, "later");
	parse();
	EXPECT_EQ(result.nr_faults, 0);
	EXPECT_NAME(CODE, 199, "old");
	EXPECT_NAME(CODE, 200, "none");
	EXPECT_NAME(CODE, 300, "none");
	EXPECT_NAME(CODE + 0x1f, 199, "old");
	EXPECT_NAME(CODE + 0x1f, 250, "none");
	EXPECT_NAME(CODE + 0x1f, 300, "new");
	EXPECT_NAME(CODE + 0x40, 299, "other");
	EXPECT_NAME(CODE + 0x40, 300, "none");
	EXPECT_NAME(CODE + 0x40, 400, "later");
}

/* If not all are in the file, anything may have been made in the place of what is gone. */
static void full(void)
{
	made_objects_begin(&file, 100);
	made_objects_add(&file, CODE, 0x20, "old");
	made_objects_kind(&file, JIT_OBJECTS_FULL, 0);
	made_objects_look(&file, 200, 300);
	made_objects_kind(&file, JIT_OBJECTS_GONE, 0);
	parse();
	EXPECT_EQ(result.fault, JIT_OBJECTS_LEFT);
	EXPECT_EQ(result.nr_faults, 1);
	EXPECT_NAME(CODE, 199, "old");
	EXPECT_NAME(CODE, 200, "none");
}

/* --- hostile */

#define AT(member)	offsetof(struct made_object, member)
#define SECTION(which, member) \
	(AT(sections) + MADE_##which * sizeof(Elf64_Shdr) + \
	 offsetof(Elf64_Shdr, member))
#define SYMBOL(member)	(AT(symbols[1]) + offsetof(Elf64_Sym, member))
#define TYPE_CORE	4

/* A sound object with one value changed. */
static const struct {
	const char *what;
	size_t at;
	size_t size;
	uint64_t value;
	enum jit_fault fault;
} damages[] = {
	{ "no magic", 0, 1, 0, JIT_OBJECT_NO_ELF },
	{ "32 bits", EI_CLASS, 1, ELFCLASS32, JIT_OBJECT_MACHINE },
	{ "the other byte order", EI_DATA, 1, ELFDATA2MSB, JIT_OBJECT_MACHINE },
	{ "another machine", AT(header.e_machine), 2, EM_AARCH64, JIT_OBJECT_MACHINE },
	{ "a core", AT(header.e_type), 2, TYPE_CORE, JIT_OBJECT_TYPE },
	{ "no sections", AT(header.e_shnum), 2, 0, JIT_OBJECT_SECTIONS },
	{ "sections behind its end", AT(header.e_shoff), 8, sizeof(struct made_object), JIT_OBJECT_SECTIONS },
	{ "sections that wrap", AT(header.e_shoff), 8, UINT64_MAX - 64, JIT_OBJECT_SECTIONS },
	{ "more sections than there are", AT(header.e_shnum), 2, 1000, JIT_OBJECT_SECTIONS },
	{ "no symbols", SECTION(SYMBOLS, sh_type), 4, SHT_PROGBITS, JIT_OBJECT_NO_SYMBOLS },
	{ "small symbols", SECTION(SYMBOLS, sh_entsize), 8, 16, JIT_OBJECT_SYMBOL_SIZE },
	{ "symbols of 0 bytes", SECTION(SYMBOLS, sh_entsize), 8, 0, JIT_OBJECT_SYMBOL_SIZE },
	{ "part of a symbol", SECTION(SYMBOLS, sh_size), 8, 47, JIT_OBJECT_SYMBOL_SIZE },
	{ "symbols behind its end", SECTION(SYMBOLS, sh_offset), 8, 1 << 20, JIT_OBJECT_SYMBOLS },
	{ "symbols that wrap", SECTION(SYMBOLS, sh_offset), 8, UINT64_MAX - 23, JIT_OBJECT_SYMBOLS },
	{ "more symbols than there are", SECTION(SYMBOLS, sh_size), 8, 24 << 20, JIT_OBJECT_SYMBOLS },
	{ "a name behind the strings", SYMBOL(st_name), 4, 64, JIT_OBJECT_STRING },
	{ "a name at -1", SYMBOL(st_name), 4, UINT32_MAX, JIT_OBJECT_STRING },
	{ "strings of no section", SECTION(SYMBOLS, sh_link), 4, 99, JIT_OBJECT_STRING },
	{ "strings that are symbols", SECTION(SYMBOLS, sh_link), 4, MADE_SYMBOLS, JIT_OBJECT_STRING },
	{ "strings behind its end", SECTION(STRINGS, sh_offset), 8, 1 << 20, JIT_OBJECT_STRING },
	{ "no name", SYMBOL(st_name), 4, 0, JIT_NO_NAME },
	{ "a section that is not there", SYMBOL(st_shndx), 2, MADE_SECTIONS, JIT_OBJECT_SECTION },
	{ "a section of another table", SYMBOL(st_shndx), 2, SHN_XINDEX, JIT_OBJECT_SECTION },
	{ "no address", SECTION(TEXT, sh_addr), 8, 0, JIT_OBJECT_PLACE },
	{ "a function behind its section", SYMBOL(st_value), 8, 0x11, JIT_OBJECT_BEYOND },
	{ "a function larger than its section", SYMBOL(st_size), 8, UINT64_MAX, JIT_OBJECT_BEYOND },
	{ "no size", SYMBOL(st_size), 8, 0, JIT_NO_SIZE },
	{ "code in the kernel", SECTION(TEXT, sh_addr), 8, 0xffffffff81000000, JIT_IN_KERNEL },
	{ "code behind the last address", SECTION(TEXT, sh_addr), 8, UINT64_MAX, JIT_WRAPS },
};

/* What follows is used. */
static void test_damages(void)
{
	for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
		struct made_object object;

		made_object(&object, CODE, 0x10, "damaged");
		memcpy((char *)&object + damages[i].at, &damages[i].value,
		       damages[i].size);
		made_objects_begin(&file, 100);
		made_objects_put(&file, &object, sizeof(object));
		made_objects_add(&file, CODE + 0x1000, 0x10, "sound");
		parse();
		if (result.fault != damages[i].fault || result.nr_faults != 1 ||
		    result.offset != FIRST)
			tap_fail("%u faults, the first at %llu: %s",
				 result.nr_faults,
				 (unsigned long long)result.offset,
				 jit_fault_text(result.fault));
		if (table.nr != 1 ||
		    strcmp(name_at(CODE + 0x1000, 50), "sound"))
			tap_fail("%u functions", table.nr);
		tap_case("object with %s", damages[i].what);
	}
}

/* One with a long name, and one whose name has no end. */
static void long_names(void)
{
	static struct {
		struct made_object object;
		char name[2 * JIT_NAME_SIZE];
	} large;
	Elf64_Shdr *strings = &large.object.sections[MADE_STRINGS];

	made_object(&large.object, CODE, 0x10, "");
	memset(large.name, 'x', sizeof(large.name));
	strings->sh_size = sizeof(large.object.strings) + sizeof(large.name);
	large.object.symbols[1].st_name = sizeof(large.object.strings);
	made_objects_begin(&file, 100);
	made_objects_put(&file, &large, sizeof(large));
	parse();
	EXPECT_EQ(result.fault, JIT_OBJECT_STRING);
	large.name[sizeof(large.name) - 1] = '\0';
	made_objects_begin(&file, 100);
	made_objects_put(&file, &large, sizeof(large));
	parse();
	EXPECT_EQ(result.nr_faults, 0);
	EXPECT_EQ(strlen(name_at(CODE, 50)), JIT_NAME_SIZE - 1);
}

static void any_byte(void)
{
	struct made_object object;

	srand(1);
	for (unsigned int i = 0; i < 20000; i++) {
		made_object(&object, CODE, 0x10, "any");
		for (int n = rand() % 4; n >= 0; n--)
			((unsigned char *)&object)[rand() % sizeof(object)] = rand();
		made_objects_begin(&file, 100);
		made_objects_put(&file, &object, rand() % 8 ?
				 sizeof(object) : rand() % sizeof(object) + 1);
		made_objects_look(&file, 200, 300);
		made_objects_kind(&file, JIT_OBJECTS_GONE, 0);
		parse();
	}
	EXPECT(table.nr <= 1);
}

static void expect_fault(enum jit_fault fault, uint64_t offset)
{
	parse();
	EXPECT_EQ(result.fault, fault);
	EXPECT_EQ(result.offset, offset);
	EXPECT_EQ(result.nr_faults, 1);
}

/* The file itself may have been changed, too. */
static void records(void)
{
	struct jit_objects_record record = { .kind = 99 };

	file.size = 0;
	expect_fault(JIT_OBJECTS_HEADER, 0);
	made_objects_bytes(&file, "sfuobjs0", 8);
	expect_fault(JIT_OBJECTS_HEADER, 0);
	made_objects_begin(&file, 100);
	made_objects_bytes(&file, &record, sizeof(record));
	expect_fault(JIT_UNKNOWN_RECORD, FIRST);
	made_objects_begin(&file, 100);
	made_objects_kind(&file, JIT_OBJECTS_GONE, 0);
	expect_fault(JIT_OBJECTS_NUMBER, FIRST);
	made_objects_begin(&file, 100);
	made_objects_bytes(&file, &record, sizeof(record) - 1);
	expect_fault(JIT_CUT, FIRST);
	record.kind = JIT_OBJECTS_MADE;
	record.stored = 1;
	made_objects_begin(&file, 100);
	made_objects_bytes(&file, &record, sizeof(record));
	expect_fault(JIT_CUT, FIRST);
	record.stored = UINT64_MAX;
	made_objects_begin(&file, 100);
	made_objects_bytes(&file, &record, sizeof(record));
	expect_fault(JIT_RECORD_SIZE, FIRST);
	record.stored = ANNOUNCED_MAX_SIZE + 1;
	made_objects_begin(&file, 100);
	made_objects_bytes(&file, &record, sizeof(record));
	expect_fault(JIT_RECORD_SIZE, FIRST);
	record.stored = 0;
	record.bytes = ANNOUNCED_MAX_SIZE + 1;
	made_objects_begin(&file, 100);
	made_objects_bytes(&file, &record, sizeof(record));
	expect_fault(JIT_OBJECT_LARGE, FIRST);
}

/* An object goes only once, and before others come. */
static void gone_twice(void)
{
	made_objects_begin(&file, 100);
	made_objects_add(&file, CODE, 0x10, "a");
	made_objects_look(&file, 200, 300);
	made_objects_kind(&file, JIT_OBJECTS_GONE, 0);
	made_objects_kind(&file, JIT_OBJECTS_GONE, 0);
	parse();
	EXPECT_EQ(result.fault, JIT_OBJECTS_NUMBER);
	EXPECT_NAME(CODE, 299, "a");
	EXPECT_NAME(CODE, 300, "none");
	made_objects_begin(&file, 100);
	made_objects_add(&file, CODE, 0x10, "a");
	made_objects_kind(&file, JIT_OBJECTS_GONE, 0);
	parse();
	EXPECT_EQ(result.fault, JIT_OBJECTS_NUMBER);
	EXPECT_NAME(CODE, 300, "a");
}

/* --- looks at this process */

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

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(relocatable),
		TAP_TEST(absolute),
		TAP_TEST(other_symbols),
		TAP_TEST(life),
		TAP_TEST(used_again),
		TAP_TEST(full),
		TAP_TEST(long_names),
		TAP_TEST(any_byte),
		TAP_TEST(records),
		TAP_TEST(gone_twice),
		TAP_TEST(look_at_nothing),
		TAP_TEST(look_at_some),
		TAP_TEST(look_at_another),
		TAP_TEST(look_without_room),
		TAP_TEST(look_at_lies),
		TAP_TEST(look_at_circle),
		TAP_TEST(look_at_nobody),
	};

	test_damages();
	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	jit_table_free(&table);
	close(objects_fd);
	return tap_done();
}
