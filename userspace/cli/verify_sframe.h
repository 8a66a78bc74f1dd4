/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Read a .sframe section to spans, the converter's representation of rules.
 */
#ifndef VERIFY_SFRAME_H
#define VERIFY_SFRAME_H

#include "convert/base/span.h"
#include "module/decode/sframe.h"

/**
 * struct verify_sframe - the rules of a section
 *
 * @spans: array of struct span, by address.
 * @firsts: for each span, the number of the first span of its entry.
 */
struct verify_sframe {
	struct buffer spans;
	struct buffer firsts;
};

/*
 * Fill @sframe, which must be all 0, from the section @bytes; the memory is charged to
 * @budget. The number of rows is limited, because functions can share rows and blocks
 * can be repeated. Returns 0; -EINVAL or -EOPNOTSUPP with *@defect; -ENOMEM or -EFBIG
 * with a message (convert/base/message.h).
 */
int verify_sframe_read(struct verify_sframe *sframe, struct budget *budget,
		       const struct sfu_bytes *bytes,
		       struct sfu_defect *defect);

void verify_sframe_free(struct verify_sframe *sframe, struct budget *budget);

#endif /* VERIFY_SFRAME_H */
