/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Budget: how much memory a file may cost, by what it takes on its disk. Sizes
 * that a file claims cost its author nothing: holes, compressed zeroes, code of
 * 2^62 bytes.
 */
#ifndef SFRAME_UNWIND_BUDGET_H
#define SFRAME_UNWIND_BUDGET_H

#include "lib/buffer.h"

/*
 * The limit is BUDGET_FACTOR times the bytes on the disk, and BUDGET_BASE.
 * Converting what compilers and linkers make takes up to 3 times; file systems
 * that compress make a quarter of it.
 */
#define BUDGET_BASE_MIB	16
#define BUDGET_BASE	((uint64_t)BUDGET_BASE_MIB << 20)
#define BUDGET_FACTOR	16

/**
 * struct budget - memory for one file
 *
 * @allocated: bytes that the file takes on its disk.
 * @used: bytes in use now.
 */
struct budget {
	uint64_t allocated;
	uint64_t used;
};

uint64_t sfu_budget_limit(const struct budget *budget);

/*
 * Take @bytes for @what, a noun for the message. Returns 0, or -EFBIG with a
 * message if that exceeds the limit.
 */
int sfu_budget_take(struct budget *budget, uint64_t bytes, const char *what);

void sfu_budget_give(struct budget *budget, uint64_t bytes);

/* malloc() and free() with it. Returns 0, -EFBIG or -ENOMEM with a message. */
int sfu_budget_allocate(struct budget *budget, uint64_t bytes,
			const char *what, void **memory);
void sfu_budget_free_memory(struct budget *budget, void *memory,
			    uint64_t bytes);

/*
 * buffer_reserve() of what is taken; the buffer is empty or was reserved here.
 * Returns 0, -EFBIG or -ENOMEM with a message.
 */
int sfu_budget_reserve(struct budget *budget, struct buffer *buffer,
		       size_t more, const char *what);

/* buffer_free() of a buffer that was reserved here. */
void sfu_budget_free(struct budget *budget, struct buffer *buffer);

#endif /* SFRAME_UNWIND_BUDGET_H */
