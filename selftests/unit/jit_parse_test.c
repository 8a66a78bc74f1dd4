// SPDX-License-Identifier: GPL-2.0
/*
 * What hostile and broken perf maps and jitdumps are refused for, and what of them is used
 * nevertheless.
 */
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "jit_dump_made.h"
#include "tap.h"
#include "userspace/cli/profile/jit_parse.h"

/* What was told, as a text. */
static char told[4096];
static char *names[64];
static unsigned int nr_names;

static void tell(const char *format, ...)
	__attribute__((format(printf, 1, 2)));

static void tell(const char *format, ...)
{
	const size_t length = strlen(told);
	va_list args;

	va_start(args, format);
	vsnprintf(told + length, sizeof(told) - length, format, args);
	va_end(args);
}

static bool make(void *data, const struct jit_made *made)
{
	const char *name = made->name ? made->name : names[made->of];

	(void)data;
	if (nr_names < 64)
		names[nr_names] = strdup(name);
	nr_names++;
	tell("%.8s%s@%llx+%llx ", name, strlen(name) > 8 ? ".." : "",
	     (unsigned long long)made->start, (unsigned long long)made->size);
	return true;
}

static bool end(void *data, uint32_t number, uint64_t time)
{
	(void)data;
	tell("-%u:%llu ", number, (unsigned long long)time);
	return true;
}

static bool end_all(void *data, uint64_t time)
{
	(void)data;
	tell("-all:%llu ", (unsigned long long)time);
	return true;
}

static const struct jit_ops ops = { make, end, end_all };

static int file_of(const void *bytes, size_t size)
{
	const int fd = memfd_create("jit", MFD_CLOEXEC);

	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
		exit(1);
	return fd;
}

static struct jit_result parse(int fd, size_t size, bool is_dump)
{
	struct jit_result result;

	told[0] = '\0';
	for (unsigned int i = 0; i < nr_names && i < 64; i++)
		free(names[i]);
	nr_names = 0;
	if (is_dump)
		jit_parse_dump(fd, size, MADE_PID, &ops, NULL, &result);
	else
		jit_parse_map(fd, size, &ops, NULL, &result);
	close(fd);
	return result;
}

static void check(const struct jit_result *result, enum jit_fault fault,
		  uint64_t offset, uint32_t nr, const char *used)
{
	if (result->fault != fault || result->offset != offset ||
	    result->nr_faults != nr)
		tap_fail("%s at %llu, %u faults; not %s at %llu, %u",
			 jit_fault_text(result->fault),
			 (unsigned long long)result->offset, result->nr_faults,
			 jit_fault_text(fault), (unsigned long long)offset, nr);
	if (strcmp(told, used))
		tap_fail("told \"%s\", not \"%s\"", told, used);
}

/* --- maps */

