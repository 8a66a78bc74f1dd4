// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Convert an image to a section: read the sources, divide the code into entries, and
 * write them.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <sframe_unwind.h>

#include "convert.h"
#include "convert/base/message.h"
#include "convert/cfi/cfi.h"
#include "convert/cfi/go.h"
#include "convert/cfi/kept.h"
#include "convert/cfi/old_sframe.h"
#include "convert/cfi/own.h"
#include "convert/cfi/parents.h"
#include "convert/cfi/scan.h"
#include "convert/output/entries.h"
#include "convert/output/saved.h"
#include "lib/writer.h"
#include "module/decode/sframe_format.h"

/**
 * struct conversion - one conversion
 *
 * @whole: bytes of all sources.
 * @done: bytes of the sources that have been read.
 * @sources, @nr_functions, @cfi_size: see struct sframe_unwind_converted.
 * @own: what the file's own section of version 3 has.
 * @spans: array of struct span: all code with CFI.
 */
struct conversion {
	struct image *image;
	const struct sframe_unwind_convert_options *options;
	uint64_t whole;
	uint64_t done;
	uint32_t sources;
	uint64_t nr_functions;
	uint64_t cfi_size;
	struct own_result own;
	struct buffer spans;
};

static uint64_t data_size(const struct image_section *section)
{
	return section->data ? section->data->d_size : 0;
}

static bool is_wanted(const struct conversion *conversion, uint32_t source,
		      const struct image_section *section)
{
	return conversion->options->sources & source && section->data;
}

static bool is_extended(const struct conversion *conversion)
{
	return conversion->options->flags & SFRAME_UNWIND_CONVERT_EXTENDED;
}

static void tell_progress(void *data, uint64_t bytes)
{
	const struct conversion *conversion = data;
	const struct sframe_unwind_convert_options *options =
		conversion->options;

	if (options->progress)
		options->progress(options->data, conversion->done + bytes,
				  conversion->whole);
}

/* Add the code of @cfi that no earlier source covers. Frees @cfi. */
static int add_source(struct conversion *conversion, struct cfi *cfi,
		      uint32_t source, uint64_t size, int err)
{
	const size_t before = nr_spans(&conversion->spans);

	if (!err)
		err = sfu_span_merge(&conversion->image->file.budget,
				     &conversion->spans, cfi);
	if (!err && nr_spans(&conversion->spans) > before) {
		conversion->sources |= source;
		conversion->nr_functions += nr_fdes(cfi);
		conversion->cfi_size += size;
	}
	conversion->done += size;
	cfi_free(&conversion->image->file.budget, cfi);
	return err;
}

static int add_cfi(struct conversion *conversion,
		   const struct image_section *section, uint32_t source,
		   uint64_t extra)
{
	struct cfi cfi = { 0 };
	int err;

	if (!is_wanted(conversion, source, section))
		return 0;
	err = sfu_cfi_read(&cfi, conversion->image,
			   source == SFRAME_UNWIND_FROM_EH_FRAME,
			   is_extended(conversion),
			   tell_progress, conversion);
	return add_source(conversion, &cfi, source,
			  data_size(section) + extra, err);
}

/* Other CFI of Go's code does not tell where goroutines begin and stacks change. */
static int add_go(struct conversion *conversion)
{
	struct image_section *section = &conversion->image->gopclntab;
	struct cfi cfi = { 0 };

	if (!is_wanted(conversion, SFRAME_UNWIND_FROM_GO, section))
		return 0;
	return add_source(conversion, &cfi, SFRAME_UNWIND_FROM_GO,
			  data_size(section),
			  sfu_go_read(&cfi, conversion->image,
				      is_extended(conversion)));
}

static int add_old_sframe(struct conversion *conversion)
{
	const struct image_section *section = &conversion->image->sframe;
	struct cfi cfi = { 0 };

	if (conversion->spans.size ||
	    !is_wanted(conversion, SFRAME_UNWIND_FROM_OLD_SFRAME, section))
		return 0;
	if (sfu_old_sframe_version(conversion->image) == SFRAME_VERSION_3)
		return sfu_message_fail(EOPNOTSUPP, "has a .sframe of version 3 and no other CFI to convert");
	return add_source(conversion, &cfi, SFRAME_UNWIND_FROM_OLD_SFRAME,
			  data_size(section),
			  sfu_old_sframe_read(&cfi, conversion->image));
}

/* Prove rules for code that has none. */
static int add_code(struct conversion *conversion)
{
	struct cfi cfi = { 0 };

	if (!(conversion->options->sources & SFRAME_UNWIND_FROM_CODE))
		return 0;
	return add_source(conversion, &cfi, SFRAME_UNWIND_FROM_CODE, 0,
			  sfu_scan_read(&cfi, conversion->image,
					&conversion->spans,
					is_extended(conversion)));
}

/* Use the rules of the file's own section, where it has some. */
static int add_own_sframe(struct conversion *conversion)
{
	struct image *image = conversion->image;
	bool is_read;
	int err;

	if (!conversion->spans.size ||
	    !is_wanted(conversion, SFRAME_UNWIND_FROM_OWN_SFRAME,
		       &image->sframe) ||
	    sfu_old_sframe_version(image) != SFRAME_VERSION_3)
		return 0;
	err = sfu_own_merge(image, &conversion->spans, &is_read,
			    &conversion->own);
	if (is_read)
		conversion->sources |= SFRAME_UNWIND_FROM_OWN_SFRAME;
	return err;
}

