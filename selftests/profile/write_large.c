// SPDX-License-Identifier: GPL-2.0
/*
 * write_large FILE SAMPLES FRAMES OBJECT OFFSET SIZE: write a profile of four
 * threads whose stacks have FRAMES frames, at addresses in SIZE bytes of code at
 * OFFSET (in hex) of the file OBJECT. As in programs, most calls have one hot
 * caller, callers of other functions are rarer, and the innermost frame's address
 * differs more than those of calls.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sframe_unwind_profile.h"

#define START		0x7f0000000000ULL
#define THREADS		4
#define BRANCH_LEVELS	5	/* every so many levels, calls differ */
#define BRANCHES	6
#define HOT_PERCENT	90

static uint64_t seed = 0x9e3779b97f4a7c15ULL;

static uint64_t next_random(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static uint64_t mix(uint64_t value)
{
	value = (value ^ value >> 31) * 0xd6e8feb86659fd93ULL;
	return value ^ value >> 29;
}

/* The outermost frame is the last one. */
static void make_stack(uint64_t *frames, uint32_t nr, uint64_t size)
{
	uint64_t path = 1, choice;

	for (uint32_t i = 0; i < nr; i++) {
		choice = 0;
		if (i % BRANCH_LEVELS == BRANCH_LEVELS - 1 &&
		    next_random() % 100 >= HOT_PERCENT)
			choice = 1 + next_random() % BRANCHES;
		path = mix(path + choice + 1);
		frames[nr - 1 - i] = START + path % size;
	}
	frames[0] += next_random() % 16;
}

static int write_all(struct sframe_unwind_profile_writer *writer,
		     unsigned long nr, uint32_t nr_frames, const char *object,
		     uint64_t offset, uint64_t size)
{
	static uint64_t frames[SFRAME_UNWIND_PROFILE_FRAMES];
	struct sframe_unwind_profile_record record = {
		.kind = SFRAME_UNWIND_PROFILE_COMM,
		.pid = 100,
		.tid = 100,
		.comm.name = "large",
		.comm.is_exec = 1,
	};
	int ret = sframe_unwind_profile_write(writer, &record);

	record = (struct sframe_unwind_profile_record){
		.kind = SFRAME_UNWIND_PROFILE_MAP,
		.pid = 100,
		.tid = 100,
		.map = {
			.start = START,
			.size = (size + 4095) & ~4095ULL,
			.offset = offset,
			.name = object,
			.is_code = 1,
		},
	};
	if (!ret)
		ret = sframe_unwind_profile_write(writer, &record);
	for (unsigned long i = 0; i < nr && !ret; i++) {
		make_stack(frames, nr_frames, size);
		record = (struct sframe_unwind_profile_record){
			.kind = SFRAME_UNWIND_PROFILE_SAMPLE,
			.time = 1000000000 + i * 250000,
			.pid = 100,
			.tid = 100 + i % THREADS,
			.sample = {
				.ip = frames[0],
				.period = 1000000,
				.frames = frames,
				.nr_user = nr_frames,
				.flags = SFRAME_UNWIND_PROFILE_CHAIN,
			},
		};
		ret = sframe_unwind_profile_write(writer, &record);
		if (!ret && i % 4096 == 4095)
			ret = sframe_unwind_profile_end_round(writer);
	}
	return ret;
}

int main(int argc, char **argv)
{
	const struct sframe_unwind_profile_source source = {
		.name = "cpu-clock",
		.ids = (uint64_t[]){ 1 },
		.nr_ids = 1,
		.type = 1,
		.period = 1000000,
	};
	struct sframe_unwind_profile_writer *writer;
	int fd, ret;

	if (argc != 7) {
		fprintf(stderr, "usage: write_large FILE SAMPLES FRAMES OBJECT OFFSET SIZE\n");
		return 2;
	}
	fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	ret = sframe_unwind_profile_create(&writer, fd, &source, 1, 0, -1);
	if (!ret)
		ret = write_all(writer, strtoul(argv[2], NULL, 10),
				strtoul(argv[3], NULL, 10), argv[4],
				strtoull(argv[5], NULL, 16),
				strtoull(argv[6], NULL, 16));
	if (!ret)
		ret = sframe_unwind_profile_finish(writer);
	if (ret)
		fprintf(stderr, "write_large: %s\n", strerror(-ret));
	return !!ret;
}
