// SPDX-License-Identifier: GPL-2.0
/*
 * Stand-in for /dev/sframe_unwind, to be preloaded into "sframe-unwind attach": it accepts
 * every attachment and does nothing. So the command's own CPU time can be measured without
 * the module.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/sframe_unwind.h>

/* Number of the last attachment of this process; see next_id(). */
static __u32 last;

/* Readers attach in processes of their own, so that an id has their process's, too. */
static __u64 next_id(void)
{
	return (__u64)getpid() << 32 | ++last;
}

static int open_any(const char *path, int flags, mode_t mode)
{
	if (!strcmp(path, "/dev/sframe_unwind"))
		path = "/dev/null";
	return syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int open(const char *path, int flags, ...)
{
	mode_t mode = 0;
	va_list args;

	if (flags & (O_CREAT | __O_TMPFILE)) {
		va_start(args, flags);
		mode = va_arg(args, mode_t);
		va_end(args);
	}
	return open_any(path, flags, mode);
}

int open64(const char *path, int flags, ...)
	__attribute__((alias("open")));

static int query(struct sframe_unwind_query *query)
{
	query->abi_version = SFRAME_UNWIND_ABI_VERSION;
	query->features = SFRAME_UNWIND_FEATURE_ATTACH |
			  SFRAME_UNWIND_FEATURE_ATTACH_INODE |
			  SFRAME_UNWIND_FEATURE_ATTACH_EXTENDED;
	query->sframe_version = 3;
	query->max_attached = 16384;
	query->max_attached_memory = 1ULL << 30;
	return 0;
}

static int attach(struct sframe_unwind_attach *attach)
{
	attach->id = next_id();
	attach->memory = attach->sframe_size;
	return 0;
}

int ioctl(int fd, unsigned long request, ...)
{
	void *arg;
	va_list args;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	if (_IOC_TYPE(request) != SFRAME_UNWIND_IOC_MAGIC)
		return syscall(SYS_ioctl, fd, request, arg);
	if (request == SFRAME_UNWIND_IOC_QUERY)
		return query(arg);
	if (request == SFRAME_UNWIND_IOC_ATTACH)
		return attach(arg);
	if (request == SFRAME_UNWIND_IOC_DETACH)
		return 0;
	errno = ENOTTY;
	return -1;
}