static const struct {
	const char *what;
	const char *text;
	enum jit_fault fault;
	unsigned int offset;
	unsigned int nr;
	const char *used;
} maps[] = {
	{ "no line", "", JIT_SOUND, 0, 0, "" },
	{ "two lines", "1000 10 a\n2000 20 b c\n", JIT_SOUND, 0, 0, "a@1000+10 b c@2000+20 " },
	{ "0x and capitals", "0x1000 0X1F A\n", JIT_SOUND, 0, 0, "A@1000+1f " },
	{ "tabs", "1000\t10\ta\n", JIT_SOUND, 0, 0, "a@1000+10 " },
	{ "blanks in front", " 1000 10 a\n", JIT_SOUND, 0, 0, "a@1000+10 " },
	{ "a last line that is being written", "1000 10 a\n2000 20 b", JIT_SOUND, 0, 0, "a@1000+10 " },
	{ "half a number at the end", "1000 10 a\n20", JIT_SOUND, 0, 0, "a@1000+10 " },
	{ "only a line that is being written", "1000 10 a", JIT_SOUND, 0, 0, "" },
	{ "the last address", "fffffffffffff0 10 a\n", JIT_SOUND, 0, 0, "a@fffffffffffff0+10 " },
	{ "an empty line", "1000 10 a\n\n2000 10 b\n", JIT_NO_START, 10, 1, "a@1000+10 b@2000+10 " },
	{ "a line without a number", "main\n2000 10 b\n", JIT_NO_START, 0, 1, "b@2000+10 " },
	{ "a negative address", "-1000 10 a\n", JIT_NO_START, 0, 1, "" },
	{ "letters in an address", "10g0 10 a\n", JIT_NO_START, 0, 1, "" },
	{ "only 0x", "0x 10 a\n", JIT_NO_START, 0, 1, "" },
	{ "a large address", "10000000000000000 10 a\n", JIT_LARGE_START, 0, 1, "" },
	{ "an address of 200 digits", "1000000000000000000000000000000000000000000000000000000000000000000000"
	  "000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
	  "0000000000000000000000000000000000000 10 a\n", JIT_LARGE_START, 0, 1, "" },
	{ "only an address", "1000\n2000 10 b\n", JIT_NO_LENGTH, 0, 1, "b@2000+10 " },
	{ "no size", "1000 name\n", JIT_NO_LENGTH, 0, 1, "" },
	{ "a negative size", "1000 -10 a\n", JIT_NO_LENGTH, 0, 1, "" },
	{ "letters in a size", "1000 1z a\n", JIT_NO_LENGTH, 0, 1, "" },
	{ "a large size", "1000 fffffffffffffffff a\n", JIT_LARGE_LENGTH, 0, 1, "" },
	{ "size 0", "1000 0 a\n2000 10 b\n", JIT_NO_SIZE, 0, 1, "b@2000+10 " },
	{ "no name", "1000 10\n", JIT_NO_NAME, 0, 1, "" },
	{ "a blank for a name", "1000 10 \n", JIT_NO_NAME, 0, 1, "" },
	{ "behind the last address", "fffffffffffffff0 20 a\n", JIT_WRAPS, 0, 1, "" },
	{ "the largest size", "1000 ffffffffffffffff a\n", JIT_WRAPS, 0, 1, "" },
	{ "all of user space and more", "0 ffffffffffffffff a\n", JIT_IN_KERNEL, 0, 1, "" },
	{ "the kernel's", "ffffffff81000000 10 _text\n", JIT_IN_KERNEL, 0, 1, "" },
	{ "into the kernel's", "fffffffffffff0 11 a\n", JIT_IN_KERNEL, 0, 1, "" },
	{ "a name with a newline", "1000 10 a\nz\n2000 10 c\n", JIT_NO_START, 10, 1, "a@1000+10 c@2000+10 " },
	{ "escape sequences in a name stay for the printer", "1000 10 \033[2J\n", JIT_SOUND, 0, 0, "\033[2J@1000+10 " },
	{ "an ELF file", "\177ELF\002\001\001\n", JIT_NO_START, 0, 1, "" },
	{ "faults of several kinds", "x\n1000 0 a\n2000 10 b\n3000\n", JIT_NO_START, 0, 3, "b@2000+10 " },
};

static void test_maps(void)
{
	for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++) {
		const size_t size = strlen(maps[i].text);
		const struct jit_result result =
			parse(file_of(maps[i].text, size), size, false);

		check(&result, maps[i].fault, maps[i].offset, maps[i].nr,
		      maps[i].used);
		tap_case("map: %s", maps[i].what);
	}
}

static void check_map(const char *what, const char *bytes, size_t size,
		      enum jit_fault fault, uint64_t offset, const char *used)
{
	const struct jit_result result = parse(file_of(bytes, size), size, false);

	check(&result, fault, offset, !!fault, used);
	tap_case("map: %s", what);
}

