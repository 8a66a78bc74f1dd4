// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Request a stack. Async-signal-safe.
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
