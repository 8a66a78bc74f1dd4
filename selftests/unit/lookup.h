/* SPDX-License-Identifier: GPL-2.0 */
/* What the tests ask the decoder, and how answers are told and compared. */
#ifndef SFU_LOOKUP_H
#define SFU_LOOKUP_H

#include "reference.h"
#include "decode/sframe_find.h"

/* No defect that anybody reports; to see who writes when nothing is wrong. */
#define UNTOUCHED	((struct sfu_defect){ SFU_NR_DEFECTS, 0x5f5f5f5f })

static inline bool is_untouched(const struct sfu_defect *defect)
{
	return defect->kind == SFU_NR_DEFECTS && defect->offset == 0x5f5f5f5f;
}

static inline struct sfu_bytes bytes_at(const void *copy, u64 size, u64 address)
{
	return (struct sfu_bytes){ address, size, copy };
}

/* The short way by @range: is there a rule? */
static inline bool find_in(const struct sfu_table *table,
			   struct sfu_fde_range range, u64 pc, u32 *budget,
			   struct sfu_match *match)
{
	return table->bytes.copy ?
	       sfu_table_find_rule(table, true, range, pc, budget, match) :
	       sfu_table_find_rule(table, false, range, pc, budget, match);
}

/*
 * Does the short way, which may not know, at least say nothing else than that
 * @ret, with @rule, is to be had for @pc, and leaves @left of @budget?
 */
static inline bool is_found_alike(const struct sfu_table *table, u64 pc,
				  int ret, const struct sfu_rule *rule,
				  u32 budget, u32 left)
{
	const struct sfu_fde_range all = { .high = table->num_fdes };
	struct sfu_match match;

	if (!find_in(table, all, pc, &budget, &match))
		return true;
	return !ret && budget == left && pc >= match.start && pc < match.end &&
	       !memcmp(&match.rule, rule, sizeof(*rule));
}

/*
 * The rule at @pc. -ENOENT with SFU_RULE_SIGNAL in @rule is a signal frame
 * about which nothing is known; otherwise @rule is zero then. -EPROTO, which
 * nobody expects, if the short way finds something else.
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

/* Keep the first defect in @data, and go on. */
static inline int keep_first(void *data, const struct sfu_defect *defect)
{
	struct sfu_defect *first = data;

	if (is_untouched(first))
		*first = *defect;
	return 0;
}

/* Are @ret and @rule, as lookup() returned them, what @want says? */
bool rule_is(const struct ref_rule *want, int ret, const struct sfu_rule *rule);

/* The same as text, the way golden.txt has it. Returns @text. */
char *rule_text(char text[static 100], int ret, const struct sfu_rule *rule);

#endif /* SFU_LOOKUP_H */
