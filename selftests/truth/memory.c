// SPDX-License-Identifier: GPL-2.0
#include <string.h>
#include <sys/uio.h>

#include "memory.h"

void memory_forget(struct memory *memory)
{
	for (size_t i = 0; i < MEMORY_PAGES; i++)
		memory->pages[i].address = 0;
}

static const uint8_t *page_at(struct memory *memory, uint64_t address)
{
	struct memory_page *page =
		&memory->pages[address / MEMORY_PAGE % MEMORY_PAGES];
	struct iovec local = { page->bytes, MEMORY_PAGE };
	struct iovec remote = { (void *)(uintptr_t)address, MEMORY_PAGE };

	/* Page 0 never exists, and 0 marks an empty entry. */
	if (!address)
		return NULL;
	if (page->address != address) {
		page->address = 0;
		if (process_vm_readv(memory->pid, &local, 1, &remote, 1, 0) !=
		    MEMORY_PAGE)
			return NULL;
		page->address = address;
	}
	return page->bytes;
}

bool memory_read(struct memory *memory, uint64_t address, void *to,
		 size_t size)
{
	uint8_t *byte = to;

	while (size) {
		const size_t offset = address % MEMORY_PAGE;
		const size_t left = MEMORY_PAGE - offset;
		const size_t part = size < left ? size : left;
		const uint8_t *page = page_at(memory, address - offset);

		if (!page)
			return false;
		memcpy(byte, page + offset, part);
		byte += part;
		address += part;
		size -= part;
	}
	return true;
}
