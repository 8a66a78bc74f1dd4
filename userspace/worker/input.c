// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "input.h"

#define SEALS (F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK)

/* Largest file, with its holes: half of the user address space. */
#define MAX_SIZE (1LL << 46)

/* Most separate pieces of data; a snapshot has about ten. */
#define MAX_PLACES 1024

/* Test builds that execute their input define it differently. */
#ifndef INPUT_PROTECTION
#define INPUT_PROTECTION PROT_READ
#endif

static bool map_data(int fd, unsigned char *bytes, size_t size)
{
	const off_t page = sysconf(_SC_PAGESIZE);
	off_t start, end = 0;

	for (unsigned int places = 0; places < MAX_PLACES; places++) {
		start = lseek(fd, end, SEEK_DATA);
		if (start < 0)
			return errno == ENXIO;
		end = lseek(fd, start, SEEK_HOLE);
		if (end < 0)
			return false;
		start -= start % page;
		if (mmap(bytes + start, end - start, INPUT_PROTECTION,
			 MAP_PRIVATE | MAP_FIXED, fd, start) == MAP_FAILED)
			return false;
		if ((size_t)end >= size)
			return true;
	}
	errno = EFBIG;
	return false;
}

const void *input_map(int fd, size_t *size)
{
	const int seals = fcntl(fd, F_GET_SEALS);
	struct stat stat;
	void *bytes;

	if (seals < 0 || fstat(fd, &stat))
		return NULL;
	if ((seals & SEALS) != SEALS || stat.st_size <= 0) {
		errno = EINVAL;
		return NULL;
	}
	/* EFBIG rather than ENOMEM: the address space is too small, not the memory. */
	if (stat.st_size > MAX_SIZE) {
		errno = EFBIG;
		return NULL;
	}
	*size = stat.st_size;
	bytes = mmap(NULL, *size, PROT_READ,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (bytes == MAP_FAILED || !map_data(fd, bytes, *size))
		return NULL;
	return bytes;
}
