// SPDX-License-Identifier: GPL-2.0
/* Shared: memory shared by all processes of a run. */
#include <stdarg.h>
#include <unistd.h>

#include "../include/shared_memory.h"
#include "shared.h"

struct shared *shared;

void shared_create(void)
{
	shared = shared_memory_create(FD_SHARED, sizeof(*shared));
}

void shared_map(void)
{
	shared = shared_memory_map(FD_SHARED, sizeof(*shared));
}

void fail(const char *format, ...)
{
	va_list args;
	int none = 0;

	if (!atomic_compare_exchange_strong(&shared->failed, &none, 1))
		return;
	va_start(args, format);
	vsnprintf(shared->message, sizeof(shared->message), format, args);
	va_end(args);
	atomic_store(&shared->failed, 2);
}
