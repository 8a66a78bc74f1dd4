// SPDX-License-Identifier: GPL-2.0
/*
 * Profiles: records that the library's writer does not write, and such that are
 * not well-formed.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profile_made.h"
#include "tap.h"
#include "userspace/profile/format.h"

/* Where the header of profile_made.c has the size of the source's ids. */
#define IDS_SIZE_PLACE	(sizeof(struct file_header) + PERF_ATTR_SIZE_VER5 + 8)

static struct made made, plain;
static struct sframe_unwind_profile *profile;
static const struct sframe_unwind_profile_record *record;

static int opened = -1;

/* Open a profile; @fd is closed with the next one. */
static int start(int fd)
{
	close(opened);
	opened = fd;
	return sframe_unwind_profile_open(&profile, fd);
}

static int next(void)
{
	return sframe_unwind_profile_next(profile, &record);
}

static bool fails(int error, const char *what)
{
	const int ret = next();
	const bool is_good = ret == error && next() == error && !record &&
			     strstr(sframe_unwind_profile_error(profile), what);

	if (!is_good)
		tap_fail("%d: %s", ret, sframe_unwind_profile_error(profile));
	sframe_unwind_profile_close(profile);
	return is_good;
}

static void contexts(void)
{
	const uint64_t frames[] = {
		PERF_CONTEXT_GUEST_KERNEL, 0x10, PERF_CONTEXT_USER, 0x20, 0x21,
		PERF_CONTEXT_HV, 0x30, PERF_CONTEXT_USER, 0x22,
	};

	made_begin(&made, MADE_TYPE, 0);
	made_sample(&made, 2, 3, frames, 9);
	EXPECT_EQ(start(made_end(&made)), 0);
	EXPECT_EQ(next(), 1);
	EXPECT_EQ(record->sample.nr_kernel, 1);
	EXPECT_EQ(record->sample.nr_user, 3);
	EXPECT_EQ(record->sample.frames[0], (long long)0xffffffff81000000);
	EXPECT_EQ(record->sample.frames[1], 0x20);
	EXPECT_EQ(record->sample.frames[3], 0x22);
	EXPECT_EQ(record->sample.flags, SFRAME_UNWIND_PROFILE_CHAIN |
		  SFRAME_UNWIND_PROFILE_KERNEL);
	EXPECT_EQ(record->sample.period, 7);
	EXPECT(!record->sample.how && !record->sample.stop);
	EXPECT_EQ(record->tid, 2);
	EXPECT_EQ(record->time, 3);
	EXPECT_EQ(next(), 0);
	sframe_unwind_profile_close(profile);
}

static bool is_merged(uint64_t time, uint64_t address)
{
	return next() == 1 && record->time == time &&
	       record->sample.nr_kernel == 1 && record->sample.nr_user == 2 &&
	       record->sample.frames[1] == address &&
	       record->sample.frames[2] == address + 1 &&
	       !(record->sample.flags & SFRAME_UNWIND_PROFILE_USER_MISSING);
}

/* A user part completes samples before and behind it, of its thread only. */
static void deferred(void)
{
	made_begin(&made, MADE_TYPE, 0);
	made_deferred(&made, 5, 1, 77);
	made_deferred(&made, 6, 2, 77);
	made_deferred(&made, 5, 3, 78);
	made_deferred(&made, 5, 4, 77);
	made_user_part(&made, 5, 77, 0x1000);
	made_deferred(&made, 5, 5, 77);
	made_user_part(&made, 6, 77, 0x2000);
	EXPECT_EQ(start(made_end(&made)), 0);
	for (unsigned int pass = 0; pass < 2; pass++) {
		uint64_t sum = 0;

		for (unsigned int i = 0; i < 2; i++) {
			EXPECT_EQ(next(), 1);
			sum += record->time;
			EXPECT_EQ(record->sample.nr_user, 2);
			EXPECT_EQ(record->sample.frames[1], 0x1000);
		}
		EXPECT_EQ(sum, 1 + 4);
		EXPECT(is_merged(5, 0x1000));
		EXPECT(is_merged(2, 0x2000));
		EXPECT_EQ(next(), 1);
		EXPECT_EQ(record->time, 3);
		EXPECT_EQ(record->sample.nr_user, 0);
		EXPECT(record->sample.flags &
		       SFRAME_UNWIND_PROFILE_USER_MISSING);
		EXPECT_EQ(next(), 0);
		sframe_unwind_profile_rewind(profile);
	}
	sframe_unwind_profile_close(profile);
}

