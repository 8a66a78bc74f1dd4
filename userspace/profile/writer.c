// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Write a profile. What the header tells of the data is updated with each
 * flush, so that the file of a process that was killed is readable up to there;
 * facts come at the end.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profile/format.h"
#include "profile/writer.h"

#define BUFFER		(256u << 10)
#define SOURCES_MAX	1024u
#define IDS_MAX		(1u << 18)	/* as sources.h */
#define FLAGS		(SFRAME_UNWIND_PROFILE_WRITE_CPU |	\
			 SFRAME_UNWIND_PROFILE_WRITE_PERIOD |	\
			 SFRAME_UNWIND_PROFILE_WRITE_ADDRESS |	\
			 SFRAME_UNWIND_PROFILE_WRITE_RAW |	\
			 SFRAME_UNWIND_PROFILE_WRITE_COMPRESSED |	\
			 SFRAME_UNWIND_PROFILE_WRITE_LEVEL(0x1fu))

/* Attributes of one source, as the header has them. */
struct stored_attr {
	unsigned char attr[STORED_ATTR_SIZE];
	struct file_section ids;
};

int sfu_writer_put_at(struct sframe_unwind_profile_writer *writer, const void *from,
		      size_t size, uint64_t offset)
{
	const char *bytes = from;

	while (size) {
		const ssize_t written = pwrite(writer->fd, bytes, size, offset);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0) {
			writer->error = written ? -errno : -EIO;
			return writer->error;
		}
		bytes += written;
		size -= written;
		offset += written;
	}
	return 0;
}

int sfu_writer_write_header(struct sframe_unwind_profile_writer *writer,
			    uint64_t features)
{
	struct file_header header = {
		.magic = PROFILE_MAGIC,
		.size = sizeof(header),
		.attr_size = sizeof(struct stored_attr),
		.attrs = {
			sizeof(header),
			writer->nr_sources * sizeof(struct stored_attr),
		},
		.data = { writer->begin, writer->written - writer->begin },
		.features = { features },
	};

	return sfu_writer_put_at(writer, &header, sizeof(header), 0);
}

/* Compress what was collected and write it from @offset on, which is moved behind it. */
static int put_compressed(struct sframe_unwind_profile_writer *writer,
			  uint64_t *offset)
{
	struct deflate *deflate = &writer->deflate;
	int ret = 0;

	for (size_t at = 0; at < writer->used && !ret; at += DEFLATE_PLAIN) {
		const size_t left = writer->used - at;

		ret = sfu_deflate(deflate, writer->buffer + at,
				  left < DEFLATE_PLAIN ? left : DEFLATE_PLAIN);
		if (ret) {
			writer->error = ret;
			return ret;
		}
		ret = sfu_writer_put_at(writer, deflate->record, deflate->size,
					*offset);
		*offset += deflate->size;
	}
	return ret;
}

/*
 * The records replace the facts, which are behind the last records in the file. So the
 * header first says that there are no facts, and they are written again at the end,
 * also after an error: the disk had room for them before.
 */
static int flush_compressed(struct sframe_unwind_profile_writer *writer)
{
	uint64_t end = writer->written;
	int ret;

	ret = sfu_writer_write_header(writer, 0);
	if (!ret)
		ret = put_compressed(writer, &end);
	if (!ret) {
		writer->written = end;
		writer->used = 0;
	}
	if (!ret)
		return sfu_writer_write_features(writer, false);
	sfu_writer_write_features(writer, false);
	return ret;
}

/* Writing has failed, as on a full disk: those records that are whole in the file can be read. */
static void keep_whole(struct sframe_unwind_profile_writer *writer)
{
	struct perf_event_header header;
	struct stat status;
	size_t at = 0;

	if (fstat(writer->fd, &status))
		return;
	while (writer->used - at >= sizeof(header)) {
		memcpy(&header, writer->buffer + at, sizeof(header));
		if (writer->written + at + header.size > (uint64_t)status.st_size)
			break;
		at += header.size;
	}
	writer->written += at;
	sfu_writer_write_header(writer, 0);
}

