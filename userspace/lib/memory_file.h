/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Memory files: for bytes that are handed to another process or to the kernel,
 * never to be executed.
 */
#ifndef SFRAME_UNWIND_MEMORY_FILE_H
#define SFRAME_UNWIND_MEMORY_FILE_H

#include <errno.h>
#include <sys/mman.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

/*
 * Make an empty one, close-on-exec, that can be sealed. @name is what /proc shows.
 * Where vm.memfd_noexec is 2, others are refused. Returns a descriptor, or -1 with
 * errno.
 */
static inline int memory_file_create(const char *name)
{
	const unsigned int flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	const int fd = memfd_create(name, flags | MFD_NOEXEC_SEAL);

	/* Linux has it since 6.3. */
	return fd < 0 && errno == EINVAL ? memfd_create(name, flags) : fd;
}

#endif /* SFRAME_UNWIND_MEMORY_FILE_H */
