// SPDX-License-Identifier: GPL-2.0
/*
 * profile: a file of arbitrary bytes as a profile. All that the records point
 * to must be readable, the second pass must give the same records, and each end
 * must have its reason. Compressed, the same records must be read.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "profile_pack.h"
#include "userspace/include/sframe_unwind_profile.h"

/* Decompression can make many records of few bytes. */
#define MAX_RECORDS	20000u

static u64 hash;

static void add(u64 value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15ULL;
	hash ^= hash >> 29;
}

static void add_text(const char *text)
{
	while (*text)
		add(*text++);
}

static void check_sample(const struct sframe_unwind_profile_sample *sample)
{
	const u32 nr = sample->nr_kernel + sample->nr_user;
	const u8 *raw = sample->raw;
	u32 i;

	FUZZ_CHECK(nr <= SFRAME_UNWIND_PROFILE_FRAMES, "%u frames", nr);
	FUZZ_CHECK(!nr || sample->flags & SFRAME_UNWIND_PROFILE_CHAIN,
		   "frames without a chain");
	for (i = 0; i < nr; i++)
		add(sample->frames[i]);
	for (i = 0; sample->how && i < sample->nr_user; i++)
		add(sample->how[i]);
	for (i = 0; raw && i < sample->raw_size; i++)
		add(raw[i]);
	add(sample->period);
	add(sample->flags);
	add(sample->stop);
	add(sample->entry);
}

static void check_record(const struct sframe_unwind_profile_record *record,
			 size_t size)
{
	FUZZ_CHECK(record->offset < size, "offset");
	add(record->kind);
	add(record->time);
	switch (record->kind) {
	case SFRAME_UNWIND_PROFILE_SAMPLE:
		check_sample(&record->sample);
		break;
	case SFRAME_UNWIND_PROFILE_MAP:
		add_text(record->map.name);
		FUZZ_CHECK(record->map.build_id_size <=
			   SFRAME_UNWIND_PROFILE_BUILD_ID, "build ID");
		break;
	case SFRAME_UNWIND_PROFILE_COMM:
		add_text(record->comm.name);
		break;
	case SFRAME_UNWIND_PROFILE_FORK:
	case SFRAME_UNWIND_PROFILE_EXIT:
	case SFRAME_UNWIND_PROFILE_LOST:
	case SFRAME_UNWIND_PROFILE_LOST_SAMPLES:
		break;
	default:
		FUZZ_CHECK(false, "kind %u", record->kind);
	}
}

static int read_all(struct sframe_unwind_profile *profile, size_t size)
{
	const struct sframe_unwind_profile_record *record;
	u32 nr = 0;
	int ret;

	hash = 0;
	while ((ret = sframe_unwind_profile_next(profile, &record)) == 1) {
		check_record(record, size);
		if (++nr == MAX_RECORDS)
			return 1;
	}
	FUZZ_CHECK(!ret || ret == -EINVAL, "%d", ret);
	FUZZ_CHECK(!ret == !sframe_unwind_profile_error(profile)[0], "%d", ret);
	return ret;
}

static void check_sources(struct sframe_unwind_profile *profile)
{
	const size_t nr = sframe_unwind_profile_sources(profile);
	size_t i;

	for (i = 0; i < nr; i++) {
		const struct sframe_unwind_profile_source *source =
			sframe_unwind_profile_source(profile, i);

		add_text(source->name);
		if (source->nr_ids)
			add(source->ids[source->nr_ids - 1]);
	}
	for (i = 0; i < 6; i++)
		if (sframe_unwind_profile_fact(profile, i))
			add_text(sframe_unwind_profile_fact(profile, i));
}

static int profile_fd(const void *data, size_t size)
{
	static int fd = -1;

	if (fd < 0)
		fd = memfd_create("profile", 0);
	if (ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size)
		abort();
	return fd;
}

static void check_packed(const u8 *data, size_t size, int plain)
{
	struct sframe_unwind_profile *profile;
	const u64 before = hash;
	const void *packed;
	int ret;

	size = profile_pack(data, size, &packed);
	if (!size)
		return;
	ret = sframe_unwind_profile_open(&profile, profile_fd(packed, size));
	FUZZ_CHECK(!ret, "compressed: %d", ret);
	ret = read_all(profile, size);
	FUZZ_CHECK(ret == plain && hash == before, "compressed: %d, not %d: %s", ret,
		   plain, sframe_unwind_profile_error(profile));
	sframe_unwind_profile_close(profile);
}

void fuzz_profile(const u8 *data, size_t size)
{
	struct sframe_unwind_profile *profile;
	int ret, first;
	u64 before;

	ret = sframe_unwind_profile_open(&profile, profile_fd(data, size));
	FUZZ_CHECK(!ret || ret == -EINVAL || ret == -EOPNOTSUPP, "%d", ret);
	FUZZ_CHECK(!ret == !sframe_unwind_profile_error(profile)[0], "%d", ret);
	if (!ret) {
		first = read_all(profile, size);
		before = hash;
		check_sources(profile);
		sframe_unwind_profile_rewind(profile);
		/* In a pipe, what comes late is known early in the second pass. */
		ret = read_all(profile, size);
		FUZZ_CHECK(data[8] == 16 || (ret == first && hash == before),
			   "another pass: %d, not %d", ret, first);
	}
	sframe_unwind_profile_close(profile);
	if (!ret)
		check_packed(data, size, ret);
}
