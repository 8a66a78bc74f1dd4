/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tree: a copy-on-write B-tree of sections in one order.
 *
 * Trees can share nodes. A node with one reference belongs to one tree, whose
 * lock protects it. A node with more references is immutable: it is copied
 * before a change. So copying a tree means to take one reference, and the first
 * change after that copies the nodes from the root to one leaf.
 */
#ifndef SFU_TREE_H
#define SFU_TREE_H

#include <linux/types.h>

struct sfu_node;
struct sfu_section;

/*
 * The key by which a tree is sorted. Sections with equal keys are sorted by id.
 */
enum sfu_order {
	SFU_BY_TEXT,		/* start of the text */
	SFU_BY_BYTES,		/* start of the bytes; 0 if not registered */
	SFU_BY_ID,
	SFU_NR_ORDERS
};

/**
 * struct sfu_tree
 *
 * @root: NULL if the tree is empty.
 * @tail: the last leaf, if known and if no node from the root to it is shared;
 *	else NULL.
 * @order: enum sfu_order.
 * @holds: the tree holds a reference to each of its sections. Of several trees
 *	with the same sections, one needs it.
 */
struct sfu_tree {
	struct sfu_node *root;
	struct sfu_node *tail;
	u8 order;
	bool holds;
};

/*
 * Make the empty tree @to a copy of @from that shares its nodes. The caller
 * must hold the owner's lock of @from for reading, and must be the only one
 * that shares @from: fork is, as it holds the mmap lock of the parent for
 * writing.
 */
void sfu_tree_share(struct sfu_tree *to, struct sfu_tree *from);

/*
 * Make the tree empty. May sleep, and reschedules: takes time proportional to
 * the number of nodes that are not shared.
 */
void sfu_tree_clear(struct sfu_tree *tree);

/*
 * Make the tree empty if its root is shared, which takes constant time. Returns
 * whether the tree is empty.
 */
bool sfu_tree_clear_shared(struct sfu_tree *tree);

/* Returns the last section whose key is at or below @key, or NULL. */
struct sfu_section *sfu_tree_last_upto(const struct sfu_tree *tree, u64 key);

/* Returns the last section, or NULL if it is not known without a search. */
struct sfu_section *sfu_tree_known_last(const struct sfu_tree *tree);

/* Returns the first section whose key is at or above @key, or NULL. */
struct sfu_section *sfu_tree_first_from(const struct sfu_tree *tree, u64 key);

/*
 * Add @section, which must not be in the tree. May sleep. Returns 0; or
 * -ENOMEM, or -ENOSPC if the tree would exceed its maximum height, which needs
 * more than SFU_MAX_SECTIONS sections. On failure, the tree has the same
 * sections as before.
 */
int sfu_tree_add(struct sfu_tree *tree, struct sfu_section *section);

/*
 * Copy the shared nodes that sfu_tree_remove() of @section is going to change.
 * @section must be in the tree. May sleep. Returns 0 or -ENOMEM.
 */
int sfu_tree_prepare_removal(struct sfu_tree *tree,
			     const struct sfu_section *section);

/*
 * Remove @section. Cannot fail. The last operation on the tree must have been
 * sfu_tree_prepare_removal() or sfu_tree_add() of @section.
 */
void sfu_tree_remove(struct sfu_tree *tree, struct sfu_section *section);

#endif /* SFU_TREE_H */
