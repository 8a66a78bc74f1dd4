// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Request or take a stack. Async-signal-safe.
 */
#include "request.h"

__attribute__((noinline))
int sframe_unwind_request(const struct sframe_unwind *handle,
			  unsigned int flags, pid_t tid,
			  unsigned int max_depth, uint64_t user_data,
			  uint64_t *cookie)
{
	return request_inline(handle, flags, tid, max_depth, user_data, cookie);
}

__attribute__((noinline))
int sframe_unwind_request_self(const struct sframe_unwind *handle,
			       uint64_t user_data)
{
	return request_inline(handle, 0, 0, 0, user_data, NULL);
}

__attribute__((noinline))
int sframe_unwind_own_stack(const struct sframe_unwind *handle,
			    unsigned int flags, uint64_t *ips, uint8_t *how,
			    unsigned int max_depth,
			    enum sframe_unwind_stop *stop)
{
	struct sframe_unwind_own_stack arg = {
		.size = sizeof(arg),
		.flags = flags,
		.ips = (uintptr_t)ips,
		.how = (uintptr_t)how,
		.max_depth = max_depth,
	};
	const int err = ioctl_inline(handle->fd, SFRAME_UNWIND_IOC_STACK, &arg);

	if (err)
		return err;
	if (stop)
		*stop = arg.stop;
	return arg.nr_frames;
}
