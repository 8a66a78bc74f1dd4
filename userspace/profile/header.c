// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "profile/header.h"

/* Limits for one feature, in bytes, and for files with a build ID. */
#define FEATURE_MAX	(16u << 20)
#define FILES_MAX	(1u << 18)

/* Features whose contents are one text. */
static int fact_of_feature(unsigned int feature)
{
	switch (feature) {
	case FEATURE_HOSTNAME:	return SFRAME_UNWIND_PROFILE_HOSTNAME;
	case FEATURE_OSRELEASE:	return SFRAME_UNWIND_PROFILE_RELEASE;
	case FEATURE_VERSION:	return SFRAME_UNWIND_PROFILE_VERSION;
	case FEATURE_ARCH:	return SFRAME_UNWIND_PROFILE_ARCH;
	default:		return -1;
	}
}

/* Take a text with its size in front; NULL if there is none. */
static const char *take_text(const unsigned char **at, size_t *left,
			     size_t *length)
{
	const char *text;
	uint32_t size;

	if (*left < sizeof(size))
		return NULL;
	size = get_u32(*at);
	if (size > *left - sizeof(size))
		return NULL;
	text = (const char *)*at + sizeof(size);
	*at += sizeof(size) + size;
	*left -= sizeof(size) + size;
	*length = strnlen(text, size);
	return text;
}

static void set_fact(struct profile_header *header, unsigned int fact,
		     const char *text, size_t length)
{
	free(header->facts[fact]);
	header->facts[fact] = strndup(text, length);
}

/* Words of the command line, with a blank between them. */
static void read_command(struct profile_header *header,
			 const unsigned char *at, size_t left)
{
	char *command = NULL;
	size_t size = 0, length;
	const char *text;
	uint32_t nr;
	FILE *to;

	if (left < sizeof(nr))
		return;
	nr = get_u32(at);
	at += sizeof(nr);
	left -= sizeof(nr);
	to = open_memstream(&command, &size);
	if (!to)
		return;
	for (uint32_t i = 0; i < nr; i++) {
		text = take_text(&at, &left, &length);
		if (!text)
			break;
		fprintf(to, "%s%.*s", i ? " " : "", (int)length, text);
	}
	fclose(to);
	if (command)
		set_fact(header, SFRAME_UNWIND_PROFILE_COMMAND, command, size);
	free(command);
}

/* Names of events, and the ids by which the sources are found. */
static void read_names(struct profile_header *header, const unsigned char *at,
		       size_t left)
{
	uint32_t nr, attr_size, nr_ids;
	struct source *source;
	const char *name;
	size_t length;

	if (left < 2 * sizeof(nr))
		return;
	nr = get_u32(at);
	attr_size = get_u32(at + sizeof(nr));
	at += 2 * sizeof(nr);
	left -= 2 * sizeof(nr);
	for (uint32_t i = 0; i < nr; i++) {
		if (left < attr_size || left - attr_size < sizeof(nr_ids))
			return;
		nr_ids = get_u32(at + attr_size);
		at += attr_size + sizeof(nr_ids);
		left -= attr_size + sizeof(nr_ids);
		name = take_text(&at, &left, &length);
		if (!name || nr_ids > left / sizeof(uint64_t))
			return;
		source = nr_ids ? sfu_sources_find(&header->sources, get_u64(at)) :
			 i < header->sources.nr ? &header->sources.list[i] :
						  NULL;
		if (source)
			sfu_source_set_name(source, name, length);
		at += nr_ids * sizeof(uint64_t);
		left -= nr_ids * sizeof(uint64_t);
	}
}

/* Add one entry of the build IDs: a record without a place in the data. */
static int add_file(struct profile_header *header, const unsigned char *at,
		    size_t size)
{
	const unsigned int misc = get_u16(at + 4);
	struct known_file *file;

	if (size < 36 || header->nr_files >= FILES_MAX)
		return 0;
	if (!(header->nr_files & (header->nr_files - 1))) {
		file = realloc(header->files, (header->nr_files ?
					       header->nr_files * 2 : 1) *
					      sizeof(*file));
		if (!file)
			return -ENOMEM;
		header->files = file;
	}
	file = &header->files[header->nr_files];
	file->size = misc & MISC_BUILD_ID_SIZE ? at[32] :
		     sizeof(file->build_id);
	if (!file->size || file->size > sizeof(file->build_id))
		return 0;
	memcpy(file->build_id, at + 12, sizeof(file->build_id));
	file->name = strndup((const char *)at + 36, size - 36);
	if (!file->name)
		return -ENOMEM;
	header->nr_files++;
	header->are_sorted = false;
	return 0;
}

static int compare_files(const void *a, const void *b)
{
	return strcmp(((const struct known_file *)a)->name,
		      ((const struct known_file *)b)->name);
}

