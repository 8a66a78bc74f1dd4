// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Writer of SFrame V3 sections. A function's rows are encoded when it is
 * added; only the index depends on the section's address and is encoded when
 * the section is written.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "rows.h"
#include "writer.h"
#include "module/decode/sframe_format.h"

/* Rows that one FDE can have. */
#define MAX_FDE_ROWS UINT16_MAX

/* No function is larger than the user address space. */
#define MAX_FUNCTION (1ULL << 47)

int sframe_unwind_writer_create(struct sframe_unwind_writer **writer)
{
	if (!writer)
		return -EINVAL;
	*writer = calloc(1, sizeof(**writer));
	return *writer ? 0 : -ENOMEM;
}

void sframe_unwind_writer_free(struct sframe_unwind_writer *writer)
{
	if (!writer)
		return;
	buffer_free(&writer->fdes);
	sfu_pool_free(&writer->pool);
	buffer_free(&writer->names);
	buffer_free(&writer->rows);
	buffer_free(&writer->block);
	buffer_free(&writer->extension);
	free(writer);
}

void sframe_unwind_writer_reset(struct sframe_unwind_writer *writer)
{
	if (!writer)
		return;
	writer->fdes.size = 0;
	writer->is_unsorted = false;
	writer->end = 0;
	writer->nr_rows = 0;
	sfu_pool_truncate(&writer->pool, 0);
	writer->names.size = 0;
	writer->extension.size = 0;
	writer->is_extended = false;
	writer->error[0] = '\0';
}

void sfu_writer_extend(struct sframe_unwind_writer *writer)
{
	writer->is_extended = true;
}

int sfu_writer_set_extension(struct sframe_unwind_writer *writer,
			     const void *bytes, size_t size)
{
	writer->extension.size = 0;
	if (buffer_reserve(&writer->extension, size))
		return -ENOMEM;
	buffer_put(&writer->extension, bytes, size);
	return 0;
}

const char *
sframe_unwind_writer_error(const struct sframe_unwind_writer *writer)
{
	return writer ? writer->error : "there is no writer";
}

int sfu_writer_fail(struct sframe_unwind_writer *writer, int error,
		    const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(writer->error, sizeof(writer->error), format, args);
	va_end(args);
	return -error;
}

/* Set a message that names the function and, unless it is negative, @row. */
static int refuse(struct sframe_unwind_writer *writer,
		  const struct sframe_unwind_function *function, ssize_t row,
		  int error, const char *wrong)
{
	char name[128], number[32] = "";

	if (function->name)
		snprintf(name, sizeof(name), "%s", function->name);
	else
		snprintf(name, sizeof(name), "at 0x%" PRIx64, function->start);
	if (row >= 0)
		snprintf(number, sizeof(number), ", row %zd", row);
	return sfu_writer_fail(writer, error, "function %s%s: %s", name,
			       number, wrong);
}

static int check_function(struct sframe_unwind_writer *writer,
			  const struct sframe_unwind_function *function)
{
	const char *wrong = NULL;

	if (!function->size)
		wrong = "size is 0";
	else if (function->start + function->size < function->start)
		wrong = "wraps around the address space";
	else if (function->size > MAX_FUNCTION)
		wrong = "is larger than 2^47 bytes";
	else if (function->flags & ~SFRAME_UNWIND_FUNCTION_SIGNAL)
		wrong = "unknown flag";
	else if (function->block_size > UINT8_MAX)
		wrong = "block size is above 255";
	else if (function->block_size && function->size % function->block_size)
		wrong = "size is no multiple of the block size";
	else if (!function->nr_rows &&
		 !(function->flags & SFRAME_UNWIND_FUNCTION_SIGNAL))
		wrong = "no rows";
	else if (function->nr_rows && !function->rows)
		wrong = "rows are NULL";
	return wrong ? refuse(writer, function, -1, EINVAL, wrong) : 0;
}

