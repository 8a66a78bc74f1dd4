/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory shared by all processes of a run, also across exec: a memfd at a
 * descriptor number that all of them know. Failures end the program.
 */
#ifndef SELFTESTS_SHARED_MEMORY_H
#define SELFTESTS_SHARED_MEMORY_H

#include <err.h>
#include <sys/mman.h>
#include <unistd.h>

/* Map the @size bytes of the existing memfd @fd. */
static inline void *shared_memory_map(int fd, size_t size)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (at == MAP_FAILED)
		err(2, "shared memory");
	return at;
}

/* Create a memfd of @size zero bytes as descriptor @fd, and map it. */
static inline void *shared_memory_create(int fd, size_t size)
{
	const int memfd = memfd_create("shared", 0);

	if (memfd < 0 || ftruncate(memfd, size) || dup2(memfd, fd) < 0)
		err(2, "shared memory");
	close(memfd);
	return shared_memory_map(fd, size);
}

#endif /* SELFTESTS_SHARED_MEMORY_H */
