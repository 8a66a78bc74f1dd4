// SPDX-License-Identifier: GPL-2.0
/* Invariants of the trees of sections. */
#include <stdlib.h>
#include <string.h>

#include "mm/node.h"
#include "mm/section.h"
#include "tree_check.h"
#include "tree_memory.h"

#define CHECK(condition) do {						\
	if (!(condition))						\
		return #condition;					\
} while (0)

u32 model_find(const struct model *model, u64 start)
{
	u32 at = 0;

	while (at < model->nr && model->section[at]->text.start < start)
		at++;
	return at;
}

void model_add(struct model *model, struct sfu_section *section)
{
	const u32 at = model_find(model, section->text.start);

	memmove(model->section + at + 1, model->section + at,
		(model->nr++ - at) * sizeof(model->section[0]));
	model->section[at] = section;
}

void model_remove(struct model *model, u32 at)
{
	memmove(model->section + at, model->section + at + 1,
		(--model->nr - at) * sizeof(model->section[0]));
}

static u64 key_of(enum sfu_order order, const struct sfu_section *section)
{
	switch (order) {
	case SFU_BY_TEXT:
		return section->text.start;
	case SFU_BY_BYTES:
		return section->source == SFU_REGISTERED ? section->address : 0;
	default:
		return section->id;
	}
}

static const struct sfu_section *first_of(const struct sfu_node *node)
{
	return node->height ? first_of(node->child[0]) : node->section[0];
}

/**
 * struct visit - of one tree
 *
 * @found: its sections, in order.
 * @last: the last leaf, if it is not shared.
 */
struct visit {
	const struct sfu_tree *tree;
	const struct sfu_section *found[MAX_MODEL];
	u32 nr;
	const struct sfu_node *last;
};

/*
 * @rightmost: on the path to the last section; @owned: no node above is shared;
 * @fresh: not visited before, so that its references have not been counted yet.
 */
static const char *visit(struct visit *v, const struct sfu_node *node,
			 u32 height, bool rightmost, bool owned, bool fresh)
{
	const char *why;
	u32 i;

	CHECK(node->height == height);
	CHECK(node->nr <= sfu_node_room(node));
	CHECK(node->nr >= (rightmost ? 1 : sfu_node_least(node)));
	owned = owned && refcount_read(&node->refs) == 1;
	if (!height && rightmost)
		v->last = owned ? node : NULL;
	for (i = 0; height && i < node->nr; i++) {
		const struct sfu_node *child = node->child[i];

		CHECK(node->key[i] == key_of(v->tree->order, first_of(child)));
		why = visit(v, child, height - 1,
			    rightmost && i + 1 == node->nr, owned,
			    fresh && meet(child) == 1);
		if (why)
			return why;
	}
	for (i = 0; !height && i < node->nr; i++) {
		CHECK(v->nr < MAX_MODEL);
		v->found[v->nr++] = node->section[i];
		if (v->tree->holds && fresh)
			meet(node->section[i]);
	}
	return NULL;
}

/* Valid once all trees have been visited. */
static bool has_right_references(const struct sfu_node *node)
{
	u32 i;

	if (refcount_read(&node->refs) != met(node))
		return false;
	for (i = 0; i < node->nr; i++) {
		if (node->height ?
		    !has_right_references(node->child[i]) :
		    refcount_read(&node->section[i]->refs) !=
			    met(node->section[i]))
			return false;
	}
	return true;
}

static enum sfu_order sort_order;

static int compare(const void *a, const void *b)
{
	const struct sfu_section *s = *(const struct sfu_section **)a;
	const struct sfu_section *t = *(const struct sfu_section **)b;
	const u64 k = key_of(sort_order, s), l = key_of(sort_order, t);

	return k != l ? (k > l) - (k < l) : (s->id > t->id) - (s->id < t->id);
}

static const char *check_tree(const struct sfu_tree *tree,
			      const struct model *model)
{
	const struct sfu_section *want[MAX_MODEL];
	struct visit v = { .tree = tree };
	const char *why;

	if (tree->root) {
		CHECK(!tree->root->height || tree->root->nr > 1);
		why = visit(&v, tree->root, tree->root->height, true,
			    true, meet(tree->root) == 1);
		if (why)
			return why;
	}
	CHECK(!tree->tail || tree->tail == v.last);
	CHECK(v.nr == model->nr);
	memcpy(want, model->section, model->nr * sizeof(want[0]));
	sort_order = tree->order;
	qsort(want, model->nr, sizeof(want[0]), compare);
	CHECK(!memcmp(want, v.found, model->nr * sizeof(want[0])));
	return NULL;
}

static const char *check_numbers(const struct sfu_sections *sections,
				 const struct model *model)
{
	u32 i, registered = 0, nothing = 0;

	for (i = 0; i < model->nr; i++) {
		registered += model->section[i]->source == SFU_REGISTERED;
		nothing += model->section[i]->source == SFU_NOTHING;
	}
	CHECK(sections->nr == model->nr);
	CHECK(sections->nr_registered == registered);
	CHECK(sections->nr_nothing == nothing);
	return NULL;
}

const char *check_spaces(const struct sfu_sections *sections,
			 const struct model *models, u32 nr)
{
	const char *why;
	u32 i, order;

	forget_met();
	for (i = 0; i < nr; i++) {
		why = check_numbers(&sections[i], &models[i]);
		for (order = 0; !why && order < SFU_NR_ORDERS; order++)
			why = check_tree(&sections[i].tree[order], &models[i]);
		if (why)
			return why;
	}
	for (i = 0; i < nr; i++) {
		for (order = 0; order < SFU_NR_ORDERS; order++) {
			const struct sfu_node *root =
				sections[i].tree[order].root;

			CHECK(!root || has_right_references(root));
		}
	}
	/* No node or section is unreachable. */
	CHECK(nr_met == nr_nodes + nr_sections);
	return NULL;
}
