// SPDX-License-Identifier: GPL-2.0
/*
 * Objects that a process announces to debuggers: the functions that their symbols tell, with
 * their lives, of files that may have anything.
 */
#include <elf.h>
#include <stdlib.h>

#include "jit_objects_scene.h"
#include "userspace/cli/attach/announced.h"
#include "userspace/cli/attach/clock.h"

#define FIRST	(8 + sizeof(struct jit_objects_record))	/* offset of the first object */

static struct made_objects file;

static void relocatable(void)
{
	struct made_object object;

	made_object(&object, CODE, 0x40, "php_loop");
	object.symbols[1].st_value = 0x10;
	object.symbols[1].st_size = 0x20;
	made_objects_begin(&file, 100);
	made_objects_put(&file, &object, sizeof(object));
	parse(&file);
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
	parse(&file);
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
	parse(&file);
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
	parse(&file);
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
	parse(&file);
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
	parse(&file);
	EXPECT_EQ(result.fault, JIT_OBJECTS_LEFT);
	EXPECT_EQ(result.nr_faults, 1);
	EXPECT_NAME(CODE, 199, "old");
	EXPECT_NAME(CODE, 200, "none");
}

/* The same if a look is not sure of what was made, and what is gone. */
static void partial(void)
{
	made_objects_begin(&file, 100);
	made_objects_add(&file, CODE, 0x20, "old");
	made_objects_partial(&file, 200, 300);
	made_objects_kind(&file, JIT_OBJECTS_GONE, 0);
	made_objects_add(&file, CODE + 0x40, 0x20, "new");
	made_objects_look(&file, 400, 500);
	made_objects_kind(&file, JIT_OBJECTS_GONE, 1);
	made_objects_add(&file, CODE, 0x20, "later");
	parse(&file);
	EXPECT_EQ(result.nr_faults, 0);
	EXPECT_NAME(CODE, 199, "old");
	EXPECT_NAME(CODE, 200, "none");
	EXPECT_NAME(CODE, 399, "none");
	EXPECT_NAME(CODE, 400, "later");
	EXPECT_NAME(CODE + 0x40, 299, "none");
	EXPECT_NAME(CODE + 0x40, 300, "new");
	EXPECT_NAME(CODE + 0x40, 499, "new");
	EXPECT_NAME(CODE + 0x40, 500, "none");
}

/* Nothing is known any more, until there is another look. */
static void end(void)
{
	struct jit_objects_record record = { .kind = JIT_OBJECTS_END, .time = 400 };

	made_objects_begin(&file, 100);
	made_objects_add(&file, CODE, 0x20, "old");
	made_objects_add(&file, CODE + 0x40, 0x20, "gone");
	made_objects_look(&file, 200, 300);
	made_objects_kind(&file, JIT_OBJECTS_GONE, 1);
	made_objects_bytes(&file, &record, sizeof(record));
	made_objects_look(&file, 400, 500);
	made_objects_add(&file, CODE, 0x20, "new");
	parse(&file);
	EXPECT_EQ(result.nr_faults, 0);
	EXPECT_NAME(CODE, 399, "old");
	EXPECT_NAME(CODE, 400, "new");
	EXPECT_NAME(CODE + 0x40, 299, "gone");
	EXPECT_NAME(CODE + 0x40, 300, "none");
	/* It may be there twice, and at the end. */
	made_objects_bytes(&file, &record, sizeof(record));
	made_objects_bytes(&file, &record, sizeof(record));
	parse(&file);
	EXPECT_EQ(result.nr_faults, 0);
	EXPECT_NAME(CODE, 500, "none");
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
		parse(&file);
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
	parse(&file);
	EXPECT_EQ(result.fault, JIT_OBJECT_STRING);
	large.name[sizeof(large.name) - 1] = '\0';
	made_objects_begin(&file, 100);
	made_objects_put(&file, &large, sizeof(large));
	parse(&file);
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
		parse(&file);
	}
	EXPECT(table.nr <= 1);
}

static void expect_fault(enum jit_fault fault, uint64_t offset)
{
	parse(&file);
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
	parse(&file);
	EXPECT_EQ(result.fault, JIT_OBJECTS_NUMBER);
	EXPECT_NAME(CODE, 299, "a");
	EXPECT_NAME(CODE, 300, "none");
	made_objects_begin(&file, 100);
	made_objects_add(&file, CODE, 0x10, "a");
	made_objects_kind(&file, JIT_OBJECTS_GONE, 0);
	parse(&file);
	EXPECT_EQ(result.fault, JIT_OBJECTS_NUMBER);
	EXPECT_NAME(CODE, 300, "a");
}

/* However often all has ended, it takes time only once. */
static void many_ends(void)
{
	enum { OBJECTS = 20000, ENDS = 200000 };
	const struct jit_objects_record end = { .kind = JIT_OBJECTS_END, .time = 400 };
	FILE *stream = tmpfile();
	uint64_t took;

	made_objects_begin(&file, 100);
	fwrite(file.bytes, 1, file.size, stream);
	file.size = 0;
	made_objects_add(&file, CODE, 0x10, "a");
	for (unsigned int i = 0; i < OBJECTS; i++)
		fwrite(file.bytes, 1, file.size, stream);
	for (unsigned int i = 0; i < ENDS; i++)
		fwrite(&end, sizeof(end), 1, stream);
	fflush(stream);
	took = cpu_ns();
	parse_fd(fileno(stream), ftell(stream));
	took = cpu_ns() - took;
	fclose(stream);
	EXPECT_EQ(result.nr_faults, 0);
	EXPECT_EQ(table.nr, OBJECTS);
	EXPECT_NAME(CODE, 399, "a");
	EXPECT_NAME(CODE, 400, "none");
	if (took > 2 * SECOND)
		tap_fail("%llu ms", (unsigned long long)(took / MS));
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
		TAP_TEST(partial),
		TAP_TEST(end),
		TAP_TEST(long_names),
		TAP_TEST(any_byte),
		TAP_TEST(records),
		TAP_TEST(gone_twice),
		TAP_TEST(many_ends),
	};

	test_damages();
	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	jit_table_free(&table);
	return tap_done();
}
