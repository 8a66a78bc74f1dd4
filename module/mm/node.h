/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Node: operations on a single node of a tree of sections. Only the holder of
 * the only reference may change a node.
 */
#ifndef SFU_NODE_H
#define SFU_NODE_H

#include <linux/refcount.h>
#include <linux/types.h>

#include "payer.h"

struct sfu_section;

/* Capacity of nodes. Unit tests define smaller ones, at least 5. */
#ifndef SFU_LEAF_SIZE
#define SFU_LEAF_SIZE	63
#define SFU_INNER_SIZE	31
/* Bits for the height. */
#define SFU_HEIGHT_BITS	3
#endif

/* A quarter of @room, rounded up: the minimum fill of nodes. */
#define SFU_NODE_LEAST(room)	(((room) + 3) / 4)

/**
 * struct sfu_node
 *
 * @refs: one for each parent, and for each tree whose root it is.
 * @payer: number of the payer that it is charged to, or 0.
 * @nr: number of entries; never 0 in a tree.
 * @height: 0 for a leaf.
 * @section: in a leaf: the sections.
 * @key: in an inner node: the key of the first section below each child.
 * @child: in an inner node: the children.
 */
struct sfu_node {
	refcount_t refs;
	u32 nr : 8;			/* a byte in memory */
	u32 height : SFU_HEIGHT_BITS;
	u32 payer : SFU_PAYER_BITS;
	union {
		struct sfu_section *section[SFU_LEAF_SIZE];
		struct {
			u64 key[SFU_INNER_SIZE];
			struct sfu_node *child[SFU_INNER_SIZE];
		};
	};
};

/* Returns the capacity of @node. */
static inline u32 sfu_node_room(const struct sfu_node *node)
{
	return node->height ? SFU_INNER_SIZE : SFU_LEAF_SIZE;
}

static inline bool sfu_node_is_full(const struct sfu_node *node)
{
	return node->nr == sfu_node_room(node);
}

/* Returns the minimum number of entries of @node. */
static inline u32 sfu_node_least(const struct sfu_node *node)
{
	return SFU_NODE_LEAST(sfu_node_room(node));
}

/*
 * Returns whether @node and its sibling, with @nr entries together, are to be
 * merged if one of them has too few. If so, the merged node is not full; if
 * not, there are enough entries for two nodes.
 */
static inline bool sfu_node_joins(const struct sfu_node *node, u32 nr)
{
	return nr <= sfu_node_room(node) * 3 / 4;
}

/*
 * Create an empty node with one reference, charged to the payer with number
 * @payer; with @force, even beyond the payer's limit. May sleep. Returns NULL
 * if out of memory or beyond the limit.
 */
struct sfu_node *sfu_node_create(u32 height, u32 payer, bool force);

/*
 * Free @node, which has no references. Does not drop its references to its
 * entries.
 */
void sfu_node_free(struct sfu_node *node);

/* Insert a section or a child as entry @at. @node must not be full. */
void sfu_node_insert_section(struct sfu_node *node, u32 at,
			     struct sfu_section *section);
void sfu_node_insert_child(struct sfu_node *node, u32 at, u64 key,
			   struct sfu_node *child);

void sfu_node_remove(struct sfu_node *node, u32 at);

/*
 * Split the full @node to insert a new entry at *@at: move its last entries to
 * the empty @right. If the new entry is the @last one of the tree, nothing is
 * moved, so that adding in ascending order produces full nodes; otherwise both
 * have at least the minimum number of entries. Returns the node to insert into,
 * with its *@at.
 */
struct sfu_node *sfu_node_split(struct sfu_node *node, struct sfu_node *right,
				u32 *at, bool last);

/* Append the entries of @right, the next sibling, to @node, and free @right. */
void sfu_node_absorb(struct sfu_node *node, struct sfu_node *right);

/*
 * Move entries between @node and @right, the next sibling: each gets half of
 * them.
 */
void sfu_node_balance(struct sfu_node *node, struct sfu_node *right);

int sfu_node_init(void);
void sfu_node_exit(void);

#endif /* SFU_NODE_H */
