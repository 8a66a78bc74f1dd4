// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Attach sections to files.
 */
#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <sys/ioctl.h>

#include "handle.h"

static uint64_t to_u64(const void *pointer)
{
	return (uintptr_t)pointer;
}

int sframe_unwind_attach_sized(struct sframe_unwind *handle,
			       struct sframe_unwind_attach *attach, size_t size)
{
	int err = 0;

	attach->size = size;
	attach->message = to_u64(sfu_error_begin(handle));
	attach->message_size = ERROR_SIZE;
	if (ioctl(handle->fd, SFRAME_UNWIND_IOC_ATTACH, attach))
		err = sfu_error_end(errno, "attach");
	/* Do not leave a pointer to this thread's private buffer to the caller. */
	attach->message = 0;
	attach->message_size = 0;
	return err;
}

/* For programs built when the structure ended with reserved2. */
#undef sframe_unwind_attach
int sframe_unwind_attach(struct sframe_unwind *handle,
			 struct sframe_unwind_attach *attach)
{
	return sframe_unwind_attach_sized(handle, attach,
					  offsetof(struct sframe_unwind_attach,
						   segments));
}

int sframe_unwind_detach(struct sframe_unwind *handle, uint64_t id)
{
	struct sframe_unwind_detach arg = {
		.size = sizeof(arg),
		.id = id,
		.message = to_u64(sfu_error_begin(handle)),
		.message_size = ERROR_SIZE,
	};

	if (ioctl(handle->fd, SFRAME_UNWIND_IOC_DETACH, &arg))
		return sfu_error_end(errno, "detach");
	return 0;
}

int sframe_unwind_list_attached(struct sframe_unwind *handle, uint64_t from,
				struct sframe_unwind_attached *attached,
				unsigned int nr, unsigned int *total,
				uint64_t *memory)
{
	struct sframe_unwind_list_attached arg = {
		.size = sizeof(arg),
		.from = from,
		.attached = to_u64(attached),
		.nr = nr > INT_MAX ? INT_MAX : nr,
		.message = to_u64(sfu_error_begin(handle)),
		.message_size = ERROR_SIZE,
	};

	if (ioctl(handle->fd, SFRAME_UNWIND_IOC_LIST_ATTACHED, &arg))
		return sfu_error_end(errno, "list attached");
	if (total)
		*total = arg.total;
	if (memory)
		*memory = arg.memory;
	return arg.nr;
}
