// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Get record after record: from the file, or from what compressed records
 * contain.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "profile/deferred.h"
#include "profile/header.h"
#include "profile/inflate.h"

#define HEADER_SIZE	sizeof(struct perf_event_header)
#define KERNEL_NAME	"[kernel.kallsyms]"

/**
 * struct sframe_unwind_profile - a reader
 *
 * @input: the file.
 * @header: what the profile has beside records.
 * @inflate: contents of compressed records.
 * @deferred: samples that wait for a part of their call chain.
 * @parsed: the current record.
 * @at: offset of the next record in the file.
 * @packed_at: offset of the last compressed record.
 * @known_until: up to this offset, @header has what records tell.
 * @size: bytes of the current record.
 * @is_packed: whether the current record was compressed.
 * @is_end: whether the file has no further record.
 * @is_damaged: whether @truncated is a sentence.
 * @skips_samples: whether samples are skipped.
 * @result: 0, or -errno of the last call, which all further ones return.
 * @error: what was wrong.
 * @truncated: that the file ends too early.
 */
struct sframe_unwind_profile {
	struct input input;
	struct profile_header header;
	struct inflate inflate;
	struct deferred deferred;
	struct parsed parsed;
	uint64_t at;
	uint64_t packed_at;
	uint64_t known_until;
	size_t size;
	bool is_packed;
	bool is_end;
	bool is_damaged;
	bool skips_samples;
	int result;
	char error[256];
	char truncated[256];
};

__attribute__((format(printf, 3, 4)))
static int fail(struct sframe_unwind_profile *profile, int number,
		const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(profile->error, sizeof(profile->error), format, args);
	va_end(args);
	profile->result = number;
	return number;
}

/* The file has no further record; @what there is instead, or NULL. Returns NULL. */
__attribute__((format(printf, 2, 3)))
static const void *end(struct sframe_unwind_profile *profile,
		       const char *format, ...)
{
	va_list args;

	profile->is_end = true;
	if (!format)
		return NULL;
	va_start(args, format);
	vsnprintf(profile->truncated, sizeof(profile->truncated), format, args);
	va_end(args);
	profile->is_damaged = true;
	return NULL;
}

static const void *end_of_file(struct sframe_unwind_profile *profile, int error)
{
	if (error) {
		fail(profile, error, "offset %" PRIu64 ": %s", profile->at,
		     strerrordesc_np(-error));
		return NULL;
	}
	return end(profile, "the file ends at offset %" PRIu64
		   ", inside of the record at offset %" PRIu64,
		   profile->input.size, profile->at);
}

/* Returns the next record of the file, with all its bytes; or NULL. */
static const void *next_stored(struct sframe_unwind_profile *profile)
{
	const uint64_t left = profile->header.end - profile->at;
	const void *bytes;
	int error;

	if (!left && profile->inflate.end != profile->inflate.begin)
		return end(profile, "the compressed record at offset %" PRIu64
			   ", the last one, ends inside of a record",
			   profile->packed_at);
	if (!left && profile->header.is_unfinished)
		return end(profile,
			   "the recording was not finished: the header has no size");
	if (!left)
		return end(profile, NULL);
	bytes = left < HEADER_SIZE ? NULL :
		sfu_input_get(&profile->input, profile->at, HEADER_SIZE, &error);
	if (!bytes)
		return end_of_file(profile, left < HEADER_SIZE ? 0 : error);
	profile->size = get_u16((const char *)bytes + 6);
	if (profile->size < HEADER_SIZE) {
		fail(profile, -EINVAL, "offset %" PRIu64
		     ": a record of %zu bytes", profile->at, profile->size);
		return NULL;
	}
	if (profile->size > left)
		return end_of_file(profile, 0);
	bytes = sfu_input_get(&profile->input, profile->at, profile->size, &error);
	if (!bytes)
		return end_of_file(profile, error);
	profile->is_packed = false;
	return bytes;
}

/* Returns the next record in what was compressed, or NULL. */
static const void *next_packed(struct sframe_unwind_profile *profile)
{
	const char *why = NULL;
	const void *bytes;
	int error;

	bytes = sfu_inflate_get(&profile->inflate, HEADER_SIZE, &error, &why);
	if (bytes) {
		profile->size = get_u16((const char *)bytes + 6);
		if (profile->size < HEADER_SIZE) {
			fail(profile, -EINVAL, "offset %" PRIu64
			     ": compressed: a record of %zu bytes",
			     profile->packed_at, profile->size);
			return NULL;
		}
		bytes = sfu_inflate_get(&profile->inflate, profile->size, &error,
					&why);
	}
	if (error)
		fail(profile, error, "offset %" PRIu64 ": compressed: %s",
		     profile->packed_at, why);
	profile->is_packed = true;
	return bytes;
}

