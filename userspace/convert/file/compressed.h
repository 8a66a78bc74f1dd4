/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Compressed: sections with SHF_COMPRESSED. The size in their header is charged to
 * the budget first, and not a byte more is written.
 */
#ifndef SFRAME_UNWIND_COMPRESSED_H
#define SFRAME_UNWIND_COMPRESSED_H

#include "file.h"

/*
 * Decompress a section of @size @bytes. Returns 0 with *@to, *@to_size bytes to be
 * freed with sfu_budget_free_memory(); or a negative errno with a message about
 * @what: -EINVAL if it is broken, -EOPNOTSUPP if the method is unknown, -EFBIG,
 * -ENOMEM.
 */
int sfu_compressed_read(struct budget *budget, const char *what,
			const void *bytes, uint64_t size, void **to,
			uint64_t *to_size);

#endif /* SFRAME_UNWIND_COMPRESSED_H */
