// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Cache: results by build ID. A build ID is what its file claims, so a result
 * counts only for the CFI that it was made of.
 *
 * A file is a header, the ranges left out, the section. It is for the machine
 * that wrote it; its checksum is against damage, not against forgery, which
 * the ownership of the directory is against.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cache_dir.h"
#include "lib/buffer.h"
#include "message.h"
#include "module/sframe.h"
#include "result.h"

/* To be raised with every change of what the converter writes. */
#define CONVERTER_VERSION 1

#define MAX_BUILD_ID 64

static const char cache_magic[] = "SFUCACHE";

/**
 * struct cache_header - first bytes of a file
 *
 * @checksum: of all bytes, with 0 here.
 * @fingerprint: of what was converted.
 * @wanted, @max_rows: options.
 * The others: see struct sframe_unwind_converted.
 */
struct cache_header {
	char magic[8];
	uint64_t checksum;
	uint32_t version;
	uint32_t build_id_size;
	unsigned char build_id[MAX_BUILD_ID];
	uint64_t fingerprint;
	uint32_t wanted;
	uint32_t max_rows;
	uint64_t size;
	uint64_t nr_left_out;
	uint32_t sources;
	uint32_t reserved;
	uint64_t nr_functions;
	uint64_t nr_fdes;
	uint64_t nr_rows;
	uint64_t covered;
	uint64_t cfi_size;
	uint64_t left_out_size;
};

/* FNV-1a, taking eight bytes at a time */
static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t size)
{
	const unsigned char *at = bytes;
	uint64_t word;

	for (; size >= sizeof(word); size -= sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		hash = (hash ^ word) * 0x100000001b3;
		hash ^= hash >> 32;
		at += sizeof(word);
	}
	for (; size; size--)
		hash = (hash ^ *at++) * 0x100000001b3;
	return hash;
}

#define HASH_START 0xcbf29ce484222325

static uint64_t hash_section(uint64_t hash, const struct image_section *section)
{
	const Elf_Data *data = section->data;
	const uint64_t size = data ? data->d_size : 0;

	hash = hash_bytes(hash, &section->address, sizeof(section->address));
	hash = hash_bytes(hash, &size, sizeof(size));
	return data ? hash_bytes(hash, data->d_buf, data->d_size) : hash;
}

static uint64_t fingerprint(const struct image *image)
{
	uint64_t hash = HASH_START;

	hash = hash_section(hash, &image->eh_frame);
	hash = hash_section(hash, &image->debug_frame);
	hash = hash_section(hash, &image->sframe);
	for (size_t i = 0; i < image->nr_texts; i++) {
		const struct image_text *text = &image->texts[i];

		hash = hash_bytes(hash, &text->address, sizeof(text->address));
		hash = hash_bytes(hash, &text->size, sizeof(text->size));
	}
	return hash;
}

static struct cache_header
make_header(const struct image *image,
	    const struct sframe_unwind_convert_options *options)
{
	struct cache_header header = {
		.version = CONVERTER_VERSION,
		.build_id_size = image->build_id_size,
		.fingerprint = fingerprint(image),
		.wanted = options->sources,
		.max_rows = options->max_rows,
	};

	memcpy(header.magic, cache_magic, sizeof(header.magic));
	memcpy(header.build_id, image->build_id, image->build_id_size);
	return header;
}

static uint64_t checksum(const struct cache_header *header, const void *bytes,
			 size_t size)
{
	struct cache_header copy = *header;

	copy.checksum = 0;
	return hash_bytes(hash_bytes(HASH_START, &copy, sizeof(copy)), bytes,
			  size);
}

/* Is it what would be written now, and all of it? */
static bool is_good(const struct cache_header *found,
		    const struct cache_header *want,
		    const unsigned char *payload, size_t size)
{
	const uint64_t ranges = found->nr_left_out *
				sizeof(struct sframe_unwind_left_out);
	const struct sfu_bytes bytes = {
		.size = found->size,
		.copy = payload + ranges,
	};
	struct sfu_defect defect;
	struct sfu_table table;

	if (memcmp(found->magic, want->magic, sizeof(found->magic)) ||
	    found->version != want->version ||
	    found->build_id_size != want->build_id_size ||
	    memcmp(found->build_id, want->build_id, sizeof(found->build_id)) ||
	    found->fingerprint != want->fingerprint ||
	    found->wanted != want->wanted || found->max_rows != want->max_rows)
		return false;
	if (found->nr_left_out > size / sizeof(struct sframe_unwind_left_out) ||
	    found->size > size || ranges + found->size != size ||
	    found->checksum != checksum(found, payload, size))
		return false;
	return !sfu_table_open(&table, &bytes, &defect);
}

