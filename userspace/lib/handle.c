// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Open, close and query the device.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "handle.h"

static int query(int fd, struct sframe_unwind_query *query)
{
	memset(query, 0, sizeof(*query));
	query->size = sizeof(*query);
	return ioctl(fd, SFRAME_UNWIND_IOC_QUERY, query) ? -errno : 0;
}

/* Make a handle of @fd. On failure @fd stays open. */
static int wrap(struct sframe_unwind **handle, int fd, bool owns_fd)
{
	struct sframe_unwind_query limits;
	struct sframe_unwind *new;
	int err;

	err = query(fd, &limits);
	if (err == -ENOTTY)
		return sfu_error_set(NULL, ENOTTY,
				     "the file is not the device of sframe_unwind");
	if (err) {
		sfu_error_begin(NULL);
		return sfu_error_end(-err, "query");
	}
	if (limits.abi_version < SFRAME_UNWIND_ABI_VERSION)
		return sfu_error_set(NULL, EOPNOTSUPP,
				     "the module's ABI is version %u, this library needs %u",
				     limits.abi_version, SFRAME_UNWIND_ABI_VERSION);

	new = calloc(1, sizeof(*new));
	if (!new)
		return sfu_error_set(NULL, ENOMEM, "no memory for a handle");
	new->fd = fd;
	new->owns_fd = owns_fd;
	new->record_space = limits.max_record_size;
	*handle = new;
	return 0;
}

int sframe_unwind_open(struct sframe_unwind **handle, unsigned int flags)
{
	int mode = O_RDWR | O_CLOEXEC;
	int fd, err;

	*handle = NULL;
	if (flags & ~SFRAME_UNWIND_OPEN_NONBLOCK)
		return sfu_error_set(NULL, EINVAL, "unknown flags 0x%x", flags);
	if (flags & SFRAME_UNWIND_OPEN_NONBLOCK)
		mode |= O_NONBLOCK;

	fd = open(SFRAME_UNWIND_DEVICE, mode);
	if (fd < 0) {
		err = errno;
		return sfu_error_set(NULL, err, "%s: %s%s",
				     SFRAME_UNWIND_DEVICE, sfu_error_text(err),
				     err == ENOENT ?
				     " (is the module loaded?)" : "");
	}
	err = wrap(handle, fd, true);
	if (err)
		close(fd);
	return err;
}

int sframe_unwind_open_fd(struct sframe_unwind **handle, int fd)
{
	*handle = NULL;
	return wrap(handle, fd, false);
}

void sframe_unwind_close(struct sframe_unwind *handle)
{
	if (!handle)
		return;
	/* A new handle at this address must not inherit the message. */
	sfu_error_begin(NULL);
	if (handle->owns_fd)
		close(handle->fd);
	free(handle->buffer);
	free(handle);
}

int sframe_unwind_fd(const struct sframe_unwind *handle)
{
	return handle->fd;
}

int sframe_unwind_query(struct sframe_unwind *handle,
			struct sframe_unwind_query *to)
{
	const int err = query(handle->fd, to);

	sfu_error_begin(handle);
	return err ? sfu_error_end(-err, "query") : 0;
}

int sframe_unwind_stats(struct sframe_unwind *handle,
			struct sframe_unwind_stats *stats)
{
	memset(stats, 0, sizeof(*stats));
	stats->size = sizeof(*stats);
	sfu_error_begin(handle);
	if (ioctl(handle->fd, SFRAME_UNWIND_IOC_STATS, stats))
		return sfu_error_end(errno, "stats");
	return 0;
}
