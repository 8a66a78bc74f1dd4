// SPDX-License-Identifier: GPL-2.0
/* Shared: memory shared by all processes of the storm. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../include/shared_memory.h"
#include "shared.h"

struct shared *shared;
char who[64] = "storm";

void shared_map(void)
{
	shared = shared_memory_map(FD_SHARED, sizeof(*shared));
}

void shared_create(void)
{
	shared = shared_memory_create(FD_SHARED, sizeof(*shared));
}

void fail(const char *format, ...)
{
	size_t room = sizeof(shared->message);
	int none = 0, used;
	va_list args;

	if (!atomic_compare_exchange_strong(&shared->failed, &none, 1))
		_exit(1);
	used = snprintf(shared->message, room, "%s, pid %d tid %d: ", who,
			getpid(), gettid());
	va_start(args, format);
	vsnprintf(shared->message + used, room - used, format, args);
	va_end(args);
	atomic_store(&shared->failed, 2);
	_exit(1);
}
