/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Node: one node of a tree of sections, by itself. Its owner is who has the only
 * reference, and nobody else changes it.
 */
#ifndef SFU_NODE_H
#define SFU_NODE_H

#include <linux/refcount.h>
#include <linux/types.h>

struct sfu_section;

#define SFU_LEAF_SIZE	63
#define SFU_INNER_SIZE	31

/**
 * struct sfu_node
 *
 * @refs: one of each parent, or of a tree whose root it is.
 * @nr: entries; never 0.
 * @height: 0 is a leaf.
 * @section: of a leaf.
 * @key: of an inner node, keys of the children's first sections.
 * @child: of an inner node.
 */
struct sfu_node {
	refcount_t refs;
	u16 nr;
	u8 height;
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

/* An empty one with one reference. May sleep. Returns NULL without memory. */
struct sfu_node *sfu_node_create(u8 height);

/* Nobody refers to @node any more; what it refers to is the caller's to put. */
void sfu_node_free(struct sfu_node *node);

/* There is room for one more; @at is where it goes. */
void sfu_node_insert_section(struct sfu_node *node, u32 at,
			     struct sfu_section *section);
void sfu_node_insert_child(struct sfu_node *node, u32 at, u64 key,
			   struct sfu_node *child);

void sfu_node_remove(struct sfu_node *node, u32 at);

/*
 * Split the full @node, whose second half goes to the empty @right, for a new
 * entry at *@at. Those who add in ascending order get full nodes. Returns the
 * half that the entry belongs to, and in *@at its place there.
 */
struct sfu_node *sfu_node_split(struct sfu_node *node, struct sfu_node *right,
				u32 *at);

/* Move all entries of @right, which follow those of @node, to it; free @right. */
void sfu_node_absorb(struct sfu_node *node, struct sfu_node *right);

int sfu_node_init(void);
void sfu_node_exit(void);

#endif /* SFU_NODE_H */
