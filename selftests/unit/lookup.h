/* SPDX-License-Identifier: GPL-2.0 */
/* What the tests ask the decoder, and how answers are told and compared. */
#ifndef SFU_LOOKUP_H
#define SFU_LOOKUP_H

#include "reference.h"
#include "sframe.h"

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

/*
 * The rule at @pc. -ENOENT with SFU_RULE_SIGNAL in @rule is a signal frame
 * about which nothing is known; otherwise @rule is zero then.
 */
static inline int lookup(const struct sfu_table *table, u64 pc,
			 struct sfu_rule *rule, struct sfu_defect *defect)
{
	u32 budget = ~0U;
	struct sfu_fde fde;
	int err;

	memset(rule, 0, sizeof(*rule));
	err = sfu_table_find(table, pc, &fde, defect);
	return err ? err : sfu_fde_find_rule(table, &fde, pc, &budget, rule,
				       defect);
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
