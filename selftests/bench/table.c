// SPDX-License-Identifier: GPL-2.0
/* Table: lookups in function tables. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../include/wrappers.h"
#include "bench.h"

#define BITS		6
#define ROOM		(1UL << BITS)
#define LOOKUPS		64
#define ROUNDS		12

/* 5 rows of 3 bytes, CFA by SP; the 5th applies from the byte 30 on. */
static const unsigned char rows[] = {
	5, 0, 0, 0, 0,
	0, 0x03, 8, 1, 0x03, 16, 8, 0x03, 64, 20, 0x03, 72, 30, 0x03, 80,
};

#define PC	40	/* of an address with the 5th row */

/*
 * Make a table of @nr functions, and register it for reserved addresses. Returns the
 * first of them. @client: of the module itself, as the test module has an ioctl of its
 * own with the same number.
 */
static unsigned long make_table(int client, unsigned int nr)
{
	const size_t map = sizeof(struct sframe_unwind_table_header) +
			   nr * sizeof(struct sframe_unwind_table_entry);
	const size_t size = map + nr * sizeof(uint32_t) + sizeof(rows);
	struct sframe_unwind_register_table reg = {
		.size = sizeof(reg),
		.table_size = size,
		.text_size = nr * ROOM,
		.max_functions = nr,
		.granule_bits = BITS,
	};
	char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *code = mmap(NULL, nr * ROOM, PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct sframe_unwind_table_header *header = (void *)memory;
	struct sframe_unwind_table_entry *entry = (void *)(header + 1);
	unsigned int i;

	if (memory == MAP_FAILED || code == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	for (i = 0; i < nr; i++) {
		entry[i].start = i * ROOM;
		entry[i].size = ROOM - 4;
		entry[i].rows = size - sizeof(rows);
		((uint32_t *)(memory + map))[i] = i + 1;
	}
	memcpy(memory + size - sizeof(rows), rows, sizeof(rows));
	header->used = nr;
	reg.table_start = (uintptr_t)memory;
	reg.text_start = (uintptr_t)code;
	if (ioctl(client, SFRAME_UNWIND_IOC_REGISTER_TABLE, &reg))
		die("register table: %s", strerror(errno));
	return reg.text_start;
}

void measure_table(int fd)
{
	static const unsigned int numbers[] = { 10, 1000, 1000000 };
	const int client = open_client(0);
	unsigned int i, n;

	if (client < 0)
		die("%s: %s", SFRAME_UNWIND_DEVICE, strerror(errno));
	say("lookups in function tables");
	for (n = 0; n < sizeof(numbers) / sizeof(numbers[0]); n++) {
		const unsigned long code = make_table(client, numbers[n]);
		uint64_t sum = 0;

		srandom(numbers[n]);
		for (i = 0; i < LOOKUPS; i++)
			sum += look_up(fd, SFU_BENCH_LOOKUP,
				       code + random() % numbers[n] * ROOM + PC,
				       ROUNDS);
		report((double)sum / LOOKUPS, "table.lookup.%u", numbers[n]);
	}
	close(client);
}
