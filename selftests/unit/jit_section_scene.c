// SPDX-License-Identifier: GPL-2.0
#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "jit_section_scene.h"
#include "lookup.h"

int make(const unsigned char *begin, struct made *to)
{
	int err;

	to->section = (struct jit_section){ 0 };
	err = sfu_jit_section_make(begin, &to->section);
	to->bytes = NULL;
	to->size = to->section.size;
	to->ranges = jit_range_at(&to->section.ranges, 0);
	to->nr_ranges = nr_jit_ranges(&to->section.ranges);
	if (!err) {
		to->bytes = malloc(to->size);
		sfu_jit_section_write(&to->section, to->bytes);
	}
	return err;
}

void unmake(struct made *made)
{
	free(made->bytes);
	sfu_jit_section_free(&made->section);
}

int rule_at(const void *bytes, size_t size, uint64_t address, uint64_t pc,
	    struct sfu_rule *rule)
{
	const struct sfu_bytes section = bytes_at(bytes, size, address);
	struct sfu_defect defect;
	struct sfu_table table;

	if (sfu_table_open(&table, &section, &defect))
		return -EBADMSG;
	return lookup(&table, pc, rule, &defect);
}

int cfa_at(const struct made *section, uint64_t pc)
{
	struct sfu_rule rule;

	if (rule_at(section->bytes, section->size, (uintptr_t)section->bytes, pc, &rule))
		return 0;
	return rule.cfa_offset + (rule.cfa == 6 ? 1000 : 0);
}

unsigned int nr_entries(const struct made *section)
{
	const struct sfu_bytes bytes = bytes_at(section->bytes, section->size,
						(uintptr_t)section->bytes);
	struct sfu_defect defect;
	struct sfu_table table;

	return sfu_table_open(&table, &bytes, &defect) ? 0 : table.num_fdes;
}

unsigned char output[1 << 20];
size_t output_size;
size_t cie_at;

const unsigned char at_entry[] = {
	DW_CFA_def_cfa, 7, 8, DW_CFA_offset | 16, 1,
};

const unsigned char prologue[] = {
	DW_CFA_advance_loc | 1, DW_CFA_def_cfa_offset, 16, DW_CFA_offset | 6, 2,
	DW_CFA_advance_loc | 3, DW_CFA_def_cfa_register, 6,
};

void put(const void *bytes, size_t size)
{
	if (size)
		memcpy(output + output_size, bytes, size);
	output_size += size;
}

void put_number(uint64_t number, unsigned int size)
{
	put(&number, size);
}

size_t begin_entry(void)
{
	put_number(0, 4);
	return output_size;
}

void end_entry(size_t at)
{
	const uint32_t length = output_size - at;

	memcpy(output + at - 4, &length, sizeof(length));
}

void put_cie(unsigned int version, const char *augmentation,
	     const void *instructions, size_t size)
{
	const size_t at = begin_entry();

	cie_at = at - 4;
	put_number(0, 4);
	put_number(version, 1);
	put(augmentation, strlen(augmentation) + 1);
	put_number(1, 1);	/* code is aligned to 1 */
	put_number(0x78, 1);	/* data to -8 */
	put_number(16, 1);
	if (*augmentation == 'z')
		put_number(0, 1);
	put(instructions, size);
	end_entry(at);
}

size_t put_fde(uint64_t start, uint64_t size, const void *instructions,
	       size_t instructions_size)
{
	const size_t at = begin_entry();

	put_number(at - cie_at, 4);
	put_number(start, 8);
	put_number(size, 8);
	put(instructions, instructions_size);
	end_entry(at);
	return at - 4;
}

void begin_output(void)
{
	output_size = 0;
	put_cie(1, "", at_entry, sizeof(at_entry));
}
