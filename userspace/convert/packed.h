/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Packed: a result as bytes, for the cache and for a worker's pipe. For the
 * machine that wrote it.
 */
#ifndef SFRAME_UNWIND_PACKED_H
#define SFRAME_UNWIND_PACKED_H

#include <sframe_unwind_convert.h>

#include "lib/buffer.h"

/* Append @converted, without what has to do with the cache. Returns 0 or -ENOMEM. */
int sfu_packed_write(struct buffer *to,
		     const struct sframe_unwind_converted *converted);

/*
 * Read what may be any bytes. Returns 0 with *@converted to be freed: all that
 * it points to is there, and the decoder can open the section, but its functions
 * and rows have not been looked at, and its numbers are what the writer said.
 * Returns -EINVAL if it is nothing that was packed, or -ENOMEM, with a message.
 */
int sfu_packed_read(const void *bytes, size_t size,
		    struct sframe_unwind_converted **converted);

#endif /* SFRAME_UNWIND_PACKED_H */
