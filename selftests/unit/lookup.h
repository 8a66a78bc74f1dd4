/* SPDX-License-Identifier: GPL-2.0 */
/* Lookups by the tests, and how their results are printed and compared. */
#ifndef SFU_LOOKUP_H
#define SFU_LOOKUP_H

#include "reference.h"
#include "decode/sframe_find.h"

/* A defect that is never reported, to notice writes to it without an error. */
#define UNTOUCHED	((struct sfu_defect){ SFU_NR_DEFECTS, 0x5f5f5f5f })

static inline bool is_untouched(const struct sfu_defect *defect)
{
	return defect->kind == SFU_NR_DEFECTS && defect->offset == 0x5f5f5f5f;
}

static inline struct sfu_bytes bytes_at(const void *copy, u64 size, u64 address)
{
	return (struct sfu_bytes){ address, size, copy };
}

/* Look up @pc by the fast path in @range. Returns whether it found a rule. */
static inline bool find_in(const struct sfu_table *table,
			   struct sfu_fde_range range, u64 pc, u32 *budget,
			   struct sfu_match *match)
{
	return table->bytes.copy ?
	       sfu_table_find_rule(table, true, range, pc, budget, match) :
	       sfu_table_find_rule(table, false, range, pc, budget, match);
}

/*
 * Whether the fast path, which may give no answer, at least does not contradict
 * the slow path: result @ret with @rule for @pc, leaving @left of @budget.
 */
static inline bool is_found_alike(const struct sfu_table *table, u64 pc,
				  int ret, const struct sfu_rule *rule,
				  u32 budget, u32 left)
{
	const struct sfu_fde_range all = { .high = table->num_fdes };
	struct sfu_defect defect;
	struct sfu_match match;
	struct sfu_fde fde;

	if (!find_in(table, all, pc, &budget, &match))
		return true;
	return !ret && budget == left && pc >= match.start && pc < match.end &&
	       !memcmp(&match.rule, rule, sizeof(*rule)) &&
	       !sfu_table_find(table, pc, &fde, &defect) &&
	       match.num_rows == fde.num_rows;
}

/*
 * Look up the rule at @pc. -ENOENT with SFU_RULE_SIGNAL in @rule is a signal
 * frame without rows; with any other error @rule is zeroed. -EPROTO, which no
 * test expects, if the fast path finds something else.
 */
static inline int lookup(const struct sfu_table *table, u64 pc,
			 struct sfu_rule *rule, struct sfu_defect *defect)
{
	u32 budget = ~0U;
	struct sfu_fde fde;
	int err;

	memset(rule, 0, sizeof(*rule));
	err = sfu_table_find(table, pc, &fde, defect);
	if (!err)
		err = sfu_fde_find_rule(table, &fde, pc, &budget, rule, defect);
	return is_found_alike(table, pc, err, rule, ~0U, budget) ? err : -EPROTO;
}

/* Store the first defect in @data, and continue. */
static inline int keep_first(void *data, const struct sfu_defect *defect)
{
	struct sfu_defect *first = data;

	if (is_untouched(first))
		*first = *defect;
	return 0;
}

/* Whether @ret and @rule, as lookup() returned them, equal @want. */
bool rule_is(const struct ref_rule *want, int ret, const struct sfu_rule *rule);

/* The result as text, in the format of golden.txt. Returns @text. */
char *rule_text(char text[static 100], int ret, const struct sfu_rule *rule);

#endif /* SFU_LOOKUP_H */