int sframe_unwind_profile_flush(struct sframe_unwind_profile_writer *writer)
{
	int ret = writer->error;

	if (ret || !writer->used)
		return ret;
	if (writer->deflate.stream)
		return flush_compressed(writer);
	ret = sfu_writer_put_at(writer, writer->buffer, writer->used,
				writer->written);
	if (ret) {
		keep_whole(writer);
		return ret;
	}
	writer->written += writer->used;
	writer->used = 0;
	return sfu_writer_write_header(writer, 0);
}

uint64_t sframe_unwind_profile_written(const struct sframe_unwind_profile_writer *writer)
{
	return writer->written + (writer->deflate.stream ? 0 : writer->used);
}

static uint64_t sample_type(const struct sframe_unwind_profile_writer *writer)
{
	const uint32_t flags = writer->flags;
	uint64_t type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			PERF_SAMPLE_CALLCHAIN;

	if (sfu_writer_has_ids(writer))
		type |= PERF_SAMPLE_IDENTIFIER;
	if (flags & SFRAME_UNWIND_PROFILE_WRITE_CPU)
		type |= PERF_SAMPLE_CPU;
	if (flags & SFRAME_UNWIND_PROFILE_WRITE_PERIOD)
		type |= PERF_SAMPLE_PERIOD;
	if (flags & SFRAME_UNWIND_PROFILE_WRITE_ADDRESS)
		type |= PERF_SAMPLE_ADDR;
	if (flags & SFRAME_UNWIND_PROFILE_WRITE_RAW)
		type |= PERF_SAMPLE_RAW;
	return type;
}

void sfu_writer_fill_attr(const struct sframe_unwind_profile_writer *writer,
			  const struct sframe_unwind_profile_source *source,
			  struct perf_event_attr *attr)
{
	*attr = (struct perf_event_attr){
		.type = source->type,
		.size = STORED_ATTR_SIZE,
		.config = source->config,
		.sample_period = source->period,
		.freq = !!source->frequency,
		.sample_type = sample_type(writer),
		.sample_id_all = 1,
		.exclude_kernel = !!source->is_user_only,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.exclude_callchain_kernel = !!source->is_user_only,
		.use_clockid = writer->clock >= 0,
		.clockid = writer->clock >= 0 ? writer->clock : 0,
	};
}

/* The attributes, and behind them the ids of all. */
static int write_sources(struct sframe_unwind_profile_writer *writer)
{
	uint64_t at = sizeof(struct file_header), ids;
	int ret = 0;

	ids = at + writer->nr_sources * sizeof(struct stored_attr);
	for (size_t i = 0; i < writer->nr_sources && !ret; i++) {
		const struct sframe_unwind_profile_source *source =
			&writer->sources[i];
		const size_t size = source->nr_ids * sizeof(uint64_t);
		struct stored_attr stored = { .ids = { ids, size } };
		struct perf_event_attr attr;

		sfu_writer_fill_attr(writer, source, &attr);
		memcpy(stored.attr, &attr, sizeof(stored.attr));
		ret = sfu_writer_put_at(writer, &stored, sizeof(stored), at);
		if (!ret)
			ret = sfu_writer_put_at(writer, source->ids, size, ids);
		at += sizeof(stored);
		ids += size;
	}
	writer->begin = ids;
	writer->written = ids;
	return ret;
}

