// SPDX-License-Identifier: GPL-2.0
/*
 * The library's reader of samples, with rings made by the test: records taken
 * apart, the order of several CPUs, and rings whose control pages and records
 * contain anything.
 */
#include "userspace/lib/sampler.c"

#include "selftests/include/random.h"
#include "tap.h"

#define SIZE	4096U		/* of a ring */
#define NR	2

struct made {
	struct sframe_unwind_ring control[NR];
	unsigned char *records[NR];
	struct sframe_unwind_samples *samples;
};

static void make(struct made *made)
{
	memset(made->control, 0, sizeof(made->control));
	made->samples = calloc(1, sizeof(*made->samples) +
				  NR * sizeof(made->samples->ring[0]));
	made->samples->ring_size = SIZE;
	made->samples->nr = NR;
	for (unsigned int i = 0; i < NR; i++) {
		/* Exactly what is mapped, so that ASan sees what is outside. */
		made->records[i] = calloc(2, SIZE);
		made->samples->ring[i] = (struct ring) {
			.control = &made->control[i],
			.records = made->records[i],
			.cpu = i,
		};
	}
}

static void unmake(struct made *made)
{
	for (unsigned int i = 0; i < NR; i++)
		free(made->records[i]);
	free(made->samples);
}

/* Write @size bytes to the ring of @cpu, at both places. */
static void put(struct made *made, unsigned int cpu, const void *from,
		uint32_t size)
{
	struct sframe_unwind_ring *ring = &made->control[cpu];

	for (uint32_t i = 0; i < size; i++) {
		const uint64_t at = (ring->head + i) % SIZE;

		made->records[cpu][at] = ((const unsigned char *)from)[i];
		made->records[cpu][at + SIZE] = made->records[cpu][at];
	}
	ring->head += size;
}

static void put_stack(struct made *made, unsigned int cpu, uint64_t time,
		      unsigned int nr)
{
	struct {
		struct sframe_unwind_user_stack head;
		uint64_t ips[256];
	} record = {
		.head = {
			.record.type = SFRAME_UNWIND_RECORD_USER_STACK,
			.record.size = sizeof(record.head) + nr * 8,
			.time = time,
			.cookie = time + 1,
			.nr_user = nr,
			.stop = SFRAME_UNWIND_STOP_COMPLETE,
		},
	};

	for (unsigned int i = 0; i < nr; i++)
		record.ips[i] = time * 1000 + i;
	put(made, cpu, &record, record.head.record.size);
}

/* A sample with everything in it. */
struct full {
	struct sframe_unwind_sample head;
	uint64_t words[6];
	uint64_t kernel[2];
	uint64_t user[3];
	uint8_t how[8];
	uint8_t raw[8];
};

static const struct full full = {
	.head = {
		.record.type = SFRAME_UNWIND_RECORD_SAMPLE,
		.record.size = sizeof(full),
		.time = 7, .pid = 8, .tid = 9, .event = 10, .entry_nr = -1,
		.fields = 0x3f, .nr_kernel = 2, .nr_user = 3,
		.entry = SFRAME_UNWIND_ENTRY_SYSTEM_CALL,
		.user = SFRAME_UNWIND_USER_AT_ONCE,
		.stop = SFRAME_UNWIND_STOP_NO_RULE,
		.kernel_cut = 1, .raw_size = 5,
	},
	.words = { 21, 22, 23, 24, 25, 26 },
	.kernel = { 31, 32 },
	.user = { 41, 42, 43 },
	.how = { 1, 3, 2 },
	.raw = "abcd",
};

static void takes_a_sample_apart(void)
{
	struct sframe_unwind_sample_record record;

	EXPECT_EQ(sframe_unwind_sample_parse(&full, sizeof(full), &record), 0);
	EXPECT_EQ(record.type, SFRAME_UNWIND_RECORD_SAMPLE);
	EXPECT_EQ(record.time, 7);
	EXPECT_EQ(record.pid, 8);
	EXPECT_EQ(record.tid, 9);
	EXPECT_EQ(record.event, 10);
	EXPECT_EQ(record.entry_nr, -1);
	EXPECT_EQ(record.entry, SFRAME_UNWIND_ENTRY_SYSTEM_CALL);
	EXPECT_EQ(record.user, SFRAME_UNWIND_USER_AT_ONCE);
	EXPECT_EQ(record.stop, SFRAME_UNWIND_STOP_NO_RULE);
	EXPECT_EQ(record.kernel_cut, 1);
	EXPECT_EQ(record.period, 21);
	EXPECT_EQ(record.address, 22);
	EXPECT_EQ(record.ip, 23);
	EXPECT_EQ(record.sp, 24);
	EXPECT_EQ(record.fp, 25);
	EXPECT_EQ(record.cookie, 26);
	EXPECT_EQ(record.nr_kernel, 2);
	EXPECT_EQ(record.kernel[1], 32);
	EXPECT_EQ(record.nr_frames, 3);
	EXPECT_EQ(record.frames[2], 43);
	EXPECT_EQ(sframe_unwind_sample_how(&record, 1), 3);
	EXPECT_EQ(sframe_unwind_sample_how(&record, 3), 0);
	EXPECT_EQ(record.raw_size, 5);
	EXPECT(!memcmp(record.raw, "abcd", 5));
}