static void test_long_lines(void)
{
	const size_t size = 3 * JIT_LINE_MAX;
	char *bytes = malloc(size);
	struct jit_result result;

	memset(bytes, 'x', size);
	memcpy(bytes, "1000 10 a\n2000 10 ", 18);
	check_map("a last line that is long, and being written", bytes, size,
		  JIT_LONG_LINE, 10, "a@1000+10 ");
	memcpy(bytes + size - 11, "\n3000 10 c\n", 11);
	check_map("a long line between others", bytes, size, JIT_LONG_LINE, 10,
		  "a@1000+10 c@3000+10 ");
	bytes[10 + JIT_LINE_MAX - 1] = '\n';
	memcpy(bytes + 10 + JIT_LINE_MAX, "4000 10 ", 8);
	bytes[10 + JIT_LINE_MAX + 500] = '\n';
	memcpy(bytes + 10 + JIT_LINE_MAX + 501, "\n", 1);
	check_map("the longest line", bytes, 10 + JIT_LINE_MAX + 501, JIT_SOUND,
		  0, "a@1000+10 xxxxxxxx..@2000+10 xxxxxxxx..@4000+10 ");
	check_map("a 0 in a line", "1000 10 a\0b\n2000 10 c\n", 22,
		  JIT_NUL_IN_LINE, 0, "c@2000+10 ");
	memset(bytes, 0, 4096);
	check_map("zeroes", bytes, 4096, JIT_SOUND, 0, "");
	result = parse(file_of("1000 10 a\n", 10), 5000, false);
	check(&result, JIT_SOUND, 0, 0, "a@1000+10 ");
	tap_case("map: a file that became shorter");
	result = parse(open("/proc/self/mem", O_RDONLY), 5000, false);
	check(&result, JIT_UNREADABLE, 0, 1, "");
	tap_case("map: a file that cannot be read");
	free(bytes);
}

static void test_names_are_cut(void)
{
	char bytes[2 * JIT_NAME_SIZE];
	struct jit_result result;

	memset(bytes, 'x', sizeof(bytes));
	memcpy(bytes, "1000 10 ", 8);
	bytes[sizeof(bytes) - 1] = '\n';
	result = parse(file_of(bytes, sizeof(bytes)), sizeof(bytes), false);
	EXPECT_EQ(result.fault, JIT_SOUND);
	EXPECT_EQ(strlen(names[0]), JIT_NAME_SIZE - 1);
}

static void test_too_many(void)
{
	const size_t size = (JIT_FUNCTIONS_MAX + 5) * 9;
	char *bytes = malloc(size);
	struct jit_result result;

	for (size_t i = 0; i < size; i += 9)
		memcpy(bytes + i, "1000 1 a\n", 9);
	result = parse(file_of(bytes, size), size, false);
	free(bytes);
	EXPECT_EQ(nr_names, JIT_FUNCTIONS_MAX);
	EXPECT_EQ(result.fault, JIT_TOO_MANY);
	EXPECT_EQ(result.offset, JIT_FUNCTIONS_MAX * 9);
}

/* --- jitdumps */

static struct made_dump dump;

/* Two functions at 40 and 102, each of 62 bytes; and what follows at 164. */
static void begin(void)
{
	made_dump_begin(&dump);
	made_dump_load(&dump, 10, 0x1000, 0x10, "a");
	made_dump_load(&dump, 20, 0x2000, 0x10, "b");
}

#define SECOND	102u
#define END	164u
#define BOTH	"a@1000+10 b@2000+10 "
#define FIRST	"a@1000+10 "

static void put_u32(size_t offset, uint32_t value)
{
	memcpy(dump.bytes + offset, &value, sizeof(value));
}

static void put_u64(size_t offset, uint64_t value)
{
	memcpy(dump.bytes + offset, &value, sizeof(value));
}

