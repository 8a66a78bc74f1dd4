/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Request a stack, in the library and in the preloaded object that interposes
 * it. Uses no function of the C library, no lock, no errno and no thread-local
 * variable.
 */
#ifndef SFRAME_UNWIND_REQUEST_H
#define SFRAME_UNWIND_REQUEST_H

#include "handle.h"
#include "syscall.h"

/* See sframe_unwind_request(). Inlined, so that it adds no frame to the stack. */
__attribute__((always_inline))
static inline int request_inline(const struct sframe_unwind *handle,
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

#endif /* SFRAME_UNWIND_REQUEST_H */
