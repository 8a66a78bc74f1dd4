// SPDX-License-Identifier: GPL-2.0
/*
 * "sframe-unwind attach", announced code: the list in a process's memory, which may be
 * anything; here it is this process. And frames of functions in files that it maps.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tap.h"
#include "userspace/cli/attach/announced.h"
#include "userspace/cli/attach/clock.h"
#include "userspace/cli/attach/frame.h"
#include "userspace/cli/attach/symbol.h"

struct descriptor {
	uint32_t version;
	uint32_t action;
	uint64_t relevant;
	uint64_t first;
};

struct entry {
	uint64_t next;
	uint64_t before;
	uint64_t object;
	uint64_t size;
};

/* Found by its name: the linker exports it. */
struct descriptor __jit_debug_descriptor;

#define MOST (ANNOUNCED_MAX_ENTRIES + 1)

static struct entry entries[MOST];
static int memory;
static unsigned int nr_told, stop_after;
static struct announced last;

static uint64_t address_of(const void *at)
{
	return (uintptr_t)at;
}

/* Make a list of @nr entries. */
static void make_list(unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++)
		entries[i] = (struct entry) {
			.next = i + 1 < nr ? address_of(&entries[i + 1]) : 0,
			.before = i ? address_of(&entries[i - 1]) : 0,
			.object = 0x1000 + i,
			.size = i,
		};
	__jit_debug_descriptor = (struct descriptor) {
		.version = 1,
		.first = nr ? address_of(&entries[0]) : 0,
	};
}

static bool tell(void *data, const struct announced *announced)
{
	(void)data;
	nr_told++;
	last = *announced;
	return nr_told != stop_after;
}

static int read_at(uint64_t descriptor, uint64_t ends_at)
{
	nr_told = 0;
	return announced_list(memory, descriptor, ends_at, tell, NULL);
}

static int read_list(void)
{
	return read_at(address_of(&__jit_debug_descriptor), UINT64_MAX);
}

static void lists(void)
{
	make_list(0);
	EXPECT_EQ(read_list(), 0);
	EXPECT_EQ(nr_told, 0);
	make_list(1000);
	EXPECT_EQ(read_list(), 0);
	EXPECT_EQ(nr_told, 1000);
	EXPECT_EQ(last.entry, address_of(&entries[999]));
	EXPECT_EQ(last.object, 0x1000 + 999);
	EXPECT_EQ(last.size, 999);
	stop_after = 10;
	EXPECT_EQ(read_list(), 0);
	EXPECT_EQ(nr_told, 10);
	stop_after = 0;
	make_list(ANNOUNCED_MAX_ENTRIES);
	EXPECT_EQ(read_list(), 0);
	EXPECT_EQ(nr_told, ANNOUNCED_MAX_ENTRIES);
}

static void too_many(void)
{
	make_list(MOST);
	EXPECT_EQ(read_list(), -EAGAIN);
	EXPECT_EQ(nr_told, ANNOUNCED_MAX_ENTRIES);
}

static void no_list(void)
{
	make_list(3);
	__jit_debug_descriptor.version = 0;
	EXPECT_EQ(read_list(), -EINVAL);
	__jit_debug_descriptor.version = 2;
	EXPECT_EQ(read_list(), -EINVAL);
	EXPECT_EQ(nr_told, 0);
}

static void circles(void)
{
	for (unsigned int to = 0; to < 10; to++) {
		make_list(10);
		entries[9].next = address_of(&entries[to]);
		EXPECT_EQ(read_list(), -EAGAIN);
		EXPECT_EQ(nr_told, 10);
	}
	/* One that is closed in both directions. */
	make_list(10);
	entries[9].next = address_of(&entries[0]);
	entries[0].before = address_of(&entries[9]);
	EXPECT_EQ(read_list(), -EAGAIN);
	EXPECT_EQ(nr_told, 0);
	make_list(1);
	entries[0].next = address_of(&entries[0]);
	EXPECT_EQ(read_list(), -EAGAIN);
	EXPECT_EQ(nr_told, 1);
	/* Into itself: the descriptor as its own entry. */
	make_list(1);
	__jit_debug_descriptor.first = address_of(&__jit_debug_descriptor);
	EXPECT(read_list() < 0);
}

static void being_changed(void)
{
	/* Entry 5 is taken out: only one of its neighbours has been changed. */
	make_list(10);
	entries[4].next = address_of(&entries[6]);
	EXPECT_EQ(read_list(), -EAGAIN);
	EXPECT_EQ(nr_told, 5);
	make_list(10);
	entries[0].before = 1;
	EXPECT_EQ(read_list(), -EAGAIN);
	EXPECT_EQ(nr_told, 0);
}

