/* SPDX-License-Identifier: GPL-2.0 */
/* Loading and removing a module. Return 0, or the errno. */
#ifndef FAULTS_MODULE_H
#define FAULTS_MODULE_H

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline int load_module(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int err = syscall(SYS_finit_module, fd, "", 0) ? errno : 0;

	close(fd);
	return err;
}

/* Fails with EAGAIN while the module is in use. */
static inline int unload_module(const char *name)
{
	return syscall(SYS_delete_module, name, O_NONBLOCK) ? errno : 0;
}

#endif /* FAULTS_MODULE_H */
