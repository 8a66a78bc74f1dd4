// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include <elf.h>
#include <zlib.h>
#include <zstd.h>

#include "compressed.h"
#include "convert/base/message.h"

#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2
#endif

static uInt at_most(uint64_t size)
{
	return size < UINT32_MAX ? size : UINT32_MAX;
}

/*
 * Decompress one or more streams to exactly @to_size bytes. Returns 0, -EINVAL or
 * -ENOMEM.
 */
static int read_zlib(const unsigned char *from, uint64_t size,
		     unsigned char *to, uint64_t to_size)
{
	z_stream stream = { 0 };
	uint64_t written = 0, read = 0;
	int ret;

	ret = inflateInit(&stream);
	while (ret == Z_OK) {
		const uInt room = at_most(to_size - written);
		const uInt more = at_most(size - read);

		stream.next_in = (unsigned char *)(uintptr_t)from + read;
		stream.avail_in = more;
		stream.next_out = to + written;
		stream.avail_out = room;
		ret = inflate(&stream, Z_NO_FLUSH);
		read += more - stream.avail_in;
		written += room - stream.avail_out;
		/* Linkers concatenate streams. */
		if (ret == Z_STREAM_END && read < size)
			ret = inflateReset(&stream);
	}
	inflateEnd(&stream);
	if (ret == Z_MEM_ERROR)
		return -ENOMEM;
	return ret == Z_STREAM_END && written == to_size ? 0 : -EINVAL;
}

static int read_zstd(const void *from, uint64_t size, void *to,
		     uint64_t to_size)
{
	ZSTD_DCtx *context = ZSTD_createDCtx();
	size_t ret;

	if (!context)
		return -ENOMEM;
	ret = ZSTD_decompressDCtx(context, to, to_size, from, size);
	ZSTD_freeDCtx(context);
	return ret == to_size ? 0 : -EINVAL;
}

int sfu_compressed_read(struct budget *budget, const char *what,
			const void *bytes, uint64_t size, void **to,
			uint64_t *to_size)
{
	Elf64_Chdr header;
	int err;

	*to = NULL;
	if (size < sizeof(header))
		return sfu_message_fail(EINVAL, "broken ELF file: %s is too short to be compressed",
					what);
	memcpy(&header, bytes, sizeof(header));
	if (header.ch_type != ELFCOMPRESS_ZLIB &&
	    header.ch_type != ELFCOMPRESS_ZSTD)
		return sfu_message_fail(EOPNOTSUPP, "%s is compressed in an unknown way (type %u)",
					what, header.ch_type);
	*to_size = header.ch_size;
	err = sfu_budget_allocate(budget, *to_size, what, to);
	if (err)
		return err;
	bytes = (const char *)bytes + sizeof(header);
	size -= sizeof(header);
	if (header.ch_type == ELFCOMPRESS_ZLIB)
		err = read_zlib(bytes, size, *to, *to_size);
	else
		err = read_zstd(bytes, size, *to, *to_size);
	if (!err)
		return 0;
	sfu_budget_free_memory(budget, *to, *to_size);
	*to = NULL;
	return err == -ENOMEM ?
	       sfu_message_fail(ENOMEM, "%s: no memory to decompress it", what) :
	       sfu_message_fail(EINVAL, "broken ELF file: %s cannot be decompressed",
				what);
}
