// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Attach sections to files, and to code of processes.
 */
#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "handle.h"
#include "memory_file.h"

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

/* Returns a descriptor of a file with the @size bytes at @section, or -errno. */
static int make_section_file(const unsigned char *section, size_t size)
{
	const int fd = memory_file_create("sframe");
	size_t written = 0;
	ssize_t ret;
	int err;

	if (fd < 0)
		return -errno;
	while (written < size) {
		ret = write(fd, section + written, size - written);
		if (ret < 0 && errno == EINTR)
			continue;
		if (ret <= 0) {
			err = ret ? -errno : -EIO;
			close(fd);
			return err;
		}
		written += ret;
	}
	return fd;
}

int sframe_unwind_attach_process(struct sframe_unwind *handle,
				 unsigned int flags, pid_t pid,
				 uint64_t text_start, uint64_t text_size,
				 const void *section, size_t size, uint64_t *id)
{
	struct sframe_unwind_attach attach = {
		.flags = flags | SFRAME_UNWIND_ATTACH_PROCESS,
		.elf_fd = -1,
		.sframe_size = size,
		.pid = pid,
		.text_start = text_start,
		.text_size = text_size,
	};
	int err;

	attach.sframe_fd = make_section_file(section, size);
	if (attach.sframe_fd < 0) {
		sfu_error_begin(handle);
		return sfu_error_end(-attach.sframe_fd, "copy the section");
	}
	err = sframe_unwind_attach_sized(handle, &attach, sizeof(attach));
	close(attach.sframe_fd);
	if (!err && id)
		*id = attach.id;
	return err;
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