/* How the frames of a user part were found is not told by the facts of its sample. */
static void deferred_facts(void)
{
	const struct facts facts = { .magic = FACTS_MAGIC };
	uint16_t size;
	size_t at;

	made_begin(&made, MADE_TYPE, 0);
	made_user_part(&made, 5, 77, 0x1000);
	at = made.size;
	made_deferred(&made, 5, 1, 77);
	made_bytes(&made, &facts, sizeof(facts));
	size = made.size - at;
	memcpy(made.bytes + at + offsetof(struct perf_event_header, size), &size, 2);
	EXPECT_EQ(start(made_end(&made)), 0);
	EXPECT(is_merged(1, 0x1000));
	EXPECT(!record->sample.how);
	sframe_unwind_profile_close(profile);
}

/* Many samples of one stack, whose user part never comes, take no longer. */
static void deferred_same(void)
{
	const int fd = profile_new();
	const uint64_t size = 200000ULL * 72;
	unsigned int nr = 0;

	made_begin(&made, MADE_TYPE, 0);
	memcpy(made.bytes + offsetof(struct file_header, data.size), &size, 8);
	EXPECT_EQ(write(fd, made.bytes, made.size), (ssize_t)made.size);
	for (unsigned int i = 0; i < 200; i++) {
		made.size = 0;
		for (unsigned int j = 0; j < 1000; j++)
			made_deferred(&made, 5, i * 1000 + j, 77);
		EXPECT_EQ(write(fd, made.bytes, made.size),
			  (ssize_t)made.size);
	}
	EXPECT_EQ(start(fd), 0);
	alarm(60);
	while (next() == 1)
		nr++;
	alarm(0);
	EXPECT_EQ(nr, 200000);
	sframe_unwind_profile_close(profile);
}

/* Samples do not wait for ever: memory is bounded. */
static void deferred_limit(void)
{
	const int fd = profile_new();
	const uint64_t size = 600000ULL * 72;
	unsigned int nr = 0;
	uint64_t begin;

	made_begin(&made, MADE_TYPE, 0);
	begin = made.size;
	memcpy(made.bytes + offsetof(struct file_header, data.size), &size, 8);
	EXPECT_EQ(write(fd, made.bytes, made.size), (ssize_t)begin);
	for (unsigned int i = 0; i < 600; i++) {
		made.size = 0;
		for (unsigned int j = 0; j < 1000; j++)
			made_deferred(&made, 5, i * 1000 + j, i * 1000 + j);
		EXPECT_EQ(made.size, 1000 * (8 + 8 * 8));
		EXPECT_EQ(write(fd, made.bytes, made.size),
			  (ssize_t)made.size);
	}
	EXPECT_EQ(start(fd), 0);
	EXPECT_EQ(next(), 1);
	EXPECT_EQ(record->time, 0);
	EXPECT(record->sample.flags & SFRAME_UNWIND_PROFILE_USER_MISSING);
	/* It is returned although the file goes on. */
	EXPECT(!sframe_unwind_profile_truncated(profile));
	while (next() == 1)
		nr++;
	EXPECT(nr == 600000 - 1);
	sframe_unwind_profile_close(profile);
}

