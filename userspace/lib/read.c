// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Read records.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "handle.h"

/* Enough for many records of usual depth. */
#define MIN_BUFFER_SIZE (64 * 1024)

static int allocate(struct sframe_unwind *handle)
{
	const size_t size = handle->record_space > MIN_BUFFER_SIZE ?
			    handle->record_space : MIN_BUFFER_SIZE;

	if (handle->buffer)
		return 0;
	handle->buffer = malloc(size);
	if (!handle->buffer)
		return sfu_error_set(handle, ENOMEM, "no memory for records");
	handle->size = size;
	return 0;
}

/* Return -EAGAIN if a read would wait, even if the file is in blocking mode. */
static int check_ready(struct sframe_unwind *handle)
{
	struct pollfd file = { .fd = handle->fd, .events = POLLIN };
	const int ret = poll(&file, 1, 0);

	if (ret > 0)
		return 0;
	return sfu_error_set(handle, ret ? errno : EAGAIN, "no record waits");
}

static int fill(struct sframe_unwind *handle, unsigned int flags)
{
	ssize_t ret;
	int err;

	err = allocate(handle);
	if (!err && flags & SFRAME_UNWIND_READ_NONBLOCK)
		err = check_ready(handle);
	if (err)
		return err;

	ret = read(handle->fd, handle->buffer, handle->size);
	if (ret < 0) {
		err = errno;
		sfu_error_begin(handle);
		return sfu_error_end(err, "read");
	}
	if (!ret)
		return sfu_error_set(handle, EBADMSG, "the file has ended");
	handle->next = 0;
	handle->filled = ret;
	return 0;
}

/* Take the next record from the buffer, which is not empty. */
static int take(struct sframe_unwind *handle,
		const struct sframe_unwind_record **record)
{
	const size_t left = handle->filled - handle->next;
	const struct sframe_unwind_record *head =
		(const void *)(handle->buffer + handle->next);

	if (left < sizeof(*head) || head->size < sizeof(*head) ||
	    head->size % 8 || head->size > left) {
		handle->next = handle->filled;
		sfu_error_set(handle, EBADMSG,
			      "malformed record, dropped %zu bytes", left);
		return -EBADMSG;
	}
	handle->next += head->size;
	*record = head;
	return 0;
}

/* Take the next record of any type; fill the buffer if it is empty. */
static int next(struct sframe_unwind *handle, unsigned int flags,
		const struct sframe_unwind_record **record)
{
	int err;

	if (handle->next == handle->filled) {
		err = fill(handle, flags);
		if (err)
			return err;
	}
	return take(handle, record);
}

int sframe_unwind_read(struct sframe_unwind *handle, unsigned int flags,
		       const struct sframe_unwind_record **record)
{
	const struct sframe_unwind_record *head;
	int err;

	*record = NULL;
	if (flags & ~(SFRAME_UNWIND_READ_NONBLOCK | SFRAME_UNWIND_READ_ANY))
		return sfu_error_set(handle, EINVAL, "unknown flags 0x%x", flags);
	do {
		err = next(handle, flags, &head);
		if (err)
			return err;
	} while (!(flags & SFRAME_UNWIND_READ_ANY) &&
		 head->type != SFRAME_UNWIND_RECORD_STACK &&
		 head->type != SFRAME_UNWIND_RECORD_REMOVED);
	*record = head;
	return 0;
}

int sframe_unwind_read_stack(struct sframe_unwind *handle, unsigned int flags,
			     const struct sframe_unwind_stack **stack)
{
	const struct sframe_unwind_record *record;
	int err;

	*stack = NULL;
	if (flags & ~SFRAME_UNWIND_READ_NONBLOCK)
		return sfu_error_set(handle, EINVAL, "unknown flags 0x%x", flags);
	do {
		err = next(handle, flags, &record);
		if (err)
			return err;
	} while (record->type != SFRAME_UNWIND_RECORD_STACK);
	*stack = sframe_unwind_stack_from(record, record->size);
	if (!*stack)
		return sfu_error_set(handle, EBADMSG,
				     "a stack's record is shorter than its frames");
	return 0;
}
