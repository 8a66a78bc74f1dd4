// SPDX-License-Identifier: GPL-2.0
/*
 * Node: one node of a tree of sections, by itself.
 */
#include <linux/bug.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "counters.h"
#include "limits.h"
#include "node.h"

static struct kmem_cache *cache;

struct sfu_node *sfu_node_create(u8 height)
{
	struct sfu_node *node = kmem_cache_alloc(cache, SFU_GFP_OPTIONAL);

	if (!node)
		return NULL;
	refcount_set(&node->refs, 1);
	node->nr = 0;
	node->height = height;
	sfu_count(SFU_NODES);
	return node;
}

void sfu_node_free(struct sfu_node *node)
{
	sfu_uncount(SFU_NODES);
	kmem_cache_free(cache, node);
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

/* Move the entries of @node from @at on to the empty @to. */
static void move_tail(struct sfu_node *node, u32 at, struct sfu_node *to)
{
	to->nr = node->nr - at;
	if (node->height) {
		memcpy(to->key, node->key + at, to->nr * sizeof(to->key[0]));
		memcpy(to->child, node->child + at,
		       to->nr * sizeof(to->child[0]));
	} else {
		memcpy(to->section, node->section + at,
		       to->nr * sizeof(to->section[0]));
	}
	node->nr = at;
}

struct sfu_node *sfu_node_split(struct sfu_node *node, struct sfu_node *right,
				u32 *at)
{
	const u32 middle = *at == node->nr ? node->nr : node->nr / 2;

	move_tail(node, middle, right);
	if (*at < middle || (*at == middle && right->nr && middle))
		return node;
	*at -= middle;
	return right;
}

void sfu_node_remove(struct sfu_node *node, u32 at)
{
	node->nr--;
	if (node->height) {
		memmove(node->key + at, node->key + at + 1,
			(node->nr - at) * sizeof(node->key[0]));
		memmove(node->child + at, node->child + at + 1,
			(node->nr - at) * sizeof(node->child[0]));
	} else {
		memmove(node->section + at, node->section + at + 1,
			(node->nr - at) * sizeof(node->section[0]));
	}
}

void sfu_node_absorb(struct sfu_node *node, struct sfu_node *right)
{
	if (node->height) {
		memcpy(node->key + node->nr, right->key,
		       right->nr * sizeof(node->key[0]));
		memcpy(node->child + node->nr, right->child,
		       right->nr * sizeof(node->child[0]));
	} else {
		memcpy(node->section + node->nr, right->section,
		       right->nr * sizeof(node->section[0]));
	}
	node->nr += right->nr;
	sfu_node_free(right);
}

int sfu_node_init(void)
{
	BUILD_BUG_ON(sizeof(struct sfu_node) != 512);
	cache = KMEM_CACHE(sfu_node, 0);
	return cache ? 0 : -ENOMEM;
}

void sfu_node_exit(void)
{
	kmem_cache_destroy(cache);
}
