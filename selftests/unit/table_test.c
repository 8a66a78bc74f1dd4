// SPDX-License-Identifier: GPL-2.0
/*
 * Function tables of the library: what it writes is what the module's decoder finds, at
 * any time. ioctl() is replaced by one that accepts every registration.
 */
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <sframe_unwind.h>

#include "decode/functions.h"
#include "tap.h"

#define TEXT		0x7f0000000000ULL
#define TEXT_SIZE	0x10000
#define BITS		6
#define GRANULE		(1U << BITS)
#define MAX		8
#define ROWS_SIZE	128

static struct sframe_unwind_register_table registered;
static unsigned int nr_unregistered;
static int refusal;

int ioctl(int fd, unsigned long request, ...)
{
	va_list args;
	void *arg;

	(void)fd;
	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	switch (request) {
	case SFRAME_UNWIND_IOC_QUERY:
		*(struct sframe_unwind_query *)arg = (struct sframe_unwind_query) {
			.size = sizeof(struct sframe_unwind_query),
			.abi_version = SFRAME_UNWIND_ABI_VERSION,
			.max_record_size = 4096,
		};
		return 0;
	case SFRAME_UNWIND_IOC_REGISTER_TABLE:
		if (refusal) {
			errno = refusal;
			return -1;
		}
		((struct sframe_unwind_register_table *)arg)->id = 77;
		registered = *(struct sframe_unwind_register_table *)arg;
		return 0;
	case SFRAME_UNWIND_IOC_UNREGISTER:
		if (refusal) {
			errno = refusal;
			return -1;
		}
		if (((struct sframe_unwind_unregister *)arg)->id == 77)
			nr_unregistered++;
		return 0;
	default:
		errno = ENOTTY;
		return -1;
	}
}

static struct sframe_unwind *handle;
static struct sframe_unwind_table *table;

static int create(uint32_t max, size_t rows_size)
{
	return sframe_unwind_table_create(&table, handle, (void *)TEXT, TEXT_SIZE, BITS,
					  max, rows_size);
}

static int add(uint64_t offset, uint64_t size, int32_t frame)
{
	const struct sframe_unwind_row row = SFRAME_UNWIND_ROW_SP(0, frame);
	const struct sframe_unwind_function function = {
		.start = TEXT + offset,
		.size = size,
		.rows = &row,
		.nr_rows = 1,
	};

	return sframe_unwind_table_add(table, &function);
}

static int take(uint64_t offset)
{
	return sframe_unwind_table_remove(table, (void *)(TEXT + offset));
}

/* The frame's size at @offset, as the module would find it; or a negative errno. */
static int frame_at(uint64_t offset)
{
	const struct sfu_functions functions = {
		.bytes.address = registered.table_start,
		.bytes.size = registered.table_size,
		.text = registered.text_start,
		.text_size = registered.text_size,
		.max = registered.max_functions,
		.map = sfu_functions_map(registered.max_functions),
		.granule_bits = registered.granule_bits,
	};
	struct sfu_match match;
	u32 budget = 100;
	int err = sfu_functions_find_rule(&functions, TEXT + offset, &budget, &match);

	return err ?: match.rule.cfa_offset;
}

static const struct sframe_unwind_table_header *header(void)
{
	return (const void *)(uintptr_t)registered.table_start;
}

static void created_as_asked(void)
{
	nr_unregistered = 0;
	EXPECT_EQ(create(MAX, ROWS_SIZE), 0);
	EXPECT_EQ(registered.size, sizeof(registered));
	EXPECT_EQ(registered.flags, 0);
	EXPECT_EQ(registered.reserved, 0);
	EXPECT_EQ(registered.text_start, TEXT);
	EXPECT_EQ(registered.text_size, TEXT_SIZE);
	EXPECT_EQ(registered.max_functions, MAX);
	EXPECT_EQ(registered.granule_bits, BITS);
	EXPECT_EQ(registered.table_size, sfu_functions_map_end(MAX, TEXT_SIZE, BITS) + ROWS_SIZE);
	EXPECT_EQ(sframe_unwind_table_id(table), 77);
	EXPECT_EQ(frame_at(0), -ENOENT);
	EXPECT_EQ(sframe_unwind_table_id(NULL), 0);
	sframe_unwind_table_free(table);
	sframe_unwind_table_free(NULL);
	EXPECT_EQ(nr_unregistered, 1);
}

