/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An extended section for one function with flexible rows in the file of
 * fixtures/elf_base.h, whose small code it describes. See
 * module/decode/sframe_format.h.
 */
#ifndef SELFTESTS_EXTENDED_SECTION_H
#define SELFTESTS_EXTENDED_SECTION_H

#include "../fixtures/elf_base.h"

/* Bytes for rows; those behind the last one belong to no function. */
#define EXTENDED_ROWS	80

#define EXTENDED_RUNS	7

struct extended_run {
	uint16_t offset;
	uint8_t layout;
} __attribute__((packed));

struct extended_section {
	uint16_t magic;
	uint8_t version, flags, abi, fixed_fp, fixed_ra, auxhdr_len;
	uint32_t num_fdes, num_fres, fre_len, fdeoff, freoff;
	uint32_t ext_magic;
	uint16_t ext_version, ext_flags;
	uint64_t base;
	uint32_t nr_blocks, nr_runs, nr_layouts;
	uint32_t blocks[1];
	uint8_t layouts[3][6];
	struct extended_run runs[EXTENDED_RUNS];
	struct {
		uint64_t start;
		uint32_t size, fre_off;
	} __attribute__((packed)) index[1];
	uint16_t nr_rows;
	uint8_t info, info2, rep_size;
	uint8_t rows[EXTENDED_ROWS];
} __attribute__((packed));

#define EXTENDED_AT(member)	offsetof(struct extended_section, member)

/*
 * Returns the section for @code_size bytes of code with the @nr_rows rows in @rows,
 * of @size bytes. Layout 0 saves nothing, layout 1 saves rbx at CFA - 16, layout 2 is
 * that of calls which keep the CFA's register. The caller must set the runs, whose
 * offsets increase; those that he does not set are behind the code.
 */
static inline struct extended_section
extended_section(uint32_t code_size, const uint8_t *rows, size_t size,
		 uint16_t nr_rows)
{
	struct extended_section section = {
		.magic = 0xdee2,
		.version = 3,
		.flags = 0x5,
		.abi = 3,
		.fixed_ra = (uint8_t)-8,
		.auxhdr_len = EXTENDED_AT(blocks) - EXTENDED_AT(ext_magic),
		.num_fdes = 1,
		.num_fres = nr_rows,
		.fre_len = sizeof(section) - EXTENDED_AT(nr_rows),
		.fdeoff = EXTENDED_AT(index) - EXTENDED_AT(blocks),
		.freoff = EXTENDED_AT(nr_rows) - EXTENDED_AT(blocks),
		.ext_magic = 0x58554653,
		.ext_version = 1,
		.base = ELF_SMALL_VADDR,
		.nr_blocks = 1,
		.nr_runs = EXTENDED_RUNS,
		.nr_layouts = 3,
		.layouts = { { 0 }, { 2 }, { [5] = 0x20 } },
		.index[0].start = ELF_SMALL_VADDR - EXTENDED_AT(index),
		.index[0].size = code_size,
		.nr_rows = nr_rows,
		.info2 = 1,
	};

	for (int i = 0; i < EXTENDED_RUNS; i++)
		section.runs[i].offset = 0xff00 + i;
	memcpy(section.rows, rows, size);
	return section;
}

#endif /* SELFTESTS_EXTENDED_SECTION_H */
