/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Pages that are missing until the test provides them.
 */
#ifndef SELFTESTS_USERFAULTFD_H
#define SELFTESTS_USERFAULTFD_H

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * Register @size bytes at @at with a userfaultfd: a thread that touches a
 * missing page waits, or with UFFD_FEATURE_SIGBUS in @features the access
 * fails. Returns a descriptor, or -1: EPERM needs root.
 */
static inline int uffd_open(void *at, size_t size, uint64_t features)
{
	struct uffdio_api api = { .api = UFFD_API, .features = features };
	struct uffdio_register reg = {
		.mode = UFFDIO_REGISTER_MODE_MISSING,
		.range.start = (uintptr_t)at,
		.range.len = size,
	};
	const int fd = syscall(SYS_userfaultfd, O_CLOEXEC);

	if (fd < 0 || (!ioctl(fd, UFFDIO_API, &api) &&
		       !ioctl(fd, UFFDIO_REGISTER, &reg)))
		return fd;
	close(fd);
	return -1;
}

/* Wait until a thread waits for a page. Returns its address, or 0. */
static inline uint64_t uffd_wait(int fd)
{
	struct uffd_msg msg;

	return read(fd, &msg, sizeof(msg)) == sizeof(msg) &&
	       msg.event == UFFD_EVENT_PAGEFAULT ?
		       msg.arg.pagefault.address : 0;
}

/* Provide @size bytes at @at, and wake the threads that wait for them. */
static inline bool uffd_provide(int fd, void *at, const void *from, size_t size)
{
	struct uffdio_copy copy = {
		.dst = (uintptr_t)at,
		.src = (uintptr_t)from,
		.len = size,
	};

	return !ioctl(fd, UFFDIO_COPY, &copy);
}

#endif /* SELFTESTS_USERFAULTFD_H */
