// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * The format: a header, the build ID, the ranges left out, the section.
 */
#include <errno.h>
#include <string.h>

#include "convert/base/message.h"
#include "module/decode/sframe.h"
#include "module/file/elf.h"
#include "packed.h"
#include "result.h"

static const char packed_magic[] = "SFUPACK2";

/* Members: see struct sframe_unwind_converted. */
struct packed_header {
	char magic[8];
	uint64_t size;
	uint64_t nr_left_out;
	uint32_t build_id_size;
	uint32_t sources;
	uint64_t nr_functions;
	uint64_t nr_fdes;
	uint64_t nr_rows;
	uint64_t covered;
	uint64_t cfi_size;
	uint64_t left_out_size;
	uint64_t own_missing;
	uint64_t own_wrong;
};

int sfu_packed_write(struct buffer *to,
		     const struct sframe_unwind_converted *converted)
{
	const size_t ranges = converted->nr_left_out *
			      sizeof(*converted->left_out);
	struct packed_header header = {
		.size = converted->size,
		.nr_left_out = converted->nr_left_out,
		.build_id_size = converted->build_id_size,
		.sources = converted->sources,
		.nr_functions = converted->nr_functions,
		.nr_fdes = converted->nr_fdes,
		.nr_rows = converted->nr_rows,
		.covered = converted->covered,
		.cfi_size = converted->cfi_size,
		.left_out_size = converted->left_out_size,
		.own_missing = converted->own_missing,
		.own_wrong = converted->own_wrong,
	};

	memcpy(header.magic, packed_magic, sizeof(header.magic));
	if (buffer_reserve(to, sizeof(header) + converted->build_id_size +
			       ranges + converted->size))
		return -ENOMEM;
	buffer_put(to, &header, sizeof(header));
	buffer_put(to, converted->build_id, converted->build_id_size);
	buffer_put(to, converted->left_out, ranges);
	buffer_put(to, converted->bytes, converted->size);
	return 0;
}

/* Returns whether the sizes in @header add up to the @size bytes that follow it. */
static bool is_whole(const struct packed_header *header, size_t size)
{
	if (memcmp(header->magic, packed_magic, sizeof(header->magic)) ||
	    header->build_id_size > SFU_ELF_MAX_BUILD_ID ||
	    header->build_id_size > size)
		return false;
	size -= header->build_id_size;
	if (header->nr_left_out > size / sizeof(struct sframe_unwind_left_out))
		return false;
	size -= header->nr_left_out * sizeof(struct sframe_unwind_left_out);
	return header->size == size;
}

int sfu_packed_read(const void *bytes, size_t size,
		    struct sframe_unwind_converted **converted)
{
	const unsigned char *at = bytes;
	struct sframe_unwind_converted *out;
	struct packed_header header;
	struct sfu_defect defect;
	struct sfu_table table;
	struct sfu_bytes section;
	struct result *result;

	*converted = NULL;
	if (size < sizeof(header))
		return sfu_message_fail(EINVAL, "its result is cut short");
	memcpy(&header, at, sizeof(header));
	at += sizeof(header);
	if (!is_whole(&header, size - sizeof(header)))
		return sfu_message_fail(EINVAL, "its result is damaged");
	result = sfu_result_create(at, header.build_id_size, header.size,
				   header.nr_left_out);
	if (!result)
		return sfu_message_fail(ENOMEM, "no memory");
	at += header.build_id_size;
	memcpy(result->left_out, at,
	       header.nr_left_out * sizeof(*result->left_out));
	at += header.nr_left_out * sizeof(*result->left_out);
	memcpy(result->bytes, at, header.size);
	section = (struct sfu_bytes){
		.size = header.size,
		.copy = result->bytes,
	};
	if (sfu_table_open_extended(&table, &section, &defect)) {
		sframe_unwind_converted_free(&result->out);
		return sfu_message_fail(EINVAL, "its section is damaged: %s",
					sfu_defect_text(defect.kind));
	}
	out = &result->out;
	out->sources = header.sources;
	out->nr_functions = header.nr_functions;
	out->nr_fdes = header.nr_fdes;
	out->nr_rows = header.nr_rows;
	out->covered = header.covered;
	out->cfi_size = header.cfi_size;
	out->left_out_size = header.left_out_size;
	out->own_missing = header.own_missing;
	out->own_wrong = header.own_wrong;
	*converted = out;
	return 0;
}
