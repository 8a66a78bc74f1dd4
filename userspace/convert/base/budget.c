// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include <inttypes.h>

#include "budget.h"
#include "message.h"

uint64_t sfu_budget_limit(const struct budget *budget)
{
	uint64_t limit;

	if (__builtin_mul_overflow(budget->allocated, BUDGET_FACTOR, &limit) ||
	    limit > UINT64_MAX - BUDGET_BASE)
		return UINT64_MAX;
	return limit + BUDGET_BASE;
}

int sfu_budget_take(struct budget *budget, uint64_t bytes, const char *what)
{
	if (bytes > sfu_budget_limit(budget) - budget->used)
		return sfu_message_fail(EFBIG, "%s: needs %" PRIu64 " bytes of memory besides %" PRIu64 " in use; the limit is %u MiB plus %u times the %" PRIu64 " bytes that the file occupies on disk",
					what, bytes, budget->used,
					BUDGET_BASE_MIB, BUDGET_FACTOR,
					budget->allocated);
	budget->used += bytes;
	return 0;
}

void sfu_budget_give(struct budget *budget, uint64_t bytes)
{
	budget->used -= bytes;
}

int sfu_budget_allocate(struct budget *budget, uint64_t bytes,
			const char *what, void **memory)
{
	int err;

	*memory = NULL;
	err = sfu_budget_take(budget, bytes, what);
	if (err)
		return err;
	if (bytes <= SIZE_MAX)
		*memory = malloc(bytes ? bytes : 1);
	if (*memory)
		return 0;
	sfu_budget_give(budget, bytes);
	return sfu_message_fail(ENOMEM, "%s: no memory for %" PRIu64 " bytes",
				what, bytes);
}

void sfu_budget_free_memory(struct budget *budget, void *memory,
			    uint64_t bytes)
{
	free(memory);
	if (memory)
		sfu_budget_give(budget, bytes);
}

int sfu_budget_grow(struct budget *budget, struct buffer *buffer, size_t more,
		    const char *what)
{
	const size_t space = buffer_space(buffer, more);
	int err;

	if (!space)
		return sfu_message_fail(ENOMEM, "%s: no memory", what);
	err = sfu_budget_take(budget, space - buffer->space, what);
	if (err)
		return err;
	if (!buffer_resize(buffer, space))
		return 0;
	sfu_budget_give(budget, space - buffer->space);
	return sfu_message_fail(ENOMEM, "%s: no memory for %zu bytes", what,
				space);
}

void sfu_budget_free(struct budget *budget, struct buffer *buffer)
{
	sfu_budget_give(budget, buffer->space);
	buffer_free(buffer);
}