/* Returns the next record; NULL at the end or after an error. */
static const void *next_bytes(struct sframe_unwind_profile *profile)
{
	const void *bytes = next_packed(profile);

	if (bytes || profile->result)
		return bytes;
	return next_stored(profile);
}

static int unpack(struct sframe_unwind_profile *profile, const char *bytes,
		  uint32_t type)
{
	size_t begin = HEADER_SIZE, size = profile->size - HEADER_SIZE;

	profile->packed_at = profile->at;
	profile->at += profile->size;
	if (type == RECORD_COMPRESSED2) {
		if (size < 8 || get_u64(bytes + HEADER_SIZE) > size - 8)
			return fail(profile, -EINVAL, "offset %" PRIu64
				    ": compressed data is larger than its record",
				    profile->packed_at);
		begin += 8;
		size = get_u64(bytes + HEADER_SIZE);
	}
	if (sfu_inflate_give(&profile->inflate, bytes + begin, size))
		return fail(profile, -ENOMEM, "no memory to decompress");
	return 0;
}

/* Bytes in the file behind a record, which its size does not count. */
static uint64_t attachment_size(const struct sframe_unwind_profile *profile,
				const char *bytes, uint32_t type)
{
	if (type == RECORD_AUXTRACE && profile->size >= HEADER_SIZE + 8)
		return get_u64(bytes + HEADER_SIZE);
	if (type == RECORD_HEADER_TRACING_DATA &&
	    profile->size >= HEADER_SIZE + 4)
		return get_u32(bytes + HEADER_SIZE);
	return 0;
}

/* Go behind the current record. */
static int advance(struct sframe_unwind_profile *profile, const char *bytes,
		   uint32_t type)
{
	uint64_t more;

	if (profile->is_packed) {
		sfu_inflate_take(&profile->inflate, profile->size);
		return 0;
	}
	more = attachment_size(profile, bytes, type);
	if (more > profile->header.end - profile->at - profile->size) {
		end_of_file(profile, 0);
		more = profile->header.end - profile->at - profile->size;
	}
	profile->at += profile->size + more;
	return 0;
}

/* The build ID of a mapping may be elsewhere in the file. */
static void complete_map(struct sframe_unwind_profile *profile)
{
	struct sframe_unwind_profile_map *map = &profile->parsed.record.map;
	const struct known_file *file;
	const char *name = map->name;

	if (map->build_id_size)
		return;
	if (map->is_kernel &&
	    !strncmp(name, KERNEL_NAME, strlen(KERNEL_NAME)))
		name = KERNEL_NAME;
	file = sfu_header_find_file(&profile->header, name);
	if (!file)
		return;
	memcpy(map->build_id, file->build_id, file->size);
	map->build_id_size = file->size;
}

/* Returns 1 if the parsed record is for the user, 0 if not, or -errno. */
static int use(struct sframe_unwind_profile *profile)
{
	struct parsed *parsed = &profile->parsed;
	int ret = 0;

	if (!parsed->is_ours)
		return 0;
	if (parsed->is_user_part)
		ret = sfu_deferred_add_part(&profile->deferred, parsed);
	else if (parsed->is_deferred)
		ret = sfu_deferred_add_sample(&profile->deferred, parsed);
	else
		ret = 1;
	if (ret < 0)
		return fail(profile, ret, "no memory for samples that wait");
	if (parsed->record.kind == SFRAME_UNWIND_PROFILE_MAP)
		complete_map(profile);
	return ret;
}

/* A record of user space: facts, or compressed records. */
static int use_special(struct sframe_unwind_profile *profile,
		       const char *bytes, uint32_t type)
{
	const uint64_t at = profile->at;
	const char *why = NULL;
	int ret = 0;

	if (profile->is_packed)
		return advance(profile, bytes, type);
	if (type == RECORD_COMPRESSED || type == RECORD_COMPRESSED2)
		return unpack(profile, bytes, type);
	if (profile->header.is_pipe && at >= profile->known_until) {
		ret = sfu_header_add_record(&profile->header, bytes, &why);
		profile->known_until = at + profile->size;
	}
	if (ret)
		return fail(profile, ret, "offset %" PRIu64 ": %s", at,
			    why ? why : "no memory");
	return advance(profile, bytes, type);
}

