// SPDX-License-Identifier: GPL-2.0
/*
 * validate: a section as a whole, which may be an extended one. Both decoders must find it sound, or neither.
 * A sound section has no defect at any address, and lookups give the
 * reference's answer, which is also that of the row the iterator has for the
 * address. Sound or not, the fast path must find the same as the slow path, and
 * unreadable memory must not count as a defect.
 */
#include "agree.h"
#include "decode/directory.h"
#include "fuzz.h"
#include "decode/sframe_format.h"

/* Not 0, so that an address used as an offset is noticed. */
#define ADDRESS		0x7f1234567000ULL

/* Addresses to look up in one section; the reference decoder is slow. */
#define MAX_LOOKUPS	48

/* Print the message of tap_fail(), and abort. */
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
	if (!agree_lookup(agree, pc) || !agree_layout(agree, pc))
		give_up();
}

/* Where layouts of an extended section may begin and end. */
static void look_at_layouts(struct agree *agree, u32 *left)
{
	const u64 base = agree->table.bytes.address + agree->table.base;
	const u64 block = 1ULL << SFRAME_EXT_BLOCK_BITS;

	if (!agree->table.extended)
		return;
	look_up(agree, base - 1, left);
	look_up(agree, base, left);
	look_up(agree, base + block - 1, left);
	look_up(agree, base + block, left);
	look_up(agree, base + agree->table.nr_blocks * block - 1, left);
	look_up(agree, base + agree->table.nr_blocks * block, left);
}

/* A lookup at the start of @row of @fde must find the row's rule. */
static void check_row(const struct agree *agree, const struct sfu_fde *fde,
		      const struct sfu_row *row)
{
	struct sfu_defect defect = UNTOUCHED;
	struct sfu_rule want, rule;
	int err;

	err = sfu_row_decode(fde, row, &want, &defect);
	FUZZ_CHECK(!err, "row at %#llx: %d", (unsigned long long)row->offset,
		   err);
	/* A row at the function's end is never looked up. */
	if (row->start >= fde->size)
		return;
	err = lookup(&agree->table, fde->start + row->start, &rule, &defect);
	FUZZ_CHECK(!err && !memcmp(&rule, &want, sizeof(rule)),
		   "row at %#llx is not found: %d",
		   (unsigned long long)row->offset, err);
}

/*
 * A lookup that starts where the directory says must find the same as without
 * it.
 */
static void check_directory(const struct agree *agree,
			    struct sfu_directory *directory, u64 pc)
{
	struct sfu_defect defect = UNTOUCHED;
	struct sfu_match match = { 0 };
	u32 budget = ~0U;
	struct sfu_rule want;
	int want_ret;

	want_ret = lookup(&agree->table, pc, &want, &defect);
	if (!find_in(&agree->table, sfu_directory_find(directory, pc), pc,
		     &budget, &match) || !agree->sound)
		return;
	FUZZ_CHECK(!want_ret && !memcmp(&match.rule, &want, sizeof(want)),
		   "pc %#llx: found, without directory %d",
		   (unsigned long long)pc, want_ret);
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
	/* Within the limits of text ranges that can be registered. */
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
	}
	FUZZ_CHECK(!agree->sound || ret > 0 ||
		   (!ret && count == fde->num_rows && is_untouched(&defect)),
		   "%u of %u rows: %d", count, fde->num_rows, ret);
}

/* Lookups in a section at @address, whose first read fails, must report that. */
static void check_unreadable_at(const struct agree *agree, u64 address, u64 pc)
{
	struct sfu_table table = agree->table;
	const u32 middle = table.num_fdes / 2;
	const struct sfu_fde_range all = { .high = table.num_fdes };
	struct sfu_defect defect = UNTOUCHED;
	struct sfu_match match;
	struct sfu_fde fde;
	u32 budget = 9;
	u64 start;

	table.bytes.copy = NULL;
	table.bytes.address = address;
	FUZZ_CHECK(sfu_table_find(&table, pc, &fde, &defect) == -EFAULT &&
		   sfu_table_read_starts(&table, middle, 1,
					 &start) == -EFAULT &&
		   !find_in(&table, all, pc, &budget, &match) &&
		   budget == 9 && is_untouched(&defect), "read");
}

/* Without a window, and in one with the middle of the index at address 0. */
static void check_unreadable(const struct agree *agree, u64 pc)
{
	const struct sfu_table *table = &agree->table;
	const struct sfu_bytes none = { .size = table->bytes.size };
	const u64 middle = table->index +
			   table->num_fdes / 2 * (u64)SFRAME_FDE_SIZE;
	struct sfu_defect defect = UNTOUCHED;
	struct sfu_table other;

	FUZZ_CHECK(sfu_table_open(&other, &none, &defect) == -EFAULT &&
		   is_untouched(&defect), "opened");
	check_unreadable_at(agree, 0, pc);
	check_unreadable_at(agree, -(middle + SFRAME_FDE_START), pc);
}

static int keep_one(void *data, const struct sfu_defect *defect)
{
	*(struct sfu_defect *)data = *defect;
	return 1;
}

/* A caller that stops at the first defect gets that one only. */
static void check_reports(const struct agree *agree)
{
	struct sfu_defect first = UNTOUCHED, only = UNTOUCHED;
	int ret;

	sfu_table_validate(&agree->table, keep_first, &first);
	ret = sfu_table_validate(&agree->table, keep_one, &only);
	FUZZ_CHECK(ret == !agree->sound && only.kind == first.kind &&
		   only.offset == first.offset, "%d with \"%s\"", ret,
		   sfu_defect_text(only.kind));
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
	check_reports(&agree);
	check_unreadable(&agree, size);
	look_by_directory(&agree, size);
	look_at_layouts(&agree, &left);
	for (i = 0; i < agree.table.num_fdes && left; i++) {
		ret = sfu_table_read_fde(&agree.table, i, &fde, &defect);
		look_up(&agree, fde.start - 1, &left);
		look_up(&agree, fde.start, &left);
		look_up(&agree, fde.start + fde.size / 2, &left);
		look_up(&agree, fde.start + fde.size - 1, &left);
		look_up(&agree, fde.start + fde.size, &left);
		if (!ret)
			look_at_rows(&agree, &fde, &left);
	}
}