static void unreadable(void)
{
	static const uint64_t nowhere[] = {
		8, 4095, 1ULL << 47, 1ULL << 62, 1ULL << 63, INT64_MAX,
		INT64_MAX - 31, UINT64_MAX, UINT64_MAX - 31, 0xffffffffff600000,
	};

	for (size_t i = 0; i < sizeof(nowhere) / sizeof(nowhere[0]); i++) {
		make_list(3);
		entries[2].next = nowhere[i];
		EXPECT_EQ(read_list(), -EFAULT);
		EXPECT_EQ(nr_told, 3);
		__jit_debug_descriptor.first = nowhere[i];
		EXPECT_EQ(read_list(), -EFAULT);
		EXPECT_EQ(read_at(nowhere[i], UINT64_MAX), -EFAULT);
	}
}

/* Sizes and addresses of objects are not judged here, and nothing is added to them. */
static void any_object(void)
{
	make_list(2);
	entries[1].object = UINT64_MAX;
	entries[1].size = 1ULL << 63;
	EXPECT_EQ(read_list(), 0);
	EXPECT_EQ(last.object, -1);
	EXPECT_EQ(last.size, INT64_MIN);
}

static void time_is_over(void)
{
	make_list(1000);
	EXPECT_EQ(read_at(address_of(&__jit_debug_descriptor), now_ns()), -ETIME);
	EXPECT_EQ(nr_told, 0);
}

/* --- the descriptor */

struct file {
	uint64_t base;
	unsigned int number;
};

/* The dynamic linker's list begins with this program. */
static int note_file(struct dl_phdr_info *info, size_t size, void *data)
{
	struct file *file = data;

	(void)size;
	if (file->number--)
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD) {
			file->base = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
			return 1;
		}
	return 1;
}

static uint64_t base_of(unsigned int number)
{
	struct file file = { .number = number };

	dl_iterate_phdr(note_file, &file);
	return file.base;
}

static void found_by_name(void)
{
	EXPECT_EQ(announced_find(memory, base_of(0)),
		  address_of(&__jit_debug_descriptor));
}

static void not_found(void)
{
	EXPECT_EQ(announced_find(memory, base_of(1)), 0);
	EXPECT_EQ(announced_find(memory, base_of(2)), 0);
	EXPECT_EQ(announced_find(memory, getauxval(AT_SYSINFO_EHDR)), 0);
	EXPECT_EQ(announced_find(memory, address_of(entries)), 0);
	EXPECT_EQ(announced_find(memory, 0), 0);
	EXPECT_EQ(announced_find(memory, UINT64_MAX), 0);
	EXPECT_EQ(announced_find(memory, INT64_MAX - 10), 0);
}

/*
 * A copy of this program's first segment, with random changes: what is found, if anything,
 * is not wrong by a read outside of the buffers.
 */
