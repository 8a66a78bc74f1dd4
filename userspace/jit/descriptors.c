// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/sframe_unwind.h>

#include "jit/descriptors.h"

/* Our descriptors are moved out of the way of programs that count on low ones. */
#define LOWEST_FD 512

/*
 * Programs close descriptors that they have not opened: then the number of one of ours may be
 * another file now. So our open file of the device is marked: with a signal that the C library
 * keeps for itself, which programs thus have no file send, as what it would send. The device sends
 * none. To ask for it is the cheapest way to know an open file.
 */
#define MARK 33

static int device = -1;

/* Not marked, as the program has the same open file. What it was is compared. */
static int standard_error = -1;
static struct stat standard_error_was;

/* Returns a copy of @fd, or -1. */
static int copy_of(int fd)
{
	struct rlimit limit;
	int lowest = LOWEST_FD;

	if (syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &limit) == 0 &&
	    limit.rlim_cur < 2 * LOWEST_FD)
		lowest = limit.rlim_cur / 2;
	return syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, lowest);
}

static bool is_marked(int fd)
{
	return fd >= 0 && syscall(SYS_fcntl, fd, F_GETSIG) == MARK;
}

static void open_device(void)
{
	const int fd = syscall(SYS_openat, AT_FDCWD, SFRAME_UNWIND_DEVICE,
			       O_RDWR | O_CLOEXEC, 0);

	device = -1;
	if (fd < 0)
		return;
	if (!syscall(SYS_fcntl, fd, F_SETSIG, MARK) && is_marked(fd))
		device = copy_of(fd);
	syscall(SYS_close, fd);
}

int sfu_jit_device(void)
{
	if (!is_marked(device))
		open_device();
	return device;
}

void sfu_jit_keep_standard_error(void)
{
	standard_error = copy_of(STDERR_FILENO);
	if (standard_error < 0 ||
	    !syscall(SYS_fstat, standard_error, &standard_error_was))
		return;
	syscall(SYS_close, standard_error);
	standard_error = -1;
}

static bool is_standard_error_kept(void)
{
	const struct stat *was = &standard_error_was;
	struct stat now;

	return standard_error >= 0 && !syscall(SYS_fstat, standard_error, &now) &&
	       now.st_dev == was->st_dev && now.st_ino == was->st_ino &&
	       now.st_rdev == was->st_rdev;
}

void sfu_jit_tell(const void *key, const char *format, ...)
{
	char text[512], line[600];
	va_list args;
	int length;

	if (!is_standard_error_kept())
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	length = snprintf(line, sizeof(line),
			  "sframe_unwind: code announced by %p: %s\n", key, text);
	syscall(SYS_write, standard_error, line, length);
}
