// SPDX-License-Identifier: GPL-2.0
/*
 * Announced: code that a process announces to debuggers.
 */
#include <elf.h>
#include <errno.h>
#include <unistd.h>

#include "announced.h"
#include "clock.h"
#include "symbol.h"

#define NAME "__jit_debug_descriptor"

/* The structures of the interface, on 64-bit machines. */
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

/* Entries between two looks at the time. */
#define TIME_ENTRIES 64

bool announced_read(int memory, uint64_t address, void *to, size_t size)
{
	/* Larger offsets are negative, and no addresses of a process. */
	if (address > INT64_MAX - size)
		return false;
	while (size) {
		const ssize_t got = pread(memory, to, size, (off_t)address);

		if (got <= 0)
			return false;
		to = (char *)to + got;
		address += got;
		size -= got;
	}
	return true;
}

/* --- the descriptor */

uint64_t announced_find(int memory, uint64_t base)
{
	struct symbol symbol;

	if (!symbol_find(memory, base, NAME, STT_OBJECT, &symbol) ||
	    symbol.size < sizeof(struct descriptor))
		return 0;
	return symbol.address;
}

/* --- the list */

int announced_list(int memory, uint64_t descriptor, uint64_t ends_at,
		   bool (*fn)(void *data, const struct announced *announced),
		   void *data)
{
	struct descriptor head;
	uint64_t at, before = 0;

	if (!announced_read(memory, descriptor, &head, sizeof(head)))
		return -EFAULT;
	if (head.version != 1)
		return -EINVAL;
	at = head.first;
	for (unsigned int i = 0; at; i++) {
		struct announced announced = { .entry = at };
		struct entry entry;

		if (i == ANNOUNCED_MAX_ENTRIES)
			return -EAGAIN;
		if (!(i % TIME_ENTRIES) && now_ns() >= ends_at)
			return -ETIME;
		if (!announced_read(memory, at, &entry, sizeof(entry)))
			return -EFAULT;
		/*
		 * The one before is not the one that we come from: the list is being
		 * changed; or it is in a circle, whose first entry has two before it.
		 */
		if (entry.before != before)
			return -EAGAIN;
		announced.object = entry.object;
		announced.size = entry.size;
		if (!fn(data, &announced))
			return 0;
		before = at;
		at = entry.next;
	}
	return 0;
}
