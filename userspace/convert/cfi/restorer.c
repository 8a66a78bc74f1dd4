// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include "module/arch/arch.h"
#include "module/decode/bytes.h"
#include "restorer.h"

int sfu_restorer_is(struct image *image, uint64_t address)
{
	const unsigned char *code;
	uint64_t first;
	int ret;

	/* Of the short form, 7 bytes; but something follows it. */
	ret = sfu_image_code(image, address, SFU_RESTORER_SIZE - 1, &code);
	if (ret <= 0)
		return ret;
	first = get_le64(code);
	if ((first & SFU_RESTORER_SHORT_MASK) == SFU_RESTORER_SHORT)
		return 1;
	if (first != SFU_RESTORER)
		return 0;
	ret = sfu_image_code(image, address, SFU_RESTORER_SIZE, &code);
	return ret <= 0 ? ret : code[SFU_RESTORER_SIZE - 1] == SFU_RESTORER_LAST;
}
