// SPDX-License-Identifier: GPL-2.0
/*
 * Profiles: what the writer writes, the reader reads; also a part of it.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profile_made.h"
#include "tap.h"
#include "userspace/profile/format.h"

#define RECORDS	400u

static const struct sframe_unwind_profile_source source = {
	.name = "cpu-clock",
	.ids = (uint64_t[]){ 1 },
	.nr_ids = 1,
	.type = 1,
	.period = 1000,
};

/* Read to the end. Returns the number of records, or -1 if one is not equal. */
static int count_equal(struct sframe_unwind_profile *profile, int *result)
{
	const struct sframe_unwind_profile_record *got;
	struct sframe_unwind_profile_record want;
	int nr = 0;

	while ((*result = sframe_unwind_profile_next(profile, &got)) == 1) {
		profile_made_record(nr++, &want);
		if (!profile_is_equal(got, &want))
			return -1;
	}
	return nr;
}

static void check_kinds(uint32_t flags)
{
	struct sframe_unwind_profile *profile;
	const struct sframe_unwind_profile_source *found;
	const int fd = profile_make(RECORDS, flags);
	int result;

	EXPECT(fd >= 0);
	EXPECT_EQ(sframe_unwind_profile_open(&profile, fd), 0);
	for (unsigned int pass = 0; pass < 2; pass++) {
		EXPECT_EQ(count_equal(profile, &result), RECORDS);
		EXPECT_EQ(result, 0);
		EXPECT(!sframe_unwind_profile_truncated(profile));
		EXPECT(!strcmp(sframe_unwind_profile_error(profile), ""));
		sframe_unwind_profile_rewind(profile);
	}
	EXPECT_EQ(sframe_unwind_profile_sources(profile), 2);
	found = sframe_unwind_profile_source(profile, 0);
	EXPECT(!strcmp(found->name, "one") && found->nr_ids == 2 &&
	       found->ids[1] == 12 && found->period == 100);
	found = sframe_unwind_profile_source(profile, 1);
	EXPECT(!strcmp(found->name, "two:u") && found->is_user_only &&
	       found->config == 2);
	EXPECT(!sframe_unwind_profile_source(profile, 2));
	EXPECT(!strcmp(sframe_unwind_profile_fact(profile,
				SFRAME_UNWIND_PROFILE_COMMAND), "record -a"));
	EXPECT(!sframe_unwind_profile_fact(profile,
					   SFRAME_UNWIND_PROFILE_HOSTNAME));
	EXPECT_EQ(sframe_unwind_profile_clock(profile), 1);
	sframe_unwind_profile_close(profile);
	close(fd);
}

static void all_kinds(void)
{
	check_kinds(0);
}

static void all_kinds_compressed(void)
{
	check_kinds(SFRAME_UNWIND_PROFILE_WRITE_COMPRESSED);
	check_kinds(SFRAME_UNWIND_PROFILE_WRITE_COMPRESSED |
		    SFRAME_UNWIND_PROFILE_WRITE_LEVEL(22));
}

/* Returns whether a file of this size is read up to its end, and says so. */
static bool reads_part(int fd, off_t size, off_t whole)
{
	struct sframe_unwind_profile *profile;
	bool is_good;
	int result, nr;

	if (ftruncate(fd, size))
		return false;
	result = sframe_unwind_profile_open(&profile, fd);
	if (result) {
		is_good = result == -EINVAL && size < whole &&
			  sframe_unwind_profile_error(profile)[0];
	} else {
		nr = count_equal(profile, &result);
		is_good = nr >= 0 && !result &&
			  (nr == RECORDS ||
			   sframe_unwind_profile_truncated(profile));
	}
	if (!is_good)
		tap_fail("%lld bytes: %d, %s", (long long)size, result,
			 sframe_unwind_profile_error(profile));
	sframe_unwind_profile_close(profile);
	return is_good;
}

/* The file, made shorter at a thousand places. */
static void check_truncated(uint32_t flags)
{
	const int fd = profile_make(RECORDS, flags);
	struct stat status;

	EXPECT(fd >= 0);
	EXPECT_EQ(fstat(fd, &status), 0);
	EXPECT(status.st_size > 1000);
	for (int i = 1000; i >= 0; i--)
		EXPECT(reads_part(fd, status.st_size * i / 1000,
				  status.st_size));
	close(fd);
}

static void truncated(void)
{
	check_truncated(0);
}

static void truncated_compressed(void)
{
	check_truncated(SFRAME_UNWIND_PROFILE_WRITE_COMPRESSED);
}

/*
 * Whether the file tells perf how its records were compressed: version 1, zstd, and the
 * most bytes that one becomes, more than the largest record. Without that, perf cannot
 * read any.
 */