/* Walks may still read what could not be unregistered. */
static void not_unmapped_while_registered(void)
{
	void *memory;

	EXPECT_EQ(create(MAX, ROWS_SIZE), 0);
	EXPECT_EQ(add(0, 10, 8), 0);
	memory = (void *)(uintptr_t)registered.table_start;
	refusal = EBADF;
	sframe_unwind_table_free(table);
	EXPECT_EQ(frame_at(0), -ENOENT);
	EXPECT_EQ(header()->used, 1);
	EXPECT_EQ(header()->removed, 1);
	EXPECT_EQ(munmap(memory, registered.table_size), 0);
	/* Its registration has ended already. */
	refusal = 0;
	EXPECT_EQ(create(MAX, ROWS_SIZE), 0);
	memory = (void *)(uintptr_t)registered.table_start;
	refusal = ENOENT;
	sframe_unwind_table_free(table);
	refusal = 0;
	EXPECT_EQ(msync(memory, 1, MS_ASYNC), -1);
}

static void added_and_removed(void)
{
	EXPECT_EQ(create(MAX, ROWS_SIZE), 0);
	EXPECT_EQ(add(0, 10, 8), 0);
	EXPECT_EQ(add(3 * GRANULE + 4, 2 * GRANULE, 64), 0);
	EXPECT_EQ(add(TEXT_SIZE - GRANULE, GRANULE, 4096), 0);
	EXPECT_EQ(header()->used, 3);
	EXPECT_EQ(header()->removed, 0);
	EXPECT_EQ(frame_at(0), 8);
	EXPECT_EQ(frame_at(9), 8);
	EXPECT_EQ(frame_at(10), -ENOENT);
	EXPECT_EQ(frame_at(3 * GRANULE + 3), -ENOENT);
	EXPECT_EQ(frame_at(3 * GRANULE + 4), 64);
	EXPECT_EQ(frame_at(5 * GRANULE + 3), 64);
	EXPECT_EQ(frame_at(5 * GRANULE + 4), -ENOENT);
	EXPECT_EQ(frame_at(TEXT_SIZE - 1), 4096);
	EXPECT_EQ(take(3 * GRANULE + 5), -ENOENT);
	EXPECT_EQ(take(5 * GRANULE), -ENOENT);
	EXPECT_EQ(take(TEXT_SIZE), -ENOENT);
	EXPECT_EQ(take(3 * GRANULE + 4), 0);
	EXPECT_EQ(take(3 * GRANULE + 4), -ENOENT);
	EXPECT_EQ(header()->removed, 1);
	EXPECT_EQ(frame_at(3 * GRANULE + 4), -ENOENT);
	EXPECT_EQ(frame_at(5 * GRANULE), -ENOENT);
	/* Its entry is used again, elsewhere; the map still leads to it from the old place. */
	EXPECT_EQ(add(7 * GRANULE, 1, 128), 0);
	EXPECT_EQ(header()->used, 3);
	EXPECT_EQ(frame_at(4 * GRANULE), -ENOENT);
	EXPECT_EQ(frame_at(7 * GRANULE), 128);
	EXPECT_EQ(add(4 * GRANULE, GRANULE, 256), 0);
	EXPECT_EQ(frame_at(4 * GRANULE), 256);
	EXPECT_EQ(frame_at(3 * GRANULE + 4), -ENOENT);
	sframe_unwind_table_free(table);
}

