/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Own sframe: read a .sframe section of version 3 to spans.
 */
#ifndef SFRAME_UNWIND_OWN_SFRAME_H
#define SFRAME_UNWIND_OWN_SFRAME_H

#include "convert/base/span.h"
#include "module/decode/sframe.h"

/**
 * struct own_sframe - the rules of a section
 *
 * @spans: array of struct span, by address.
 * @firsts: for each span, the number of the first span of its entry.
 */
struct own_sframe {
	struct buffer spans;
	struct buffer firsts;
};

/*
 * Fill @sframe, which must be all 0, from the section @bytes; the memory is charged to
 * @budget. The number of rows is limited, because functions can share rows and blocks
 * can be repeated. Returns 0; -EINVAL or -EOPNOTSUPP with *@defect; -ENOMEM or -EFBIG
 * with a message.
 */
int sfu_own_sframe_read(struct own_sframe *sframe, struct budget *budget,
		       const struct sfu_bytes *bytes,
		       struct sfu_defect *defect);

void sfu_own_sframe_free(struct own_sframe *sframe, struct budget *budget);

#endif /* SFRAME_UNWIND_OWN_SFRAME_H */
