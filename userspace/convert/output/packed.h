/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Packed: serialise a result, for the cache and for a worker's reply. In the byte
 * order of the machine.
 */
#ifndef SFRAME_UNWIND_PACKED_H
#define SFRAME_UNWIND_PACKED_H

#include <sframe_unwind_convert.h>

#include "lib/buffer.h"

/* Append @converted, without its members about the cache. Returns 0 or -ENOMEM. */
int sfu_packed_write(struct buffer *to,
		     const struct sframe_unwind_converted *converted);

/*
 * Unpack untrusted bytes. Returns 0 with *@converted, to be freed: its pointers are
 * valid and the decoder accepts the section's header, but functions and rows of the
 * section have not been examined, and numbers are the writer's claims. Returns -EINVAL
 * if the bytes are no packed result, or -ENOMEM, with a message.
 */
int sfu_packed_read(const void *bytes, size_t size,
		    struct sframe_unwind_converted **converted);

#endif /* SFRAME_UNWIND_PACKED_H */
