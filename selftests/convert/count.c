// SPDX-License-Identifier: GPL-2.0
/* Built without -fsanitize-coverage, so that counting is not counted. */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "count.h"

/*
 * The C library's own functions; those with the usual names are replaced here
 * for libraries, too.
 */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void __libc_free(void *memory);

/* -Wl,--wrap redirects calls of NAME to __wrap_NAME. */
void *__real_memcpy(void *to, const void *from, size_t size);
void *__real_memmove(void *to, const void *from, size_t size);
void *__real_memset(void *to, int byte, size_t size);

void __sanitizer_cov_trace_pc(void);
void *__wrap_memcpy(void *to, const void *from, size_t size);
void *__wrap_memmove(void *to, const void *from, size_t size);
void *__wrap_memset(void *to, int byte, size_t size);

static uint64_t steps;
static int64_t used, peak;

void __sanitizer_cov_trace_pc(void)
{
	steps++;
}

static void *count_memory(void *memory)
{
	used += malloc_usable_size(memory);
	if (used > peak)
		peak = used;
	return memory;
}

void *malloc(size_t size)
{
	return count_memory(__libc_malloc(size));
}

void *calloc(size_t count, size_t size)
{
	return count_memory(__libc_calloc(count, size));
}

/* Large blocks are moved by the kernel, so that they do not exist twice. */
void *realloc(void *memory, size_t size)
{
	const size_t old = malloc_usable_size(memory);
	void *new = __libc_realloc(memory, size);

	if (!new)
		return NULL;
	used -= old;
	return count_memory(new);
}

void free(void *memory)
{
	used -= malloc_usable_size(memory);
	__libc_free(memory);
}

void *__wrap_memcpy(void *to, const void *from, size_t size)
{
	steps += size / 8;
	return __real_memcpy(to, from, size);
}

void *__wrap_memmove(void *to, const void *from, size_t size)
{
	steps += size / 8;
	return __real_memmove(to, from, size);
}

void *__wrap_memset(void *to, int byte, size_t size)
{
	steps += size / 8;
	return __real_memset(to, byte, size);
}

ssize_t pread(int fd, void *to, size_t size, off_t offset)
{
	const ssize_t ret = syscall(SYS_pread64, fd, to, size, offset);

	if (ret > 0)
		steps += ret / 8;
	return ret;
}

ssize_t pread64(int fd, void *to, size_t size, off64_t offset)
{
	return pread(fd, to, size, offset);
}

void count_begin(void)
{
	steps = 0;
	used = 0;
	peak = 0;
}

struct count count_end(void)
{
	return (struct count){ .steps = steps, .peak = peak };
}
