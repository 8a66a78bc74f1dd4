// SPDX-License-Identifier: GPL-2.0
/*
 * Tree: a copy-on-write B-tree of sections in one order.
 *
 * Leaves contain only pointers to sections, which contain the keys. Inner nodes
 * contain, for each child, the exact key of the first section below it.
 *
 * Nodes on the path to the last section, other than the root, have at least one
 * entry. All other nodes are at least a quarter full. A root that is not a leaf
 * has at least two entries.
 *
 * Why not the kernel's maple tree:
 *
 * - Its nodes point to their parents, so trees cannot share them. mtree_dup()
 *   copies all nodes. Fork, which holds the mmap lock, would have to copy
 *   65,536 leaves or more (16 slots, 256 bytes) for SFU_MAX_SECTIONS sections,
 *   in each order. Here it takes one reference. Linux before 6.7 has no
 *   mtree_dup().
 * - Its keys are unique. A section can describe several texts, and is then
 *   registered several times with the same address of its bytes.
 * - It allocates its nodes itself, so they could not be charged to the user
 *   who registers, see node.c.
 * - A section of a registration takes a slot, and so does a gap after its text.
 *   A node here has 63 sections in 512 bytes.
 *
 * Why one tree for each order: UNREGISTER finds a section by its id or by the
 * address of its bytes. Without a tree in that order it would visit all
 * sections, with the lock of the space held. A tree in another order needs
 * leaves of its own, so two views of one tree would save nothing.
 */
#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/log2.h>
#include <linux/math.h>
#include <linux/refcount.h>
#include <linux/sched.h>
#include <linux/string.h>

#include "limits.h"
#include "node.h"
#include "section.h"
#include "tree.h"

#define LEAST_LEAF	SFU_NODE_LEAST(SFU_LEAF_SIZE)
#define LEAST_INNER	SFU_NODE_LEAST(SFU_INNER_SIZE)

/*
 * Maximum number of levels: 6 for a million sections.
 *
 * A tree of n levels grows only when its root is full. Then all children of the
 * root but the last one are at least a quarter full, and so are all nodes below
 * them: the tree has at least
 *
 *	(SFU_INNER_SIZE - 1) * LEAST_INNER ^ (n - 2) * LEAST_LEAF
 *
 * sections: 30 * 8 ^ 4 * 16 with 6 levels, which exceeds SFU_MAX_SECTIONS.
 * Sharing a tree does not change its height, and copying a node does not change
 * its entries.
 */
#define MAX_HEIGHT							\
	(2 + DIV_ROUND_UP(const_ilog2(SFU_MAX_SECTIONS /		\
				      ((SFU_INNER_SIZE - 1) *		\
				       LEAST_LEAF)) + 1,		\
			  const_ilog2(LEAST_INNER)))
static_assert((SFU_INNER_SIZE - 1ULL) * LEAST_LEAF
	      << const_ilog2(LEAST_INNER) * (MAX_HEIGHT - 2) >=
	      SFU_MAX_SECTIONS);
/* The ranges of the bit fields in struct sfu_node. */
static_assert(SFU_LEAF_SIZE < 1 << 8 && MAX_HEIGHT <= 1 << SFU_HEIGHT_BITS);

/**
 * struct tree_path - the nodes from the root to a section
 *
 * @node: the node at each height.
 * @at: number of the entry in that node.
 * @is_shared: at least one of the nodes is shared.
 */
struct tree_path {
	struct sfu_node *node[MAX_HEIGHT];
	u16 at[MAX_HEIGHT];
	bool is_shared;
};

static __always_inline u64 key_in_order(enum sfu_order order,
					const struct sfu_section *section)
{
	switch (order) {
	case SFU_BY_TEXT:
		return section->text.start;
	case SFU_BY_BYTES:
		return section->source == SFU_REGISTERED ? section->address : 0;
	case SFU_BY_ID:
	case SFU_NR_ORDERS:
		break;
	}
	return section->id;
}

static u64 key_in_tree(const struct sfu_tree *tree,
		       const struct sfu_section *section)
{
	return key_in_order(tree->order, section);
}

