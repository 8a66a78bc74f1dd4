// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Asking for a stack. No libc, no errno, no message: for signal handlers.
 */
#include "handle.h"
#include "syscall.h"

__attribute__((noinline))
int sframe_unwind_request(const struct sframe_unwind *handle,
			  unsigned int flags, pid_t tid,
			  unsigned int max_depth, uint64_t user_data,
			  uint64_t *cookie)
{
	struct sframe_unwind_request arg = {
		.size = sizeof(arg),
		.flags = flags,
		.tid = tid,
		.max_depth = max_depth,
		.user_data = user_data,
	};
	const int err = ioctl_inline(handle->fd, SFRAME_UNWIND_IOC_REQUEST,
				     &arg);

	if (!err && cookie)
		*cookie = arg.cookie;
	return err;
}

__attribute__((noinline))
int sframe_unwind_request_self(const struct sframe_unwind *handle,
			       uint64_t user_data)
{
	struct sframe_unwind_request arg = {
		.size = sizeof(arg),
		.user_data = user_data,
	};

	return ioctl_inline(handle->fd, SFRAME_UNWIND_IOC_REQUEST, &arg);
}
