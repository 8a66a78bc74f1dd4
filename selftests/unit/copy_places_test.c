// SPDX-License-Identifier: GPL-2.0
/* module/perf/copy_places.h: for how long stacks that end in the same code are copied. */
#include <string.h>

#include "perf/copy_places.h"
#include "tap.h"

#define SECONDS		120u
#define IP		0x7f0000001234UL

static struct sfu_copy_places places;

static bool is_due(u64 process, u64 ip, u32 now)
{
	return sfu_copy_places_is_due(&places, process, ip, now, SECONDS);
}

/* From the first copy, not from the last one; also if the seconds wrap. */
static void for_some_time(void)
{
	static const u32 starts[] = { 0, 1, 1000, -60U };

	for (unsigned int i = 0; i < 4; i++) {
		memset(&places, 0, sizeof(places));
		for (u32 after = 0; after < SECONDS; after++)
			EXPECT(is_due(1, IP, starts[i] + after));
		EXPECT(!is_due(1, IP, starts[i] + SECONDS));
		EXPECT(!is_due(1, IP + 1, starts[i] + SECONDS));
		EXPECT(!is_due(1, IP, starts[i] + 100 * SECONDS));
	}
}

/* Others are copied nevertheless, and it is not forgotten meanwhile. */
static void of_each_place(void)
{
	unsigned int nr = 0;

	memset(&places, 0, sizeof(places));
	EXPECT(is_due(1, IP, 5));
	EXPECT(is_due(2, IP, 5 + SECONDS));
	EXPECT(is_due(1, IP + 0x10000, 5 + SECONDS));
	EXPECT(!is_due(1, IP, 5 + SECONDS));
	/* Few of many processes, and of many pieces of code, are in each other's way. */
	memset(&places, 0, sizeof(places));
	for (u64 i = 0; i < 64; i++) {
		EXPECT(is_due(1000 + i, IP, 7));
		EXPECT(is_due(1, IP + 0x10000 * (i + 1), 7));
	}
	for (u64 i = 0; i < 64; i++) {
		nr += is_due(1000 + i, IP, 7 + SECONDS);
		nr += is_due(1, IP + 0x10000 * (i + 1), 7 + SECONDS);
	}
	EXPECT(nr < 40);
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(for_some_time),
		TAP_TEST(of_each_place),
	};

	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	return tap_done();
}