/* Drop a reference to @node. Recursion is bounded by the height of the tree. */
static void put_node(const struct sfu_tree *tree, struct sfu_node *node)
{
	u32 i;

	if (!refcount_dec_and_test(&node->refs))
		return;
	for (i = 0; i < node->nr; i++) {
		if (node->height)
			put_node(tree, node->child[i]);
		else if (tree->holds)
			sfu_section_put(node->section[i]);
	}
	cond_resched();
	sfu_node_free(node);
}

void sfu_tree_share(struct sfu_tree *to, struct sfu_tree *from)
{
	from->tail = NULL;
	*to = *from;
	if (to->root)
		refcount_inc(&to->root->refs);
}

void sfu_tree_clear(struct sfu_tree *tree)
{
	if (tree->root)
		put_node(tree, tree->root);
	tree->root = NULL;
	tree->tail = NULL;
}

bool sfu_tree_clear_shared(struct sfu_tree *tree)
{
	if (tree->root && !refcount_dec_not_one(&tree->root->refs))
		return false;
	tree->root = NULL;
	tree->tail = NULL;
	return true;
}

static const struct sfu_section *first_section(const struct sfu_node *node)
{
	while (node->height)
		node = node->child[0];
	return node->section[0];
}

/* Returns whether entry @i of @node is at or below (@key, @id). */
static __always_inline bool is_upto(enum sfu_order order,
				    const struct sfu_node *node, u32 i, u64 key,
				    u64 id)
{
	const u64 have = node->height ? node->key[i] :
					key_in_order(order, node->section[i]);

	if (likely(have != key))
		return have < key;
	/* Equal keys: compare the id of the first section below. */
	return (node->height ? first_section(node->child[i]) :
			       node->section[i])->id <= id;
}

