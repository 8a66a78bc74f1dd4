// SPDX-License-Identifier: GPL-2.0
/* Shared: memory that all processes of the storm have in common. */
#include <err.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "shared.h"

struct shared *shared;
char who[64] = "storm";

void shared_map(void)
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED,
		      FD_SHARED, 0);
	if (shared == MAP_FAILED)
		err(2, "shared memory");
}

void shared_create(void)
{
	int fd = memfd_create("storm", 0);

	if (fd < 0 || ftruncate(fd, sizeof(*shared)) ||
	    dup2(fd, FD_SHARED) < 0)
		err(2, "memfd_create");
	close(fd);
	shared_map();
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
