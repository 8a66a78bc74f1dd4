// SPDX-License-Identifier: GPL-2.0
/*
 * The base section with every bit flipped in turn, truncated at every length,
 * and with random bytes. The decoder must not read beyond the end, and must
 * agree with the reference decoder.
 */
#include <stdlib.h>

#include "agree.h"
#include "base.h"

/* Not 0, so that the tests notice an address used as an offset. */
#define ADDRESS		0x7f1234567000ULL

#define RANDOM_SECTIONS	30000
#define RANDOM_SEED	0x5f3a3e

static bool lookup_range(struct agree *agree, u64 from, u64 to)
{
	u64 pc;

	for (pc = from; pc < to; pc++)
		if (!agree_lookup(agree, ADDRESS + pc))
			return false;
	return true;
}

/* Look up all addresses at which the base section's answer changes. */
static bool lookup_base(struct agree *agree)
{
	return lookup_range(agree, TEXT - 2, HUGE_PC + 0x10) &&
	       lookup_range(agree, HUGE_PC + 0x12000 - 2,
			    HUGE_PC + HUGE_SIZE + 2);
}

/* Look up those of the damaged section, wherever its functions are. */
static bool lookup_own(struct agree *agree)
{
	struct sfu_defect defect;
	struct sfu_fde fde;
	u32 i;

	for (i = 0; i < agree->table.num_fdes; i++) {
		sfu_table_read_fde(&agree->table, i, &fde, &defect);
		if (!agree_lookup(agree, fde.start - 1) ||
		    !agree_lookup(agree, fde.start) ||
		    !agree_lookup(agree, fde.start + fde.size / 2) ||
		    !agree_lookup(agree, fde.start + fde.size - 1) ||
		    !agree_lookup(agree, fde.start + fde.size))
			return false;
	}
	return true;
}

/* Examine @section, in memory that ends where the section ends. */
static bool examine(const void *section, u64 size, bool everywhere)
{
	u8 *copy = malloc(size);
	struct agree agree;
	int ret;

	memcpy(copy, section, size);
	ret = agree_begin(&agree, copy, size, ADDRESS);
	if (ret > 0)
		ret = lookup_own(&agree) &&
		      (!everywhere || lookup_base(&agree)) ? 0 : -1;
	free(copy);
	return !ret;
}

static void unharmed(void)
{
	EXPECT(examine(&base, sizeof(base), true));
}

static void cut_anywhere(void)
{
	u64 size;

	for (size = 0; size < sizeof(base); size++)
		EXPECT(examine(&base, size, true));
}

/* The header gives the truncated size; missing rows only show in lookups. */
static void fre_area_ends_anywhere(void)
{
	struct base section = base;

	while (section.header.fre_len--)
		EXPECT(examine(&section, BASE_FRES + section.header.fre_len,
			       true));
}

/* As above, but with bytes behind the table that do not belong to it. */
static void fre_area_ends_early(void)
{
	struct base section = base;

	while (section.header.fre_len--)
		EXPECT(examine(&section, sizeof(section), false));
}

static void every_bit(void)
{
	u8 section[sizeof(base)];
	u32 bit;

	memcpy(section, &base, sizeof(base));
	for (bit = 0; bit < 8 * BASE_END; bit++) {
		section[bit / 8] ^= 1 << bit % 8;
		if (!examine(section, BASE_END, true)) {
			printf("# bit %u of byte %#x\n", bit % 8, bit / 8);
			return;
		}
		section[bit / 8] ^= 1 << bit % 8;
	}
}

/* Every value of every byte. */
static void every_byte(void)
{
	u8 section[sizeof(base)];
	u32 at, value;

	memcpy(section, &base, sizeof(base));
	for (at = 0; at < BASE_END; at++) {
		const u8 was = section[at];

		for (value = 0; value < 256; value++) {
			section[at] = value;
			if (!examine(section, BASE_END, false)) {
				printf("# byte %#x is %#x\n", at, value);
				return;
			}
		}
		section[at] = was;
	}
}

/* Any generator will do, as long as it is the same everywhere. */
static u32 random_number(void)
{
	static u64 state = RANDOM_SEED;

	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return state >> 33;
}

/*
 * Change a few random bytes, rarely in the header, because most changes there
 * are refused at once. Meaningful values are more likely than others.
 */
static void random_bytes(void)
{
	static const u8 values[] = { 0, 1, 2, 3, 4, 5, 0x10, 0x7f, 0x80, 0xff };
	struct base section;
	u32 i, n, at;

	for (i = 0; i < RANDOM_SECTIONS; i++) {
		section = base;
		for (n = 1 + random_number() % 6; n; n--) {
			at = random_number() % BASE_END;
			if (at < sizeof(section.header) && random_number() % 8)
				continue;
			((u8 *)&section)[at] = random_number() % 2 ?
				random_number() :
				values[random_number() % sizeof(values)];
		}
		if (!examine(&section, BASE_END, i % 16 == 0)) {
			printf("# section %u\n", i);
			return;
		}
	}
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(unharmed),
		TAP_TEST(cut_anywhere),
		TAP_TEST(fre_area_ends_anywhere),
		TAP_TEST(fre_area_ends_early),
		TAP_TEST(every_bit),
		TAP_TEST(every_byte),
		TAP_TEST(random_bytes),
	};

	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	return tap_done();
}
