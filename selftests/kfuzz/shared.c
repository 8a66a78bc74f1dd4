// SPDX-License-Identifier: GPL-2.0
/* Shared: what the processes of a run have in common, in memory. */
#include <err.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <unistd.h>

#include "shared.h"

struct shared *shared;

void shared_create(void)
{
	const int fd = memfd_create("shared", 0);

	if (fd < 0 || ftruncate(fd, sizeof(*shared)) ||
	    dup2(fd, FD_SHARED) < 0)
		err(2, "shared memory");
	close(fd);
	shared_map();
}

void shared_map(void)
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED,
		      FD_SHARED, 0);
	if (shared == MAP_FAILED)
		err(2, "shared memory");
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