static void frames_without_how(void)
{
	struct sframe_unwind_sample_record record;
	struct made made;

	make(&made);
	put_stack(&made, 0, 5, 2);
	EXPECT_EQ(sframe_unwind_sampler_read(made.samples, &record), 1);
	EXPECT_EQ(record.type, SFRAME_UNWIND_RECORD_USER_STACK);
	EXPECT_EQ(record.cookie, 6);
	EXPECT_EQ(record.stop, SFRAME_UNWIND_STOP_COMPLETE);
	EXPECT_EQ(record.frames[1], 5001);
	EXPECT_EQ(sframe_unwind_sample_how(&record, 0), SFRAME_UNWIND_FRAME_REGS);
	EXPECT_EQ(sframe_unwind_sample_how(&record, 1),
		  SFRAME_UNWIND_FRAME_SFRAME);
	EXPECT_EQ(sframe_unwind_sampler_read(made.samples, &record), 0);
	unmake(&made);
}

/* A stack that is cut, with a copy of what is behind it. */
struct cut {
	struct sframe_unwind_user_stack head;
	uint64_t user[2];
	uint8_t how[8];
	struct sframe_unwind_stack_copy copy;
	uint64_t stack[3];
};

static const struct cut cut = {
	.head = {
		.record.type = SFRAME_UNWIND_RECORD_USER_STACK,
		.record.size = sizeof(cut),
		.fields = SFRAME_UNWIND_SAMPLE_HOW | SFRAME_UNWIND_SAMPLE_COPY,
		.nr_user = 2,
		.stop = SFRAME_UNWIND_STOP_NO_RULE,
	},
	.user = { 41, 42 },
	.copy = { .ip = 42, .reg[7] = 51, .known = 1 << 7, .size = sizeof(cut.stack) },
	.stack = { 61, 62, 63 },
};

static void copy_of_a_stack(void)
{
	const struct sframe_unwind_stack_copy *copy;
	uint32_t size;
	struct sframe_unwind_sample_record record;

	EXPECT_EQ(sframe_unwind_sample_parse(&cut, sizeof(cut), &record), 0);
	EXPECT_EQ(record.nr_frames, 2);
	EXPECT(record.fields & SFRAME_UNWIND_SAMPLE_COPY);
	copy = sframe_unwind_sample_copy(&cut, sizeof(cut), &size);
	EXPECT_EQ(size, 24);
	EXPECT_EQ(copy->ip, 42);
	EXPECT_EQ(copy->reg[7], 51);
	EXPECT_EQ(copy->stack[2], 63);
}

/* A copy that claims more than there is, or half words, in memory of just its size. */
static void copy_too_short(void)
{
	static const uint32_t sizes[] = { 25, 32, 0xfffffff8, ~0U, 1U << 31 };
	struct sframe_unwind_sample_record record;
	uint32_t copy_size;
	struct cut *copy;

	for (uint32_t size = 0; size < sizeof(cut); size += 8) {
		copy = malloc(size ?: 1);
		memcpy(copy, &cut, size);
		if (size)
			memcpy(copy, &size, sizeof(size));
		EXPECT_EQ(sframe_unwind_sample_parse(copy, size, &record),
			  -EBADMSG);
		EXPECT(!sframe_unwind_sample_copy(copy, size, &copy_size));
		free(copy);
	}
	copy = malloc(sizeof(*copy));
	for (unsigned int i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		*copy = cut;
		copy->copy.size = sizes[i];
		EXPECT_EQ(sframe_unwind_sample_parse(copy, sizeof(*copy), &record),
			  -EBADMSG);
		copy_size = 1;
		EXPECT(!sframe_unwind_sample_copy(copy, sizeof(*copy), &copy_size));
		EXPECT_EQ(copy_size, 0);
	}
	*copy = cut;
	copy->head.fields = SFRAME_UNWIND_SAMPLE_HOW;
	EXPECT(!sframe_unwind_sample_copy(copy, sizeof(*copy), &copy_size));
	free(copy);
}