static void as_many_as_there_is_room_for(void)
{
	int i, round;

	EXPECT_EQ(create(MAX, ROWS_SIZE), 0);
	for (round = 0; round < 3; round++) {
		for (i = 0; i < MAX; i++)
			EXPECT_EQ(add(i * GRANULE, GRANULE, 8 + 8 * i), 0);
		EXPECT_EQ(add(MAX * GRANULE, GRANULE, 8), -ENOSPC);
		EXPECT(strstr(sframe_unwind_table_error(table), "8 functions already"));
		for (i = 0; i < MAX; i++)
			EXPECT_EQ(frame_at(i * GRANULE + 1), 8 + 8 * i);
		for (i = MAX - 1; i >= 0; i--)
			EXPECT_EQ(take(i * GRANULE), 0);
	}
	EXPECT_EQ(header()->used, MAX);
	EXPECT_EQ(header()->removed, 3 * MAX);
	/* Equal rows were stored once; others, 5 + 4 bytes each, are kept. */
	for (i = 0; i < 100 && !add(0, 1, 1024 + 8 * i); i++)
		EXPECT_EQ(take(0), 0);
	EXPECT_EQ(i, (ROWS_SIZE - MAX * 8) / 9);
	EXPECT_EQ(add(0, 1, 1024 + 8 * i), -ENOSPC);
	EXPECT(strstr(sframe_unwind_table_error(table), "no room for its rows"));
	EXPECT_EQ(frame_at(0), -ENOENT);
	EXPECT_EQ(add(0, 1, 16), 0);
	EXPECT_EQ(*sframe_unwind_table_error(table), '\0');
	EXPECT_EQ(frame_at(0), 16);
	sframe_unwind_table_free(table);
}

static void refused_functions(void)
{
	const struct sframe_unwind_function no_rows = { .start = TEXT, .size = 1 };

	EXPECT_EQ(create(MAX, ROWS_SIZE), 0);
	EXPECT_EQ(sframe_unwind_table_add(NULL, &no_rows), -EINVAL);
	EXPECT_EQ(sframe_unwind_table_add(table, NULL), -EINVAL);
	EXPECT_EQ(sframe_unwind_table_add(table, &no_rows), -EINVAL);
	EXPECT(strstr(sframe_unwind_table_error(table), "no rows"));
	EXPECT_EQ(add(0, 0, 8), -EINVAL);
	EXPECT_EQ(add(-1ULL, 1, 8), -EINVAL);
	EXPECT_EQ(add(-1ULL, 2, 8), -EINVAL);
	EXPECT_EQ(add(TEXT_SIZE, 1, 8), -EINVAL);
	EXPECT_EQ(add(TEXT_SIZE - 1, 2, 8), -EINVAL);
	EXPECT_EQ(add(0, TEXT_SIZE + 1, 8), -EINVAL);
	EXPECT_EQ(add(1, ~0ULL, 8), -EINVAL);
	EXPECT(strstr(sframe_unwind_table_error(table), "not in the code"));
	EXPECT_EQ(header()->used, 0);
	/* A granule is that of one function, even where that has no bytes. */
	EXPECT_EQ(add(GRANULE + 8, 8, 8), 0);
	EXPECT_EQ(add(GRANULE, 8, 8), -EEXIST);
	EXPECT_EQ(add(GRANULE + 16, 8, 8), -EEXIST);
	EXPECT_EQ(add(0, GRANULE + 1, 8), -EEXIST);
	EXPECT_EQ(add(0, 4 * GRANULE, 8), -EEXIST);
	EXPECT_EQ(add(0, GRANULE, 8), 0);
	EXPECT_EQ(add(2 * GRANULE, 8, 8), 0);
	EXPECT_EQ(frame_at(GRANULE), -ENOENT);
	EXPECT_EQ(frame_at(GRANULE + 8), 8);
	EXPECT_EQ(take(GRANULE + 8), 0);
	EXPECT_EQ(add(GRANULE, GRANULE, 16), 0);
	EXPECT_EQ(frame_at(GRANULE + 8), 16);
	sframe_unwind_table_free(table);
}

/* The whole of the largest range of code is more than an entry can tell. */
static void refused_4_gib(void)
{
	EXPECT_EQ(sframe_unwind_table_create(&table, handle, (void *)TEXT, 1ULL << 32, 16, 1, 0), 0);
	EXPECT_EQ(add(0, 1ULL << 32, 8), -EINVAL);
	EXPECT(strstr(sframe_unwind_table_error(table), "has 4 GiB"));
	EXPECT_EQ(header()->used, 0);
	EXPECT_EQ(add(0, (1ULL << 32) - 1, 8), 0);
	EXPECT_EQ(frame_at((1ULL << 32) - 2), 8);
	EXPECT_EQ(frame_at((1ULL << 32) - 1), -ENOENT);
	sframe_unwind_table_free(table);
}

