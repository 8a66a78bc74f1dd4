// SPDX-License-Identifier: GPL-2.0
/* Linked with --wrap for the system calls that it replaces. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "memory_file.h"

int watched = -1;
uint64_t watched_bytes;
int watched_twice;
unsigned char watched_map[WATCHED_BYTES];
unsigned int watched_fail_at;
long watched_blocks = -1;
int watched_no_holes;
struct stat *watched_stat;
struct statfs *watched_fs;
long room_to_write = -1;
long clock_ahead;

static unsigned int nr_reads;

ssize_t __real_pread(int fd, void *to, size_t size, off_t offset);
ssize_t __wrap_pread(int fd, void *to, size_t size, off_t offset);
off_t __real_lseek(int fd, off_t offset, int whence);
off_t __wrap_lseek(int fd, off_t offset, int whence);
int __real_fstat(int fd, struct stat *stat);
int __wrap_fstat(int fd, struct stat *stat);
int __real_fstatfs(int fd, struct statfs *fs);
int __wrap_fstatfs(int fd, struct statfs *fs);
ssize_t __real_write(int fd, const void *from, size_t size);
ssize_t __wrap_write(int fd, const void *from, size_t size);
int __real_clock_gettime(clockid_t clock, struct timespec *time);
int __wrap_clock_gettime(clockid_t clock, struct timespec *time);

ssize_t __wrap_pread(int fd, void *to, size_t size, off_t offset)
{
	ssize_t got;

	if (fd == watched && ++nr_reads == watched_fail_at) {
		errno = EIO;
		return -1;
	}
	got = __real_pread(fd, to, size, offset);
	if (fd != watched || got <= 0)
		return got;
	watched_bytes += got;
	for (ssize_t i = 0; i < got && offset + i < WATCHED_BYTES; i++) {
		watched_twice |= watched_map[offset + i];
		watched_map[offset + i] = 1;
	}
	return got;
}

off_t __wrap_lseek(int fd, off_t offset, int whence)
{
	if (fd == watched && watched_no_holes &&
	    (whence == SEEK_DATA || whence == SEEK_HOLE)) {
		errno = EINVAL;
		return -1;
	}
	return __real_lseek(fd, offset, whence);
}

int __wrap_fstat(int fd, struct stat *stat)
{
	const int ret = __real_fstat(fd, stat);

	if (!ret && fd == watched && watched_blocks >= 0)
		stat->st_blocks = watched_blocks;
	if (!ret && fd == watched && watched_stat)
		*stat = *watched_stat;
	return ret;
}

int __wrap_fstatfs(int fd, struct statfs *fs)
{
	if (fd != watched || !watched_fs)
		return __real_fstatfs(fd, fs);
	*fs = *watched_fs;
	return 0;
}

ssize_t __wrap_write(int fd, const void *from, size_t size)
{
	if (room_to_write < 0 || fd <= STDERR_FILENO)
		return __real_write(fd, from, size);
	if (!room_to_write) {
		errno = ENOSPC;
		return -1;
	}
	if ((size_t)room_to_write < size)
		size = room_to_write;
	room_to_write -= size;
	return __real_write(fd, from, size);
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *time)
{
	const int ret = __real_clock_gettime(clock, time);

	if (clock == CLOCK_REALTIME)
		time->tv_sec += clock_ahead;
	return ret;
}

void watch_reads(int fd)
{
	watched = fd;
	watched_bytes = 0;
	watched_twice = 0;
	memset(watched_map, 0, sizeof(watched_map));
	watched_fail_at = 0;
	watched_blocks = -1;
	watched_no_holes = 0;
	watched_stat = NULL;
	watched_fs = NULL;
	nr_reads = 0;
}

int memory_file(const void *bytes, size_t size)
{
	const int fd = memfd_create("file", MFD_CLOEXEC);

	if (fd < 0 || (size && pwrite(fd, bytes, size, 0) != (ssize_t)size)) {
		perror("memory_file");
		exit(1);
	}
	return fd;
}

uint64_t memory_file_storage(int fd)
{
	struct stat stat;

	return __real_fstat(fd, &stat) ? UINT64_MAX : stat.st_blocks * 512ULL;
}