/* Returns the number of entries of @node that are at or below (@key, @id). */
static __always_inline u32 count_upto(enum sfu_order order,
				      const struct sfu_node *node, u64 key,
				      u64 id)
{
	u32 low = 0, high = node->nr - 1;

	/* Fast path: many sections are added in ascending order. */
	if (is_upto(order, node, high, key, id))
		return high + 1;
	while (low < high) {
		const u32 mid = (low + high) / 2;

		if (is_upto(order, node, mid, key, id))
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static __always_inline bool find_path_in_order(enum sfu_order order,
					       struct sfu_node *node, u64 key,
					       u64 id, struct tree_path *path)
{
	u32 nr = 0;

	path->is_shared = false;
	while (node) {
		nr = count_upto(order, node, key, id);
		path->is_shared |= refcount_read(&node->refs) > 1;
		path->node[node->height] = node;
		path->at[node->height] = nr ? nr - 1 : 0;
		node = node->height ? node->child[nr ? nr - 1 : 0] : NULL;
	}
	return nr;
}

/*
 * Find the path to the last section at or below (@key, @id). Returns whether
 * there is one. If not, the path leads to the first section of the tree, before
 * which a section with @key and @id would be inserted.
 */
static bool find_path(const struct sfu_tree *tree, u64 key, u64 id,
		      struct tree_path *path)
{
	/* With a constant order, compilers generate better code. */
	switch (tree->order) {
	case SFU_BY_TEXT:
		return find_path_in_order(SFU_BY_TEXT, tree->root, key, id,
					  path);
	case SFU_BY_BYTES:
		return find_path_in_order(SFU_BY_BYTES, tree->root, key, id,
					  path);
	case SFU_BY_ID:
	case SFU_NR_ORDERS:
		break;
	}
	return find_path_in_order(SFU_BY_ID, tree->root, key, id, path);
}

struct sfu_section *sfu_tree_last_upto(const struct sfu_tree *tree, u64 key)
{
	struct tree_path path __uninitialized;

	if (!find_path(tree, key, ~0ULL, &path))
		return NULL;
	return path.node[0]->section[path.at[0]];
}

struct sfu_section *sfu_tree_known_last(const struct sfu_tree *tree)
{
	return tree->tail ? tree->tail->section[tree->tail->nr - 1] : NULL;
}

struct sfu_section *sfu_tree_first_from(const struct sfu_tree *tree, u64 key)
{
	const struct sfu_node *node;
	struct tree_path path;
	u32 height = 0;

	if (!tree->root)
		return NULL;
	/*
	 * Find the last section below @key (no id is 0), and take the next one.
	 */
	if (!find_path(tree, key, 0, &path))
		return path.node[0]->section[0];
	while (path.at[height] + 1 == path.node[height]->nr) {
		if (height == tree->root->height)
			return NULL;
		height++;
	}
	node = path.node[height];
	if (!height)
		return node->section[path.at[0] + 1];
	node = node->child[path.at[height] + 1];
	return (struct sfu_section *)first_section(node);
}

static struct sfu_node *copy_node(const struct sfu_tree *tree,
				  const struct sfu_node *from)
{
	/* Charge the payer of the shared node also for the copy. */
	struct sfu_node *node = sfu_node_create(from->height, from->payer,
						true);
	u32 i;

	if (!node)
		return NULL;
	node->nr = from->nr;
	if (!from->height) {
		memcpy(node->section, from->section,
		       from->nr * sizeof(node->section[0]));
		for (i = 0; tree->holds && i < node->nr; i++)
			sfu_section_get(node->section[i]);
		return node;
	}
	memcpy(node->key, from->key, from->nr * sizeof(node->key[0]));
	memcpy(node->child, from->child, from->nr * sizeof(node->child[0]));
	for (i = 0; i < node->nr; i++)
		refcount_inc(&node->child[i]->refs);
	return node;
}

/*
 * Replace the node at *@link by a copy if it is shared. Its parent must not be
 * shared. Returns 0 or -ENOMEM.
 */
static int unshare_node(struct sfu_tree *tree, struct sfu_node **link)
{
	struct sfu_node *old = *link, *node;

	if (refcount_read(&old->refs) == 1)
		return 0;
	node = copy_node(tree, old);
	if (!node)
		return -ENOMEM;
	*link = node;
	put_node(tree, old);
	return 0;
}

/*
 * Replace shared nodes of @path by copies. Returns 0 or -ENOMEM. In both cases
 * the tree has the same sections as before.
 */
static int unshare_path(struct sfu_tree *tree, struct tree_path *path)
{
	struct sfu_node **link = &tree->root;
	s32 height;
	int err;

	if (!path->is_shared)
		return 0;
	for (height = tree->root->height; height >= 0; height--) {
		err = unshare_node(tree, link);
		if (err)
			return err;
		path->node[height] = *link;
		if (height)
			link = &(*link)->child[path->at[height]];
	}
	return 0;
}

/* Entry 0 of path->node[0] has changed: update the keys in the nodes above. */
static void update_first_key(struct sfu_tree *tree, struct tree_path *path)
{
	const u64 key = key_in_tree(tree, path->node[0]->section[0]);
	u32 height;

	for (height = 1; height <= tree->root->height; height++) {
		path->node[height]->key[path->at[height]] = key;
		if (path->at[height])
			break;
	}
}

/* Returns whether path->node[@height] is on the path to the last section. */
static bool is_last(const struct sfu_tree *tree, const struct tree_path *path,
		    u32 height)
{
	while (height++ < tree->root->height) {
		if (path->at[height] + 1 < path->node[height]->nr)
			return false;
	}
	return true;
}

/*
 * Create the nodes that inserting a section into path->node[0] needs, charged
 * to @payer. @spare[height] is for the right half of the full node at that
 * height; if the root is full, the last one is for a new root. Increases *@nr,
 * which must be 0, to the number of nodes, also on failure. Returns 0, -ENOMEM
 * or -ENOSPC.
 */
static int create_spares(const struct sfu_tree *tree,
			 const struct tree_path *path, u32 payer,
			 struct sfu_node **spare, u32 *nr)
{
	u32 height, top = tree->root->height;

	for (height = 0; height <= top + 1; height++) {
		if (height <= top && !sfu_node_is_full(path->node[height]))
			return 0;
		if (height == MAX_HEIGHT)
			return -ENOSPC;
		spare[height] = sfu_node_create(height, payer, false);
		if (!spare[height])
			return -ENOMEM;
		++*nr;
	}
	return 0;
}

/* Make the empty node @root the root, above the old root @left and @right. */
static void add_root(struct sfu_tree *tree, struct sfu_node *root, u64 left_key,
		     struct sfu_node *left, u64 right_key,
		     struct sfu_node *right)
{
	sfu_node_insert_child(root, 0, left_key, left);
	sfu_node_insert_child(root, 1, right_key, right);
	tree->root = root;
}

static u64 first_key(const struct sfu_tree *tree, const struct sfu_node *node)
{
	return node->height ? node->key[0] :
			      key_in_tree(tree, node->section[0]);
}

/*
 * Insert @section as entry @at of path->node[0]. @last: it is the last section
 * of the tree. Returns the leaf that contains it.
 */
static struct sfu_node *insert_section(struct sfu_tree *tree,
				       struct tree_path *path,
				       struct sfu_node **spare,
				       struct sfu_section *section, u32 at,
				       bool last)
{
	struct sfu_node *node = path->node[0], *right = NULL, *into, *leaf;
	u32 height;

	leaf = node;
	if (sfu_node_is_full(node)) {
		right = spare[0];
		leaf = sfu_node_split(node, right, &at, last);
	}
	sfu_node_insert_section(leaf, at, section);
	if (leaf == node && !at)
		update_first_key(tree, path);
	for (height = 1; right; height++) {
		struct sfu_node *child = right;

		if (height > tree->root->height) {
			add_root(tree, spare[height],
				 first_key(tree, tree->root), tree->root,
				 first_key(tree, child), child);
			break;
		}
		node = path->node[height];
		at = path->at[height] + 1;
		right = NULL;
		into = node;
		if (sfu_node_is_full(node)) {
			right = spare[height];
			into = sfu_node_split(node, right, &at, last);
		}
		sfu_node_insert_child(into, at, first_key(tree, child), child);
	}
	return leaf;
}

static noinline int insert_section_anywhere(struct sfu_tree *tree,
					    struct sfu_section *section)
{
	struct sfu_node *spare[MAX_HEIGHT] __uninitialized, *leaf;
	struct tree_path path __uninitialized;
	u32 nr_spare = 0, at;
	bool last;
	int err;

	if (!tree->root) {
		tree->root = sfu_node_create(0, section->payer, false);
		if (!tree->root)
			return -ENOMEM;
		sfu_node_insert_section(tree->root, 0, section);
		tree->tail = tree->root;
		return 0;
	}
	at = find_path(tree, key_in_tree(tree, section), section->id, &path);
	at += path.at[0];
	err = unshare_path(tree, &path) ?:
	      create_spares(tree, &path, section->payer, spare, &nr_spare);
	if (err) {
		while (nr_spare)
			sfu_node_free(spare[--nr_spare]);
		return err;
	}
	last = at == path.node[0]->nr && is_last(tree, &path, 0);
	leaf = insert_section(tree, &path, spare, section, at, last);
	/*
	 * No node on the path to it is shared, and it is still the last leaf.
	 */
	tree->tail = last ? leaf : NULL;
	return 0;
}

/*
 * Append @section to the last leaf. Returns false if it is not known to be the
 * last section, or if the leaf is full.
 */
static __always_inline bool append_section(enum sfu_order order,
					   struct sfu_node *tail,
					   struct sfu_section *section)
{
	if (!tail || tail->nr == SFU_LEAF_SIZE ||
	    key_in_order(order, tail->section[tail->nr - 1]) >=
	    key_in_order(order, section))
		return false;
	tail->section[tail->nr++] = section;
	return true;
}

int sfu_tree_add(struct sfu_tree *tree, struct sfu_section *section)
{
	int err = 0;

	if (!append_section(tree->order, tree->tail, section))
		err = insert_section_anywhere(tree, section);
	if (!err && tree->holds)
		sfu_section_get(section);
	return err;
}

/*
 * Returns whether the node of @path at @height, which is not the root, needs
 * work if it has @nr entries. A node that is less than a quarter full is merged
 * with a sibling, or takes entries from it; its parent has at least two
 * children. A node on the path to the last section is only removed when it is
 * empty.
 */
static bool is_too_small(const struct sfu_tree *tree,
			 const struct tree_path *path, u32 height, u32 nr)
{
	return nr < sfu_node_least(path->node[height]) &&
	       (!nr || !is_last(tree, path, height));
}

/*
 * Number, in the parent, of the left one of @path's node at @height and its
 * sibling.
 */
static u32 place_of_pair(const struct tree_path *path, u32 height)
{
	const struct sfu_node *parent = path->node[height + 1];
	const u32 at = path->at[height + 1];

	return at + 1 < parent->nr ? at : at - 1;
}

/*
 * Copy the shared siblings that nodes of @path need when an entry is removed
 * from the leaf. @path must have no shared nodes. Returns 0 or -ENOMEM. In both
 * cases the tree has the same sections as before.
 */
static int unshare_siblings(struct sfu_tree *tree, const struct tree_path *path)
{
	u32 height, at, nr;
	int err;

	for (height = 0; height < tree->root->height; height++) {
		struct sfu_node *parent = path->node[height + 1];

		nr = path->node[height]->nr - 1;
		if (!is_too_small(tree, path, height, nr))
			return 0;
		/* It becomes empty, so its parent loses an entry, too. */
		if (is_last(tree, path, height))
			continue;
		at = place_of_pair(path, height);
		err = unshare_node(tree, &parent->child[at]) ?:
		      unshare_node(tree, &parent->child[at + 1]);
		if (err)
			return err;
		nr = parent->child[at]->nr + parent->child[at + 1]->nr - 1;
		if (!sfu_node_joins(parent->child[at], nr))
			return 0;
	}
	return 0;
}

int sfu_tree_prepare_removal(struct sfu_tree *tree,
			     const struct sfu_section *section)
{
	struct tree_path path __uninitialized;

	find_path(tree, key_in_tree(tree, section), section->id, &path);
	return unshare_path(tree, &path) ?: unshare_siblings(tree, &path);
}

/*
 * Merge children @at and @at + 1 of @parent, or balance their entries: one of
 * them has too few. Neither may be shared.
 */
static void refill_child(const struct sfu_tree *tree, struct sfu_node *parent,
			 u32 at)
{
	struct sfu_node *left = parent->child[at];
	struct sfu_node *right = parent->child[at + 1];

	if (sfu_node_joins(left, left->nr + right->nr)) {
		sfu_node_absorb(left, right);
		sfu_node_remove(parent, at + 1);
	} else {
		sfu_node_balance(left, right);
		parent->key[at + 1] = first_key(tree, right);
	}
	parent->key[at] = first_key(tree, left);
}

/* Remove roots with one child, and an empty root. */
static void shrink_root(struct sfu_tree *tree)
{
	struct sfu_node *root = tree->root;

	while (root->height && root->nr == 1) {
		/* The child may be shared, so take a reference of its own. */
		tree->root = root->child[0];
		refcount_inc(&tree->root->refs);
		put_node(tree, root);
		root = tree->root;
	}
	if (!root->nr) {
		sfu_node_free(root);
		tree->root = NULL;
	}
}

/*
 * After an entry was removed from the leaf: from there to the root, fix nodes
 * that have become empty or too small, and the keys of first sections.
 */
static void settle_path(struct sfu_tree *tree, struct tree_path *path)
{
	u32 height;

	for (height = 0; height < tree->root->height; height++) {
		struct sfu_node *parent = path->node[height + 1];
		struct sfu_node *node = path->node[height];
		const u32 at = path->at[height + 1];

		if (!is_too_small(tree, path, height, node->nr)) {
			parent->key[at] = first_key(tree, node);
		} else if (is_last(tree, path, height)) {
			sfu_node_free(node);
			sfu_node_remove(parent, at);
		} else {
			refill_child(tree, parent, place_of_pair(path, height));
		}
	}
	shrink_root(tree);
}

void sfu_tree_remove(struct sfu_tree *tree, struct sfu_section *section)
{
	struct tree_path path __uninitialized;

	/* The last leaf may be removed or merged. */
	tree->tail = NULL;
	find_path(tree, key_in_tree(tree, section), section->id, &path);
	sfu_node_remove(path.node[0], path.at[0]);
	settle_path(tree, &path);
	if (tree->holds)
		sfu_section_put(section);
}
