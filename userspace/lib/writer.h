/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Writer: internals that writer.c and writer_section.c share.
 */
#ifndef SFRAME_UNWIND_LIB_WRITER_H
#define SFRAME_UNWIND_LIB_WRITER_H

#include <stdbool.h>

#include <sframe_unwind.h>

#include "pool.h"
#include "module/decode/sframe_format.h"

/* Value of fde.name for a function without a name. */
#define NO_NAME SIZE_MAX

struct fde {
	uint64_t start;
	uint32_t size;
	uint32_t block;		/* offset in the FRE area */
	size_t name;		/* offset in the names, or NO_NAME */
};

/* [start, start + size) */
struct code {
	uint64_t start;
	uint64_t size;
};

static inline uint64_t code_end(const struct code *code)
{
	return code->start + code->size;
}

/**
 * struct fde_run - functions that have the same rows, no names, and no struct fde
 *
 * @before: number of FDEs of the writer in front of them.
 * @codes: their code, sorted by start, without overlaps. Not copied.
 * @count: number of these.
 * @block: as in an FDE.
 */
struct fde_run {
	size_t before;
	const struct code *codes;
	size_t count;
	uint32_t block;
};

/**
 * struct fde_runs - functions of a section besides those of its writer
 *
 * @runs: array of struct fde_run, sorted by start.
 * @count: number of functions in all of them.
 */
struct fde_runs {
	struct buffer runs;
	size_t count;
};

/**
 * struct sframe_unwind_writer - the functions that have been added
 *
 * @fdes: array of struct fde.
 * @is_unsorted: the FDEs may not be sorted by start, or overlap.
 * @end: where the code of the last FDE ends.
 * @nr_rows: rows of all FDEs; shared rows count once for each FDE.
 * @pool: the FRE area.
 * @names: names of functions, NUL-terminated.
 * @rows: normalised rows of the function being added.
 * @block: bytes of the block being added.
 * @extension: auxiliary header and tables of an extended section; else empty.
 * @is_extended: rows may use extensions.
 * @error: message of the last call.
 */
struct sframe_unwind_writer {
	struct buffer fdes;
	bool is_unsorted;
	uint64_t end;
	uint64_t nr_rows;
	struct pool pool;
	struct buffer names;
	struct buffer rows;
	struct buffer block;
	struct buffer extension;
	bool is_extended;
	char error[256];
};

/* Set the message. Returns -@error. */
__attribute__((format(printf, 3, 4)))
int sfu_writer_fail(struct sframe_unwind_writer *writer, int error,
		    const char *format, ...);

/*
 * Make the section an extended one: call it before functions are added. Their rows may
 * use extensions then.
 */
void sfu_writer_extend(struct sframe_unwind_writer *writer);

/*
 * Set the auxiliary header and the tables of an extended section, of @size bytes, a
 * multiple of 4. Returns 0 or -ENOMEM.
 */
int sfu_writer_set_extension(struct sframe_unwind_writer *writer,
			     const void *bytes, size_t size);

/* Returns the bytes of memory that sframe_unwind_writer_reset() keeps. */
static inline size_t sfu_writer_space(const struct sframe_unwind_writer *writer)
{
	if (!writer)
		return 0;
	return writer->fdes.space + writer->pool.area.space + writer->pool.blocks.space +
	       writer->pool.nr_slots * sizeof(writer->pool.slots[0]) +
	       writer->names.space + writer->rows.space + writer->block.space +
	       writer->extension.space;
}

/* Returns the number of FDEs. */
static inline size_t sfu_writer_count(const struct sframe_unwind_writer *writer)
{
	return writer->fdes.size / sizeof(struct fde);
}

/* Most FDEs: the header must be able to express the offset of the index's end. */
#define SFU_MAX_FDES ((size_t)UINT32_MAX / SFRAME_FDE_SIZE)

/* Returns whether @count more FDEs with @nr_rows rows each can be expressed. */
static inline bool sfu_writer_has_room(const struct sframe_unwind_writer *writer, size_t count,
				       uint16_t nr_rows)
{
	return count <= SFU_MAX_FDES - sfu_writer_count(writer) &&
	       writer->nr_rows + (uint64_t)count * nr_rows <= UINT32_MAX;
}

/*
 * Append @count functions, at least 1, with @nr_rows rows each, in the block at @block, to @runs.
 * They are behind all others, and not larger than an FDE can be. Returns 0 or a negative errno
 * without a message. @codes must stay until the section is written; no function that is added later
 * may lie in front of them.
 */
int sfu_writer_add_run(struct sframe_unwind_writer *writer, struct fde_runs *runs,
		       const struct code *codes, size_t count, uint32_t block,
		       uint16_t nr_rows);

/* sframe_unwind_writer_size() and sframe_unwind_writer_write() of a section with @runs. */
ssize_t sfu_writer_size(struct sframe_unwind_writer *writer, const struct fde_runs *runs);
ssize_t sfu_writer_write(struct sframe_unwind_writer *writer, const struct fde_runs *runs,
			 void *buffer, size_t size, uint64_t section_address);

/* Append @fde, which has @nr_rows rows. Returns 0 or a negative errno without a message. */
static inline int sfu_writer_put_fde(struct sframe_unwind_writer *writer,
				     const struct fde *fde, uint16_t nr_rows)
{
	if (!sfu_writer_has_room(writer, 1, nr_rows))
		return -EFBIG;
	if (buffer_reserve(&writer->fdes, sizeof(*fde)))
		return -ENOMEM;
	buffer_put(&writer->fdes, fde, sizeof(*fde));
	writer->nr_rows += nr_rows;
	writer->is_unsorted |= fde->start < writer->end;
	writer->end = fde->start + fde->size;
	return 0;
}

#endif /* SFRAME_UNWIND_LIB_WRITER_H */