static void compressed(void)
{
	static const size_t steps[] = { 1, 3, 100, 60000 };

	plain.size = 0;
	for (unsigned int i = 0; i < 9000; i++)
		made_sample(&plain, i % 7, i * 3, (uint64_t[]){ i }, 1);
	for (unsigned int i = 0; i < 8; i++) {
		unsigned int nr = 0;

		made_begin(&made, MADE_TYPE, 0);
		made_compressed(&made, &plain, steps[i / 2],
				i % 2 ? RECORD_COMPRESSED2 : RECORD_COMPRESSED);
		EXPECT_EQ(start(made_end(&made)), 0);
		while (next() == 1) {
			EXPECT_EQ(record->time, nr * 3);
			EXPECT_EQ(record->tid, nr % 7);
			nr++;
		}
		EXPECT_EQ(nr, 9000);
		EXPECT(!sframe_unwind_profile_truncated(profile));
		sframe_unwind_profile_rewind(profile);
		EXPECT_EQ(next(), 1);
		EXPECT_EQ(record->time, 0);
		sframe_unwind_profile_close(profile);
	}
}

static void compressed_damaged(void)
{
	uint64_t at;

	plain.size = 0;
	made_sample(&plain, 1, 1, (uint64_t[]){ 0 }, 0);
	made_record(&plain, PERF_RECORD_SAMPLE, 0, 100);
	made_begin(&made, MADE_TYPE, 0);
	made_compressed(&made, &plain, 1000, RECORD_COMPRESSED);
	EXPECT_EQ(start(made_end(&made)), 0);
	EXPECT_EQ(next(), 1);
	EXPECT_EQ(next(), 0);
	EXPECT(strstr(sframe_unwind_profile_truncated(profile),
		      "ends inside of a record"));
	sframe_unwind_profile_close(profile);

	made_begin(&made, MADE_TYPE, 0);
	at = made.size;
	made_record(&made, RECORD_COMPRESSED, 0, 16);
	made_bytes(&made, "this is no zstd.", 16);
	EXPECT_EQ(start(made_end(&made)), 0);
	EXPECT_EQ(at, 232);
	EXPECT(fails(-EINVAL, "offset 232: compressed: "));

	made_begin(&made, MADE_TYPE, 0);
	made_record(&made, RECORD_COMPRESSED2, 0, 16);
	made_u64(&made, 9);
	made_u64(&made, 0);
	EXPECT_EQ(start(made_end(&made)), 0);
	EXPECT(fails(-EINVAL, "offset 232: compressed data is larger"));
}

/*
 * Records that are not compressed, and such with nothing in them, between the parts of
 * one stream, as "perf record -z" writes them.
 */
static void compressed_between(void)
{
	static struct made packed;
	unsigned int nr[2] = { 0 }, parts = 0;

	plain.size = 0;
	for (unsigned int i = 0; i < 9000; i++)
		made_sample(&plain, 1, i, (uint64_t[]){ i * i }, 1);
	packed.size = 0;
	made_compressed(&packed, &plain, 1000, RECORD_COMPRESSED);
	made_begin(&made, MADE_TYPE, 0);
	for (size_t at = 0; at < packed.size; parts++) {
		const size_t size = get_u16(packed.bytes + at + 6);

		made_bytes(&made, packed.bytes + at, size);
		at += size;
		for (unsigned int i = 0; i < 50; i++)
			made_record(&made, RECORD_COMPRESSED, 0, 0);
		for (unsigned int i = 0; i < 50; i++)
			made_sample(&made, 0, parts * 50 + i, (uint64_t[]){ i }, 1);
	}
	EXPECT(parts > 1);
	EXPECT_EQ(start(made_end(&made)), 0);
	while (next() == 1) {
		EXPECT(record->tid <= 1);
		EXPECT_EQ(record->time, nr[record->tid]++);
	}
	EXPECT_EQ(next(), 0);
	EXPECT(!sframe_unwind_profile_truncated(profile));
	EXPECT_EQ(nr[0], parts * 50);
	EXPECT_EQ(nr[1], 9000);
	sframe_unwind_profile_close(profile);
}

