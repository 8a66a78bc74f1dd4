// SPDX-License-Identifier: GPL-2.0
/*
 * validate: a section as a whole. Both decoders find it sound, or neither does;
 * if it is sound there is no defect at any address, the answer is the
 * reference's, and that of the row that the iterator has for the address. Sound or
 * not, rows that a lookup passes by are as if it had looked at each.
 */
#include "agree.h"
#include "directory.h"
#include "fuzz.h"
#include "sframe_format.h"

/* Not 0, so that an address taken for an offset shows. */
#define ADDRESS		0x7f1234567000ULL

/* Addresses of one section that are looked up; the reference takes its time. */
#define MAX_LOOKUPS	48

/* Print what tap_fail() was told, and end. */
static void give_up(void)
{
	tap_case("validate");
	abort();
}

static void look_up(struct agree *agree, u64 pc, u32 *left)
{
	if (!*left)
		return;
	--*left;
	if (!agree_lookup(agree, pc))
		give_up();
}

/* What a lookup of @pc in @fde finds, row by row: none is passed by. */
static int find_slowly(const struct sfu_table *table, const struct sfu_fde *fde,
		       u64 pc, struct sfu_rule *rule, struct sfu_defect *defect)
{
	u64 offset = pc - fde->start;
	struct sfu_row row, found;
	struct sfu_rows rows;
	bool any = false;
	int ret;

	if (fde->info & SFRAME_FDE_PCMASK)
		offset %= fde->rep_size;
	sfu_rows_begin(&rows, table, fde);
	while ((ret = sfu_rows_next(&rows, &row, defect)) > 0 &&
	       row.start <= offset) {
		found = row;
		any = true;
	}
	if (ret < 0)
		return ret;
	return any ? sfu_row_decode(fde, &found, rule, defect) : -ENOENT;
}

/* The quick way finds the same rule, and the same defect where there is one. */
static void check_find(const struct agree *agree, const struct sfu_fde *fde,
		       u64 pc)
{
	struct sfu_defect defect = UNTOUCHED, want_defect = UNTOUCHED;
	struct sfu_rule rule = { 0 }, want = { 0 };
	u32 budget = ~0U;
	int ret, want_ret;

	if (pc - fde->start >= fde->size || !fde->num_rows)
		return;
	ret = sfu_fde_find_rule(&agree->table, fde, pc, &budget, &rule, &defect);
	want_ret = find_slowly(&agree->table, fde, pc, &want, &want_defect);
	FUZZ_CHECK(ret == want_ret && defect.kind == want_defect.kind &&
		   defect.offset == want_defect.offset &&
		   (ret || !memcmp(&rule, &want, sizeof(rule))),
		   "pc %#llx: %d, slowly %d", (unsigned long long)pc, ret,
		   want_ret);
}

/* The rule that a lookup finds at the start of @row of @fde is its own. */
static void check_row(const struct agree *agree, const struct sfu_fde *fde,
		      const struct sfu_row *row)
{
	struct sfu_defect defect = UNTOUCHED;
	struct sfu_rule want, rule;
	int err;

	err = sfu_row_decode(fde, row, &want, &defect);
	FUZZ_CHECK(!err, "row at %#llx: %d", (unsigned long long)row->offset,
		   err);
	/* There may be one at the function's end, where nobody looks. */
	if (row->start >= fde->size)
		return;
	err = lookup(&agree->table, fde->start + row->start, &rule, &defect);
	FUZZ_CHECK(!err && !memcmp(&rule, &want, sizeof(rule)),
		   "row at %#llx is not found: %d",
		   (unsigned long long)row->offset, err);
}

/*
 * What a directory leads to is what is found without; the other addresses it
 * leads nowhere for.
 */
static void check_directory(const struct agree *agree,
			    struct sfu_directory *directory, u64 pc)
{
	struct sfu_defect defect = UNTOUCHED, want_defect = UNTOUCHED;
	struct sfu_fde fde = { 0 }, want = { 0 };
	int ret, want_ret;