static int compare(const void *a, const void *b)
{
	const uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

/* Returns 0, -EINVAL if an id is 0 or used twice, or -ENOMEM. */
static int check_ids(const struct sframe_unwind_profile_source *sources,
		     size_t nr)
{
	size_t nr_ids = 0, at = 0;
	uint64_t *ids;
	int ret = 0;

	for (size_t i = 0; i < nr; i++) {
		if (!sources[i].nr_ids || sources[i].nr_ids > IDS_MAX - nr_ids ||
		    !sources[i].name)
			return -EINVAL;
		nr_ids += sources[i].nr_ids;
	}
	ids = malloc(nr_ids * sizeof(*ids));
	if (!ids)
		return -ENOMEM;
	for (size_t i = 0; i < nr; at += sources[i++].nr_ids)
		memcpy(ids + at, sources[i].ids,
		       sources[i].nr_ids * sizeof(*ids));
	qsort(ids, nr_ids, sizeof(*ids), compare);
	for (size_t i = 0; i < nr_ids; i++)
		if (!ids[i] || (i && ids[i] == ids[i - 1]))
			ret = -EINVAL;
	free(ids);
	return ret;
}

static void free_writer(struct sframe_unwind_profile_writer *writer)
{
	for (size_t i = 0; writer->sources && i < writer->nr_sources; i++) {
		free((char *)writer->sources[i].name);
		free((uint64_t *)writer->sources[i].ids);
	}
	for (unsigned int i = 0; i < WRITER_FACTS; i++)
		free(writer->facts[i]);
	sfu_deflate_free(&writer->deflate);
	free(writer->sources);
	free(writer->buffer);
	free(writer);
}

static int start_compressing(struct sframe_unwind_profile_writer *writer)
{
	const uint32_t level = writer->flags /
			       SFRAME_UNWIND_PROFILE_WRITE_LEVEL(1);

	if (!(writer->flags & SFRAME_UNWIND_PROFILE_WRITE_COMPRESSED))
		return level ? -EINVAL : 0;
	return sfu_deflate_start(&writer->deflate, level ? level : 1);
}

static int copy_sources(struct sframe_unwind_profile_writer *writer,
			const struct sframe_unwind_profile_source *sources,
			size_t nr)
{
	writer->sources = calloc(nr, sizeof(*sources));
	writer->buffer = malloc(BUFFER);
	if (!writer->sources || !writer->buffer)
		return -ENOMEM;
	writer->nr_sources = nr;
	for (size_t i = 0; i < nr; i++) {
		const size_t size = sources[i].nr_ids * sizeof(uint64_t);
		uint64_t *ids = malloc(size);

		writer->sources[i] = sources[i];
		writer->sources[i].name = strdup(sources[i].name);
		writer->sources[i].ids = ids;
		if (!ids || !writer->sources[i].name)
			return -ENOMEM;
		memcpy(ids, sources[i].ids, size);
	}
	return 0;
}

int sframe_unwind_profile_create(struct sframe_unwind_profile_writer **result, int fd,
				 const struct sframe_unwind_profile_source *sources,
				 size_t nr_sources, uint32_t flags, int clock)
{
	struct sframe_unwind_profile_writer *writer;
	struct stat status;
	int ret;

	*result = NULL;
	if (!nr_sources || nr_sources > SOURCES_MAX || flags & ~FLAGS)
		return -EINVAL;
	ret = check_ids(sources, nr_sources);
	if (ret)
		return ret;
	if (fstat(fd, &status))
		return -errno;
	if (!S_ISREG(status.st_mode))
		return -ESPIPE;
	writer = calloc(1, sizeof(*writer));
	if (!writer)
		return -ENOMEM;
	writer->fd = fd;
	writer->flags = flags;
	writer->clock = clock;
	ret = copy_sources(writer, sources, nr_sources);
	if (!ret)
		ret = start_compressing(writer);
	if (!ret)
		ret = write_sources(writer);
	if (!ret)
		ret = sfu_writer_write_header(writer, 0);
	if (ret)
		free_writer(writer);
	else
		*result = writer;
	return ret;
}

void *sfu_writer_room(struct sframe_unwind_profile_writer *writer, size_t size)
{
	if (writer->error ||
	    (BUFFER - writer->used < size &&
	     sframe_unwind_profile_flush(writer)))
		return NULL;
	writer->used += size;
	return writer->buffer + writer->used - size;
}

int sframe_unwind_profile_set_fact(struct sframe_unwind_profile_writer *writer,
				   enum sframe_unwind_profile_fact fact, const char *value)
{
	char *copy = strdup(value);

	if (!copy)
		return -ENOMEM;
	free(writer->facts[fact]);
	writer->facts[fact] = copy;
	return 0;
}

int sframe_unwind_profile_finish(struct sframe_unwind_profile_writer *writer)
{
	int ret;

	if (!writer)
		return 0;
	ret = sframe_unwind_profile_flush(writer);
	if (!ret)
		ret = sfu_writer_write_features(writer, true);
	free_writer(writer);
	return ret;
}
