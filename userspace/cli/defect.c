// SPDX-License-Identifier: GPL-2.0
#include <stdio.h>

#include "defect.h"
#include "module/decode/sframe_format.h"

const char *defect_describe(const struct sfu_defect *defect,
			    const unsigned char *bytes, size_t size, char *text)
{
	const char *what = sfu_defect_text(defect->kind);

	if (defect->kind == SFU_DEFECT_HDR_VERSION &&
	    size > SFRAME_HDR_VERSION)
		snprintf(text, DEFECT_SIZE, "%s but %u", what,
			 bytes[SFRAME_HDR_VERSION]);
	else
		snprintf(text, DEFECT_SIZE, "%s", what);
	return text;
}
