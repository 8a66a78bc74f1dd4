/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The program that a process runs.
 */
#ifndef EXEC_IMAGE_H
#define EXEC_IMAGE_H

#include <sys/types.h>

/*
 * Returns the reason, in words, why no object can be preloaded into the program that
 * @pid runs; NULL if one can, or if that is not known. The execve(2) of the process
 * must be complete.
 */
const char *exec_image_refuses(pid_t pid);

#endif /* EXEC_IMAGE_H */
