/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a process runs.
 */
#ifndef EXEC_IMAGE_H
#define EXEC_IMAGE_H

#include <sys/types.h>

/*
 * Why no object can be preloaded into what @pid runs, in words; NULL if it can,
 * or if that cannot be told. The process has ended its execve(2).
 */
const char *exec_image_refuses(pid_t pid);

#endif /* EXEC_IMAGE_H */
