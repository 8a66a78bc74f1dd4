// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * List the sections of this address space, and get events of their removal.
 */
#include <errno.h>
#include <limits.h>
#include <sys/ioctl.h>

#include "handle.h"

static uint64_t to_u64(const void *pointer)
{
	return (uintptr_t)pointer;
}

/* Run the ioctl. Returns entries filled. */
static int list(struct sframe_unwind *handle, struct sframe_unwind_list *arg)
{
	arg->size = sizeof(*arg);
	arg->message = to_u64(sfu_error_begin(handle));
	arg->message_size = ERROR_SIZE;
	if (ioctl(handle->fd, SFRAME_UNWIND_IOC_LIST, arg))
		return sfu_error_end(errno, "list");
	return arg->nr;
}

int sframe_unwind_list(struct sframe_unwind *handle, uint64_t from,
		       struct sframe_unwind_section *sections, unsigned int nr,
		       unsigned int *total)
{
	struct sframe_unwind_list arg = {
		.from = from,
		.sections = to_u64(sections),
		.nr = nr > INT_MAX ? INT_MAX : nr,
	};
	const int filled = list(handle, &arg);

	if (filled >= 0 && total)
		*total = arg.total;
	return filled;
}

int sframe_unwind_section_name(struct sframe_unwind *handle,
			       const struct sframe_unwind_section *section,
			       char *name, size_t size)
{
	struct sframe_unwind_section found;
	struct sframe_unwind_list arg = {
		.from = section->text_start,
		.sections = to_u64(&found),
		.nr = 1,
		.name = to_u64(name),
		.name_size = size > INT_MAX ? INT_MAX : size,
	};
	const int filled = list(handle, &arg);

	if (filled < 0)
		return filled;
	if (!filled || found.id != section->id)
		return sfu_error_set(handle, ENOENT,
				     "the section is not in use any more");
	return 0;
}

int sframe_unwind_events(struct sframe_unwind *handle, unsigned int flags)
{
	struct sframe_unwind_events arg = {
		.size = sizeof(arg),
		.flags = flags,
		.message = to_u64(sfu_error_begin(handle)),
		.message_size = ERROR_SIZE,
	};

	if (ioctl(handle->fd, SFRAME_UNWIND_IOC_EVENTS, &arg))
		return sfu_error_end(errno, "events");
	return 0;
}
