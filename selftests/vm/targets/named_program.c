// SPDX-License-Identifier: GPL-2.0
/*
 * A runtime that names the code that it makes, in a perf map, in a jitdump, or by the objects
 * that it announces to debuggers, and uses an address again.
 *
 * usage: named_program map|dump|objects FOLDER SECONDS
 *   map      the name is "mapped"
 *   dump     at one address, first "first_life", then "second_life"; then the latter is moved,
 *            and "third_life" is where it was
 *   objects  at one address, first "first_life", then "second_life"
 *   FOLDER   of the jitdump; the map is always in /tmp
 *   SECONDS  for each name
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "announced_object.h"

/* Counts its argument down to 0, with a frame pointer. */
static const unsigned char code[] = {
	0x55,			/* push %rbp */
	0x48, 0x89, 0xe5,	/* mov %rsp, %rbp */
	0x48, 0xff, 0xcf,	/* dec %rdi */
	0x75, 0xfb,		/* jnz to the former */
	0x5d,			/* pop %rbp */
	0xc3,			/* ret */
};

#define ROUNDS	1000000L

static int dump = -1;

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000ULL + time.tv_nsec;
}

static void put(const void *bytes, size_t size)
{
	if (write(dump, bytes, size) != (ssize_t)size)
		exit(1);
}

static void begin_dump(const char *folder)
{
	const struct {
		uint32_t words[6];
		uint64_t time;
		uint64_t flags;
	} header = {
		{ 0x4A695444, 1, 40, 62, 0, getpid() }, now(), 0,
	};
	char path[256];

	snprintf(path, sizeof(path), "%s/jit-%d.dump", folder, getpid());
	dump = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (dump < 0)
		exit(1);
	put(&header, sizeof(header));
	/* The mark for who records. */
	if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, dump, 0) ==
	    MAP_FAILED)
		exit(1);
}

static void tell_load(const void *at, const char *name)
{
	const uint64_t address = (uintptr_t)at;
	const struct {
		uint32_t id, size;
		uint64_t time;
		uint32_t pid, tid;
		uint64_t place, address, size_of_code, index;
	} load = {
		.id = 0,
		.size = sizeof(load) + strlen(name) + 1 + sizeof(code),
		.time = now(),
		.pid = getpid(),
		.tid = getpid(),
		.place = address,
		.address = address,
		.size_of_code = sizeof(code),
	};

	put(&load, sizeof(load));
	put(name, strlen(name) + 1);
	put(code, sizeof(code));
}

static void tell_move(const void *from, const void *to)
{
	const struct {
		uint32_t id, size;
		uint64_t time;
		uint32_t pid, tid;
		uint64_t place, from, to, size_of_code, index;
	} move = {
		.id = 1,
		.size = sizeof(move),
		.time = now(),
		.pid = getpid(),
		.tid = getpid(),
		.place = (uintptr_t)to,
		.from = (uintptr_t)from,
		.to = (uintptr_t)to,
		.size_of_code = sizeof(code),
	};

	put(&move, sizeof(move));
}

/* Found by its name: the linker exports it. */
struct {
	uint32_t version;
	uint32_t action;
	uint64_t relevant;
	uint64_t first;
} __jit_debug_descriptor = { .version = 1 };

/* Announce the function instead of all others. */
static void announce(const void *at, const char *name)
{
	struct {
		uint64_t next, before, place, size;
		struct announced_object object;
	} *entry = calloc(1, sizeof(*entry));
	Elf64_Sym *symbol = &entry->object.symbols[1];
	char *to = entry->object.names + OBJECT_MORE_NAMES;

	make_announced_object(&entry->object, (uintptr_t)at, code, sizeof(code), 8);
	symbol->st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
	symbol->st_size = sizeof(code);
	symbol->st_name = OBJECT_MORE_NAMES;
	snprintf(to, sizeof(entry->object.names) - OBJECT_MORE_NAMES, "%s", name);
	entry->place = (uintptr_t)&entry->object;
	entry->size = sizeof(entry->object);
	__jit_debug_descriptor.first = (uintptr_t)entry;
}

static void run(void *at, double seconds)
{
	const uint64_t end = now() + seconds * 1e9;

	while (now() < end)
		((void (*)(long))at)(ROUNDS);
}

static void write_map(const void *at)
{
	char path[64];
	FILE *map;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	map = fopen(path, "w");
	if (!map || fprintf(map, "%lx %zx mapped\n", (unsigned long)at,
			    sizeof(code)) < 0 || fclose(map))
		exit(1);
}

int main(int argc, char **argv)
{
	const double seconds = argc == 4 ? atof(argv[3]) : 0;
	unsigned char *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (argc != 4 || at == MAP_FAILED)
		return 2;
	memcpy(at, code, sizeof(code));
	memcpy(at + 256, code, sizeof(code));
	if (!strcmp(argv[1], "map")) {
		write_map(at);
		run(at, seconds);
		return 0;
	}
	if (!strcmp(argv[1], "objects")) {
		announce(at, "first_life");
		run(at, seconds);
		announce(at, "second_life");
		run(at, seconds);
		return 0;
	}
	begin_dump(argv[2]);
	tell_load(at, "first_life");
	run(at, seconds);
	tell_load(at, "second_life");
	run(at, seconds);
	tell_move(at, at + 256);
	tell_load(at, "third_life");
	run(at + 256, seconds);
	run(at, seconds);
	return 0;
}