static int read_files(struct profile_header *header, const unsigned char *at,
		      size_t left)
{
	while (left >= sizeof(struct perf_event_header)) {
		const size_t size = get_u16(at + 6);
		int ret;

		if (size < sizeof(struct perf_event_header) || size > left)
			break;
		ret = add_file(header, at, size);
		if (ret)
			return ret;
		at += size;
		left -= size;
	}
	return 0;
}

const struct known_file *sfu_header_find_file(struct profile_header *header,
					      const char *name)
{
	const struct known_file key = { .name = (char *)name };

	if (!header->nr_files)
		return NULL;
	if (!header->are_sorted)
		qsort(header->files, header->nr_files, sizeof(*header->files),
		      compare_files);
	header->are_sorted = true;
	return bsearch(&key, header->files, header->nr_files, sizeof(key),
		       compare_files);
}

static int add_feature(struct profile_header *header, unsigned int feature,
		       const unsigned char *at, size_t size)
{
	const int fact = fact_of_feature(feature);
	const char *text;
	size_t length;

	if (fact >= 0) {
		text = take_text(&at, &size, &length);
		if (text)
			set_fact(header, fact, text, length);
	} else if (feature == FEATURE_CMDLINE) {
		read_command(header, at, size);
	} else if (feature == FEATURE_EVENT_DESC) {
		read_names(header, at, size);
	} else if (feature == FEATURE_BUILD_ID) {
		return read_files(header, at, size);
	}
	return 0;
}

/* Read up to @size bytes, which may be more than fit in the input's buffer. */
static int read_bytes(struct input *input, uint64_t offset, size_t size,
		      unsigned char **bytes)
{
	unsigned char *to = malloc(size ? size : 1);
	int error;

	*bytes = to;
	if (!to)
		return -ENOMEM;
	for (size_t done = 0; done < size; ) {
		const size_t more = size - done < INPUT_MAX ? size - done :
							      INPUT_MAX;
		const void *from = sfu_input_get(input, offset + done, more, &error);

		if (!from) {
			free(to);
			*bytes = NULL;
			return error ? error : -ENODATA;
		}
		memcpy(to + done, from, more);
		done += more;
	}
	return 0;
}

/* Read the features. Those that are too large, or extend past the file's end, are left out. */
static int read_features(struct profile_header *header, struct input *input,
			 const struct file_header *file)
{
	uint64_t table = header->end;

	for (unsigned int i = 0; i < FEATURE_LAST; i++) {
		struct file_section section;
		unsigned char *bytes;
		const void *entry;
		int ret;

		if (!(file->features[i / 64] >> i % 64 & 1))
			continue;
		entry = sfu_input_get(input, table, sizeof(section), &ret);
		if (!entry)
			return ret;
		memcpy(&section, entry, sizeof(section));
		table += sizeof(section);
		if (section.size > FEATURE_MAX)
			continue;
		ret = read_bytes(input, section.offset, section.size, &bytes);
		if (ret == -ENODATA)
			continue;
		if (!ret)
			ret = add_feature(header, i, bytes, section.size);
		free(bytes);
		if (ret)
			return ret;
	}
	return 0;
}

static int read_source(struct profile_header *header, struct input *input,
		       const unsigned char *attr, size_t attr_size,
		       const char **why)
{
	struct file_section ids;
	unsigned char *bytes;
	int ret;

	memcpy(&ids, attr + attr_size - sizeof(ids), sizeof(ids));
	*why = "an event's ids are beyond the end of the file, or too many";
	if (ids.size / sizeof(uint64_t) > SOURCE_IDS_MAX)
		return -EINVAL;
	ret = read_bytes(input, ids.offset, ids.size, &bytes);
	if (ret)
		return ret == -ENODATA ? -EINVAL : ret;
	*why = "an event's attributes are too short, or there are too many events";
	ret = sfu_sources_add(&header->sources, attr, attr_size - sizeof(ids),
			      bytes, ids.size / sizeof(uint64_t));
	free(bytes);
	return ret;
}

static int read_sources(struct profile_header *header, struct input *input,
			const struct file_header *file, const char **why)
{
	const size_t attr_size = file->attr_size;
	uint64_t nr;
	int ret = 0;

	*why = "the events are beyond the end of the file";
	if (attr_size < PERF_ATTR_SIZE_VER0 + sizeof(struct file_section) ||
	    attr_size > 4096 || file->attrs.size / attr_size > SOURCES_MAX)
		return -EINVAL;
	nr = file->attrs.size / attr_size;
	for (uint64_t i = 0; i < nr && !ret; i++) {
		unsigned char attr[4096];
		const void *from;

		from = sfu_input_get(input, file->attrs.offset + i * attr_size,
				     attr_size, &ret);
		if (!from)
			return ret ? ret : -EINVAL;
		memcpy(attr, from, attr_size);
		ret = read_source(header, input, attr, attr_size, why);
	}
	return ret;
}

