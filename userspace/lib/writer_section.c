// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Write the functions of a writer as a section.
 */
#include <inttypes.h>

#include "writer.h"
#include "module/arch/arch.h"
#include "module/decode/sframe_format.h"

static int compare_fdes(const void *a, const void *b)
{
	const uint64_t a_start = ((const struct fde *)a)->start;
	const uint64_t b_start = ((const struct fde *)b)->start;

	return (a_start > b_start) - (a_start < b_start);
}

static const char *fde_name(const struct sframe_unwind_writer *writer,
			    const struct fde *fde)
{
	return fde->name == NO_NAME ? "(no name)" :
	       (const char *)writer->names.bytes + fde->name;
}

static int check_overlaps(struct sframe_unwind_writer *writer)
{
	const struct fde *fdes = (const struct fde *)writer->fdes.bytes;
	const size_t count = writer->fdes.size / sizeof(*fdes);

	for (size_t i = 1; i < count; i++) {
		if (fdes[i].start - fdes[i - 1].start >= fdes[i - 1].size)
			continue;
		return sfu_writer_fail(writer, EINVAL,
				       "function %.64s at 0x%" PRIx64
				       " overlaps function %.64s at 0x%" PRIx64,
				       fde_name(writer, &fdes[i]),
				       fdes[i].start,
				       fde_name(writer, &fdes[i - 1]),
				       fdes[i - 1].start);
	}
	return 0;
}

ssize_t sframe_unwind_writer_size(struct sframe_unwind_writer *writer)
{
	const struct fde *last;
	size_t count;
	int err;

	if (!writer)
		return -EINVAL;
	count = writer->fdes.size / sizeof(struct fde);
	writer->error[0] = '\0';
	if (!count)
		return sfu_writer_fail(writer, ENODATA,
				       "no function has been added");
	if (writer->is_unsorted) {
		qsort(writer->fdes.bytes, count, sizeof(struct fde),
		      compare_fdes);
		err = check_overlaps(writer);
		if (err)
			return err;
		last = (const struct fde *)writer->fdes.bytes + count - 1;
		writer->end = last->start + last->size;
		writer->is_unsorted = false;
	}
	if (writer->extension.size >= UINT32_MAX / 2)
		return sfu_writer_fail(writer, EFBIG,
				       "the section becomes too large for the format");
	return SFRAME_HDR_SIZE + writer->extension.size +
	       count * SFRAME_FDE_SIZE +
	       writer->pool.area.size;
}

static void write_header(const struct sframe_unwind_writer *writer,
			 unsigned char *to, uint32_t nr_fdes)
{
	const size_t more = writer->extension.size;
	const uint32_t index = more ? more - SFRAME_EXT_SIZE : 0;

	memset(to, 0, SFRAME_HDR_SIZE);
	put_le(to + SFRAME_HDR_MAGIC, SFRAME_MAGIC, 2);
	to[SFRAME_HDR_VERSION] = SFRAME_VERSION_3;
	to[SFRAME_HDR_FLAGS] = SFRAME_F_FDE_SORTED |
			       SFRAME_F_FDE_FUNC_START_PCREL;
	to[SFRAME_HDR_ABI] = SFU_SFRAME_ABI;
	to[SFRAME_HDR_FIXED_RA] = (unsigned char)SFU_SFRAME_FIXED_RA;
	put_le(to + SFRAME_HDR_NUM_FDES, nr_fdes, 4);
	put_le(to + SFRAME_HDR_NUM_FRES, writer->nr_rows, 4);
	put_le(to + SFRAME_HDR_FRE_LEN, writer->pool.area.size, 4);
	put_le(to + SFRAME_HDR_FDE_OFF, index, 4);
	put_le(to + SFRAME_HDR_FRE_OFF, index + nr_fdes * SFRAME_FDE_SIZE, 4);
	if (!more)
		return;
	to[SFRAME_HDR_AUXHDR_LEN] = SFRAME_EXT_SIZE;
	memcpy(to + SFRAME_HDR_SIZE, writer->extension.bytes, more);
}

/* @field is the run-time address of the entry's first field, the start. */
static void write_entry(const struct fde *fde, unsigned char *to,
			uint64_t field)
{
	put_le(to + SFRAME_FDE_START, fde->start - field, 8);
	put_le(to + SFRAME_FDE_FUNC_SIZE, fde->size, 4);
	put_le(to + SFRAME_FDE_FRE_OFF, fde->block, 4);
}

ssize_t sframe_unwind_writer_write(struct sframe_unwind_writer *writer,
				   void *buffer, size_t size,
				   uint64_t section_address)
{
	const ssize_t needed = sframe_unwind_writer_size(writer);
	unsigned char *to = buffer;
	const struct fde *fdes;
	uint32_t count;
	size_t at;

	if (needed < 0)
		return needed;
	if (!buffer)
		return sfu_writer_fail(writer, EINVAL, "the buffer is NULL");
	if (size < (size_t)needed)
		return sfu_writer_fail(writer, ENOSPC,
				       "the section has %zd bytes, there is room for %zu",
				       needed, size);
	if (section_address + needed < section_address)
		return sfu_writer_fail(writer, EINVAL,
				       "the section, %zd bytes at 0x%" PRIx64 ", wraps around the address space",
				       needed, section_address);
	fdes = (const struct fde *)writer->fdes.bytes;
	count = writer->fdes.size / sizeof(*fdes);
	write_header(writer, to, count);
	at = SFRAME_HDR_SIZE + writer->extension.size;
	for (uint32_t i = 0; i < count; i++) {
		write_entry(&fdes[i], to + at, section_address + at);
		at += SFRAME_FDE_SIZE;
	}
	memcpy(to + at, writer->pool.area.bytes, writer->pool.area.size);
	return needed;
}
