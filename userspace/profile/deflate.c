// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include <errno.h>
#include <stdlib.h>
#include <zstd.h>

#include "profile/deflate.h"
#include "profile/format.h"

#define RECORD_MAX	65528u

/*
 * Equal stacks are found again as long as they are in the window, of 2 MiB. Long distance
 * matching would make profiles a tenth smaller, and take three times as long.
 */
#define WINDOW_LOG	21

int sfu_deflate_start(struct deflate *deflate, uint32_t level)
{
	if (level > DEFLATE_LEVEL_MAX)
		return -EINVAL;
	deflate->level = level;
	deflate->record = malloc(RECORD_MAX);
	deflate->stream = ZSTD_createCCtx();
	if (!deflate->record || !deflate->stream)
		return -ENOMEM;
	ZSTD_CCtx_setParameter(deflate->stream, ZSTD_c_compressionLevel, level);
	ZSTD_CCtx_setParameter(deflate->stream, ZSTD_c_windowLog, WINDOW_LOG);
	return 0;
}

int sfu_deflate(struct deflate *deflate, const void *bytes, size_t size)
{
	struct perf_event_header header = { .type = RECORD_COMPRESSED };
	ZSTD_inBuffer in = { bytes, size, 0 };
	ZSTD_outBuffer out = { deflate->record, RECORD_MAX, sizeof(header) };

	/* Returns 0 when all is written; there is always room, see DEFLATE_PLAIN. */
	if (ZSTD_compressStream2(deflate->stream, &out, &in, ZSTD_e_flush))
		return -EIO;
	header.size = out.pos;
	memcpy(deflate->record, &header, sizeof(header));
	deflate->size = out.pos;
	deflate->given += size;
	deflate->gotten += out.pos;
	return 0;
}

void sfu_deflate_free(struct deflate *deflate)
{
	ZSTD_freeCCtx(deflate->stream);
	free(deflate->record);
	*deflate = (struct deflate){ 0 };
}
