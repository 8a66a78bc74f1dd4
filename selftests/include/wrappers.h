/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The ioctls of /dev/sframe_unwind as functions. They return -1 with errno, and
 * pass structures unchanged, so that tests can break them.
 */
#ifndef SELFTESTS_WRAPPERS_H
#define SELFTESTS_WRAPPERS_H

#include <errno.h>
#include <fcntl.h>
#include <linux/sframe_unwind.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static inline int open_client(int flags)
{
	return open(SFRAME_UNWIND_DEVICE, O_RDWR | O_CLOEXEC | flags);
}

/*
 * Open the test module's device, which also has the ioctls of
 * module/test/test.h.
 */
static inline int open_test_client(int flags)
{
	return open("/dev/sframe_unwind_test", O_RDWR | O_CLOEXEC | flags);
}

static inline int query(int fd, struct sframe_unwind_query *query)
{
	return ioctl(fd, SFRAME_UNWIND_IOC_QUERY, query);
}

static inline int stats(int fd, struct sframe_unwind_stats *stats)
{
	memset(stats, 0xa5, sizeof(*stats));
	stats->size = sizeof(*stats);
	return ioctl(fd, SFRAME_UNWIND_IOC_STATS, stats);
}

static inline int register_section(int fd, struct sframe_unwind_register *reg)
{
	return ioctl(fd, SFRAME_UNWIND_IOC_REGISTER, reg);
}

static inline int unregister_section(int fd,
				     struct sframe_unwind_unregister *unreg)
{
	return ioctl(fd, SFRAME_UNWIND_IOC_UNREGISTER, unreg);
}

static inline int unregister_id(int fd, __u64 id)
{
	struct sframe_unwind_unregister unreg = {
		.size = sizeof(unreg),
		.id = id,
	};

	return unregister_section(fd, &unreg);
}

static inline int listen_to(int fd, __u32 flags)
{
	struct sframe_unwind_events events = {
		.size = sizeof(events),
		.flags = flags,
	};

	return ioctl(fd, SFRAME_UNWIND_IOC_EVENTS, &events);
}

/*
 * Not through libc's ioctl(): the stack starts here, and libc has no SFrame
 * data. Never inlined, so that it has a frame of its own.
 */
static __attribute__((noinline, unused)) int
request(int fd, struct sframe_unwind_request *request)
{
	long ret = 16;	/* __NR_ioctl */

	asm volatile("syscall"
		     : "+a"(ret)
		     : "D"((long)fd), "S"((long)SFRAME_UNWIND_IOC_REQUEST),
		       "d"(request)
		     : "rcx", "r11", "memory");
	if (ret < 0) {
		errno = -ret;
		return -1;
	}
	return 0;
}

static inline struct sframe_unwind_request request_self(void)
{
	return (struct sframe_unwind_request) {
		.size = sizeof(struct sframe_unwind_request),
	};
}

#endif /* SELFTESTS_WRAPPERS_H */
