// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * What a profile has behind its records: facts about machine and recording.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "profile/format.h"
#include "profile/writer.h"

#define PADDING	64u	/* sizes of texts, as perf has them */

static void put_u32(FILE *to, uint32_t value)
{
	fwrite(&value, sizeof(value), 1, to);
}

static void put_text(FILE *to, const char *text)
{
	const size_t length = strlen(text);
	const size_t size = (length + PADDING) / PADDING * PADDING;

	put_u32(to, size);
	fwrite(text, 1, length, to);
	for (size_t i = length; i < size; i++)
		putc(0, to);
}

static void put_sources(const struct sframe_unwind_profile_writer *writer,
			FILE *to)
{
	struct perf_event_attr attr;

	put_u32(to, writer->nr_sources);
	put_u32(to, STORED_ATTR_SIZE);
	for (size_t i = 0; i < writer->nr_sources; i++) {
		const struct sframe_unwind_profile_source *source =
			&writer->sources[i];

		sfu_writer_fill_attr(writer, source, &attr);
		fwrite(&attr, STORED_ATTR_SIZE, 1, to);
		put_u32(to, source->nr_ids);
		put_text(to, source->name);
		fwrite(source->ids, sizeof(uint64_t), source->nr_ids, to);
	}
}

/* CPUs that are online, and those that there are. */
static void put_cpus(FILE *to)
{
	put_u32(to, sysconf(_SC_NPROCESSORS_CONF));
	put_u32(to, sysconf(_SC_NPROCESSORS_ONLN));
}

static void put_command(FILE *to, const char *command)
{
	put_u32(to, 1);
	put_text(to, command);
}

/* Perf gets memory for the largest number of bytes that come out of a record. */
static void put_compressed(const struct deflate *deflate, FILE *to)
{
	put_u32(to, COMPRESSED_VERSION);
	put_u32(to, COMPRESSED_ZSTD);
	put_u32(to, deflate->level);
	put_u32(to, deflate->gotten ? deflate->given / deflate->gotten : 1);
	put_u32(to, DEFLATE_PLAIN_MAX);
}

static const char *fact_of_feature(const struct sframe_unwind_profile_writer *writer,
				   unsigned int feature)
{
	switch (feature) {
	case FEATURE_HOSTNAME:
		return writer->facts[SFRAME_UNWIND_PROFILE_HOSTNAME];
	case FEATURE_OSRELEASE:
		return writer->facts[SFRAME_UNWIND_PROFILE_RELEASE];
	case FEATURE_VERSION:
		return writer->facts[SFRAME_UNWIND_PROFILE_VERSION];
	case FEATURE_ARCH:
		return writer->facts[SFRAME_UNWIND_PROFILE_ARCH];
	case FEATURE_CMDLINE:
		return writer->facts[SFRAME_UNWIND_PROFILE_COMMAND];
	default:
		return NULL;
	}
}

/* Returns whether there is anything to tell. */
static bool put_feature(const struct sframe_unwind_profile_writer *writer,
			unsigned int feature, bool is_end, FILE *to)
{
	const char *fact = fact_of_feature(writer, feature);

	if (feature == FEATURE_COMPRESSED && writer->deflate.stream)
		put_compressed(&writer->deflate, to);
	else if (!is_end)
		return false;
	else if (feature == FEATURE_NRCPUS)
		put_cpus(to);
	else if (feature == FEATURE_EVENT_DESC)
		put_sources(writer, to);
	else if (fact && feature == FEATURE_CMDLINE)
		put_command(to, fact);
	else if (fact)
		put_text(to, fact);
	else
		return false;
	return true;
}

int sfu_writer_write_features(struct sframe_unwind_profile_writer *writer, bool is_end)
{
	static const unsigned int known[] = {
		FEATURE_HOSTNAME, FEATURE_OSRELEASE, FEATURE_VERSION,
		FEATURE_ARCH, FEATURE_NRCPUS, FEATURE_CMDLINE,
		FEATURE_EVENT_DESC, FEATURE_COMPRESSED,
	};
	struct file_section table[sizeof(known) / sizeof(known[0])];
	char *bytes = NULL;
	uint64_t features = 0;
	size_t size = 0, nr = 0;
	int ret = 0;
	FILE *to;

	to = open_memstream(&bytes, &size);
	if (!to)
		return -ENOMEM;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		const long begin = ftell(to);

		if (!put_feature(writer, known[i], is_end, to))
			continue;
		features |= 1ULL << known[i];
		table[nr].offset = begin;
		table[nr++].size = ftell(to) - begin;
	}
	if (fclose(to))
		ret = -ENOMEM;
	for (size_t i = 0; i < nr; i++)
		table[i].offset += writer->written + nr * sizeof(table[0]);
	if (!ret)
		ret = sfu_writer_put_at(writer, table, nr * sizeof(table[0]),
					writer->written);
	if (!ret)
		ret = sfu_writer_put_at(writer, bytes, size,
					writer->written + nr * sizeof(table[0]));
	if (!ret)
		ret = sfu_writer_write_header(writer, features);
	free(bytes);
	return ret;
}
