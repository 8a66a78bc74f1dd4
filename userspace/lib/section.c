// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Register and unregister one section.
 */
#include <errno.h>
#include <sys/ioctl.h>

#include "handle.h"

static uint64_t to_u64(const void *pointer)
{
	return (uintptr_t)pointer;
}

int sframe_unwind_register(struct sframe_unwind *handle,
			   const void *sframe_start, size_t sframe_size,
			   const void *text_start, size_t text_size,
			   unsigned int flags, uint64_t *id)
{
	struct sframe_unwind_register arg = {
		.size = sizeof(arg),
		.flags = flags,
		.sframe_start = to_u64(sframe_start),
		.sframe_size = sframe_size,
		.text_start = to_u64(text_start),
		.text_size = text_size,
		.message = to_u64(sfu_error_begin(handle)),
		.message_size = ERROR_SIZE,
	};

	if (ioctl(handle->fd, SFRAME_UNWIND_IOC_REGISTER, &arg))
		return sfu_error_end(errno, "register");
	if (id)
		*id = arg.id;
	return 0;
}

/* Returns the number of registrations that ended, or a negative errno. */
static int unregister(struct sframe_unwind *handle, uint64_t id,
		      uint64_t sframe_start)
{
	struct sframe_unwind_unregister arg = {
		.size = sizeof(arg),
		.id = id,
		.sframe_start = sframe_start,
		.message_size = ERROR_SIZE,
		.message = to_u64(sfu_error_begin(handle)),
	};

	if (ioctl(handle->fd, SFRAME_UNWIND_IOC_UNREGISTER, &arg))
		return sfu_error_end(errno, "unregister");
	return arg.removed;
}

int sframe_unwind_unregister(struct sframe_unwind *handle, uint64_t id)
{
	const int ret = unregister(handle, id, 0);

	return ret < 0 ? ret : 0;
}

int sframe_unwind_unregister_section(struct sframe_unwind *handle,
				     const void *sframe_start)
{
	return unregister(handle, 0, to_u64(sframe_start));
}
