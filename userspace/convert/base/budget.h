/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Budget: limits the memory for a file by the bytes that it occupies on disk. The
 * sizes in its headers are no measure, because large ones cost its author nothing:
 * holes, compressed zeroes, code of 2^62 bytes.
 */
#ifndef SFRAME_UNWIND_BUDGET_H
#define SFRAME_UNWIND_BUDGET_H

#include "lib/buffer.h"

/*
 * The limit is BUDGET_FACTOR times the bytes on disk plus BUDGET_BASE. Converting
 * files made by compilers and linkers needs up to 3 times their size, and file
 * systems can compress them to a quarter.
 */
#define BUDGET_BASE_MIB	16
#define BUDGET_BASE	((uint64_t)BUDGET_BASE_MIB << 20)
#define BUDGET_FACTOR	16

/**
 * struct budget - memory for one file
 *
 * @allocated: bytes that the file occupies on disk.
 * @used: bytes in use now.
 */
struct budget {
	uint64_t allocated;
	uint64_t used;
};

uint64_t sfu_budget_limit(const struct budget *budget);

/*
 * Charge @bytes for @what, a noun for the message. Returns 0, or -EFBIG with a
 * message if that exceeds the limit.
 */
int sfu_budget_take(struct budget *budget, uint64_t bytes, const char *what);

void sfu_budget_give(struct budget *budget, uint64_t bytes);

/* malloc() and free() of charged memory. Returns 0, -EFBIG or -ENOMEM with a message. */
int sfu_budget_allocate(struct budget *budget, uint64_t bytes,
			const char *what, void **memory);
void sfu_budget_free_memory(struct budget *budget, void *memory,
			    uint64_t bytes);

/* Make the buffer large enough for @more bytes, as sfu_budget_reserve(). */
int sfu_budget_grow(struct budget *budget, struct buffer *buffer, size_t more,
		    const char *what);

/*
 * buffer_reserve() that charges the memory. The buffer must be empty or have been
 * reserved here. Returns 0, -EFBIG or -ENOMEM with a message.
 */
static inline int sfu_budget_reserve(struct budget *budget,
				     struct buffer *buffer, size_t more,
				     const char *what)
{
	if (buffer->bytes && more <= buffer->space - buffer->size &&
	    buffer->space > BUFFER_MOVES)
		return 0;
	return sfu_budget_grow(budget, buffer, more, what);
}

/* buffer_free() of a buffer that sfu_budget_reserve() reserved. */
void sfu_budget_free(struct budget *budget, struct buffer *buffer);

#endif /* SFRAME_UNWIND_BUDGET_H */
