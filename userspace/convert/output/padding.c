// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include "padding.h"

/* Bytes of ModRM, SIB and displacement at @code, or 0 if they exceed @size. */
static size_t operand_size(const unsigned char *code, size_t size)
{
	size_t length = 1;

	if (!size)
		return 0;
	switch (code[0] >> 6) {
	case 0:
		/* Only rip-relative addresses have a displacement; for SIB see below. */
		if ((code[0] & 7) == 5)
			length += 4;
		break;
	case 1:
		length += 1;
		break;
	case 2:
		length += 4;
		break;
	}
	if (code[0] >> 6 != 3 && (code[0] & 7) == 4)
		length++;
	return length <= size ? length : 0;
}

/* Length of the instruction at @code if it is padding, or 0. */
static size_t padding_size(const unsigned char *code, size_t size)
{
	size_t at = 0, operand;

	if (code[0] == 0xcc)			/* int3 */
		return 1;
	while (at < size && (code[at] == 0x66 || code[at] == 0x2e))
		at++;
	if (at < size && code[at] == 0x90)	/* nop */
		return at + 1;
	/* nop with operand: 0f 1f /0 */
	if (size - at < 3 || code[at] != 0x0f || code[at + 1] != 0x1f)
		return 0;
	at += 2;
	operand = operand_size(code + at, size - at);
	return operand ? at + operand : 0;
}

int sfu_padding_is(struct image *image, uint64_t start, uint64_t end)
{
	const unsigned char *code;
	size_t at = 0, size = end - start;
	int ret;

	if (end - start > MAX_PADDING)
		return 0;
	ret = sfu_image_code(image, start, size, &code);
	if (ret <= 0)
		return ret;
	while (at < size) {
		const size_t length = padding_size(code + at, size - at);

		if (!length)
			return 0;
		at += length;
	}
	return 1;
}
