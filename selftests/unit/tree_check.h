/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Invariants of the trees of sections, and a plain array as a model of their
 * contents.
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

/* Index of the section with @start, or where it would be inserted. */
u32 model_find(const struct model *model, u64 start);
void model_add(struct model *model, struct sfu_section *section);
void model_remove(struct model *model, u32 at);

/*
 * Check the trees of @nr spaces, their nodes and reference counts; there must
 * be no other nodes. Returns NULL or an error message.
 */
const char *check_spaces(const struct sfu_sections *sections,
			 const struct model *models, u32 nr);

#endif /* SFU_TREE_CHECK_H */