static bool tells_compression(int fd)
{
	struct file_header header;
	struct file_section section;
	uint32_t facts[5];

	return pread(fd, &header, sizeof(header), 0) == sizeof(header) &&
	       header.features[0] >> FEATURE_COMPRESSED & 1 &&
	       /* It is the last one. */
	       pread(fd, &section, sizeof(section),
		     header.data.offset + header.data.size +
		     sizeof(section) * (__builtin_popcountll(header.features[0]) -
					1)) == sizeof(section) &&
	       section.size == sizeof(facts) &&
	       pread(fd, facts, sizeof(facts), section.offset) ==
		       sizeof(facts) &&
	       facts[0] == 1 && facts[1] == 1 && facts[2] && facts[3] &&
	       facts[4] >= 65528;
}

/* A process that is killed does not finish the file. */
static void check_not_finished(uint32_t flags)
{
	struct sframe_unwind_profile_writer *writer;
	struct sframe_unwind_profile_record want;
	const struct sframe_unwind_profile_record *got;
	struct sframe_unwind_profile *profile;
	const int fd = profile_new();

	EXPECT_EQ(sframe_unwind_profile_create(&writer, fd, &source, 1,
					       flags, -1), 0);
	EXPECT_EQ(sframe_unwind_profile_open(&profile, fd), 0);
	EXPECT_EQ(sframe_unwind_profile_next(profile, &got), 0);
	EXPECT(strstr(sframe_unwind_profile_truncated(profile),
		      "not finished"));
	sframe_unwind_profile_close(profile);
	profile_made_record(1, &want);
	for (unsigned int i = 0; i < 10; i++)
		EXPECT_EQ(sframe_unwind_profile_write(writer, &want), 0);
	EXPECT_EQ(sframe_unwind_profile_flush(writer), 0);
	EXPECT_EQ(tells_compression(fd), !!flags);
	EXPECT_EQ(sframe_unwind_profile_open(&profile, fd), 0);
	for (unsigned int i = 0; i < 10; i++) {
		EXPECT_EQ(sframe_unwind_profile_next(profile, &got), 1);
		EXPECT_EQ(got->sample.nr_user, want.sample.nr_user);
		EXPECT_EQ(got->cpu, SFRAME_UNWIND_PROFILE_NONE);
		EXPECT_EQ(got->sample.period, 1000);
	}
	EXPECT_EQ(sframe_unwind_profile_next(profile, &got), 0);
	EXPECT(!strcmp(sframe_unwind_profile_source(profile, 0)->name,
		       "cpu-clock"));
	sframe_unwind_profile_close(profile);
	EXPECT_EQ(sframe_unwind_profile_finish(writer), 0);
	close(fd);
}

static void not_finished(void)
{
	check_not_finished(0);
}

static void not_finished_compressed(void)
{
	check_not_finished(SFRAME_UNWIND_PROFILE_WRITE_COMPRESSED);
}

static void largest_sample(void)
{
	static uint64_t frames[SFRAME_UNWIND_PROFILE_FRAMES];
	/* 65,528 bytes less those before the frames, and a mark. */
	const unsigned int most = (65528 - 5 * 8) / 8 - 1;
	struct sframe_unwind_profile_record record = {
		.kind = SFRAME_UNWIND_PROFILE_SAMPLE,
		.sample = { .frames = frames, .nr_user = most },
	};
	const struct sframe_unwind_profile_record *got;
	struct sframe_unwind_profile_writer *writer;
	struct sframe_unwind_profile *profile;
	const int fd = profile_new();

	EXPECT_EQ(sframe_unwind_profile_create(&writer, fd, &source, 1, 0, -1),
		  0);
	EXPECT_EQ(sframe_unwind_profile_write(writer, &record), 0);
	record.sample.nr_user++;
	EXPECT_EQ(sframe_unwind_profile_write(writer, &record), -E2BIG);
	record.sample.nr_user = most - 1;
	record.sample.nr_kernel = 1;
	EXPECT_EQ(sframe_unwind_profile_write(writer, &record), -E2BIG);
	record.sample.nr_kernel = UINT32_MAX;
	EXPECT_EQ(sframe_unwind_profile_write(writer, &record), -E2BIG);
	record.sample.nr_kernel = 0;
	record.sample.stop = 256;
	EXPECT_EQ(sframe_unwind_profile_write(writer, &record), -EINVAL);
	record.kind = 0;
	EXPECT_EQ(sframe_unwind_profile_write(writer, &record), -EINVAL);
	EXPECT_EQ(sframe_unwind_profile_finish(writer), 0);
	EXPECT_EQ(sframe_unwind_profile_open(&profile, fd), 0);
	EXPECT_EQ(sframe_unwind_profile_next(profile, &got), 1);
	EXPECT_EQ(got->sample.nr_user, most);
	EXPECT_EQ(sframe_unwind_profile_next(profile, &got), 0);
	sframe_unwind_profile_close(profile);
	close(fd);
}