/* Change one value of a sound jitdump of two functions. */
static const struct {
	const char *what;
	unsigned int at;
	unsigned int bytes;
	uint64_t value;
	enum jit_fault fault;
	unsigned int offset;
	const char *used;
} values[] = {
	{ "sound", 0, 0, 0, JIT_SOUND, 0, BOTH },
	{ "magic", 0, 4, 0x4A695445, JIT_MAGIC, 0, "" },
	{ "other byte order", 0, 4, 0x4454694A, JIT_BYTE_ORDER, 0, "" },
	{ "version 0", 4, 4, 0, JIT_VERSION, 0, "" },
	{ "version 2", 4, 4, 2, JIT_VERSION, 0, "" },
	{ "header of 0 bytes", 8, 4, 0, JIT_HEADER_SIZE, 0, "" },
	{ "header of 39 bytes", 8, 4, 39, JIT_HEADER_SIZE, 0, "" },
	{ "header of 4 GiB", 8, 4, UINT32_MAX, JIT_HEADER_SIZE, 0, "" },
	{ "header behind the end", 8, 4, 165, JIT_HEADER_BEYOND, 0, "" },
	{ "header up to the end", 8, 4, END, JIT_SOUND, 0, "" },
	{ "header that ends in a record", 8, 4, 41, JIT_CUT, 41, "" },
	{ "machine 0", 12, 4, 0, JIT_MACHINE, 0, "" },
	{ "code of ARM", 12, 4, 183, JIT_MACHINE, 0, "" },
	{ "padding", 16, 4, 7, JIT_SOUND, 0, BOTH },
	{ "another process", 20, 4, 43, JIT_OTHER_PROCESS, 0, "" },
	{ "process 0, which is not told", 20, 4, 0, JIT_SOUND, 0, BOTH },
	{ "times of the CPU", 32, 8, 1, JIT_TSC, 0, "" },
	{ "unknown flags", 32, 8, 1ULL << 63, JIT_FLAGS, 0, "" },
	{ "record of 0 bytes", SECOND + 4, 4, 0, JIT_RECORD_SIZE, SECOND, FIRST },
	{ "record of 15 bytes", SECOND + 4, 4, 15, JIT_RECORD_SIZE, SECOND, FIRST },
	{ "record behind the end", SECOND + 4, 4, 63, JIT_CUT, SECOND, FIRST },
	{ "record of 4 GiB", SECOND + 4, 4, UINT32_MAX, JIT_CUT, SECOND, FIRST },
	{ "unknown kind", SECOND, 4, 5, JIT_UNKNOWN_RECORD, SECOND, FIRST },
	{ "kind of -1", SECOND, 4, UINT32_MAX, JIT_UNKNOWN_RECORD, SECOND, FIRST },
	{ "debug information", SECOND, 4, 2, JIT_SOUND, 0, FIRST },
	{ "unwinding information", SECOND, 4, 4, JIT_SOUND, 0, FIRST },
	{ "a move that is too short", SECOND, 4, 1, JIT_SHORT_MOVE, SECOND, FIRST },
	{ "the end", SECOND, 4, 3, JIT_SOUND, 0, FIRST "-all:20 " },
	{ "function without a name", SECOND + 56, 1, 0, JIT_NO_NAME, SECOND, FIRST },
	{ "function of 0 bytes", SECOND + 40, 8, 0, JIT_NO_SIZE, SECOND, FIRST },
	{ "function behind the last address", SECOND + 40, 8, UINT64_MAX, JIT_WRAPS, SECOND, FIRST },
	{ "function in the kernel", SECOND + 32, 8, 0xffffffff81000000, JIT_IN_KERNEL, SECOND, FIRST },
	{ "function up to the kernel", SECOND + 40, 8, 1ULL << 60, JIT_IN_KERNEL, SECOND, FIRST },
	{ "the first one is unknown", 40, 4, 9, JIT_UNKNOWN_RECORD, 40, "b@2000+10 " },
	{ "a record with the next one in it", 44, 4, 124, JIT_SOUND, 0, FIRST },
	{ "times that go back", SECOND + 8, 8, 1, JIT_SOUND, 0, BOTH },
	{ "the last time", SECOND + 8, 8, UINT64_MAX, JIT_SOUND, 0, BOTH },
};

static void test_values(void)
{
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		struct jit_result result;

		begin();
		memcpy(dump.bytes + values[i].at, &values[i].value,
		       values[i].bytes);
		result = parse(file_of(dump.bytes, dump.size), dump.size, true);
		check(&result, values[i].fault, values[i].offset,
		      !!values[i].fault, values[i].used);
		tap_case("jitdump: %s", values[i].what);
	}
}

static void check_dump(const char *what, enum jit_fault fault, uint64_t offset,
		       const char *used)
{
	const struct jit_result result =
		parse(file_of(dump.bytes, dump.size), dump.size, true);

	check(&result, fault, offset, !!fault, used);
	tap_case("jitdump: %s", what);
}

