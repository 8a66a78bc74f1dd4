// SPDX-License-Identifier: GPL-2.0
/*
 * write_bomb KIND FILE: write a compressed profile of some kilobytes that has as
 * many records as fit into NR_BYTES:
 *
 *	zero	zeroes, which are no records
 *	comm	names of ever new threads
 *	fork	ever new processes
 *	map	mappings of one process, downwards, and then forks of it
 *	place	stacks of 4000 equal addresses, each of another process
 *	stack	stacks of 4000 frames, of which no two are equal
 *	name	long names of one thread
 *	file	mappings of ever new files with long names
 *	jit	mappings of files with code of ever new processes
 *	thread	samples without frames, of ever new threads
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#define NR_BYTES	(40u << 20)
#define CHUNK		60000u
#define FRAMES		4000u
#define LONG		4000u	/* bytes of a long name */
#define RECORD_COMPRESSED	81

static unsigned char *plain;
static size_t size;

static void put(const void *from, size_t nr)
{
	memcpy(plain + size, from, nr);
	size += nr;
}

static void put_u32(uint32_t value)
{
	put(&value, sizeof(value));
}

static void put_u64(uint64_t value)
{
	put(&value, sizeof(value));
}

static void put_header(uint32_t type, size_t nr)
{
	const struct perf_event_header header = {
		.type = type,
		.size = sizeof(header) + nr,
	};

	put(&header, sizeof(header));
}

static void put_comm(uint32_t pid)
{
	put_header(PERF_RECORD_COMM, 16);
	put_u32(pid);
	put_u32(pid);
	put_u64('x');
}

static void put_fork(uint32_t pid, uint32_t parent)
{
	put_header(PERF_RECORD_FORK, 24);
	put_u32(pid);
	put_u32(parent);
	put_u32(pid);
	put_u32(parent);
	put_u64(pid);
}

static void put_map(uint32_t pid, uint64_t start)
{
	put_header(PERF_RECORD_MMAP, 40);
	put_u32(pid);
	put_u32(pid);
	put_u64(start);
	put_u64(4096);
	put_u64(0);
	put_u64('/' | 'x' << 8);
}

static void put_sample(uint32_t pid, const uint64_t *frames)
{
	put_header(PERF_RECORD_SAMPLE, 16 + (1 + FRAMES) * 8);
	put_u32(pid);
	put_u32(pid);
	put_u64(1 + FRAMES);
	put_u64(PERF_CONTEXT_USER);
	put(frames, FRAMES * 8);
}

/* A name of @nr bytes, a multiple of 8, that begins with @start and a number. */
static void put_name(const char *start, uint32_t number, size_t nr)
{
	memset(plain + size, 'x', nr);
	sprintf((char *)plain + size, "%s%08x", start, number);
	plain[size + strlen(start) + 8] = 'x';
	plain[size + nr - 1] = '\0';
	size += nr;
}

static void put_long_name(uint32_t number)
{
	put_header(PERF_RECORD_COMM, 8 + LONG);
	put_u32(1);
	put_u32(1);
	put_name("", number, LONG);
}

static void put_file(uint32_t pid, const char *name, uint32_t number, size_t nr)
{
	put_header(PERF_RECORD_MMAP, 32 + nr);
	put_u32(pid);
	put_u32(pid);
	put_u64(0x1000);
	put_u64(4096);
	put_u64(0);
	put_name(name, number, nr);
}

static void put_jitdump(uint32_t pid)
{
	put_header(PERF_RECORD_MMAP, 32 + LONG);
	put_u32(pid);
	put_u32(pid);
	put_u64(0x1000);
	put_u64(4096);
	put_u64(0);
	put_name("/", pid, LONG);
	strcpy((char *)plain + size - 16, "/jit-1.dump");
}

static int fill(const char *kind)
{
	static uint64_t frames[FRAMES];
	uint32_t i;

	for (i = 0; i < FRAMES; i++)
		frames[i] = 0x1000 + i * 16;
	if (!strcmp(kind, "zero"))
		size = NR_BYTES;
	for (i = 1; size < NR_BYTES; i++) {
		if (!strcmp(kind, "comm")) {
			put_comm(i);
		} else if (!strcmp(kind, "fork")) {
			put_fork(i, i - 1);
		} else if (!strcmp(kind, "map")) {
			if (i <= 60000)
				put_map(1, (1000000 - i) * 8192ULL);
			else if (i & 1)
				put_fork(i, 1);
			else
				put_map(i - 1, 0);
		} else if (!strcmp(kind, "place")) {
			put_sample(i, frames);
		} else if (!strcmp(kind, "stack")) {
			frames[FRAMES - 1 - i % 8] = 0x1000 + i / 8 * 16;
			put_sample(1, frames);
		} else if (!strcmp(kind, "name")) {
			put_long_name(i);
		} else if (!strcmp(kind, "file")) {
			put_file(1, "/", i, LONG);
		} else if (!strcmp(kind, "jit")) {
			put_jitdump(i);
		} else if (!strcmp(kind, "thread")) {
			put_header(PERF_RECORD_SAMPLE, 16);
			put_u32(i);
			put_u32(i);
			put_u64(0);
		} else {
			return -EINVAL;
		}
	}
	return 0;
}

/* As perf record -z writes it: without ids. */
static int save(FILE *to)
{
	const struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = PERF_ATTR_SIZE_VER5,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_CALLCHAIN,
	};
	const size_t bound = ZSTD_compressBound(size);
	unsigned char *packed = malloc(bound);
	const size_t nr = ZSTD_compress(packed, bound, plain, size, 3);
	const size_t chunks = (nr + CHUNK - 1) / CHUNK;
	const uint64_t begin = 104 + PERF_ATTR_SIZE_VER5 + 16;
	const uint64_t header[13] = {
		0x32454c4946524550, 104, PERF_ATTR_SIZE_VER5 + 16,
		104, PERF_ATTR_SIZE_VER5 + 16, begin, nr + chunks * 8,
	};
	const uint64_t no_ids[2] = { 0 };

	fwrite(header, sizeof(header), 1, to);
	fwrite(&attr, PERF_ATTR_SIZE_VER5, 1, to);
	fwrite(no_ids, sizeof(no_ids), 1, to);
	for (size_t at = 0; at < nr; at += CHUNK) {
		const size_t part = nr - at < CHUNK ? nr - at : CHUNK;
		const struct perf_event_header record = {
			.type = RECORD_COMPRESSED,
			.size = sizeof(record) + part,
		};

		fwrite(&record, sizeof(record), 1, to);
		fwrite(packed + at, part, 1, to);
	}
	free(packed);
	return fclose(to);
}

int main(int argc, char **argv)
{
	FILE *to = argc == 3 ? fopen(argv[2], "w") : NULL;

	plain = calloc(1, NR_BYTES + 65536);
	if (!to || !plain || fill(argv[1]) || save(to)) {
		fprintf(stderr, "write_bomb: %s\n", strerror(errno));
		return 1;
	}
	free(plain);
	return 0;
}
