/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The memory of a stopped process; each page is read at most once for a stop.
 */
#ifndef TRUTH_MEMORY_H
#define TRUTH_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define MEMORY_PAGES	64
#define MEMORY_PAGE	4096

struct memory {
	pid_t pid;
	struct memory_page {
		uint64_t address;	/* 0: empty */
		uint8_t bytes[MEMORY_PAGE];
	} pages[MEMORY_PAGES];
};

/* Call this when the process has run. */
void memory_forget(struct memory *memory);

bool memory_read(struct memory *memory, uint64_t address, void *to,
		 size_t size);

static inline bool memory_word(struct memory *memory, uint64_t address,
			       uint64_t *word)
{
	return memory_read(memory, address, word, sizeof(*word));
}

#endif /* TRUTH_MEMORY_H */