static int read_sources(struct conversion *conversion)
{
	const struct image *image = conversion->image;
	int err;

	conversion->whole = data_size(&image->eh_frame) +
			    image->eh_frame_hdr_size +
			    data_size(&image->debug_frame) +
			    data_size(&image->gopclntab);
	err = add_cfi(conversion, &image->eh_frame,
		      SFRAME_UNWIND_FROM_EH_FRAME, image->eh_frame_hdr_size);
	if (!err)
		err = add_go(conversion);
	if (!err)
		err = add_cfi(conversion, &image->debug_frame,
			      SFRAME_UNWIND_FROM_DEBUG_FRAME, 0);
	if (!err)
		err = add_old_sframe(conversion);
	if (!err)
		err = add_code(conversion);
	if (!err)
		err = add_own_sframe(conversion);
	if (!err && !conversion->spans.size)
		err = sfu_message_fail(ENODATA, "no call frame information for its code");
	if (!err && is_extended(conversion))
		err = sfu_parents_add(&conversion->spans, conversion->image);
	return err;
}

/*
 * List code without a rule in @to, or only count the entries if @to is NULL.
 * Neighbouring ranges with the same reason are one entry. Returns their number.
 */
static size_t list_left_out(const struct buffer *spans,
			    struct sframe_unwind_left_out *to)
{
	struct sframe_unwind_left_out last = { 0 };
	size_t count = 0;

	for (size_t i = 0; i < nr_spans(spans); i++) {
		const struct span *span = span_at(spans, i);

		if (!span->reason)
			continue;
		if (!count || last.reason != span->reason ||
		    last.start + last.size != span->start) {
			count++;
			last.start = span->start;
			last.reason = span->reason;
		}
		last.size = span->end - last.start;
		if (to)
			to[count - 1] = last;
	}
	return count;
}

static uint32_t header_u32(const unsigned char *header, unsigned int field)
{
	uint32_t value = 0;

	for (unsigned int i = 0; i < 4; i++)
		value |= (uint32_t)header[field + i] << (8 * i);
	return value;
}

static void fill_result(const struct conversion *conversion,
			struct result *result)
{
	struct sframe_unwind_converted *out = &result->out;

	out->sources = conversion->sources;
	out->nr_functions = conversion->nr_functions;
	out->cfi_size = conversion->cfi_size;
	out->own_missing = conversion->own.missing;
	out->own_wrong = conversion->own.wrong;
	out->nr_fdes = header_u32(result->bytes, SFRAME_HDR_NUM_FDES);
	out->nr_rows = header_u32(result->bytes, SFRAME_HDR_NUM_FRES);
	list_left_out(&conversion->spans, result->left_out);
	for (size_t i = 0; i < nr_spans(&conversion->spans); i++) {
		const struct span *span = span_at(&conversion->spans, i);

		if (span->reason)
			out->left_out_size += span->end - span->start;
		else
			out->covered += span->end - span->start;
	}
}

/* Add what an extended section has besides functions. */
static int extend_section(const struct conversion *conversion,
			  struct sframe_unwind_writer *writer)
{
	struct image *image = conversion->image;
	struct buffer extension = { 0 }, kept = { 0 };
	int err;

	sfu_writer_extend(writer);
	err = sfu_kept_find(&conversion->spans, image, &kept);
	if (!err)
		err = sfu_saved_write(&conversion->spans, &kept, image,
				      &extension);
	sfu_budget_free(&image->file.budget, &kept);
	if (!err && sfu_writer_set_extension(writer, extension.bytes,
					     extension.size))
		err = sfu_message_fail(ENOMEM, "no memory");
	buffer_free(&extension);
	return err;
}

static int write_section(const struct conversion *conversion,
			 struct sframe_unwind_writer *writer,
			 struct result **result)
{
	ssize_t size;
	int err;

	err = is_extended(conversion) ? extend_section(conversion, writer) : 0;
	if (!err)
		err = sfu_entries_write(&conversion->spans, conversion->image,
					conversion->options->max_rows,
					conversion->options->flags &
					SFRAME_UNWIND_CONVERT_BY_FUNCTION,
					writer);
	if (err)
		return err;
	size = sframe_unwind_writer_size(writer);
	if (size == -ENODATA)
		return sfu_message_fail(ENODATA, "none of its call frame information can be expressed");
	if (size < 0)
		return sfu_message_fail(-size, "%s",
					sframe_unwind_writer_error(writer));
	*result = sfu_result_create(conversion->image->build_id,
				    conversion->image->build_id_size, size,
				    list_left_out(&conversion->spans, NULL));
	if (!*result)
		return sfu_message_fail(ENOMEM, "no memory");
	sframe_unwind_writer_write(writer, (*result)->bytes, size, 0);
	fill_result(conversion, *result);
	return 0;
}

int sfu_convert_image(struct image *image,
		      const struct sframe_unwind_convert_options *options,
		      struct result **result)
{
	struct conversion conversion = { .image = image, .options = options };
	struct sframe_unwind_writer *writer;
	int err;

	*result = NULL;
	if (sframe_unwind_writer_create(&writer))
		return sfu_message_fail(ENOMEM, "no memory");
	err = read_sources(&conversion);
	if (!err)
		err = write_section(&conversion, writer, result);
	sfu_budget_free(&image->file.budget, &conversion.spans);
	sframe_unwind_writer_free(writer);
	return err;
}

int
sframe_unwind_convert_memory(const void *bytes, size_t size, const char *name,
			     const struct sframe_unwind_convert_options *given,
			     struct sframe_unwind_converted **converted)
{
	struct sframe_unwind_convert_options options;
	struct result *result;
	struct image image;
	int err;

	*converted = NULL;
	sfu_message_begin(name);
	err = sfu_image_open_memory(&image, bytes, size);
	if (err)
		return err;
	err = sfu_options_complete(given, &options);
	if (!err)
		err = sfu_convert_image(&image, &options, &result);
	if (!err)
		*converted = &result->out;
	sfu_image_close(&image);
	return err;
}
