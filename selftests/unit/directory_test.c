// SPDX-License-Identifier: GPL-2.0
/* module/decode/directory.h: a directory never changes what is found. */
#include <errno.h>

#include "decode/directory.h"
#include "made.h"

#define NR_FDES		300
#define CODE		(ADDRESS + 0x100000)

/* A function's attribute and its only row: the CFA identifies the function. */
struct block {
	struct base_attr attr;
	ROW(8, 16, 1) row;
} PACKED;

/*
 * Functions of all sizes, with gaps, equal starts, and none at the ends of the
 * text.
 */
static struct made make_many(u64 *text_size)
{
	struct made made = make_section(NR_FDES,
					NR_FDES * sizeof(struct block));
	u64 at = CODE + 100, random = 1;
	u32 i;

	made.header->flags |= 0x4;
	for (i = 0; i < NR_FDES; i++) {
		((struct block *)made.fres)[i] = (struct block){
			.attr.num_fres = 1,
			.row = { 0, SP_1_W2, { 8 * i } },
		};
		made.index[i].fre_off = i * sizeof(struct block);
		random = random * 6364136223846793005ULL + 1442695040888963407ULL;
		made.index[i].start = at - ADDRESS -
				      ((u8 *)&made.index[i] - made.bytes);
		made.index[i].size = i % 7 ? random >> 57 : 0;
		if (i % 50 == 0)
			made.index[i].size = 5000;
		at += made.index[i].size + (i % 3 ? 0 : random >> 60);
	}
	*text_size = at + 100 - CODE;
	return made;
}

static struct sfu_directory *make_directory(const struct sfu_table *table,
					    u64 size, int *err)
{
	struct sfu_directory plan, *directory;

	sfu_directory_plan(&plan, table->num_fdes, CODE, size);
	directory = malloc(sfu_directory_size(&plan));
	*directory = plan;
	*err = sfu_directory_fill(directory, table);
	return directory;
}

/*
 * A lookup starting where the directory says must find the same function, or
 * fall back to the whole index.
 */
static bool agrees(const struct sfu_table *table,
		   const struct sfu_directory *directory, u64 pc, bool *led)
{
	struct sfu_defect defect;
	struct sfu_match match;
	struct sfu_rule want;
	u32 budget = 1;
	int ret;

	ret = lookup(table, pc, &want, &defect);
	*led = find_in(table, sfu_directory_find(directory, pc), pc, &budget,
		       &match);
	return !*led || (!ret && !budget &&
			 match.rule.cfa_offset == want.cfa_offset);
}

static void every_address_is_found(void)
{
	u64 size, pc;
	struct made made = make_many(&size);
	struct sfu_table table = open_made(&made, ADDRESS);
	struct sfu_directory *directory;
	struct sfu_defect defect;
	struct sfu_fde fde;
	bool led;
	int err;

	directory = make_directory(&table, size, &err);
	EXPECT_EQ(err, 0);
	EXPECT(directory->nr >= NR_FDES / 2 && directory->nr <= NR_FDES);
	for (pc = CODE - 10; pc < CODE + size + 10; pc++) {
		EXPECT(agrees(&table, directory, pc, &led));
		EXPECT_EQ(led, !sfu_table_find(&table, pc, &fde, &defect));
	}
	free(directory);
	free(made.bytes);
}

static void a_wrong_directory_misleads_nobody(void)
{
	u64 size, pc, random = 1;
	struct made made = make_many(&size);
	struct sfu_table table = open_made(&made, ADDRESS);
	struct sfu_directory *directory;
	bool led;
	u32 i;
	int err;

	directory = make_directory(&table, size, &err);
	for (i = 0; i <= directory->nr; i++) {
		random = random * 6364136223846793005ULL + 1442695040888963407ULL;
		directory->first[i] = (random >> 33) % (NR_FDES + 1);
	}
	for (pc = CODE - 10; pc < CODE + size + 10; pc++)
		EXPECT(agrees(&table, directory, pc, &led));
	free(directory);
	free(made.bytes);
}

static void an_index_out_of_order_has_none(void)
{
	u64 size;
	struct made made = make_many(&size);
	struct sfu_table table = open_made(&made, ADDRESS);
	struct sfu_directory *directory;
	int err;

	made.index[200].start -= 10000;
	directory = make_directory(&table, size, &err);
	EXPECT_EQ(err, -EINVAL);
	free(directory);
	free(made.bytes);
}

static void plans_are_bounded(void)
{
	struct sfu_directory plan;

	sfu_directory_plan(&plan, 0xffffffff, 0x1000, 1ULL << 46);
	EXPECT_EQ(plan.nr, SFU_DIRECTORY_MAX_NR);
	sfu_directory_plan(&plan, SFU_DIRECTORY_MIN_FDES, 0x1000, 1);
	EXPECT_EQ(plan.nr, 1);
	EXPECT_EQ(plan.shift, 0);
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(every_address_is_found),
		TAP_TEST(a_wrong_directory_misleads_nobody),
		TAP_TEST(an_index_out_of_order_has_none),
		TAP_TEST(plans_are_bounded),
	};

	tap_run(tests, ARRAY_SIZE(tests));
	return tap_done();
}
