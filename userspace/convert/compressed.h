/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Compressed: sections with SHF_COMPRESSED. How large they become is what they
 * say: that much is taken from the budget first, and no byte more is written.
 */
#ifndef SFRAME_UNWIND_COMPRESSED_H
#define SFRAME_UNWIND_COMPRESSED_H

#include "file.h"

/*
 * Have the contents of a section in memory of which @bytes are @size bytes.
 * Returns 0 with *@to, to be freed with sfu_budget_free_memory(), *@to_size
 * bytes; or a negative errno with a message about @what: -EINVAL if they are
 * broken, -EOPNOTSUPP if compressed in another way, -EFBIG, -ENOMEM.
 */
int sfu_compressed_read(struct budget *budget, const char *what,
			const void *bytes, uint64_t size, void **to,
			uint64_t *to_size);

#endif /* SFRAME_UNWIND_COMPRESSED_H */