	want_ret = sfu_table_find(&agree->table, pc, &want, &want_defect);
	ret = sfu_table_find_in(&agree->table,
				sfu_directory_find(directory, pc), pc, &fde,
				&defect);
	if (ret == -ENOENT || !agree->sound)
		return;
	FUZZ_CHECK(ret == want_ret && fde.entry == want.entry,
		   "pc %#llx: %d, without directory %d",
		   (unsigned long long)pc, ret, want_ret);
}

static void look_by_directory(const struct agree *agree, u64 random)
{
	const struct sfu_table *table = &agree->table;
	struct sfu_directory plan, *directory;
	struct sfu_defect defect;
	struct sfu_fde fde;
	u32 i, nr = table->num_fdes;
	u64 size;

	sfu_table_read_fde(table, 0, &fde, &defect);
	plan.start = fde.start;
	sfu_table_read_fde(table, nr - 1, &fde, &defect);
	size = fde.start + fde.size - plan.start;
	/* As text ranges are that can be registered. */
	if (nr < 2 || !size || size >> 47)
		return;
	sfu_directory_plan(&plan, nr, plan.start, size);
	directory = malloc(sfu_directory_size(&plan));
	if (!directory)
		abort();
	*directory = plan;
	if (sfu_directory_fill(directory, table)) {
		FUZZ_CHECK(!agree->sound, "no directory");
		nr = 0;
	}
	for (i = 0; i < nr && i < MAX_LOOKUPS; i++) {
		sfu_table_read_fde(table, i, &fde, &defect);
		check_directory(agree, directory, fde.start);
		check_directory(agree, directory, fde.start + random % 64);
	}
	free(directory);
}

static void look_at_rows(struct agree *agree, const struct sfu_fde *fde,
			 u32 *left)
{
	struct sfu_defect defect = UNTOUCHED;
	struct sfu_rows rows;
	struct sfu_row row;
	u32 count = 0;
	int ret;

	sfu_rows_begin(&rows, &agree->table, fde);
	while ((ret = sfu_rows_next(&rows, &row, &defect)) > 0 && *left) {
		count++;
		if (agree->sound)
			check_row(agree, fde, &row);
		look_up(agree, fde->start + row.start - 1, left);
		look_up(agree, fde->start + row.start, left);
		check_find(agree, fde, fde->start + row.start);
	}
	FUZZ_CHECK(!agree->sound || ret > 0 ||
		   (!ret && count == fde->num_rows && is_untouched(&defect)),
		   "%u of %u rows: %d", count, fde->num_rows, ret);
}

/* Where nothing can be read, that is what is said. */
static void check_unreadable(const struct agree *agree, u64 pc)
{
	struct sfu_table table = agree->table;
	struct sfu_defect defect = UNTOUCHED;
	struct sfu_fde fde = { .num_rows = 1, .size = 1 };
	struct sfu_rule rule;
	u32 budget = 1;
	u64 start;

	table.bytes.copy = NULL;
	table.bytes.address = 0;
	FUZZ_CHECK(sfu_table_find(&table, pc, &fde, &defect) == -EFAULT &&
		   sfu_table_read_starts(&table, 0, 1, &start) == -EFAULT &&
		   sfu_fde_find_rule(&table, &fde, fde.start, &budget, &rule,
				     &defect) == -EFAULT &&
		   is_untouched(&defect), "read");
}

void fuzz_validate(const u8 *data, size_t size)
{
	struct sfu_defect defect;
	u32 i, left = MAX_LOOKUPS;
	struct agree agree;
	struct sfu_fde fde;
	int ret;

	ret = agree_begin(&agree, data, size, ADDRESS);
	if (ret < 0)
		give_up();
	if (!ret)
		return;
	check_unreadable(&agree, size);
	look_by_directory(&agree, size);
	for (i = 0; i < agree.table.num_fdes && left; i++) {
		ret = sfu_table_read_fde(&agree.table, i, &fde, &defect);
		look_up(&agree, fde.start - 1, &left);
		look_up(&agree, fde.start, &left);
		look_up(&agree, fde.start + fde.size / 2, &left);
		look_up(&agree, fde.start + fde.size - 1, &left);
		look_up(&agree, fde.start + fde.size, &left);
		if (ret)
			continue;
		check_find(&agree, &fde, fde.start + fde.size / 2);
		check_find(&agree, &fde, fde.start + fde.size - 1);
		look_at_rows(&agree, &fde, &left);
	}
}
