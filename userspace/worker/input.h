/* SPDX-License-Identifier: GPL-2.0 */
#ifndef WORKER_INPUT_H
#define WORKER_INPUT_H

#include <stddef.h>

/**
 * input_map() - have a snapshot in memory, without looking at it
 * @fd: memfd, sealed against writing, growing and shrinking.
 * @size: set to its size.
 *
 * What is stored of it is mapped; holes are memory of our own that is 0, cannot
 * be written to, and is none until it is read: a hole of the memfd, if it were
 * mapped, would be stored as soon as it is read, without a limit.
 *
 * Return: its bytes, or NULL with errno: EINVAL if it is not such a file, EFBIG
 * if it is scattered over too many places, ENOMEM.
 */
const void *input_map(int fd, size_t *size);

#endif /* WORKER_INPUT_H */