static void refused_tables(void)
{
	struct sframe_unwind_table **const to = &table;

	EXPECT_EQ(sframe_unwind_table_create(NULL, handle, (void *)TEXT, 1, BITS, 1, 0), -EINVAL);
	EXPECT_EQ(sframe_unwind_table_create(to, NULL, (void *)TEXT, 1, BITS, 1, 0), -EINVAL);
	EXPECT_EQ(sframe_unwind_table_create(to, handle, (void *)TEXT, 0, BITS, 1, 0), -EINVAL);
	EXPECT_EQ(sframe_unwind_table_create(to, handle, (void *)TEXT, (1ULL << 32) + 1, BITS, 1, 0),
		  -EINVAL);
	EXPECT_EQ(sframe_unwind_table_create(to, handle, (void *)TEXT, 1, 17, 1, 0), -EINVAL);
	EXPECT_EQ(sframe_unwind_table_create(to, handle, (void *)TEXT, 1ULL << 32, 0, 1, 0), -EINVAL);
	EXPECT_EQ(sframe_unwind_table_create(to, handle, (void *)TEXT, 1, 0, ~0U, 0), -EINVAL);
	refusal = EEXIST;
	EXPECT_EQ(create(MAX, 0), -EEXIST);
	EXPECT(!table);
	EXPECT(*sframe_unwind_error(handle));
	refusal = 0;
}

/* What a thread runs: the frame's size of the function at offset 0; 0 while it changes. */
static int running;
static bool stop;

static void *keep_changing(void *unused)
{
	int round;

	for (round = 1; round <= 200000; round++) {
		if (add(0, GRANULE, 8 + round % 1000 * 8))
			break;
		__atomic_store_n(&running, 8 + round % 1000 * 8, __ATOMIC_RELEASE);
		if (round % 64 == 0)
			sched_yield();
		/* No thread is in the function any more. */
		__atomic_store_n(&running, 0, __ATOMIC_RELEASE);
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		if (take(0))
			break;
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELEASE);
	return unused;
}

/*
 * Walks with a cache of one rule, valid as long as the counter of removals is the same,
 * while a thread replaces the function all the time.
 */
static void no_stale_rules(void)
{
	u64 removed, cached_at = ~0ULL;
	unsigned int compared = 0, hits = 0;
	int frame, found, cached = 0;
	pthread_t thread;

	EXPECT_EQ(create(1, 65536), 0);
	EXPECT_EQ(pthread_create(&thread, NULL, keep_changing, NULL), 0);
	while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
		frame = __atomic_load_n(&running, __ATOMIC_ACQUIRE);
		removed = __atomic_load_n(&header()->removed, __ATOMIC_ACQUIRE);
		if (cached_at == removed) {
			found = cached;
			hits++;
		} else {
			found = frame_at(0);
			if (found > 0) {
				cached = found;
				cached_at = removed;
			}
		}
		/* Only if the thread was in the function all the time. */
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		if (!frame || __atomic_load_n(&running, __ATOMIC_ACQUIRE) != frame ||
		    __atomic_load_n(&header()->removed, __ATOMIC_ACQUIRE) != removed)
			continue;
		compared++;
		if (found != frame) {
			EXPECT_EQ(found, frame);
			break;
		}
	}
	pthread_join(thread, NULL);
	EXPECT(compared > 0);
	EXPECT(hits > 0);
	sframe_unwind_table_free(table);
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(created_as_asked),
		TAP_TEST(not_unmapped_while_registered),
		TAP_TEST(added_and_removed),
		TAP_TEST(as_many_as_there_is_room_for),
		TAP_TEST(refused_functions),
		TAP_TEST(refused_4_gib),
		TAP_TEST(refused_tables),
		TAP_TEST(no_stale_rules),
	};

	if (sframe_unwind_open_fd(&handle, 0))
		return 1;
	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	sframe_unwind_close(handle);
	return tap_done();
}
