// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "profile/inflate.h"

static int start(struct inflate *inflate)
{
	if (inflate->stream)
		return 0;
	inflate->packed = malloc(INPUT_MAX);
	inflate->plain = malloc(INFLATE_PLAIN);
	inflate->stream = ZSTD_createDStream();
	if (inflate->packed && inflate->plain && inflate->stream)
		return 0;
	sfu_inflate_free(inflate);
	return -ENOMEM;
}

int sfu_inflate_give(struct inflate *inflate, const void *bytes, size_t size)
{
	if (start(inflate))
		return -ENOMEM;
	memcpy(inflate->packed, bytes, size);
	inflate->packed_size = size;
	inflate->packed_used = 0;
	inflate->is_drained = !size;
	inflate->given += size && size < INFLATE_LEAST ? INFLATE_LEAST : size;
	return 0;
}

/* Move what is left to the beginning of the buffer, and decompress more. */
static int refill(struct inflate *inflate, const char **why)
{
	ZSTD_inBuffer in = { inflate->packed, inflate->packed_size,
			     inflate->packed_used };
	ZSTD_outBuffer out = { inflate->plain, INFLATE_PLAIN, 0 };
	size_t ret;

	memmove(inflate->plain, inflate->plain + inflate->begin,
		inflate->end - inflate->begin);
	inflate->end -= inflate->begin;
	inflate->begin = 0;
	out.pos = inflate->end;
	while (out.pos < out.size) {
		const size_t in_before = in.pos, out_before = out.pos;

		ret = ZSTD_decompressStream(inflate->stream, &out, &in);
		if (ZSTD_isError(ret)) {
			*why = ZSTD_getErrorName(ret);
			return -EINVAL;
		}
		if (in.pos == in_before && out.pos == out_before)
			break;
	}
	inflate->packed_used = in.pos;
	inflate->is_drained = out.pos < out.size;
	inflate->gotten += out.pos - inflate->end;
	inflate->end = out.pos;
	if (inflate->gotten <= INFLATE_FREE + inflate->given * INFLATE_RATIO)
		return 0;
	*why = "more data than a file of this size can have";
	return -EINVAL;
}

const void *sfu_inflate_get(struct inflate *inflate, size_t size, int *error,
			    const char **why)
{
	*error = 0;
	if (inflate->end - inflate->begin < size && inflate->stream &&
	    !inflate->is_drained)
		*error = refill(inflate, why);
	if (*error || inflate->end - inflate->begin < size)
		return NULL;
	return inflate->plain + inflate->begin;
}

void sfu_inflate_take(struct inflate *inflate, size_t size)
{
	inflate->begin += size;
}

void sfu_inflate_reset(struct inflate *inflate)
{
	if (inflate->stream)
		ZSTD_DCtx_reset(inflate->stream, ZSTD_reset_session_only);
	inflate->packed_size = 0;
	inflate->packed_used = 0;
	inflate->is_drained = true;
	inflate->given = 0;
	inflate->gotten = 0;
	inflate->begin = 0;
	inflate->end = 0;
}

void sfu_inflate_free(struct inflate *inflate)
{
	ZSTD_freeDStream(inflate->stream);
	free(inflate->packed);
	free(inflate->plain);
	*inflate = (struct inflate){ 0 };
}