static struct sframe_unwind_row *row_at(const struct sframe_unwind_writer *writer,
					size_t number)
{
	return (struct sframe_unwind_row *)writer->rows.bytes + number;
}

static size_t count_rows(const struct sframe_unwind_writer *writer)
{
	return writer->rows.size / sizeof(struct sframe_unwind_row);
}

/*
 * Append a normalised row. A previous row with the same start is replaced. The
 * new row is dropped if it repeats the row before it.
 */
static void put_row(struct sframe_unwind_writer *writer,
		    const struct sframe_unwind_row *row)
{
	size_t count = count_rows(writer);

	if (count && row_at(writer, count - 1)->start == row->start)
		count--;
	writer->rows.size = count * sizeof(*row);
	if (!count || !sfu_row_is_equal(row_at(writer, count - 1), row))
		buffer_put(&writer->rows, row, sizeof(*row));
}

/* Fill writer->rows with the function's rows, normalised, without repetitions. */
static int take_rows(struct sframe_unwind_writer *writer,
		     const struct sframe_unwind_function *function)
{
	const uint64_t end = function->block_size ? function->block_size :
						    function->size;
	uint64_t previous = 0;

	writer->rows.size = 0;
	if (function->nr_rows > SIZE_MAX / sizeof(struct sframe_unwind_row) ||
	    buffer_reserve(&writer->rows, function->nr_rows *
					  sizeof(struct sframe_unwind_row)))
		return refuse(writer, function, -1, ENOMEM, "no memory");

	for (size_t i = 0; i < function->nr_rows; i++) {
		struct sframe_unwind_row row = function->rows[i];
		const char *wrong = sfu_row_normalise(&row, writer->is_extended);

		if (!wrong && row.start < previous)
			wrong = "starts before the row before it";
		if (!wrong && row.start > end)
			wrong = function->block_size ?
				"starts beyond the block's end" :
				"starts beyond the function's end";
		if (wrong)
			return refuse(writer, function, i, EINVAL, wrong);
		previous = row.start;
		if (row.start < end)
			put_row(writer, &row);
	}
	if (function->nr_rows && !count_rows(writer))
		return refuse(writer, function, 0, EINVAL,
			      "starts at the end, where no code is");
	return 0;
}

int sfu_writer_add_run(struct sframe_unwind_writer *writer, struct fde_runs *runs,
		       const struct code *codes, size_t count, uint32_t block,
		       uint16_t nr_rows)
{
	const struct fde_run run = {
		.before = sfu_writer_count(writer),
		.codes = codes,
		.count = count,
		.block = block,
	};

	if (writer->is_unsorted || codes->start < writer->end)
		return -EINVAL;
	if (!sfu_writer_has_room(writer, count, nr_rows))
		return -EFBIG;
	if (buffer_reserve(&runs->runs, sizeof(run)))
		return -ENOMEM;
	buffer_put(&runs->runs, &run, sizeof(run));
	runs->count += count;
	writer->nr_rows += (uint64_t)count * nr_rows;
	writer->end = code_end(&codes[count - 1]);
	return 0;
}

/* Returns 0 or a negative errno without a message. */
static int add_piece(struct sframe_unwind_writer *writer,
		     const struct sfu_piece *piece, size_t name)
{
	struct fde fde = {
		.start = piece->start,
		.size = piece->size,
		.name = name,
	};
	int err;

	writer->block.size = 0;
	err = sfu_piece_encode(piece, &writer->block);
	if (!err)
		err = sfu_pool_add(&writer->pool, writer->block.bytes,
				   writer->block.size, &fde.block);
	return err ? err : sfu_writer_put_fde(writer, &fde, piece->nr_rows);
}

/*
 * Returns the piece that starts @offset bytes into the function, as long as one
 * FDE can be. *@first is the row in force at the start of the piece; it is set
 * to the row in force after the piece.
 */