static void broken_files(void)
{
	const uint64_t base = base_of(0);
	Elf64_Ehdr header;
	Elf64_Phdr segment;
	unsigned char *copy;
	size_t size, nr_found = 0;

	memcpy(&header, (void *)(uintptr_t)base, sizeof(header));
	memcpy(&segment, (char *)(uintptr_t)base + header.e_phoff, sizeof(segment));
	size = 65536;
	copy = mmap(NULL, size, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	EXPECT(copy != MAP_FAILED);
	srand(1);
	for (int i = 0; i < 20000; i++) {
		memcpy(copy, (void *)(uintptr_t)base, 4096);
		for (int j = 0; j <= i % 3; j++)
			copy[rand() % 1024] = rand() % 3 ? rand() : 0xff;
		nr_found += !!announced_find(memory, address_of(copy));
		frame_is_kept(memory, address_of(copy), "interpreter_endbr");
	}
	EXPECT(nr_found < 20000);
	munmap(copy, size);
}

/* --- frames */

/* A function of @size bytes that begins with @code; the linker exports it. */
#define FUNCTION(name, code, size)					\
	asm(".pushsection .text\n"					\
	    ".globl " name "\n"						\
	    ".type " name ", @function\n"				\
	    name ": .byte " code "\n"					\
	    ".org " name " + " size ", 0xcc\n"				\
	    ".size " name ", " size "\n"				\
	    ".popsection")

#define ENDBR	"0xf3, 0x0f, 0x1e, 0xfa"
#define PUSH	"0x55"
#define MOVE	"0x48, 0x89, 0xe5"

FUNCTION("interpreter_frame", PUSH ", " MOVE, "4096");
FUNCTION("interpreter_endbr", ENDBR ", " PUSH ", " MOVE, "5000");
FUNCTION("interpreter_small", ENDBR ", " PUSH ", " MOVE, "4095");
FUNCTION("interpreter_without", ENDBR ", " PUSH ", 0x53", "5000");
FUNCTION("interpreter_late", PUSH ", 0x53, " MOVE, "5000");
FUNCTION("interpreter_twice", ENDBR ", " ENDBR ", " PUSH ", " MOVE, "5000");
FUNCTION("interpreter_probed", "0xcc, 0x0f, 0x1e, 0xfa, " PUSH ", " MOVE, "5000");
FUNCTION("interpreter_probed_push", "0xcc, " MOVE, "5000");
FUNCTION("interpreter_probed_later", ENDBR ", 0xcc, " MOVE, "5000");
FUNCTION("interpreter_probed_without", "0xcc, 0x0f, 0x1e, 0xfa, " PUSH ", 0x53", "5000");
FUNCTION("interpreter_padding", "0xcc, 0xcc, 0xcc, 0xcc, 0xcc", "5000");

uint64_t interpreter_data[1024] = { 0xe5894855 };

static bool is_kept(const char *function)
{
	return frame_is_kept(memory, base_of(0), function);
}

static void frames(void)
{
	EXPECT(is_kept("interpreter_frame"));
	EXPECT(is_kept("interpreter_endbr"));
	EXPECT(!is_kept("interpreter_small"));
	EXPECT(!is_kept("interpreter_without"));
	EXPECT(!is_kept("interpreter_late"));
	EXPECT(!is_kept("interpreter_twice"));
	EXPECT(!is_kept("interpreter_data"));
	EXPECT(!is_kept("interpreter_none"));
	/* Who probes the function has a breakpoint there, in the memory of each process. */
	EXPECT(is_kept("interpreter_probed"));
	EXPECT(is_kept("interpreter_probed_push"));
	EXPECT(is_kept("interpreter_probed_later"));
	EXPECT(!is_kept("interpreter_probed_without"));
	EXPECT(!is_kept("interpreter_padding"));
	EXPECT(!is_kept(""));
}

static void frames_elsewhere(void)
{
	EXPECT(!frame_is_kept(memory, base_of(1), "interpreter_frame"));
	EXPECT(!frame_is_kept(memory, address_of(entries), "interpreter_frame"));
	EXPECT(!frame_is_kept(memory, 0, "interpreter_frame"));
	EXPECT(!frame_is_kept(memory, UINT64_MAX, "interpreter_frame"));
}

/* A name that is too long is not found, whatever has it. */
static void longest_names(void)
{
	char name[SYMBOL_MAX_NAME + 2];
	struct symbol symbol;

	memset(name, 'x', sizeof(name));
	name[SYMBOL_MAX_NAME + 1] = '\0';
	EXPECT(!symbol_find(memory, base_of(0), name, STT_FUNC, &symbol));
	name[SYMBOL_MAX_NAME] = '\0';
	EXPECT(!symbol_find(memory, base_of(0), name, STT_FUNC, &symbol));
	EXPECT(symbol_find(memory, base_of(0), "interpreter_data", STT_OBJECT, &symbol));
	EXPECT_EQ(symbol.address, address_of(interpreter_data));
	EXPECT_EQ(symbol.size, sizeof(interpreter_data));
}

int main(void)
{
	memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	if (memory < 0) {
		tap_skip("announced code", "no /proc/self/mem");
		return tap_done();
	}
	lists();
	tap_case("lists of 0 to 65,536 entries");
	too_many();
	tap_case("one entry too many");
	no_list();
	tap_case("a version that is not known");
	circles();
	tap_case("lists in a circle");
	being_changed();
	tap_case("a list that is being changed");
	unreadable();
	tap_case("entries that cannot be read");
	any_object();
	tap_case("objects of any size");
	time_is_over();
	tap_case("the time is over");
	found_by_name();
	tap_case("the descriptor is found");
	not_found();
	tap_case("files without a descriptor");
	broken_files();
	tap_case("20,000 broken files");
	frames();
	tap_case("functions that keep the frame pointer");
	frames_elsewhere();
	tap_case("files without the function");
	longest_names();
	tap_case("long names of symbols");
	return tap_done();
}