/* A record that is too short for what it claims, in memory of just its size. */
static void too_short(void)
{
	struct sframe_unwind_sample_record record;

	for (uint32_t size = 0; size < sizeof(full); size++) {
		struct full *copy = malloc(size ?: 1);
		const uint32_t claimed = size / 8 * 8;

		memcpy(copy, &full, size);
		EXPECT_EQ(sframe_unwind_sample_parse(copy, size, &record),
			  -EBADMSG);
		if (size >= sizeof(claimed)) {
			memcpy(copy, &claimed, sizeof(claimed));
			EXPECT_EQ(sframe_unwind_sample_parse(copy, size, &record),
				  -EBADMSG);
		}
		free(copy);
	}
}

/* Records of several CPUs come in the order of their times. */
static void order_of_time(void)
{
	struct sframe_unwind_sample_record record;
	struct made made;
	uint64_t state = 1, last = 0;
	unsigned int n = 0;

	make(&made);
	for (uint64_t time = 1; time < 2000; time++) {
		put_stack(&made, random_below(&state, NR), time,
			  random_below(&state, 3));
		if (time % 20)
			continue;
		while (sframe_unwind_sampler_read(made.samples, &record) == 1) {
			EXPECT(record.time > last);
			last = record.time;
			n++;
		}
	}
	EXPECT_EQ(last, 1980);
	EXPECT_EQ(n, 1980);
	while (sframe_unwind_sampler_read(made.samples, &record) == 1)
		;
	/* All room is given back. */
	EXPECT_EQ(made.control[0].tail, made.control[0].head);
	EXPECT_EQ(made.control[1].tail, made.control[1].head);
	unmake(&made);
}

/* Records of a type that is added later are skipped. */
static void unknown_type(void)
{
	struct sframe_unwind_sample_record record;
	struct full other = full;
	struct made made;

	make(&made);
	other.head.record.type = 99;
	put(&made, 0, &other, sizeof(other));
	put_stack(&made, 0, 5, 1);
	EXPECT_EQ(sframe_unwind_sampler_read(made.samples, &record), 1);
	EXPECT_EQ(record.time, 5);
	unmake(&made);
}

/* A head that cannot be: its records are dropped, and later ones are read. */
static void impossible_head(void)
{
	static const uint64_t heads[] = { SIZE + 8, 4, ~0ULL, 1ULL << 63, 16 };
	struct sframe_unwind_sample_record record;
	struct made made;

	for (unsigned int i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
		make(&made);
		made.control[1].head = heads[i];
		EXPECT_EQ(sframe_unwind_sampler_read(made.samples, &record),
			  -EBADMSG);
		made.control[1].head = made.samples->ring[1].tail;
		put_stack(&made, 1, 5, 2);
		EXPECT_EQ(sframe_unwind_sampler_read(made.samples, &record), 1);
		EXPECT_EQ(record.cpu, 1);
		unmake(&made);
	}
}

/* Anything in records and control pages: nothing outside is accessed, it ends. */
static void anything(void)
{
	struct sframe_unwind_sample_record record;
	struct made made;
	uint64_t state = 2, sum = 0;
	int ret;

	make(&made);
	for (unsigned int turn = 0; turn < 20000; turn++) {
		const unsigned int cpu = random_below(&state, NR);
		struct full any = full;

		for (unsigned int i = random_below(&state, 4); i; i--)
			((unsigned char *)&any)[random_below(&state, sizeof(any))] =
				random_next(&state);
		put(&made, cpu, &any, sizeof(any));
		if (random_percent(&state, 5))
			made.control[cpu].head = random_next(&state);
		else if (random_percent(&state, 10))
			made.control[cpu].head = made.control[cpu].tail +
						 random_below(&state, 2 * SIZE);
		for (unsigned int i = 0; i < 4; i++) {
			ret = sframe_unwind_sampler_read(made.samples, &record);
			if (ret != 1)
				continue;
			for (unsigned int j = 0; j < record.nr_kernel; j++)
				sum += record.kernel[j];
			for (unsigned int j = 0; j < record.nr_frames; j++)
				sum += record.frames[j] +
				       sframe_unwind_sample_how(&record, j);
			for (unsigned int j = 0; j < record.raw_size; j++)
				sum += ((const unsigned char *)record.raw)[j];
		}
	}
	EXPECT(sum);
	unmake(&made);
}

/* A stack map with one stack of each kind. */
struct map {
	struct sframe_unwind_stack_map control;
	unsigned char rest[SIZE - sizeof(struct sframe_unwind_stack_map)];
	unsigned char half[2][SIZE];
};

