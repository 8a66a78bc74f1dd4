/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Memory files, which pass bytes to another process or to the kernel. They are
 * not executable.
 */
#ifndef SFRAME_UNWIND_MEMORY_FILE_H
#define SFRAME_UNWIND_MEMORY_FILE_H

#include <errno.h>
#include <sys/mman.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

/*
 * Create an empty, sealable, close-on-exec memory file. /proc shows it as @name.
 * With sysctl vm.memfd_noexec=2 the kernel refuses memory files without
 * MFD_NOEXEC_SEAL. Returns a descriptor, or -1 with errno.
 */
static inline int memory_file_create(const char *name)
{
	const unsigned int flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	const int fd = memfd_create(name, flags | MFD_NOEXEC_SEAL);

	/* Kernels before 6.3 do not know MFD_NOEXEC_SEAL. */
	return fd < 0 && errno == EINVAL ? memfd_create(name, flags) : fd;
}

#endif /* SFRAME_UNWIND_MEMORY_FILE_H */