static void refused(void)
{
	struct sframe_unwind_profile_source two[] = { source, source };
	struct sframe_unwind_profile_writer *writer;
	struct sframe_unwind_profile *profile;
	const int fd = profile_new();
	int pipes[2];

	EXPECT_EQ(sframe_unwind_profile_create(&writer, fd, two, 0, 0, -1),
		  -EINVAL);
	EXPECT_EQ(sframe_unwind_profile_create(&writer, fd, two, 2, 0, -1),
		  -EINVAL);
	EXPECT_EQ(sframe_unwind_profile_create(&writer, fd, two, 1, 32, -1),
		  -EINVAL);
	EXPECT_EQ(sframe_unwind_profile_create(&writer, fd, two, 1,
			SFRAME_UNWIND_PROFILE_WRITE_LEVEL(1), -1), -EINVAL);
	EXPECT_EQ(sframe_unwind_profile_create(&writer, fd, two, 1,
			SFRAME_UNWIND_PROFILE_WRITE_COMPRESSED |
			SFRAME_UNWIND_PROFILE_WRITE_LEVEL(23), -1), -EINVAL);
	EXPECT_EQ(sframe_unwind_profile_create(&writer, fd, two, 1,
			SFRAME_UNWIND_PROFILE_WRITE_LEVEL(32), -1), -EINVAL);
	two[0].ids = (uint64_t[]){ 0 };
	EXPECT_EQ(sframe_unwind_profile_create(&writer, fd, two, 1, 0, -1),
		  -EINVAL);
	two[0].nr_ids = 0;
	EXPECT_EQ(sframe_unwind_profile_create(&writer, fd, two, 1, 0, -1),
		  -EINVAL);
	EXPECT(!writer);
	EXPECT_EQ(pipe(pipes), 0);
	EXPECT_EQ(sframe_unwind_profile_create(&writer, pipes[1], &source, 1,
					       0, -1), -ESPIPE);
	close(pipes[1]);
	EXPECT_EQ(sframe_unwind_profile_open(&profile, pipes[0]), -EINVAL);
	EXPECT(strstr(sframe_unwind_profile_error(profile), "only 0 bytes"));
	sframe_unwind_profile_close(profile);
	close(pipes[0]);
	EXPECT_EQ(sframe_unwind_profile_open(&profile, -1), -EBADF);
	sframe_unwind_profile_close(profile);
	EXPECT_EQ(sframe_unwind_profile_finish(NULL), 0);
	sframe_unwind_profile_close(NULL);
	close(fd);
}

/* The disk is full: what was written before is readable. */
static void check_disk_full(uint32_t flags)
{
	struct sframe_unwind_profile_record record;
	const struct sframe_unwind_profile_record *got;
	struct sframe_unwind_profile_writer *writer;
	struct sframe_unwind_profile *profile;
	const int fd = profile_new();
	struct rlimit limit;
	uint64_t last = 0;
	int ret = 0, nr = 0;

	EXPECT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
	signal(SIGXFSZ, SIG_IGN);
	limit.rlim_cur = 400000;
	EXPECT_EQ(sframe_unwind_profile_create(&writer, fd, &source, 1,
					       flags, -1), 0);
	EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
	for (unsigned int i = 0; i < 100000 && !ret; i++) {
		profile_made_record(i * 7 + 1, &record);
		ret = sframe_unwind_profile_write(writer, &record);
	}
	EXPECT_EQ(ret, -EFBIG);
	EXPECT_EQ(sframe_unwind_profile_write(writer, &record), -EFBIG);
	EXPECT_EQ(sframe_unwind_profile_finish(writer), -EFBIG);
	limit.rlim_cur = limit.rlim_max;
	EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
	EXPECT_EQ(tells_compression(fd), !!flags);
	EXPECT_EQ(sframe_unwind_profile_open(&profile, fd), 0);
	while ((ret = sframe_unwind_profile_next(profile, &got)) == 1) {
		last = got->offset;
		nr++;
	}
	EXPECT_EQ(ret, 0);
	EXPECT(nr > 500);
	/* All but the last record, which did not fit. */
	EXPECT(flags || last > 400000 - 2000);
	sframe_unwind_profile_close(profile);
	close(fd);
}

static void disk_full(void)
{
	check_disk_full(0);
}

static void disk_full_compressed(void)
{
	check_disk_full(SFRAME_UNWIND_PROFILE_WRITE_COMPRESSED);
}

