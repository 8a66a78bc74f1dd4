/* SPDX-License-Identifier: GPL-2.0 */
/* Tables for tests: of the base section, and of sections built by a test. */
#ifndef SFU_MADE_H
#define SFU_MADE_H

#include <stdlib.h>

#include "base.h"
#include "lookup.h"
#include "tap.h"

/*
 * Address of sections in the tests. Not 0, to notice an address used as an
 * offset.
 */
#define ADDRESS		0x7f1234567000ULL

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

static inline struct sfu_table open_base(void)
{
	struct sfu_bytes bytes = bytes_at(&base, sizeof(base), ADDRESS);
	struct sfu_defect defect;
	struct sfu_table table;

	if (sfu_table_open(&table, &bytes, &defect)) {
		tap_fail("the base section is refused");
		memset(&table, 0, sizeof(table));
	}
	return table;
}

/* A section to be filled in, allocated to the byte. */
struct made {
	u8 *bytes;
	u64 size;
	struct base_header *header;
	struct base_fde *index;
	u8 *fres;
};

static inline struct made make_section(u32 num_fdes, u32 fre_len)
{
	struct made made = {
		.size = sizeof(base.header) +
			(u64)num_fdes * sizeof(struct base_fde) + fre_len,
	};

	made.bytes = calloc(1, made.size);
	made.header = (void *)made.bytes;
	made.index = (void *)(made.header + 1);
	made.fres = (void *)(made.index + num_fdes);
	*made.header = base.header;
	made.header->flags = 0x1;	/* starts are relative to the section */
	made.header->num_fdes = num_fdes;
	made.header->freoff = num_fdes * sizeof(struct base_fde);
	made.header->fre_len = fre_len;
	return made;
}

static inline struct sfu_table open_made(const struct made *made, u64 address)
{
	struct sfu_bytes bytes = bytes_at(made->bytes, made->size, address);
	struct sfu_defect defect;
	struct sfu_table table;

	if (sfu_table_open(&table, &bytes, &defect)) {
		tap_fail("refused: %s", sfu_defect_text(defect.kind));
		memset(&table, 0, sizeof(table));
	}
	return table;
}

#endif /* SFU_MADE_H */
