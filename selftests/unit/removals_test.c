// SPDX-License-Identifier: GPL-2.0
/*
 * module/mm/removals.h: the sum of the counters is another one whenever a counter, or the
 * tables, have changed.
 */
#include <stdlib.h>

#include <linux/rcupdate.h>

#include "mm/removals.h"
#include "tap.h"

static u64 counter[SFU_MAX_TABLES + 1];

static u64 address_of(unsigned int i)
{
	return (uintptr_t)&counter[i];
}

static u64 sum_of(const struct sfu_removals *removals)
{
	u64 sum;
	u32 slot;

	return sfu_removals_read(removals, &sum, &slot) ? sum : ~0ULL;
}

static void no_tables(void)
{
	struct sfu_removals *removals = sfu_removals_create(GFP_KERNEL);

	EXPECT_EQ(sum_of(NULL), 0);
	EXPECT_EQ(sum_of(removals), 0);
	EXPECT(sfu_removals_has_room(removals));
	EXPECT_EQ(sfu_removals_id(removals, 0), 0);
	/* One that is not there. */
	sfu_removals_remove(removals, 5);
	sfu_removals_free(removals);
	sfu_removals_free(NULL);
}

static void counters_are_added(void)
{
	struct sfu_removals *removals = sfu_removals_create(GFP_KERNEL);
	unsigned int i;
	u64 sum = 0;

	for (i = 0; i < SFU_MAX_TABLES; i++) {
		EXPECT(sfu_removals_has_room(removals));
		counter[i] = i;
		sfu_removals_add(removals, 100 + i, address_of(i));
		EXPECT_EQ(sfu_removals_id(removals, i), 100 + i);
		EXPECT(sum_of(removals) != sum);
		sum = sum_of(removals);
	}
	EXPECT(!sfu_removals_has_room(removals));
	for (i = 0; i < SFU_MAX_TABLES; i++) {
		counter[i] += i + 1;
		sum += i + 1;
		EXPECT_EQ(sum_of(removals), sum);
	}
	sfu_removals_free(removals);
}

/* No number of removals makes up for a table that is gone, or there again. */
static void tables_make_a_difference(void)
{
	struct sfu_removals *removals = sfu_removals_create(GFP_KERNEL);
	u64 both, one, again;
	unsigned int i;

	counter[0] = 7;
	counter[1] = 3;
	sfu_removals_add(removals, 1, address_of(0));
	one = sum_of(removals);
	sfu_removals_add(removals, 2, address_of(1));
	both = sum_of(removals);
	sfu_removals_remove(removals, 1);
	for (i = 0; i < 1000; i++, counter[1]++) {
		EXPECT(sum_of(removals) != one);
		EXPECT(sum_of(removals) != both);
	}
	/* Its slot is used again, by a table with another id. */
	sfu_removals_add(removals, 3, address_of(0));
	EXPECT_EQ(sfu_removals_id(removals, 0), 3);
	EXPECT_EQ(sfu_removals_id(removals, 1), 2);
	again = sum_of(removals);
	for (i = 0; i < 1000; i++, counter[0]++)
		EXPECT(sum_of(removals) != both);
	EXPECT_EQ(sum_of(removals), again + 1000);
	sfu_removals_free(removals);
}

static void unreadable(void)
{
	struct sfu_removals *removals = sfu_removals_create(GFP_KERNEL);
	u32 slot = 0;
	u64 sum;

	sfu_removals_add(removals, 1, address_of(0));
	sfu_removals_add(removals, 2, 8);
	EXPECT(!sfu_removals_read(removals, &sum, &slot));
	EXPECT_EQ(slot, 1);
	sfu_removals_remove(removals, 2);
	EXPECT(sfu_removals_read(removals, &sum, &slot));
	sfu_removals_free(removals);
}

static void copied(void)
{
	struct sfu_removals *removals = sfu_removals_create(GFP_KERNEL);
	struct sfu_removals *copy = sfu_removals_create(GFP_KERNEL);
	u64 sum;

	sfu_removals_add(removals, 1, address_of(0));
	sfu_removals_add(removals, 2, address_of(1));
	sfu_removals_remove(removals, 1);
	sfu_removals_copy(copy, removals);
	sum = sum_of(removals);
	EXPECT_EQ(sum_of(copy), sum);
	sfu_removals_remove(removals, 2);
	EXPECT_EQ(sum_of(copy), sum);
	EXPECT_EQ(sum_of(removals), 0);
	sfu_removals_free(removals);
	sfu_removals_free(copy);
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(no_tables),
		TAP_TEST(counters_are_added),
		TAP_TEST(tables_make_a_difference),
		TAP_TEST(unreadable),
		TAP_TEST(copied),
	};

	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	return tap_done();
}