static struct result *read_result(const struct image *image, int dir,
				  const char *name,
				  const struct cache_header *want)
{
	struct result *result = NULL;
	struct cache_header found;
	unsigned char *bytes;
	size_t size, ranges;

	bytes = sfu_cache_dir_read(dir, name, &size);
	if (!bytes)
		return NULL;
	if (size >= sizeof(found)) {
		memcpy(&found, bytes, sizeof(found));
		size -= sizeof(found);
		if (is_good(&found, want, bytes + sizeof(found), size))
			result = sfu_result_create(image, found.size,
						   found.nr_left_out);
	}
	if (result) {
		struct sframe_unwind_converted *out = &result->out;

		ranges = found.nr_left_out * sizeof(*result->left_out);
		memcpy(result->left_out, bytes + sizeof(found), ranges);
		memcpy(result->bytes, bytes + sizeof(found) + ranges,
		       found.size);
		out->flags = SFRAME_UNWIND_CONVERTED_FROM_CACHE |
			     SFRAME_UNWIND_CONVERTED_IN_CACHE;
		out->sources = found.sources;
		out->nr_functions = found.nr_functions;
		out->nr_fdes = found.nr_fdes;
		out->nr_rows = found.nr_rows;
		out->covered = found.covered;
		out->cfi_size = found.cfi_size;
		out->left_out_size = found.left_out_size;
	}
	free(bytes);
	return result;
}

/* That it cannot be stored is told by a flag only. */
static void write_result(struct result *result, int dir, const char *name,
			 struct cache_header header)
{
	struct sframe_unwind_converted *out = &result->out;
	const size_t ranges = out->nr_left_out * sizeof(*out->left_out);
	struct buffer payload = { 0 };

	header.size = out->size;
	header.nr_left_out = out->nr_left_out;
	header.sources = out->sources;
	header.nr_functions = out->nr_functions;
	header.nr_fdes = out->nr_fdes;
	header.nr_rows = out->nr_rows;
	header.covered = out->covered;
	header.cfi_size = out->cfi_size;
	header.left_out_size = out->left_out_size;
	if (buffer_reserve(&payload, ranges + out->size))
		return;
	buffer_put(&payload, out->left_out, ranges);
	buffer_put(&payload, out->bytes, out->size);
	header.checksum = checksum(&header, payload.bytes, payload.size);
	if (!sfu_cache_dir_write(dir, name, &header, sizeof(header),
				 payload.bytes, payload.size))
		out->flags |= SFRAME_UNWIND_CONVERTED_IN_CACHE;
	buffer_free(&payload);
}

/* Through the directory @dir, whose name is @path. */
static int convert_in(struct image *image, int dir, const char *path,
		      const struct sframe_unwind_convert_options *options,
		      struct result **result)
{
	const struct cache_header header = make_header(image, options);
	char name[2 * MAX_BUILD_ID + 1] = "";
	char *file;
	int err;

	for (size_t i = 0; i < image->build_id_size; i++)
		sprintf(name + 2 * i, "%02x", image->build_id[i]);
	*result = read_result(image, dir, name, &header);
	if (!*result) {
		err = sfu_convert_image(image, options, result);
		if (err)
			return err;
		write_result(*result, dir, name, header);
	}
	if ((*result)->out.flags & SFRAME_UNWIND_CONVERTED_IN_CACHE &&
	    asprintf(&file, "%s/%s", path, name) >= 0) {
		(*result)->cache_file = file;
		(*result)->out.cache_file = file;
	}
	return 0;
}

static int convert_image(struct image *image,
			 const struct sframe_unwind_convert_options *given,
			 struct result **result)
{
	struct sframe_unwind_convert_options options;
	char *path = NULL;
	int dir = -1, err;

	err = sfu_options_complete(given, &options);
	if (err)
		return err;
	if (image->build_id_size && image->build_id_size <= MAX_BUILD_ID)
		path = sfu_cache_dir_path(options.cache_dir);
	if (path)
		dir = sfu_cache_dir_open(path);
	if (dir >= 0)
		err = convert_in(image, dir, path, &options, result);
	else
		err = sfu_convert_image(image, &options, result);
	if (dir >= 0)
		close(dir);
	free(path);
	return err;
}

int
sframe_unwind_convert_cached(int fd, const char *name,
			     const struct sframe_unwind_convert_options *options,
			     struct sframe_unwind_converted **converted)
{
	struct result *result;
	struct image image;
	int err;

	*converted = NULL;
	sfu_message_begin(name);
	err = sfu_image_open_fd(&image, fd);
	if (err)
		return err;
	err = convert_image(&image, options, &result);
	if (!err)
		*converted = &result->out;
	sfu_image_close(&image);
	return err;
}
