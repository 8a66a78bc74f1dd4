/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What holds for trees of sections, whatever has been done to them; and a plain
 * array that says what is in them.
 */
#ifndef SFU_TREE_CHECK_H
#define SFU_TREE_CHECK_H

#include "mm/sections.h"

#define MAX_MODEL	400

/**
 * struct model - sections of a space, ascending by address
 */
struct model {
	struct sfu_section *section[MAX_MODEL];
	u32 nr;
};

/* Where a section with @start is, or would be. */
u32 model_find(const struct model *model, u64 start);
void model_add(struct model *model, struct sfu_section *section);
void model_remove(struct model *model, u32 at);

/*
 * Check each of @nr spaces, their nodes and references: there are no others.
 * Returns NULL, or what is wrong.
 */
const char *check_spaces(const struct sfu_sections *sections,
			 const struct model *models, u32 nr);

#endif /* SFU_TREE_CHECK_H */