/* Compressed records, and records with more bytes behind them, mean nothing in others. */
static void compressed_nested(void)
{
	static struct made inner;

	plain.size = 0;
	made_sample(&plain, 1, 9, (uint64_t[]){ 0 }, 1);
	inner.size = 0;
	made_sample(&inner, 1, 0, (uint64_t[]){ 0 }, 1);
	made_compressed(&inner, &plain, 60000, RECORD_COMPRESSED);
	made_compressed(&inner, &plain, 60000, RECORD_COMPRESSED2);
	made_record(&inner, RECORD_COMPRESSED2, 0, 0);
	made_record(&inner, RECORD_AUXTRACE, 0, 8);
	made_u64(&inner, UINT64_MAX);
	made_sample(&inner, 1, 1, (uint64_t[]){ 0 }, 1);
	made_begin(&made, MADE_TYPE, 0);
	made_compressed(&made, &inner, 60000, RECORD_COMPRESSED);
	EXPECT_EQ(start(made_end(&made)), 0);
	for (unsigned int i = 0; i < 2; i++) {
		EXPECT_EQ(next(), 1);
		EXPECT_EQ(record->time, i);
	}
	EXPECT_EQ(next(), 0);
	EXPECT(!sframe_unwind_profile_truncated(profile));
	sframe_unwind_profile_close(profile);

	made_begin(&made, MADE_TYPE, 0);
	made_record(&made, RECORD_COMPRESSED2, 0, 7);
	made_bytes(&made, "1234567", 7);
	EXPECT_EQ(start(made_end(&made)), 0);
	EXPECT(fails(-EINVAL, "offset 232: compressed data is larger"));
}

/* Few bytes that become too many. */
static void compressed_bomb(void)
{
	uint64_t nr = 0;
	int ret;

	plain.size = 0;
	for (unsigned int i = 0; i < 9000; i++)
		made_sample(&plain, 1, 1, (uint64_t[]){ 0 }, 1);
	made_begin(&made, MADE_TYPE, 0);
	for (unsigned int i = 0; i < 60; i++)
		made_compressed(&made, &plain, 60000, RECORD_COMPRESSED);
	EXPECT(made.size < 60000);
	EXPECT_EQ(start(made_end(&made)), 0);
	while ((ret = next()) == 1)
		nr++;
	EXPECT_EQ(ret, -EINVAL);
	EXPECT(strstr(sframe_unwind_profile_error(profile), "offset "));
	EXPECT(strstr(sframe_unwind_profile_error(profile),
		      ": compressed: more data than a file of this size can have"));
	/* What may always come out, and not much more. */
	nr *= plain.size / 9000;
	EXPECT(nr > 15 << 20 && nr < (17 << 20) + 1024 * made.size);
	/* Each pass has the same limit. */
	sframe_unwind_profile_rewind(profile);
	EXPECT_EQ(next(), 1);
	sframe_unwind_profile_close(profile);
}

/* From a pipe, with attributes, names and build IDs among the records. */
static void piped(void)
{
	int pipes[2];

	made_piped(&made);
	EXPECT_EQ(pipe(pipes), 0);
	EXPECT_EQ(write(pipes[1], made.bytes, made.size), (ssize_t)made.size);
	close(pipes[1]);
	EXPECT_EQ(start(pipes[0]), 0);
	for (unsigned int pass = 0; pass < 2; pass++) {
		EXPECT_EQ(next(), 1);
		EXPECT_EQ(record->time, 2);
		EXPECT_EQ(next(), 1);
		EXPECT_EQ(record->kind, SFRAME_UNWIND_PROFILE_MAP);
		EXPECT_EQ(record->time, 44);
		EXPECT_EQ(record->map.build_id_size, 10);
		EXPECT(!memcmp(record->map.build_id, "0123456789", 10));
		EXPECT_EQ(next(), 0);
		EXPECT_EQ(sframe_unwind_profile_sources(profile), 1);
		EXPECT(!strcmp(sframe_unwind_profile_fact(profile,
				SFRAME_UNWIND_PROFILE_HOSTNAME), "host"));
		sframe_unwind_profile_rewind(profile);
	}
	sframe_unwind_profile_close(profile);
}

