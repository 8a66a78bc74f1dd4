// SPDX-License-Identifier: GPL-2.0
/*
 * pprof's format: a protocol buffer, profile.proto of github.com/google/pprof,
 * compressed by gzip. The encoding is simple: a field is its number and type,
 * then a number, or a size and bytes.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "cli/profile/common.h"
#include "cli/profile/outputs.h"

/* Fields of message Profile and of those in it. */
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING = 6,

	VALUE_TYPE = 1,
	VALUE_UNIT = 2,

	SAMPLE_LOCATION = 1,
	SAMPLE_VALUE = 2,
	SAMPLE_LABEL = 3,

	LABEL_KEY = 1,
	LABEL_TEXT = 2,

	MAPPING_ID = 1,
	MAPPING_FILE = 5,
	MAPPING_BUILD_ID = 6,
	MAPPING_HAS_FUNCTIONS = 7,

	LOCATION_ID = 1,
	LOCATION_MAPPING = 2,
	LOCATION_ADDRESS = 3,
	LOCATION_LINE = 4,

	LINE_FUNCTION = 1,

	FUNCTION_ID = 1,
	FUNCTION_NAME = 2,
	FUNCTION_SYSTEM_NAME = 3,
	FUNCTION_FILE = 4,
};

/**
 * struct message - a message that is being composed
 *
 * @bytes: its bytes.
 * @size: number of those.
 * @room: room for those.
 */
struct message {
	char *bytes;
	uint32_t size;
	uint32_t room;
};

static void put_byte(struct message *to, unsigned int byte)
{
	to->bytes = table_grow(to->bytes, &to->room, to->size, 1);
	to->bytes[to->size++] = byte;
}

static void put_varint(struct message *to, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		put_byte(to, (value & 0x7f) | 0x80);
	put_byte(to, value);
}

static void put_number(struct message *to, unsigned int field, uint64_t value)
{
	put_varint(to, field << 3);
	put_varint(to, value);
}

static void put_bytes(struct message *to, unsigned int field, const void *bytes,
		      size_t size)
{
	put_varint(to, field << 3 | 2);
	put_varint(to, size);
	if (!size)
		return;
	to->bytes = table_grow(to->bytes, &to->room, to->size + size, 1);
	memcpy(to->bytes + to->size, bytes, size);
	to->size += size;
}

/* Append @from as a field, and empty it. */
static void put_message(struct message *to, unsigned int field,
			struct message *from)
{
	put_bytes(to, field, from->bytes, from->size);
	from->size = 0;
}

/**
 * struct pprof - what is being written
 *
 * @load: the profile.
 * @all: fields of the outermost message.
 * @part: a message in it.
 * @inner: a message in that.
 * @strings: strings; number 0 is the empty one.
 * @mappings: numbers of objects' names.
 */
struct pprof {
	struct load *load;
	struct message all;
	struct message part;
	struct message inner;
	struct strings strings;
	struct strings mappings;
};

static void put_text(struct pprof *pprof, struct message *to,
		     unsigned int field, const char *text)
{
	char *escaped = common_escape(text);

	put_number(to, field, strings_add(&pprof->strings, escaped));
	free(escaped);
}

static void put_value_type(struct pprof *pprof, unsigned int field,
			   const char *type, const char *unit)
{
	put_text(pprof, &pprof->part, VALUE_TYPE, type);
	put_text(pprof, &pprof->part, VALUE_UNIT, unit);
	put_message(&pprof->all, field, &pprof->part);
}

/* Two values for each event: samples, and events. */
static void put_types(struct pprof *pprof, uint32_t nr_sources)
{
	for (uint32_t i = 0; i < nr_sources; i++) {
		const char *name = load_source_name(pprof->load, i);
		char *samples = NULL;

		if (asprintf(&samples, "%s-samples", name) < 0)
			samples = table_copy("samples");
		put_value_type(pprof, PROFILE_SAMPLE_TYPE, samples, "count");
		put_value_type(pprof, PROFILE_SAMPLE_TYPE, name,
			       !strcmp(name, "cpu-clock") ||
			       !strcmp(name, "task-clock") ? "nanoseconds" :
			       "count");
		free(samples);
	}
}

static void put_label(struct pprof *pprof, const char *key, const char *text)
{
	put_text(pprof, &pprof->inner, LABEL_KEY, key);
	put_text(pprof, &pprof->inner, LABEL_TEXT, text);
	put_message(&pprof->part, SAMPLE_LABEL, &pprof->inner);
}

/* A sample of node @node: the innermost location first. */
static void put_sample(struct pprof *pprof, const struct tree *tree,
		       uint32_t node, uint32_t nr_sources)
{
	const struct node *at = &tree->nodes[node];
	uint32_t source;

	for (; at->kind == NODE_FRAME; at = &tree->nodes[at->parent])
		put_varint(&pprof->inner, at->number + 1);
	put_message(&pprof->part, SAMPLE_LOCATION, &pprof->inner);
	source = tree->nodes[at->parent].number;
	for (uint32_t i = 0; i < nr_sources; i++) {
		const bool is_this = i == source;

		put_varint(&pprof->inner,
			   is_this ? tree->nodes[node].samples : 0);
		put_varint(&pprof->inner, is_this ? tree->nodes[node].self : 0);
	}
	put_message(&pprof->part, SAMPLE_VALUE, &pprof->inner);
	put_label(pprof, "thread", tree->comms.texts[at->number]);
	put_message(&pprof->all, PROFILE_SAMPLE, &pprof->part);
}

