// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include <string.h>

#include "convert/base/span.h"
#include "module/arch/arch.h"
#include "module/decode/sframe_format.h"
#include "parents.h"

/* glibc: syscall; test %rax,%rax; jl ERROR; je THREAD; ret */
static const unsigned char pattern[] = {
	0x0f, 0x05, 0x48, 0x85, 0xc0, 0x7c, 0, 0x74, 0x01, 0xc3
};
static const unsigned char mask[] = {
	0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0xff, 0xff, 0xff
};

/* Returns 1 if the code at @start is what follows clone(), 0 if not, or an error. */
static int is_parent(struct image *image, uint64_t start)
{
	const unsigned char *code;
	int ret;

	ret = sfu_image_code(image, start, sizeof(pattern), &code);
	if (ret <= 0)
		return ret;
	for (size_t i = 0; i < sizeof(pattern); i++)
		if ((code[i] & mask[i]) != pattern[i])
			return 0;
	return 1;
}

int sfu_parents_add(struct buffer *spans, struct image *image)
{
	const size_t count = nr_spans(spans);
	int ret = 0, err = 0;

	for (size_t i = 0; !err && i + 1 < count; i++) {
		struct span span = {
			.start = span_at(spans, i)->end,
			.end = span_at(spans, i + 1)->start,
			.rule = {
				.cfa = SFRAME_EXT_REG_SP_PARENT,
				.cfa_offset = 8,
				.ra = SFU_BASE_CFA | SFU_DEREF,
				.ra_offset = SFU_SFRAME_FIXED_RA,
				.fp = SFU_SAME,
			},
			.flags = SPAN_ENTRY | SPAN_SLOTS,
		};

		if (span.end - span.start != sizeof(pattern))
			continue;
		ret = is_parent(image, span.start);
		if (ret < 0)
			return ret;
		if (ret)
			err = sfu_span_add(&image->file.budget, spans,
					   nr_spans(spans), &span);
	}
	return err ? err : sfu_span_join(&image->file.budget, spans, count);
}