static void malformed(void)
{
	for (unsigned int size = 0; size < 8; size++) {
		char what[64];

		made_begin(&made, MADE_TYPE, 0);
		made_sample(&made, 1, 1, (uint64_t[]){ 0 }, 0);
		snprintf(what, sizeof(what), "offset %zu: a record of %u bytes",
			 made.size, size);
		made_record(&made, PERF_RECORD_SAMPLE, 0, size - 8);
		EXPECT_EQ(start(made_end(&made)), 0);
		EXPECT_EQ(next(), 1);
		EXPECT(fails(-EINVAL, what));
	}
	/* Too short for each of its members. */
	for (unsigned int words = 0; words < 6; words++) {
		made_begin(&made, MADE_TYPE, 0);
		made_record(&made, PERF_RECORD_SAMPLE, 0, words * 8);
		for (unsigned int i = 0; i < words; i++)
			made_u64(&made, i == 3 ? 3 : 1);
		EXPECT_EQ(start(made_end(&made)), 0);
		EXPECT(fails(-EINVAL, "offset 232: a record is too short"));
	}
	/* A chain whose size overflows. */
	made_begin(&made, MADE_TYPE, 0);
	made_record(&made, PERF_RECORD_SAMPLE, 0, 32);
	for (unsigned int i = 0; i < 4; i++)
		made_u64(&made, 1ULL << 61);
	EXPECT_EQ(start(made_end(&made)), 0);
	EXPECT(fails(-EINVAL, "offset 232: a record is too short"));
}

static bool is_refused(int error, const char *what)
{
	const int ret = start(made_end(&made));
	const bool is_good = ret == error && next() == error &&
			     strstr(sframe_unwind_profile_error(profile), what);

	if (!is_good)
		tap_fail("%d: %s", ret, sframe_unwind_profile_error(profile));
	sframe_unwind_profile_close(profile);
	return is_good;
}

static void put_at(size_t offset, uint64_t value)
{
	made_begin(&made, MADE_TYPE, 0);
	memcpy(made.bytes + offset, &value, sizeof(value));
}

static void bad_headers(void)
{
	put_at(0, 0);
	EXPECT(is_refused(-EINVAL, "does not begin with"));
	put_at(0, PROFILE_MAGIC_SWAPPED);
	EXPECT(is_refused(-EOPNOTSUPP, "byte order"));
	put_at(8, 100);
	EXPECT(is_refused(-EINVAL, "offset 8: a header of 100 bytes"));
	put_at(offsetof(struct file_header, attr_size), 79);
	EXPECT(is_refused(-EINVAL, "offset 104: "));
	put_at(offsetof(struct file_header, attr_size), 1ULL << 40);
	EXPECT(is_refused(-EINVAL, "offset 104: "));
	put_at(offsetof(struct file_header, attrs.size), 1ULL << 60);
	EXPECT(is_refused(-EINVAL, "offset 104: "));
	put_at(offsetof(struct file_header, attrs.offset), 1ULL << 63);
	EXPECT(is_refused(-EINVAL, "beyond the end"));
	put_at(offsetof(struct file_header, features),
	       1ULL << FEATURE_DIR_FORMAT);
	EXPECT(is_refused(-EOPNOTSUPP, "several files"));
	/* Ids: too many, and beyond the end. */
	put_at(IDS_SIZE_PLACE,
	       1ULL << 40);
	EXPECT(is_refused(-EINVAL, "ids"));
	put_at(IDS_SIZE_PLACE,
	       1 << 20);
	EXPECT(is_refused(-EINVAL, "ids"));
}

static const struct tap_test tests[] = {
	TAP_TEST(contexts),
	TAP_TEST(deferred),
	TAP_TEST(deferred_facts),
	TAP_TEST(deferred_same),
	TAP_TEST(deferred_limit),
	TAP_TEST(compressed),
	TAP_TEST(compressed_damaged),
	TAP_TEST(compressed_between),
	TAP_TEST(compressed_nested),
	TAP_TEST(compressed_bomb),
	TAP_TEST(piped),
	TAP_TEST(malformed),
	TAP_TEST(bad_headers),
};

int main(void)
{
	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	return tap_done();
}
