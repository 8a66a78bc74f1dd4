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

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(takes_a_sample_apart),
		TAP_TEST(frames_without_how),
		TAP_TEST(too_short),
		TAP_TEST(order_of_time),
		TAP_TEST(unknown_type),
		TAP_TEST(impossible_head),
		TAP_TEST(anything),
	};

	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	return tap_done();
}
