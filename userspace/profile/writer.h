/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* What the parts of the writer share. */
#ifndef PROFILE_WRITER_H
#define PROFILE_WRITER_H

#include <linux/perf_event.h>
#include <stdbool.h>

#include "include/sframe_unwind_profile.h"
#include "profile/deflate.h"

#define WRITER_FACTS	5

/* perf refuses attributes that are larger than those it knows: an old size. */
#define STORED_ATTR_SIZE	PERF_ATTR_SIZE_VER5

/**
 * struct sframe_unwind_profile_writer - a writer
 *
 * @fd: the file.
 * @flags: SFRAME_UNWIND_PROFILE_WRITE_* bits.
 * @clock: clock of the times, or -1.
 * @error: 0, or -errno of the first write that failed.
 * @sources: copies of the sources.
 * @nr_sources: their number.
 * @facts: texts by enum sframe_unwind_profile_fact, or NULL.
 * @begin: offset of the first record.
 * @written: offset behind the last record in the file.
 * @buffer: records that are not in the file yet.
 * @used: their size in bytes.
 * @deflate: compresses records, with SFRAME_UNWIND_PROFILE_WRITE_COMPRESSED.
 */
struct sframe_unwind_profile_writer {
	int fd;
	uint32_t flags;
	int clock;
	int error;
	struct sframe_unwind_profile_source *sources;
	size_t nr_sources;
	char *facts[WRITER_FACTS];
	uint64_t begin;
	uint64_t written;
	unsigned char *buffer;
	size_t used;
	struct deflate deflate;
};

/* Whether records have ids, to tell the sources apart. */
static inline bool sfu_writer_has_ids(const struct sframe_unwind_profile_writer *writer)
{
	return writer->nr_sources > 1;
}

/* Write to any place of the file. Returns 0 or -errno, which is kept. */
int sfu_writer_put_at(struct sframe_unwind_profile_writer *writer, const void *from,
		      size_t size, uint64_t offset);

/* Returns room for a record of @size bytes, or NULL after an error of writing. */
void *sfu_writer_room(struct sframe_unwind_profile_writer *writer, size_t size);

/* The attributes of a source, as perf would open it. */
void sfu_writer_fill_attr(const struct sframe_unwind_profile_writer *writer,
			  const struct sframe_unwind_profile_source *source,
			  struct perf_event_attr *attr);

/*
 * Write the facts behind the records, and the header. Of a profile that is not finished
 * (@is_end), only how records were compressed: without that, perf could not read them.
 * Returns 0 or -errno.
 */
int sfu_writer_write_features(struct sframe_unwind_profile_writer *writer, bool is_end);

/* Write the header, with the bits of @features. Returns 0 or -errno. */
int sfu_writer_write_header(struct sframe_unwind_profile_writer *writer,
			    uint64_t features);

#endif /* PROFILE_WRITER_H */
