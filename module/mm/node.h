/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Node: one node of a tree of sections, by itself. Its owner is who has the only
 * reference, and nobody else changes it.
 */
#ifndef SFU_NODE_H
#define SFU_NODE_H

#include <linux/refcount.h>
#include <linux/types.h>

#include "payer.h"

struct sfu_section;

/* Entries that there is room for. Unit tests have smaller nodes, not less than 5. */
#ifndef SFU_LEAF_SIZE
#define SFU_LEAF_SIZE	63
#define SFU_INNER_SIZE	31
#endif

/* A quarter of @room, which is what trees keep in their nodes. */
#define SFU_NODE_LEAST(room)	(((room) + 3) / 4)

/**
 * struct sfu_node
 *
 * @refs: one of each parent, or of a tree whose root it is.
 * @payer: number of the payer that it is charged to, or 0.
 * @nr: entries; never 0.
 * @height: 0 is a leaf.
 * @section: of a leaf.
 * @key: of an inner node, keys of the children's first sections.
 * @child: of an inner node.
 */
struct sfu_node {
	refcount_t refs;
	u32 payer : SFU_PAYER_BITS;
	u32 nr : 6;
	u32 height : 5;
	union {
		struct sfu_section *section[SFU_LEAF_SIZE];
		struct {
			u64 key[SFU_INNER_SIZE];
			struct sfu_node *child[SFU_INNER_SIZE];
		};
	};
};

/* Entries that it can have. */
static inline u32 sfu_node_room(const struct sfu_node *node)
{
	return node->height ? SFU_INNER_SIZE : SFU_LEAF_SIZE;
}

static inline bool sfu_node_is_full(const struct sfu_node *node)
{
	return node->nr == sfu_node_room(node);
}

/* The fewest entries that it is to have. */
static inline u32 sfu_node_least(const struct sfu_node *node)
{
	return SFU_NODE_LEAST(sfu_node_room(node));
}

/*
 * Are the entries of @node and of one beside it, @nr together, put into one node,
 * if one of the two has too few? That one has room for some more then. If not,
 * there are enough for two.
 */
static inline bool sfu_node_joins(const struct sfu_node *node, u32 nr)
{
	return nr <= sfu_node_room(node) * 3 / 4;
}

/*
 * An empty one with one reference, charged to the payer numbered @payer, with
 * @force beyond the limit. May sleep. Returns NULL without memory, or if the
 * payer's limit does not allow it.
 */
struct sfu_node *sfu_node_create(u32 height, u32 payer, bool force);

/* Nobody refers to @node any more; what it refers to is the caller's to put. */
void sfu_node_free(struct sfu_node *node);

/* There is room for one more; @at is where it goes. */
void sfu_node_insert_section(struct sfu_node *node, u32 at,
			     struct sfu_section *section);
void sfu_node_insert_child(struct sfu_node *node, u32 at, u64 key,
			   struct sfu_node *child);

void sfu_node_remove(struct sfu_node *node, u32 at);

/*
 * Split the full @node, whose last entries go to the empty @right, for a new entry
 * at *@at. Both have as many as they are to have, but if the new one is the
 * @last of the tree, all others stay: those who add in ascending order get full
 * nodes. Returns the node that the entry belongs to, and in *@at its place there.
 */
struct sfu_node *sfu_node_split(struct sfu_node *node, struct sfu_node *right,
				u32 *at, bool last);

/* Move all entries of @right, which follow those of @node, to it; free @right. */
void sfu_node_absorb(struct sfu_node *node, struct sfu_node *right);

/* Move entries between @node and @right, which follows it: each has half of them. */
void sfu_node_balance(struct sfu_node *node, struct sfu_node *right);

int sfu_node_init(void);
void sfu_node_exit(void);

#endif /* SFU_NODE_H */