static const char *object_name(struct pprof *pprof, uint32_t place)
{
	const struct names *names = pprof->load->names;
	const struct place *at = names_place(names, place);

	return names_function(names, names_number(names, at, at->nr - 1))
		->object;
}

/* Returns the id of the mapping of a place. */
static uint32_t put_mapping(struct pprof *pprof, uint32_t place)
{
	const struct history_object *object = names_object(pprof->load->names,
							   place);
	const char *name = object_name(pprof, place);
	const uint32_t old = pprof->mappings.pairs.nr;
	const uint32_t number = strings_add(&pprof->mappings, name);
	char id[2 * SFRAME_UNWIND_PROFILE_BUILD_ID + 1] = "";

	if (number < old)
		return number + 1;
	put_number(&pprof->part, MAPPING_ID, number + 1);
	put_text(pprof, &pprof->part, MAPPING_FILE, name);
	for (uint32_t i = 0; object && i < object->build_id_size; i++)
		snprintf(id + 2 * i, 3, "%02x", object->build_id[i]);
	put_text(pprof, &pprof->part, MAPPING_BUILD_ID, id);
	put_number(&pprof->part, MAPPING_HAS_FUNCTIONS, 1);
	put_message(&pprof->all, PROFILE_MAPPING, &pprof->part);
	return number + 1;
}

static void put_location(struct pprof *pprof, uint32_t place)
{
	const struct names *names = pprof->load->names;
	const struct place *at = names_place(names, place);
	const uint32_t mapping = put_mapping(pprof, place);

	put_number(&pprof->part, LOCATION_ID, place + 1);
	put_number(&pprof->part, LOCATION_MAPPING, mapping);
	put_number(&pprof->part, LOCATION_ADDRESS, at->address);
	for (uint32_t i = 0; i < at->nr; i++) {
		put_number(&pprof->inner, LINE_FUNCTION,
			   names_number(names, at, i) + 1);
		put_message(&pprof->part, LOCATION_LINE, &pprof->inner);
	}
	put_message(&pprof->all, PROFILE_LOCATION, &pprof->part);
}

static void put_function(struct pprof *pprof, uint32_t number)
{
	const struct function *function = names_function(pprof->load->names,
							 number);

	put_number(&pprof->part, FUNCTION_ID, number + 1);
	put_text(pprof, &pprof->part, FUNCTION_NAME, function->name);
	put_text(pprof, &pprof->part, FUNCTION_SYSTEM_NAME, function->name);
	put_text(pprof, &pprof->part, FUNCTION_FILE, function->object);
	put_message(&pprof->all, PROFILE_FUNCTION, &pprof->part);
}

static void put_places(struct pprof *pprof, const struct tree *tree)
{
	const struct names *names = pprof->load->names;
	uint32_t nr_places = 0, nr_functions = 0;

	for (uint32_t i = 1; i < tree->nr; i++)
		if (tree->nodes[i].kind == NODE_FRAME &&
		    tree->nodes[i].number >= nr_places)
			nr_places = tree->nodes[i].number + 1;
	for (uint32_t i = 0; i < nr_places; i++) {
		const struct place *place = names_place(names, i);

		for (uint32_t j = 0; j < place->nr; j++)
			if (names_number(names, place, j) >= nr_functions)
				nr_functions = names_number(names, place, j) + 1;
		put_location(pprof, i);
	}
	for (uint32_t i = 0; i < nr_functions; i++)
		put_function(pprof, i);
}

static int write_all(struct pprof *pprof, FILE *to)
{
	const char *at = pprof->all.bytes;
	uint32_t left = pprof->all.size;
	z_stream stream = { 0 };
	unsigned char out[65536];
	int ret;

	/* 16: with the header of gzip. */
	ret = deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16,
			   8, Z_DEFAULT_STRATEGY);
	if (ret != Z_OK)
		return -ENOMEM;
	stream.next_in = (unsigned char *)at;
	stream.avail_in = left;
	do {
		stream.next_out = out;
		stream.avail_out = sizeof(out);
		ret = deflate(&stream, Z_FINISH);
		fwrite(out, 1, sizeof(out) - stream.avail_out, to);
	} while (ret == Z_OK || ret == Z_BUF_ERROR);
	deflateEnd(&stream);
	return ret == Z_STREAM_END ? 0 : -EIO;
}

int output_pprof(FILE *to, struct load *load)
{
	const struct tree_options options = {
		.by_place = true,
		.source = SFRAME_UNWIND_PROFILE_NONE,
	};
	struct pprof pprof = { .load = load };
	uint32_t nr_sources;
	struct tree tree;
	int ret;

	tree_read(&tree, load, &options);
	nr_sources = sframe_unwind_profile_sources(load->profile);
	strings_add(&pprof.strings, "");
	put_types(&pprof, nr_sources);
	for (uint32_t i = 1; i < tree.nr; i++)
		if (tree.nodes[i].samples)
			put_sample(&pprof, &tree, i, nr_sources);
	put_places(&pprof, &tree);
	for (uint32_t i = 0; i < pprof.strings.pairs.nr; i++)
		put_bytes(&pprof.all, PROFILE_STRING, pprof.strings.texts[i],
			  strlen(pprof.strings.texts[i]));
	ret = write_all(&pprof, to);
	free(pprof.all.bytes);
	free(pprof.part.bytes);
	free(pprof.inner.bytes);
	strings_free(&pprof.strings);
	strings_free(&pprof.mappings);
	tree_free(&tree);
	return ret;
}