static void put_entry(struct map *map, unsigned int half, unsigned int at,
		      unsigned int type, unsigned int nr)
{
	struct sframe_unwind_map_entry *entry = (void *)(map->half[half] + at);

	entry->units = (8 + nr * 8 + 15) / 16;
	entry->nr = nr;
	entry->type = type;
	entry->stop = type == SFRAME_UNWIND_MAP_USER_STACK ? 3 : 1;
	for (unsigned int i = 0; i < nr; i++)
		entry->words[i] = 1000 * type + i;
}

static struct map *make_map(struct made *made)
{
	struct map *map = calloc(1, sizeof(*map));

	map->control.generation = 7;
	map->control.oldest = 6;
	map->control.half_size = SIZE;
	map->control.id_shift = 8;
	put_entry(map, 1, 16, SFRAME_UNWIND_MAP_USER_STACK, 5);
	put_entry(map, 0, 32, SFRAME_UNWIND_MAP_KERNEL_STACK, 3);
	made->samples->map = (struct stack_map) {
		.control = &map->control,
		.size = sizeof(*map),
		.half_size = SIZE,
	};
	return map;
}

static void put_short(struct made *made, uint32_t user_id, uint32_t kernel_id)
{
	const struct sframe_unwind_short_sample sample = {
		.record.type = SFRAME_UNWIND_RECORD_SHORT_SAMPLE,
		.record.size = sizeof(sample),
		.time = 1,
		.user_id = user_id,
		.kernel_id = kernel_id,
		.event = 5,
		.entry_nr = 6,
		.user = SFRAME_UNWIND_USER_AT_ONCE,
	};

	put(made, 0, &sample, sizeof(sample));
}

/* Ids of this generation and the last one have their frames. */
static void stack_map(void)
{
	struct sframe_unwind_sample_record record;
	struct made made;
	struct map *map;

	make(&made);
	map = make_map(&made);
	put_short(&made, 7 << 8 | 1, 6 << 8 | 2);
	EXPECT_EQ(sframe_unwind_sampler_read(made.samples, &record), 1);
	EXPECT_EQ(record.type, SFRAME_UNWIND_RECORD_SAMPLE);
	EXPECT_EQ(record.event, 5);
	EXPECT_EQ(record.entry_nr, 6);
	EXPECT_EQ(record.nr_frames, 5);
	EXPECT_EQ(record.frames[4], 1004);
	EXPECT_EQ(record.stop, 3);
	EXPECT_EQ(record.nr_kernel, 3);
	EXPECT_EQ(record.kernel[2], 2002);
	EXPECT_EQ(record.kernel_cut, 1);
	/* Of a generation that is gone; of the other kind. */
	put_short(&made, 5 << 8 | 1, 7 << 8 | 1);
	EXPECT_EQ(sframe_unwind_sampler_read(made.samples, &record), 1);
	EXPECT_EQ(record.nr_frames, 0);
	EXPECT_EQ(record.nr_kernel, 0);
	EXPECT_EQ(record.user_id, 5 << 8 | 1);
	free(map);
	unmake(&made);
}

/* Any id: nothing outside of the map is accessed. */
static void any_id(void)
{
	struct sframe_unwind_sample_record record;
	struct made made;
	struct map *map;
	uint64_t state = 3, sum = 0;

	make(&made);
	map = make_map(&made);
	for (unsigned int turn = 0; turn < 20000; turn++) {
		const uint32_t unit = random_below(&state, SIZE / 16);
		struct sframe_unwind_map_entry entry = {
			.units = random_below(&state, SIZE / 16 + 1),
			.nr = random_below(&state, SIZE / 8 + 1),
			.type = 1 + random_below(&state, 2),
			.fields = random_next(&state),
		};
		const bool is_user = entry.type == SFRAME_UNWIND_MAP_USER_STACK;
		const uint32_t id = 7 << 8 | unit, other = random_next(&state);

		memcpy(map->half[1] + unit * 16, &entry, sizeof(entry));
		put_short(&made, is_user ? id : other, is_user ? other : id);
		if (sframe_unwind_sampler_read(made.samples, &record) != 1)
			continue;
		for (unsigned int j = 0; j < record.nr_kernel; j++)
			sum += record.kernel[j];
		for (unsigned int j = 0; j < record.nr_frames; j++)
			sum += record.frames[j] +
			       sframe_unwind_sample_how(&record, j);
	}
	EXPECT(sum);
	free(map);
	unmake(&made);
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(takes_a_sample_apart),
		TAP_TEST(frames_without_how),
		TAP_TEST(copy_of_a_stack),
		TAP_TEST(copy_too_short),
		TAP_TEST(too_short),
		TAP_TEST(order_of_time),
		TAP_TEST(unknown_type),
		TAP_TEST(impossible_head),
		TAP_TEST(anything),
		TAP_TEST(stack_map),
		TAP_TEST(any_id),
	};

	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	return tap_done();
}
