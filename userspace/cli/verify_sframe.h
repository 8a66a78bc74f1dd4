/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a .sframe section says, row by row, in the words of the converter.
 */
#ifndef VERIFY_SFRAME_H
#define VERIFY_SFRAME_H

#include "convert/span.h"
#include "module/decode/sframe.h"

/**
 * struct verify_sframe - code that a section describes
 *
 * @spans: array of struct span, by address.
 * @firsts: of each span, number of its entry's first one.
 */
struct verify_sframe {
	struct buffer spans;
	struct buffer firsts;
};

/*
 * Fill @sframe, which is all 0, from the section @bytes, and pay for that out of
 * @budget. Functions may share rows, and blocks repeat: there is a limit to how
 * many rows that may come to. Returns 0; -EINVAL or -EOPNOTSUPP with *@defect;
 * -ENOMEM or -EFBIG with a message (convert/message.h).
 */
int verify_sframe_read(struct verify_sframe *sframe, struct budget *budget,
		       const struct sfu_bytes *bytes,
		       struct sfu_defect *defect);

void verify_sframe_free(struct verify_sframe *sframe, struct budget *budget);

#endif /* VERIFY_SFRAME_H */
