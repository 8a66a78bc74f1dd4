// SPDX-License-Identifier: GPL-2.0
/* Content: function tables for the code of a slot. */
#include <linux/sframe_unwind.h>
#include <string.h>

#include "../include/random.h"
#include "content.h"
#include "run.h"

/* Bytes of a granule, each of which has a function; the last one has the rest, too. */
#define GRANULE		(1U << CONTENT_TABLE_BITS)
#define NR_GRANULES	(CONTENT_TABLE_TEXT / GRANULE)

struct table {
	struct sframe_unwind_table_header header;
	struct sframe_unwind_table_entry entry[CONTENT_TABLE_FUNCTIONS];
	uint32_t map[NR_GRANULES];
	unsigned char rows[4][16];
};

/* By SP; by FP; two rows, the second for another CFA; a flexible one: *(rbx + 16). */
static const unsigned char rows[4][16] = {
	{ 1, 0, 0, 0, 0, 0, 0x03, 8 },
	{ 1, 0, 0, 0, 0, 0, 0x04, 16, 0xf0 },
	{ 2, 0, 0, 0, 0, 0, 0x03, 8, 0x10, 0x03, 24 },
	{ 1, 0, 0, 1, 0, 0, 0x04, 3 << 3 | 3, 16 },
};

size_t content_make_table(uint64_t seed, void *to)
{
	struct table table = {
		.header.used = CONTENT_TABLE_FUNCTIONS,
		.header.removed = seed,
	};
	unsigned int i;

	memcpy(table.rows, rows, sizeof(rows));
	for (i = 0; i < CONTENT_TABLE_FUNCTIONS; i++) {
		const unsigned int kind = random_below(&seed, 8);

		table.entry[i].start = i * GRANULE;
		table.entry[i].size = GRANULE;
		table.entry[i].rows = offsetof(struct table, rows[kind % 4]);
		if (kind == 7)
			table.entry[i].size = 0;
	}
	table.entry[i - 1].size = CONTENT_TABLE_TEXT - table.entry[i - 1].start;
	for (i = 0; i < NR_GRANULES; i++)
		table.map[i] = i < CONTENT_TABLE_FUNCTIONS ? i + 1 :
							     CONTENT_TABLE_FUNCTIONS;
	if (random_percent(&seed, 40))
		content_flip(&table, sizeof(table), seed);
	memcpy(to, &table, sizeof(table));
	return sizeof(table);
}
