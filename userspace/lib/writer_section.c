// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Write the functions of a writer as a section.
 */
#include <inttypes.h>

#include "writer.h"
#include "module/arch/arch.h"
#include "module/decode/sframe_format.h"

static const struct fde_runs no_runs;

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

static int sort_fdes(struct sframe_unwind_writer *writer, const struct fde_runs *runs)
{
	const size_t count = sfu_writer_count(writer);
	const struct fde *last;
	int err;

	/* Runs are not moved. */
	if (runs->count)
		return sfu_writer_fail(writer, EINVAL,
				       "a function lies in front of functions that were added before it");
	qsort(writer->fdes.bytes, count, sizeof(struct fde), compare_fdes);
	err = check_overlaps(writer);
	if (err)
		return err;
	last = (const struct fde *)writer->fdes.bytes + count - 1;
	writer->end = last->start + last->size;
	writer->is_unsorted = false;
	return 0;
}

ssize_t sfu_writer_size(struct sframe_unwind_writer *writer, const struct fde_runs *runs)
{
	const size_t count = sfu_writer_count(writer) + runs->count;
	int err;

	writer->error[0] = '\0';
	if (!count)
		return sfu_writer_fail(writer, ENODATA,
				       "no function has been added");
	if (writer->is_unsorted) {
		err = sort_fdes(writer, runs);
		if (err)
			return err;
	}
	if (writer->extension.size >= UINT32_MAX / 2 || count > SFU_MAX_FDES)
		return sfu_writer_fail(writer, EFBIG,
				       "the section becomes too large for the format");
	return SFRAME_HDR_SIZE + writer->extension.size +
	       count * SFRAME_FDE_SIZE +
	       writer->pool.area.size;
}

ssize_t sframe_unwind_writer_size(struct sframe_unwind_writer *writer)
{
	return writer ? sfu_writer_size(writer, &no_runs) : -EINVAL;
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

/* Two numbers, which one instruction adds to. */
typedef uint64_t pair __attribute__((vector_size(16)));

/* As write_entry(), for a run. Returns where its entries end. */
static unsigned char *write_run(const struct fde_run *run, unsigned char *to, uint64_t field)
{
	/* Size and offset of the rows are next to each other. */
	pair more = { -field, (uint64_t)run->block << 32 };
	const pair step = { SFRAME_FDE_SIZE, 0 };
	const struct code *const end = run->codes + run->count;

#pragma GCC unroll 4
	for (const struct code *code = run->codes; code < end; code++) {
		const pair entry = (pair){ code->start, code->size } + more;

		put_le(to + SFRAME_FDE_START, entry[0], 8);
		put_le(to + SFRAME_FDE_FUNC_SIZE, entry[1], 8);
		to += SFRAME_FDE_SIZE;
		more -= step;
	}
	return to;
}

/* Write the index to @to, whose run-time address is @to + @distance. Returns its end. */
static unsigned char *write_index(const struct sframe_unwind_writer *writer,
				  const struct fde_runs *runs, unsigned char *to,
				  uint64_t distance)
{
	const struct fde *fdes = (const struct fde *)writer->fdes.bytes;
	const struct fde_run *run = (const struct fde_run *)runs->runs.bytes;
	const size_t count = sfu_writer_count(writer);
	const size_t nr_runs = runs->runs.size / sizeof(*run);
	size_t i = 0;

	for (size_t j = 0; j <= nr_runs; j++) {
		const size_t end = j < nr_runs ? run[j].before : count;

		for (; i < end; i++, to += SFRAME_FDE_SIZE)
			write_entry(&fdes[i], to, (uintptr_t)to + distance);
		if (j < nr_runs)
			to = write_run(&run[j], to, (uintptr_t)to + distance);
	}
	return to;
}

ssize_t sfu_writer_write(struct sframe_unwind_writer *writer, const struct fde_runs *runs,
			 void *buffer, size_t size, uint64_t section_address)
{
	const ssize_t needed = sfu_writer_size(writer, runs);
	unsigned char *to = buffer;

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
	write_header(writer, to, sfu_writer_count(writer) + runs->count);
	to = write_index(writer, runs, to + SFRAME_HDR_SIZE + writer->extension.size,
			 section_address - (uintptr_t)buffer);
	if (writer->pool.area.size)
		memcpy(to, writer->pool.area.bytes, writer->pool.area.size);
	return needed;
}

ssize_t sframe_unwind_writer_write(struct sframe_unwind_writer *writer,
				   void *buffer, size_t size,
				   uint64_t section_address)
{
	return writer ? sfu_writer_write(writer, &no_runs, buffer, size, section_address) :
			-EINVAL;
}
