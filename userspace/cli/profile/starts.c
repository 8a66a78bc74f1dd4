// SPDX-License-Identifier: GPL-2.0
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "cli/profile/starts.h"

#define STARTS_MAX	(1u << 24)

/* The encodings that linkers write. */
#define COUNT_ENCODING	DW_EH_PE_udata4
#define TABLE_ENCODING	(DW_EH_PE_datarel | DW_EH_PE_sdata4)

/* An entry: address of a function and of its FDE, relative to the header. */
struct entry {
	int32_t start;
	int32_t fde;
};

static int compare(const void *a, const void *b)
{
	const uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

/* Version, three encodings, address of .eh_frame in 4 bytes, number of entries. */
static void read_table(struct starts *starts, const unsigned char *bytes,
		       size_t size, uint64_t address)
{
	struct entry entry;
	uint32_t nr;

	if (size < 12 || bytes[0] != 1 || (bytes[1] & 0xf) != DW_EH_PE_sdata4 ||
	    bytes[2] != COUNT_ENCODING || bytes[3] != TABLE_ENCODING)
		return;
	memcpy(&nr, bytes + 8, sizeof(nr));
	if (!nr || nr > STARTS_MAX || nr > (size - 12) / sizeof(entry))
		return;
	starts->list = table_allocate(nr * sizeof(*starts->list));
	starts->nr = nr;
	for (uint32_t i = 0; i < nr; i++) {
		memcpy(&entry, bytes + 12 + i * sizeof(entry), sizeof(entry));
		starts->list[i] = address + entry.start;
	}
	qsort(starts->list, nr, sizeof(*starts->list), compare);
}

void starts_read(struct starts *starts, Elf *elf)
{
	size_t nr;

	*starts = (struct starts){ 0 };
	if (!elf || elf_getphdrnum(elf, &nr))
		return;
	for (size_t i = 0; i < nr; i++) {
		Elf_Data *data;
		GElf_Phdr phdr;

		if (!gelf_getphdr(elf, i, &phdr) ||
		    phdr.p_type != PT_GNU_EH_FRAME)
			continue;
		data = elf_getdata_rawchunk(elf, phdr.p_offset, phdr.p_filesz,
					    ELF_T_BYTE);
		if (data && data->d_buf)
			read_table(starts, data->d_buf, data->d_size,
				   phdr.p_vaddr);
		return;
	}
}

uint64_t starts_find(const struct starts *starts, uint64_t address)
{
	uint32_t low = 0, high = starts->nr;

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (starts->list[middle] <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? starts->list[low - 1] : address;
}

void starts_free(struct starts *starts)
{
	free(starts->list);
	*starts = (struct starts){ 0 };
}