static struct sfu_piece cut_piece(const struct sframe_unwind_writer *writer,
				  const struct sframe_unwind_function *function,
				  uint64_t offset, size_t *first)
{
	const size_t count = count_rows(writer);
	const uint64_t left = function->size - offset;
	uint64_t end = offset + (left < UINT32_MAX ? left : UINT32_MAX);
	struct sfu_piece piece = {
		.start = function->start + offset,
		.row_base = offset,
		.rows = row_at(writer, *first),
		.is_signal = function->flags & SFRAME_UNWIND_FUNCTION_SIGNAL,
	};
	size_t last = *first;

	while (last < count && row_at(writer, last)->start < end) {
		if (last - *first == MAX_FDE_ROWS) {
			end = row_at(writer, last)->start;
			break;
		}
		last++;
	}
	piece.nr_rows = last - *first;
	piece.size = end - offset;
	/* The last row still holds after @end unless another row starts there. */
	if (last > *first)
		*first = last < count && row_at(writer, last)->start == end ?
			 last : last - 1;
	return piece;
}

static int add_pieces(struct sframe_unwind_writer *writer,
		      const struct sframe_unwind_function *function,
		      size_t name)
{
	uint64_t offset = 0;
	size_t first = 0;
	int err = 0;

	while (!err && offset < function->size) {
		const struct sfu_piece piece =
			cut_piece(writer, function, offset, &first);

		/*
		 * Skip a piece before the first row, in a function of more than
		 * 4 GiB: an FDE without rows would mark it as outermost.
		 */
		if (piece.nr_rows || !count_rows(writer))
			err = add_piece(writer, &piece, name);
		offset += piece.size;
	}
	return err;
}

/* Add the pieces of a function of equal blocks: each piece has all the rows. */
static int add_block_pieces(struct sframe_unwind_writer *writer,
			    const struct sframe_unwind_function *function,
			    size_t name)
{
	const uint32_t most = UINT32_MAX - UINT32_MAX % function->block_size;
	struct sfu_piece piece = {
		.rows = row_at(writer, 0),
		.nr_rows = count_rows(writer),
		.block_size = function->block_size,
		.is_signal = function->flags & SFRAME_UNWIND_FUNCTION_SIGNAL,
	};
	uint64_t offset = 0;
	int err = 0;

	while (!err && offset < function->size) {
		const uint64_t left = function->size - offset;

		piece.start = function->start + offset;
		piece.size = left < most ? left : most;
		err = add_piece(writer, &piece, name);
		offset += piece.size;
	}
	return err;
}

static int put_name(struct sframe_unwind_writer *writer, const char *name,
		    size_t *offset)
{
	int err;

	*offset = NO_NAME;
	if (!name)
		return 0;
	err = buffer_reserve(&writer->names, strlen(name) + 1);
	if (err)
		return err;
	*offset = writer->names.size;
	buffer_put(&writer->names, name, strlen(name) + 1);
	return 0;
}

int sframe_unwind_writer_add(struct sframe_unwind_writer *writer,
			     const struct sframe_unwind_function *function)
{
	size_t fdes, names, area, name;
	uint64_t nr_rows;
	int err;

	if (!writer)
		return -EINVAL;
	writer->error[0] = '\0';
	if (!function)
		return sfu_writer_fail(writer, EINVAL, "the function is NULL");
	fdes = writer->fdes.size;
	names = writer->names.size;
	area = writer->pool.area.size;
	nr_rows = writer->nr_rows;
	err = check_function(writer, function);
	if (!err)
		err = take_rows(writer, function);
	if (err)
		return err;

	err = put_name(writer, function->name, &name);
	if (!err)
		err = function->block_size ?
		      add_block_pieces(writer, function, name) :
		      add_pieces(writer, function, name);
	if (!err)
		return 0;

	/* Undo the pieces that were added before the one that failed. */
	writer->fdes.size = fdes;
	writer->names.size = names;
	writer->nr_rows = nr_rows;
	sfu_pool_truncate(&writer->pool, area);
	return refuse(writer, function, -1, -err, err == -EFBIG ?
		      "the section becomes too large for the format" :
		      "no memory");
}