static int parse(struct sframe_unwind_profile *profile, const char *bytes)
{
	const uint64_t at = profile->is_packed ? profile->packed_at :
						 profile->at;
	const uint32_t type = get_u32(bytes);
	const char *why;
	int ret;

	if (type >= RECORD_USER)
		return use_special(profile, bytes, type);
	if (profile->skips_samples && (type == PERF_RECORD_SAMPLE ||
				       type == RECORD_CALLCHAIN_DEFERRED))
		return advance(profile, bytes, type);
	ret = sfu_parse_record(&profile->header.sources, bytes, &profile->parsed,
			       &why);
	if (ret)
		return fail(profile, ret, "offset %" PRIu64 "%s: %s", at,
			    profile->is_packed ? ", compressed" : "", why);
	profile->parsed.record.offset = at;
	ret = advance(profile, bytes, type);
	return ret ? ret : use(profile);
}

int sframe_unwind_profile_next(struct sframe_unwind_profile *profile,
			       const struct sframe_unwind_profile_record **record)
{
	int ret = 0;

	*record = NULL;
	while (!profile->result && !ret) {
		const void *bytes = NULL;

		if (sfu_deferred_next(&profile->deferred, profile->is_end,
				      &profile->parsed)) {
			ret = 1;
			break;
		}
		if (profile->is_end)
			return 0;
		bytes = next_bytes(profile);
		if (bytes)
			ret = parse(profile, bytes);
	}
	if (profile->result)
		return profile->result;
	*record = &profile->parsed.record;
	return ret;
}

void sframe_unwind_profile_rewind(struct sframe_unwind_profile *profile)
{
	sfu_inflate_reset(&profile->inflate);
	sfu_deferred_reset(&profile->deferred);
	profile->at = profile->header.begin;
	profile->is_end = false;
	profile->is_damaged = false;
	profile->result = 0;
	profile->error[0] = '\0';
}

void sframe_unwind_profile_skip_samples(struct sframe_unwind_profile *profile, int skip)
{
	profile->skips_samples = !!skip;
}

int sframe_unwind_profile_open(struct sframe_unwind_profile **profile, int fd)
{
	struct sframe_unwind_profile *new = calloc(1, sizeof(*new));
	int ret;

	*profile = new;
	if (!new)
		return -ENOMEM;
	sfu_deferred_init(&new->deferred);
	ret = sfu_input_open(&new->input, fd);
	if (!ret)
		ret = sfu_header_read(&new->header, &new->input, new->error,
				      sizeof(new->error));
	if (ret && !new->error[0])
		fail(new, ret, "%s", strerrordesc_np(-ret));
	new->at = new->header.begin;
	new->result = ret;
	return ret;
}

void sframe_unwind_profile_close(struct sframe_unwind_profile *profile)
{
	if (!profile)
		return;
	sfu_input_close(&profile->input);
	sfu_header_free(&profile->header);
	sfu_inflate_free(&profile->inflate);
	sfu_deferred_reset(&profile->deferred);
	free(profile);
}

const char *sframe_unwind_profile_error(const struct sframe_unwind_profile *profile)
{
	return profile->error;
}

const char *sframe_unwind_profile_truncated(const struct sframe_unwind_profile *profile)
{
	return profile->is_damaged ? profile->truncated : NULL;
}

uint64_t sframe_unwind_profile_size(const struct sframe_unwind_profile *profile)
{
	return profile->input.size;
}

size_t sframe_unwind_profile_sources(const struct sframe_unwind_profile *profile)
{
	return profile->header.sources.nr;
}

const struct sframe_unwind_profile_source *
sframe_unwind_profile_source(struct sframe_unwind_profile *profile, size_t index)
{
	if (index >= profile->header.sources.nr)
		return NULL;
	return &profile->header.sources.list[index].known;
}

const char *sframe_unwind_profile_fact(const struct sframe_unwind_profile *profile,
				       enum sframe_unwind_profile_fact fact)
{
	return (unsigned int)fact < PROFILE_FACTS ? profile->header.facts[fact] :
						    NULL;
}

int sframe_unwind_profile_clock(const struct sframe_unwind_profile *profile)
{
	const struct sources *sources = &profile->header.sources;

	if (!sources->nr || !sources->list[0].attr.use_clockid)
		return -1;
	return sources->list[0].attr.clockid;
}
