// SPDX-License-Identifier: GPL-2.0
/*
 * compare: the decoder against binutils' libsframe. In a section without
 * defects both must find the same functions and rows, and the same rule at an
 * address. The environment variable SFU_ORACLE names the program that calls
 * libsframe.
 *
 * libsframe 2.47 is known to differ in a few cases, see has_known_starts().
 */
#include <signal.h>
#include <unistd.h>

#include "fuzz.h"
#include "lookup.h"
#include "oracle.h"
#include "arch/arch.h"
#include "decode/sframe_format.h"

/* Not 0, so that an address used as an offset is noticed. */
#define ADDRESS		0x100000000ULL

#define MAX_PCS		64

static int to_oracle = -1, from_oracle = -1;

/* The oracle's answer, and the number of bytes consumed. */
static u8 answer[1 << 20];
static u32 answer_size, taken;

static void start_oracle(void)
{
	const char *program = getenv("SFU_ORACLE");
	int in[2], out[2];

	if (!program || pipe(in) || pipe(out)) {
		fprintf(stderr, "no oracle, see selftests/fuzz/check\n");
		exit(2);
	}
	signal(SIGPIPE, SIG_IGN);
	if (!fork()) {
		dup2(in[0], STDIN_FILENO);
		dup2(out[1], STDOUT_FILENO);
		close(in[1]);
		close(out[0]);
		execl(program, program, NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	to_oracle = in[1];
	from_oracle = out[0];
}

static bool send_all(const void *bytes, size_t size)
{
	ssize_t ret;

	for (; size; size -= ret, bytes = (const u8 *)bytes + ret) {
		ret = write(to_oracle, bytes, size);
		if (ret <= 0)
			return false;
	}
	return true;
}

static bool receive_all(void *bytes, size_t size)
{
	ssize_t ret;

	for (; size; size -= ret, bytes = (u8 *)bytes + ret) {
		ret = read(from_oracle, bytes, size);
		if (ret <= 0)
			return false;
	}
	return true;
}

static void ask(const u8 *data, u32 size, const s64 *pcs, u32 nr_pcs)
{
	const struct oracle_question question = { size, nr_pcs };

	if (to_oracle < 0)
		start_oracle();
	taken = 0;
	FUZZ_CHECK(send_all(&question, sizeof(question)) &&
		   send_all(data, size) &&
		   send_all(pcs, nr_pcs * sizeof(*pcs)) &&
		   receive_all(&answer_size, sizeof(answer_size)) &&
		   answer_size <= sizeof(answer) &&
		   receive_all(answer, answer_size), "libsframe crashed");
}

static void take(void *to, size_t size)
{
	FUZZ_CHECK(size <= answer_size - taken, "the answer is short");
	memcpy(to, answer + taken, size);
	taken += size;
}

/*
 * Check one location of a flexible row: word number *@at and the next one must
 * mean @place and @offset. Advances *@at.
 */
static bool pair_is(const struct oracle_row *row, u32 *at, u8 place, s32 offset,
		    u8 other_place, s32 other_offset)
{
	const u32 count = row->info >> 1 & 0xf, bits = 8U << (row->info >> 5 & 3);
	const u8 base = place & SFU_BASE_MASK;
	u32 control, reg;

	control = *at < count ? row->word[*at] : 0;
	if (bits < 32)
		control &= (1U << bits) - 1;
	*at += 1;
	if (!control)
		return place == other_place && offset == other_offset;
	reg = control >> 3;
	if (!(control & 1) ? base != SFU_BASE_CFA :
	    reg <= SFU_REG_MAX ? base != reg : base != SFU_BASE_OTHER)
		return false;
	*at += 1;
	return !(place & SFU_DEREF) == !(control & 2) &&
	       offset == (s32)(row->word[*at - 1] << (32 - bits)) >> (32 - bits);
}

static bool rule_is_row(const struct sfu_rule *rule, const struct sfu_fde *fde,
			const struct oracle_row *row)
{
	const u8 cfa_mem = SFU_BASE_CFA | SFU_DEREF;
	u32 at = 0;

	if (!(row->info >> 1 & 0xf))
		return row->outermost && rule->flags == SFU_RULE_OUTERMOST;
	if (row->outermost ||
	    rule->flags != (sfu_fde_is_signal(fde) ? SFU_RULE_SIGNAL : 0))
		return false;
	if (fde->info2 == SFRAME_FDE_TYPE_FLEX)
		return pair_is(row, &at, rule->cfa, rule->cfa_offset, 0, 0) &&
		       pair_is(row, &at, rule->ra, rule->ra_offset, cfa_mem, -8) &&
		       pair_is(row, &at, rule->fp, rule->fp_offset, SFU_SAME, 0);
	return rule->cfa == (row->base ? SFU_REG_SP : SFU_REG_FP) &&
	       rule->cfa_offset == row->cfa && rule->ra == cfa_mem &&
	       rule->ra_offset == -8 &&
	       (row->has_fp ? rule->fp == cfa_mem && rule->fp_offset == row->fp :
			      rule->fp == SFU_SAME);
}

/* The section, decoded by the module. */
struct side {
	struct sfu_table table;
	s64 pcs[MAX_PCS];
	u32 nr_pcs;
};

static void compare_rows(const struct side *side, const struct sfu_fde *fde,
			 u32 nr_rows)
{
	struct oracle_row theirs;
	struct sfu_defect defect;
	struct sfu_rows rows;
	struct sfu_rule rule;
	struct sfu_row row;

	sfu_rows_begin(&rows, &side->table, fde);
	while (nr_rows-- && sfu_rows_next(&rows, &row, &defect) > 0) {
		take(&theirs, sizeof(theirs));
		FUZZ_CHECK(!theirs.error, "row at %#llx: libsframe says %d",
			   (unsigned long long)row.offset, theirs.error);
		sfu_row_decode(fde, &row, &rule, &defect);
		FUZZ_CHECK(row.start == theirs.start &&
			   row.info == theirs.info &&
			   rule_is_row(&rule, fde, &theirs), "row at %#llx",
			   (unsigned long long)row.offset);
	}
}

static void compare_fde(const struct side *side, u32 i)
{
	struct sfu_defect defect;
	struct oracle_fde theirs;
	struct sfu_fde fde;
	u64 start;

	take(&theirs, sizeof(theirs));
	sfu_table_read_fde(&side->table, i, &fde, &defect);
	start = fde.start - ADDRESS - (side->table.pcrel ? fde.entry : 0);
	FUZZ_CHECK(!theirs.error, "FDE %u: libsframe says %d", i,
		   theirs.error);
	FUZZ_CHECK(start == (u64)theirs.start && fde.size == theirs.size &&
		   fde.num_rows == theirs.num_rows &&
		   fde.info == theirs.info && fde.info2 == theirs.info2 &&
		   fde.rep_size == theirs.rep_size, "FDE %u", i);
	compare_rows(side, &fde, theirs.nr_rows);
}

static void compare_lookup(const struct side *side, s64 pc)
{
	struct oracle_row theirs;
	struct sfu_defect defect;
	struct sfu_rule rule;
	struct sfu_fde fde;
	u32 budget = ~0U;
	int ret;

	take(&theirs, sizeof(theirs));
	ret = sfu_table_find(&side->table, ADDRESS + pc, &fde, &defect);
	if (!ret)
		ret = sfu_fde_find_rule(&side->table, &fde, ADDRESS + pc, &budget,
					&rule, &defect);
	/* The module takes a function without rows as outermost. */
	if (!ret && !fde.num_rows)
		ret = -ENOENT;
	FUZZ_CHECK(!ret == !theirs.error, "pc %#llx: %d, libsframe says %d",
		   (unsigned long long)pc, ret, theirs.error);
	if (!ret)
		FUZZ_CHECK(rule_is_row(&rule, &fde, &theirs), "pc %#llx",
			   (unsigned long long)pc);
}

/*
 * libsframe's lookup, unlike its listing of FDEs, is wrong in cases that
 * assemblers and linkers do not produce. It assumes that
 *
 * - all function starts are relative to their fields,
 * - the index starts where the header ends,
 * - any of several functions at one address will do, although all but the last
 *   are empty,
 * - distances from the section are signed, so that functions far above it count
 *   as before it, and distances from a function have 32 bits, so that very large
 *   functions end elsewhere.
 */
static bool has_known_starts(const struct sfu_table *table)
{
	struct sfu_defect defect;
	struct sfu_fde fde;
	s64 start, previous = 0;
	u32 i;

	for (i = 0; i < table->num_fdes; i++) {
		sfu_table_read_fde(table, i, &fde, &defect);
		start = fde.start - ADDRESS;
		if ((i && start <= previous) || start != (s32)start ||
		    fde.size > INT32_MAX)
			return false;
		previous = start;
	}
	return table->pcrel && table->index == SFRAME_HDR_SIZE;
}

static void add_pc(struct side *side, u64 pc)
{
	if (side->nr_pcs < MAX_PCS)
		side->pcs[side->nr_pcs++] = pc - ADDRESS;
}

static void choose_pcs(struct side *side)
{
	struct sfu_defect defect;
	struct sfu_fde fde;
	u32 i;

	for (i = 0; i < side->table.num_fdes; i++) {
		sfu_table_read_fde(&side->table, i, &fde, &defect);
		add_pc(side, fde.start - 1);
		add_pc(side, fde.start);
		add_pc(side, fde.start + 5);
		add_pc(side, fde.start + fde.size / 2);
		add_pc(side, fde.start + fde.size - 1);
		add_pc(side, fde.start + fde.size);
	}
}

static int is_defect(void *data, const struct sfu_defect *defect)
{
	(void)data;
	(void)defect;
	return 1;
}

void fuzz_compare(const u8 *data, size_t size)
{
	const struct sfu_bytes bytes = bytes_at(data, size, ADDRESS);
	struct oracle_answer head;
	struct side side = { 0 };
	struct sfu_defect defect;
	u32 i;

	if (sfu_table_open(&side.table, &bytes, &defect) ||
	    sfu_table_validate(&side.table, is_defect, NULL))
		return;
	choose_pcs(&side);
	ask(data, size, side.pcs, side.nr_pcs);
	take(&head, sizeof(head));
	FUZZ_CHECK(!head.error, "libsframe says %d", head.error);
	FUZZ_CHECK(head.num_fdes == side.table.num_fdes, "%u FDEs, not %u",
		   side.table.num_fdes, head.num_fdes);
	for (i = 0; i < head.num_fdes; i++)
		compare_fde(&side, i);
	for (i = 0; i < side.nr_pcs && has_known_starts(&side.table); i++)
		compare_lookup(&side, side.pcs[i]);
}
