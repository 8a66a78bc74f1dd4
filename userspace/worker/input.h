/* SPDX-License-Identifier: GPL-2.0 */
#ifndef WORKER_INPUT_H
#define WORKER_INPUT_H

#include <stddef.h>

/**
 * input_map() - map a snapshot, without reading it
 * @fd: memfd, sealed against writing, growing and shrinking.
 * @size: set to its size.
 *
 * Maps only the data of the memfd. In the place of its holes there is read-only
 * anonymous memory: reading a mapped hole of the memfd would allocate pages of the
 * memfd, without a limit.
 *
 * Return: its bytes, or NULL with errno: EINVAL if it is not such a memfd, EFBIG if it
 * has too many separate pieces of data or is too large, ENOMEM.
 */
const void *input_map(int fd, size_t *size);

#endif /* WORKER_INPUT_H */
