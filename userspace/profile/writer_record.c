// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Append records to a profile.
 */
#include <errno.h>
#include <stdbool.h>
#include <sys/mman.h>

#include "profile/format.h"
#include "profile/writer.h"

#define RECORD_MAX	65528u

/* A record that is being composed, in a buffer that is large enough. */
struct composed {
	unsigned char *at;
};

static void put(struct composed *to, const void *from, size_t size)
{
	memcpy(to->at, from, size);
	to->at += size;
}

static void put_u64(struct composed *to, uint64_t value)
{
	put(to, &value, sizeof(value));
}

static void put_u32(struct composed *to, uint32_t value)
{
	put(to, &value, sizeof(value));
}

static void put_header(struct composed *to, uint32_t type, uint16_t misc,
		       size_t size)
{
	const struct perf_event_header header = {
		.type = type,
		.misc = misc,
		.size = size,
	};

	put(to, &header, sizeof(header));
}

/* Append @text and zero bytes up to @size. */
static void put_text(struct composed *to, const char *text, size_t size)
{
	const size_t length = strlen(text);

	put(to, text, length);
	memset(to->at, 0, size - length);
	to->at += size - length;
}

static size_t text_size(const char *text)
{
	return (strlen(text) + 8) / 8 * 8;
}

static const struct sframe_unwind_profile_source *
find_source(const struct sframe_unwind_profile_writer *writer, uint32_t source)
{
	if (writer->nr_sources == 1)
		source = 0;
	return source < writer->nr_sources ? &writer->sources[source] : NULL;
}

static size_t sample_id_size(const struct sframe_unwind_profile_writer *writer)
{
	return 16 + (writer->flags & SFRAME_UNWIND_PROFILE_WRITE_CPU ? 8 : 0) +
	       (sfu_writer_has_ids(writer) ? 8 : 0);
}

/* What all records but samples have at their end. */
static void put_sample_id(const struct sframe_unwind_profile_writer *writer,
			  struct composed *to,
			  const struct sframe_unwind_profile_record *record,
			  uint64_t id)
{
	put_u32(to, record->pid);
	put_u32(to, record->tid);
	put_u64(to, record->time);
	if (writer->flags & SFRAME_UNWIND_PROFILE_WRITE_CPU) {
		put_u32(to, record->cpu);
		put_u32(to, 0);
	}
	if (sfu_writer_has_ids(writer))
		put_u64(to, id);
}

/* The id of other records need not be that of a source. */
static uint64_t any_id(const struct sframe_unwind_profile_writer *writer,
		       const struct sframe_unwind_profile_record *record)
{
	const bool is_known = record->source < writer->nr_sources;

	return writer->sources[is_known ? record->source : 0].ids[0];
}

/* Returns how many user frames may have facts. A record has no room for more than 65,535. */
static uint32_t nr_with_facts(const struct sframe_unwind_profile_sample *sample)
{
	return !sample->how ? 0 :
	       sample->nr_user > UINT16_MAX ? UINT16_MAX : sample->nr_user;
}

/*
 * Returns the bytes of facts behind the sample. *@nr is set to the number of frames with facts,
 * and *@misc to bits of the header.
 */
static size_t facts_size(const struct sframe_unwind_profile_sample *sample,
			 unsigned int *nr, uint16_t *misc)
{
	const uint32_t last = nr_with_facts(sample);

	*nr = 0;
	*misc = 0;
	if (!sample->how && !sample->stop && !sample->entry)
		return 0;
	for (uint32_t i = 0; i < last; i++)
		*nr += sample->how[i] != USUAL_HOW(i);
	if (sample->how && !*nr && sample->stop == USUAL_STOP &&
	    sample->entry <= MISC_ENTRY_MAX) {
		*misc = MISC_USUAL | sample->entry << MISC_ENTRY_SHIFT;
		return 0;
	}
	return (sizeof(struct facts) + *nr * sizeof(struct fact_of_frame) + 7) /
	       8 * 8;
}

static void put_facts(struct composed *to,
		      const struct sframe_unwind_profile_sample *sample,
		      unsigned int nr, size_t size)
{
	const struct facts facts = {
		.magic = FACTS_MAGIC,
		.stop = sample->stop,
		.entry = sample->entry,
		.nr = nr,
	};
	const unsigned char *end = to->at + size;
	const uint32_t last = nr ? nr_with_facts(sample) : 0;

	if (!size)
		return;
	put(to, &facts, sizeof(facts));
	for (uint32_t i = 0; i < last; i++) {
		const struct fact_of_frame fact = { .frame = i, .how = sample->how[i] };

		if (sample->how[i] != USUAL_HOW(i))
			put(to, &fact, sizeof(fact));
	}
	memset(to->at, 0, end - to->at);
}