/* Wherever it ends, that is told, and what precedes is used. */
static void test_cut(void)
{
	begin();
	for (size_t size = 0; size < END; size++) {
		const struct jit_result result =
			parse(file_of(dump.bytes, size), size, true);

		check(&result, size < 40 ? JIT_NO_HEADER :
		      size == 40 || size == SECOND ? JIT_SOUND : JIT_CUT,
		      size < 40 || size == 40 || size == SECOND ? 0 :
		      size < SECOND ? 40 : SECOND,
		      size != 40 && size != SECOND,
		      size < SECOND ? "" : FIRST);
	}
	tap_case("jitdump: ends at each byte");
	for (size_t size = 0; size < END; size++) {
		const struct jit_result result =
			parse(file_of(dump.bytes, size), END, true);

		check(&result, size < 40 ? JIT_NO_HEADER : JIT_CUT,
		      size < 40 ? 0 : size < SECOND ? 40 : SECOND, 1,
		      size < SECOND ? "" : FIRST);
	}
	tap_case("jitdump: became shorter, to each size");
}

static void test_records(void)
{
	begin();
	made_dump_record(&dump, 0, 16, 30);
	check_dump("a function of only a header", JIT_SHORT_LOAD, END, BOTH);
	begin();
	made_dump_record(&dump, 0, 56, 30);
	for (unsigned int i = 0; i < 5; i++)
		made_dump_u64(&dump, 0x3000);
	check_dump("a function without room for a name", JIT_SHORT_LOAD, END,
		   BOTH);
	begin();
	put_u32(SECOND + 4, 57);
	dump.size = SECOND + 57;
	check_dump("a name that does not end", JIT_UNTERMINATED, SECOND, FIRST);
	begin();
	made_dump_move(&dump, 30, 0x1000, 0x3000, 0x20);
	made_dump_move(&dump, 40, 0x3000, 0x1000, 0x10);
	check_dump("moves", JIT_SOUND, 0,
		   BOTH "-0:30 a@3000+20 -2:40 a@1000+10 ");
	begin();
	made_dump_move(&dump, 30, 0x1008, 0x3000, 0x10);
	check_dump("a move from within a function", JIT_MOVES_NOTHING, END, BOTH);
	begin();
	made_dump_move(&dump, 30, 0x1000, 0x3000, 0x10);
	made_dump_move(&dump, 40, 0x1000, 0x4000, 0x10);
	check_dump("a move of what was moved", JIT_MOVES_NOTHING, END + 64,
		   BOTH "-0:30 a@3000+10 ");
	begin();
	made_dump_move(&dump, 30, 0x1000, 0x3000, 0);
	check_dump("a move of nothing", JIT_NO_SIZE, END, BOTH);
	begin();
	made_dump_move(&dump, 30, 0x1000, UINT64_MAX - 3, 0x10);
	check_dump("a move behind the last address", JIT_WRAPS, END, BOTH);
	begin();
	made_dump_move(&dump, 30, 0x1000, 1ULL << 56, 0x10);
	check_dump("a move to the kernel", JIT_IN_KERNEL, END, BOTH);
	begin();
	put_u64(SECOND + 24, 0);
	check_dump("the second address does not count", JIT_SOUND, 0, BOTH);
	begin();
	memcpy(dump.bytes, "1000 10 a\n", 10);
	check_dump("a map", JIT_MAGIC, 0, "");
}

/* Each fault has words of its own. */
static void test_texts(void)
{
	for (unsigned int i = 0; i < NR_JIT_FAULTS; i++)
		for (unsigned int j = 0; j < i; j++)
			EXPECT(strcmp(jit_fault_text(i), jit_fault_text(j)));
	EXPECT(jit_fault_text(NR_JIT_FAULTS));
	EXPECT(jit_fault_text(UINT32_MAX));
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(test_names_are_cut),
		TAP_TEST(test_too_many),
		TAP_TEST(test_texts),
	};

	test_maps();
	test_long_lines();
	test_values();
	test_cut();
	test_records();
	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	return tap_done();
}