/* Equal records take almost no space, and are read back. */
static void deep_compressed(void)
{
	static uint64_t frames[8000];
	struct sframe_unwind_profile_record record = {
		.kind = SFRAME_UNWIND_PROFILE_SAMPLE,
		.sample = { .frames = frames, .nr_user = 8000 },
	};
	const struct sframe_unwind_profile_record *got;
	struct sframe_unwind_profile_writer *writer;
	struct sframe_unwind_profile *profile;
	const int fd = profile_new();
	unsigned int nr = 0;

	EXPECT_EQ(sframe_unwind_profile_create(&writer, fd, &source, 1,
			SFRAME_UNWIND_PROFILE_WRITE_COMPRESSED, -1), 0);
	for (unsigned int i = 0; i < 1000; i++)
		EXPECT_EQ(sframe_unwind_profile_write(writer, &record), 0);
	EXPECT_EQ(sframe_unwind_profile_finish(writer), 0);
	EXPECT(lseek(fd, 0, SEEK_END) < 60000);
	EXPECT_EQ(sframe_unwind_profile_open(&profile, fd), 0);
	while (sframe_unwind_profile_next(profile, &got) == 1)
		nr++;
	EXPECT_EQ(nr, 1000);
	sframe_unwind_profile_close(profile);
	close(fd);
}

/* Samples of a program that does the same all the time: some stacks, again and again. */
#define STACKS	200u
#define DEPTH	32u
#define SAMPLES	20000u

static void steady_sample(unsigned int i,
			  struct sframe_unwind_profile_record *record)
{
	static uint64_t frames[DEPTH];
	/* Successive samples have unrelated stacks. */
	const unsigned int stack = i * 2654435761U % STACKS;

	for (unsigned int j = 0; j < DEPTH; j++)
		frames[j] = 0x7f0000000000 +
			    (stack + 1) * (j + 1) * 40503ULL % 0x200000;
	*record = (struct sframe_unwind_profile_record){
		.kind = SFRAME_UNWIND_PROFILE_SAMPLE,
		.time = 1000000000ULL + i * 1001001ULL + stack * 37 % 4000,
		.pid = 100,
		.tid = 101 + stack % 3,
		.cpu = i % 2,
		.sample = {
			.ip = frames[0],
			.period = 1001001,
			.frames = frames,
			.nr_user = DEPTH,
			.flags = SFRAME_UNWIND_PROFILE_CHAIN,
			.stop = 1,
			.entry = 1,
		},
	};
}

/* A sample takes less than a fifth of 64 bytes and 8 for each frame. */
static void steady_is_small(void)
{
	struct sframe_unwind_profile_record record;
	const struct sframe_unwind_profile_record *got;
	struct sframe_unwind_profile_writer *writer;
	struct sframe_unwind_profile *profile;
	const int fd = profile_new();
	struct stat status;
	unsigned int nr = 0;

	EXPECT_EQ(sframe_unwind_profile_create(&writer, fd, &source, 1,
			SFRAME_UNWIND_PROFILE_WRITE_COMPRESSED |
			SFRAME_UNWIND_PROFILE_WRITE_CPU, 1), 0);
	for (unsigned int i = 0; i < SAMPLES; i++) {
		steady_sample(i, &record);
		EXPECT_EQ(sframe_unwind_profile_write(writer, &record), 0);
		if (i % 2000 == 1999)
			EXPECT_EQ(sframe_unwind_profile_flush(writer), 0);
	}
	EXPECT_EQ(sframe_unwind_profile_finish(writer), 0);
	EXPECT(tells_compression(fd));
	EXPECT_EQ(fstat(fd, &status), 0);
	EXPECT(status.st_size / SAMPLES < (64 + 8 * DEPTH) / 5);
	EXPECT_EQ(sframe_unwind_profile_open(&profile, fd), 0);
	while (sframe_unwind_profile_next(profile, &got) == 1) {
		steady_sample(nr++, &record);
		EXPECT(got->time == record.time &&
		       got->sample.nr_user == DEPTH &&
		       !memcmp(got->sample.frames, record.sample.frames,
			       DEPTH * sizeof(uint64_t)));
	}
	EXPECT_EQ(nr, SAMPLES);
	EXPECT(!sframe_unwind_profile_truncated(profile));
	sframe_unwind_profile_close(profile);
	close(fd);
}

static const struct tap_test tests[] = {
	TAP_TEST(all_kinds),
	TAP_TEST(all_kinds_compressed),
	TAP_TEST(truncated),
	TAP_TEST(truncated_compressed),
	TAP_TEST(not_finished),
	TAP_TEST(not_finished_compressed),
	TAP_TEST(largest_sample),
	TAP_TEST(refused),
	TAP_TEST(disk_full),
	TAP_TEST(deep_compressed),
	TAP_TEST(disk_full_compressed),
	TAP_TEST(steady_is_small),
};

int main(void)
{
	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	return tap_done();
}