static void put_chain(struct composed *to,
		      const struct sframe_unwind_profile_sample *sample)
{
	const uint32_t kernel = sample->nr_kernel, user = sample->nr_user;

	put_u64(to, kernel + !!kernel + user + !!user);
	if (kernel)
		put_u64(to, PERF_CONTEXT_KERNEL);
	put(to, sample->frames, kernel * sizeof(uint64_t));
	if (user)
		put_u64(to, PERF_CONTEXT_USER);
	put(to, sample->frames + kernel, user * sizeof(uint64_t));
}

/* The size of raw data, with its own size in front, is a multiple of 8. */
static size_t raw_size(const struct sframe_unwind_profile_sample *sample)
{
	return ((size_t)sample->raw_size + 4 + 7) / 8 * 8;
}

static int write_sample(struct sframe_unwind_profile_writer *writer,
			const struct sframe_unwind_profile_record *record)
{
	const struct sframe_unwind_profile_sample *sample = &record->sample;
	const struct sframe_unwind_profile_source *source =
		find_source(writer, record->source);
	const uint32_t flags = writer->flags;
	struct composed to;
	size_t facts, size;
	unsigned int nr;
	uint16_t misc;

	if (!source || sample->stop > UINT8_MAX || sample->entry > UINT8_MAX)
		return -EINVAL;
	if (sample->nr_kernel > RECORD_MAX || sample->nr_user > RECORD_MAX ||
	    sample->raw_size > RECORD_MAX)
		return -E2BIG;
	facts = facts_size(sample, &nr, &misc);
	size = 8 + 3 * 8 + 8 +
	       ((size_t)sample->nr_kernel + !!sample->nr_kernel +
		sample->nr_user + !!sample->nr_user) * 8 + facts;
	if (sfu_writer_has_ids(writer))
		size += 8;
	if (flags & SFRAME_UNWIND_PROFILE_WRITE_ADDRESS)
		size += 8;
	if (flags & SFRAME_UNWIND_PROFILE_WRITE_CPU)
		size += 8;
	if (flags & SFRAME_UNWIND_PROFILE_WRITE_PERIOD)
		size += 8;
	if (flags & SFRAME_UNWIND_PROFILE_WRITE_RAW)
		size += raw_size(sample);
	if (size > RECORD_MAX)
		return -E2BIG;
	to.at = sfu_writer_room(writer, size);
	if (!to.at)
		return writer->error;
	misc |= sample->flags & SFRAME_UNWIND_PROFILE_KERNEL ? PERF_RECORD_MISC_KERNEL :
							       PERF_RECORD_MISC_USER;
	put_header(&to, PERF_RECORD_SAMPLE, misc, size);
	if (sfu_writer_has_ids(writer))
		put_u64(&to, source->ids[0]);
	put_u64(&to, sample->ip);
	put_u32(&to, record->pid);
	put_u32(&to, record->tid);
	put_u64(&to, record->time);
	if (flags & SFRAME_UNWIND_PROFILE_WRITE_ADDRESS)
		put_u64(&to, sample->address);
	if (flags & SFRAME_UNWIND_PROFILE_WRITE_CPU)
		put_u64(&to, record->cpu);
	if (flags & SFRAME_UNWIND_PROFILE_WRITE_PERIOD)
		put_u64(&to, sample->period);
	put_chain(&to, sample);
	if (flags & SFRAME_UNWIND_PROFILE_WRITE_RAW) {
		const size_t padded = raw_size(sample) - 4;

		put_u32(&to, padded);
		put(&to, sample->raw, sample->raw_size);
		memset(to.at, 0, padded - sample->raw_size);
		to.at += padded - sample->raw_size;
	}
	put_facts(&to, sample, nr, facts);
	return 0;
}