/* Where the records are. */
static void find_records(struct profile_header *header,
			 const struct input *input,
			 const struct file_header *file)
{
	header->begin = file->data.offset;
	header->end = file->data.offset + file->data.size;
	if (file->data.size && header->end >= header->begin)
		return;
	/* A recorder writes the size last. */
	header->is_unfinished = true;
	header->end = input->size;
}

__attribute__((format(printf, 4, 5)))
static int refuse(char *error, size_t size, int number, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(error, size, format, args);
	va_end(args);
	return number;
}

int sfu_header_read(struct profile_header *header, struct input *input, char *error,
		    size_t error_size)
{
	struct file_header file = { 0 };
	const char *why = NULL;
	const void *from;
	int ret;

	from = sfu_input_get(input, 0, PIPE_HEADER_SIZE, &ret);
	if (!from)
		return ret ? ret : refuse(error, error_size, -EINVAL,
			"no profile: only %" PRIu64 " bytes", input->size);
	memcpy(&file, from, PIPE_HEADER_SIZE);
	if (file.magic == PROFILE_MAGIC_SWAPPED)
		return refuse(error, error_size, -EOPNOTSUPP,
			      "a profile of a machine with another byte order");
	if (file.magic != PROFILE_MAGIC)
		return refuse(error, error_size, -EINVAL,
			      "no profile: it does not begin with \"PERFILE2\"");
	if (file.size == PIPE_HEADER_SIZE) {
		header->is_pipe = true;
		header->begin = PIPE_HEADER_SIZE;
		header->end = input->size;
		return 0;
	}
	from = sfu_input_get(input, 0, sizeof(file), &ret);
	if (!from)
		return ret ? ret : refuse(error, error_size, -EINVAL,
			"the file ends at offset %" PRIu64 ", inside of its header",
			input->size);
	memcpy(&file, from, sizeof(file));
	if (file.size != sizeof(file))
		return refuse(error, error_size, -EINVAL,
			      "offset 8: a header of %" PRIu64 " bytes",
			      file.size);
	if (file.features[0] >> FEATURE_DIR_FORMAT & 1)
		return refuse(error, error_size, -EOPNOTSUPP,
			      "a profile of several files (perf record --threads)");
	ret = read_sources(header, input, &file, &why);
	if (ret)
		return ret != -EINVAL ? ret : refuse(error, error_size, ret,
			"offset %" PRIu64 ": %s", file.attrs.offset, why);
	find_records(header, input, &file);
	return header->is_unfinished ? 0 : read_features(header, input, &file);
}

/* PERF_RECORD_HEADER_ATTR: the attributes, with their size inside, and the ids. */
static int add_attr_record(struct profile_header *header,
			   const unsigned char *at, size_t size,
			   const char **why)
{
	uint32_t attr_size = size >= 8 ? get_u32(at + 4) : 0;

	*why = "an event's attributes are not well-formed";
	if (!attr_size)
		attr_size = PERF_ATTR_SIZE_VER0;
	if (attr_size < PERF_ATTR_SIZE_VER0 || attr_size > size)
		return -EINVAL;
	return sfu_sources_add(&header->sources, at, attr_size, at + attr_size,
			       (size - attr_size) / sizeof(uint64_t));
}

int sfu_header_add_record(struct profile_header *header, const void *bytes,
			  const char **why)
{
	const unsigned char *at = bytes;
	const uint32_t type = get_u32(at);
	const size_t size = get_u16(at + 6);
	struct source *source;

	at += sizeof(struct perf_event_header);
	switch (type) {
	case RECORD_HEADER_ATTR:
		return add_attr_record(header, at, size - 8, why);
	case RECORD_HEADER_FEATURE:
		return size < 16 ? 0 : add_feature(header, get_u64(at), at + 8,
						   size - 16);
	case RECORD_HEADER_BUILD_ID:
		return read_files(header, bytes, size);
	case RECORD_EVENT_UPDATE:
		source = size <= 24 || get_u64(at) != EVENT_UPDATE_NAME ? NULL :
			 sfu_sources_find(&header->sources, get_u64(at + 8));
		if (source)
			sfu_source_set_name(source, (const char *)at + 16,
					    size - 24);
		return 0;
	default:
		return 0;
	}
}

void sfu_header_free(struct profile_header *header)
{
	sfu_sources_free(&header->sources);
	for (unsigned int i = 0; i < PROFILE_FACTS; i++)
		free(header->facts[i]);
	for (size_t i = 0; i < header->nr_files; i++)
		free(header->files[i].name);
	free(header->files);
	*header = (struct profile_header){ 0 };
}
