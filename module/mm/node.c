// SPDX-License-Identifier: GPL-2.0
/*
 * Node: operations on a single node of a tree of sections.
 */
#include <linux/bug.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "counters.h"
#include "limits.h"
#include "node.h"
#include "payer.h"

static struct kmem_cache *node_cache;

struct sfu_node *sfu_node_create(u32 height, u32 payer, bool force)
{
	struct sfu_node *node;

	if (sfu_payer_charge_number(payer, sizeof(*node), force))
		return NULL;
	node = kmem_cache_alloc(node_cache, SFU_GFP_OPTIONAL);
	if (!node) {
		sfu_payer_uncharge_number(payer, sizeof(*node));
		return NULL;
	}
	refcount_set(&node->refs, 1);
	node->payer = payer;
	node->nr = 0;
	node->height = height;
	sfu_count(SFU_NODES);
	return node;
}

void sfu_node_free(struct sfu_node *node)
{
	sfu_payer_uncharge_number(node->payer, sizeof(*node));
	sfu_uncount(SFU_NODES);
	kmem_cache_free(node_cache, node);
}

void sfu_node_insert_section(struct sfu_node *node, u32 at,
			     struct sfu_section *section)
{
	if (at < node->nr)
		memmove(node->section + at + 1, node->section + at,
			(node->nr - at) * sizeof(node->section[0]));
	node->section[at] = section;
	node->nr++;
}

void sfu_node_insert_child(struct sfu_node *node, u32 at, u64 key,
			   struct sfu_node *child)
{
	memmove(node->key + at + 1, node->key + at,
		(node->nr - at) * sizeof(node->key[0]));
	memmove(node->child + at + 1, node->child + at,
		(node->nr - at) * sizeof(node->child[0]));
	node->key[at] = key;
	node->child[at] = child;
	node->nr++;
}

/*
 * Copy @nr entries of @from, from @from_at on, to entries of @to, from @to_at
 * on. Both have the same height, and may be the same node.
 */
static void copy_entries(struct sfu_node *to, u32 to_at,
			 const struct sfu_node *from, u32 from_at, u32 nr)
{
	if (to->height) {
		memmove(to->key + to_at, from->key + from_at,
			nr * sizeof(to->key[0]));
		memmove(to->child + to_at, from->child + from_at,
			nr * sizeof(to->child[0]));
	} else {
		memmove(to->section + to_at, from->section + from_at,
			nr * sizeof(to->section[0]));
	}
}

/* Returns how many entries of the full @node stay, for a new one at @at. */
static u32 split_at(const struct sfu_node *node, u32 at, bool last)
{
	if (at < node->nr)
		return node->nr / 2;
	/*
	 * Sections are being added in ascending order: leave room in the new
	 * node.
	 */
	return last ? node->nr : node->nr - sfu_node_least(node);
}

struct sfu_node *sfu_node_split(struct sfu_node *node, struct sfu_node *right,
				u32 *at, bool last)
{
	const u32 middle = split_at(node, *at, last);

	right->nr = node->nr - middle;
	copy_entries(right, 0, node, middle, right->nr);
	node->nr = middle;
	if (*at < middle || (*at == middle && right->nr))
		return node;
	*at -= middle;
	return right;
}

void sfu_node_remove(struct sfu_node *node, u32 at)
{
	node->nr--;
	copy_entries(node, at, node, at + 1, node->nr - at);
}

void sfu_node_absorb(struct sfu_node *node, struct sfu_node *right)
{
	copy_entries(node, node->nr, right, 0, right->nr);
	node->nr += right->nr;
	sfu_node_free(right);
}

void sfu_node_balance(struct sfu_node *node, struct sfu_node *right)
{
	const u32 left_nr = (node->nr + right->nr) / 2;
	const u32 right_nr = node->nr + right->nr - left_nr;

	if (node->nr > left_nr) {
		copy_entries(right, right_nr - right->nr, right, 0, right->nr);
		copy_entries(right, 0, node, left_nr, node->nr - left_nr);
	} else {
		copy_entries(node, node->nr, right, 0, left_nr - node->nr);
		copy_entries(right, 0, right, right->nr - right_nr, right_nr);
	}
	node->nr = left_nr;
	right->nr = right_nr;
}

int sfu_node_init(void)
{
	/*
	 * The capacities are chosen so that a node fills an object of 512
	 * bytes.
	 */
	BUILD_BUG_ON(sizeof(struct sfu_node) > 512);
	node_cache = KMEM_CACHE(sfu_node, 0);
	return node_cache ? 0 : -ENOMEM;
}

void sfu_node_exit(void)
{
	kmem_cache_destroy(node_cache);
}