/* Mapping records have the build ID where files have device and inode. */
static int write_map(struct sframe_unwind_profile_writer *writer,
		     const struct sframe_unwind_profile_record *record)
{
	const struct sframe_unwind_profile_map *map = &record->map;
	const uint16_t mode = map->is_kernel ? PERF_RECORD_MISC_KERNEL :
					       PERF_RECORD_MISC_USER;
	const uint16_t known = map->build_id_size ? MISC_BUILD_ID : 0;
	const size_t name = text_size(map->name);
	const size_t size = 8 + 8 + 3 * 8 + 24 + 8 + name +
			    sample_id_size(writer);
	uint8_t build_id[24] = { map->build_id_size };
	struct composed to;

	if (map->build_id_size > sizeof(map->build_id))
		return -EINVAL;
	if (size > RECORD_MAX)
		return -E2BIG;
	to.at = sfu_writer_room(writer, size);
	if (!to.at)
		return writer->error;
	memcpy(build_id + 4, map->build_id, map->build_id_size);
	put_header(&to, PERF_RECORD_MMAP2, mode | known, size);
	put_u32(&to, record->pid);
	put_u32(&to, record->tid);
	put_u64(&to, map->start);
	put_u64(&to, map->size);
	put_u64(&to, map->offset);
	put(&to, build_id, sizeof(build_id));
	put_u32(&to, map->is_code ? PROT_READ | PROT_EXEC : PROT_READ);
	put_u32(&to, MAP_PRIVATE);
	put_text(&to, map->name, name);
	put_sample_id(writer, &to, record, any_id(writer, record));
	return 0;
}

static int write_comm(struct sframe_unwind_profile_writer *writer,
		      const struct sframe_unwind_profile_record *record)
{
	const size_t name = text_size(record->comm.name);
	const size_t size = 8 + 8 + name + sample_id_size(writer);
	struct composed to;

	if (size > RECORD_MAX)
		return -E2BIG;
	to.at = sfu_writer_room(writer, size);
	if (!to.at)
		return writer->error;
	put_header(&to, PERF_RECORD_COMM,
		   record->comm.is_exec ? MISC_COMM_EXEC : 0, size);
	put_u32(&to, record->pid);
	put_u32(&to, record->tid);
	put_text(&to, record->comm.name, name);
	put_sample_id(writer, &to, record, any_id(writer, record));
	return 0;
}

static int write_task(struct sframe_unwind_profile_writer *writer,
		      const struct sframe_unwind_profile_record *record)
{
	const size_t size = 8 + 4 * 4 + 8 + sample_id_size(writer);
	struct composed to = { sfu_writer_room(writer, size) };

	if (!to.at)
		return writer->error;
	put_header(&to, record->kind == SFRAME_UNWIND_PROFILE_FORK ?
		   PERF_RECORD_FORK : PERF_RECORD_EXIT,
		   record->task.has_own_maps ? MISC_FORK_EXEC : 0, size);
	put_u32(&to, record->pid);
	put_u32(&to, record->task.ppid);
	put_u32(&to, record->tid);
	put_u32(&to, record->task.ptid);
	put_u64(&to, record->time);
	put_sample_id(writer, &to, record, any_id(writer, record));
	return 0;
}

static int write_lost(struct sframe_unwind_profile_writer *writer,
		      const struct sframe_unwind_profile_record *record)
{
	const bool is_samples = record->kind ==
				SFRAME_UNWIND_PROFILE_LOST_SAMPLES;
	const size_t size = 8 + (is_samples ? 8 : 16) + sample_id_size(writer);
	const uint64_t id = any_id(writer, record);
	struct composed to = { sfu_writer_room(writer, size) };

	if (!to.at)
		return writer->error;
	put_header(&to, is_samples ? PERF_RECORD_LOST_SAMPLES :
		   PERF_RECORD_LOST, 0, size);
	if (!is_samples)
		put_u64(&to, id);
	put_u64(&to, record->lost);
	put_sample_id(writer, &to, record, id);
	return 0;
}

int sframe_unwind_profile_write(struct sframe_unwind_profile_writer *writer,
				const struct sframe_unwind_profile_record *record)
{
	switch (record->kind) {
	case SFRAME_UNWIND_PROFILE_SAMPLE:
		return write_sample(writer, record);
	case SFRAME_UNWIND_PROFILE_MAP:
		return write_map(writer, record);
	case SFRAME_UNWIND_PROFILE_COMM:
		return write_comm(writer, record);
	case SFRAME_UNWIND_PROFILE_FORK:
	case SFRAME_UNWIND_PROFILE_EXIT:
		return write_task(writer, record);
	case SFRAME_UNWIND_PROFILE_LOST:
	case SFRAME_UNWIND_PROFILE_LOST_SAMPLES:
		return write_lost(writer, record);
	default:
		return -EINVAL;
	}
}

int sframe_unwind_profile_end_round(struct sframe_unwind_profile_writer *writer)
{
	struct composed to = { sfu_writer_room(writer, 8) };

	if (!to.at)
		return writer->error;
	put_header(&to, RECORD_FINISHED_ROUND, 0, 8);
	return 0;
}
