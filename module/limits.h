/* SPDX-License-Identifier: GPL-2.0 */
/* Every number that a caller can run into. */
#ifndef SFU_LIMITS_H
#define SFU_LIMITS_H

#include <linux/sizes.h>

/* Frames of one stack: the most that can be asked for, and what 0 means. */
#define SFU_MAX_DEPTH		1024
#define SFU_DEFAULT_DEPTH	128

/*
 * Rows of sections that one walk may look at: some milliseconds. Compilers make
 * functions of a few rows, of 200 at most.
 */
#define SFU_MAX_WALK_ROWS	262144

/* Registered ranges of one address space. */
#define SFU_MAX_SECTIONS	65536

/* Bytes of one section, which stays in user memory. */
#define SFU_MAX_SFRAME_SIZE	SZ_1G

/* Requests that one client may have outstanding. */
#define SFU_MAX_PENDING		1024

/* Bytes of records waiting in one client; a power of two. */
#define SFU_RING_SIZE		SZ_256K

/* Bytes of a message about a failed ioctl, with its NUL. */
#define SFU_MESSAGE_SIZE	192

#endif /* SFU_LIMITS_H */
