/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tree: sections in one order, in a B-tree that is copied on write.
 *
 * Trees share nodes. A node with one reference belongs to one tree, whose owner
 * protects it; one with more is not changed by anybody but copied first. So a
 * copy of a tree costs one reference, and the first change after it the nodes
 * from the root to one leaf.
 */
#ifndef SFU_TREE_H
#define SFU_TREE_H

#include <linux/types.h>

struct sfu_node;
struct sfu_section;

/* What a tree is in order of; where that is equal, of the id. */
enum sfu_order {
	SFU_BY_TEXT,		/* start of the code */
	SFU_BY_BYTES,		/* start of the section */
	SFU_BY_ID,
	SFU_NR_ORDERS
};

/**
 * struct sfu_tree
 *
 * @root: NULL if it is empty.
 * @tail: the last leaf, if that is known and nothing on the way to it is shared.
 * @order: of its sections.
 * @holds: does it have a reference to each section? One of several trees with
 *	the same sections is enough.
 */
struct sfu_tree {
	struct sfu_node *root;
	struct sfu_node *tail;
	u8 order;
	bool holds;
};

/*
 * Have @to, which is empty, be the same as @from. Nobody changes or shares @from
 * meanwhile: its owner's lock is held for reading, and of forks, which share,
 * there is one at a time, as they hold the mmap lock of the parent for writing.
 */
void sfu_tree_share(struct sfu_tree *to, struct sfu_tree *from);

/*
 * Make it empty. May sleep, and reschedules: it takes as long as there are nodes
 * that are not shared.
 */
void sfu_tree_clear(struct sfu_tree *tree);

/*
 * Make it empty if others share all of it, which takes no time. Returns whether
 * it is empty.
 */
bool sfu_tree_clear_shared(struct sfu_tree *tree);

/* The last section whose key is at or below @key, or NULL. */
struct sfu_section *sfu_tree_last_upto(const struct sfu_tree *tree, u64 key);

/* The last section of all, if that is known without a search, or NULL. */
struct sfu_section *sfu_tree_known_last(const struct sfu_tree *tree);

/* The first section whose key is at or above @key, or NULL. */
struct sfu_section *sfu_tree_first_from(const struct sfu_tree *tree, u64 key);

/*
 * Add @section, which is not in it. May sleep. Returns 0; or, with the tree as it
 * was, -ENOMEM, or -ENOSPC if it would be too high, which takes more than
 * SFU_MAX_SECTIONS.
 */
int sfu_tree_add(struct sfu_tree *tree, struct sfu_section *section);

/*
 * Copy what has to be copied before @section, which is in it, is removed. May
 * sleep. Returns 0 or -ENOMEM.
 */
int sfu_tree_prepare_removal(struct sfu_tree *tree,
			     const struct sfu_section *section);

/* Remove @section, after sfu_tree_add() of it or the above, and nothing else. */
void sfu_tree_remove(struct sfu_tree *tree, struct sfu_section *section);

#endif /* SFU_TREE_H */
