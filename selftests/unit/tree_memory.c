// SPDX-License-Identifier: GPL-2.0
/* Memory for module/mm/tree.c and its objects. */
#include <linux/slab.h>

#include "counters.h"
#include "payer.h"
#include "mm/section.h"
#include "tree_memory.h"

atomic_long_t sfu_counters[SFU_NR_COUNTERS];
u32 allocations_left = ~0U, nr_nodes, nr_sections, nr_met;
u64 charged;
static u32 round_of_met = 1;
static size_t node_size;

/* Precedes each node and section. */
struct head {
	u32 round;
	u32 met;
	u64 unused;
};

static void *allocate(size_t size)
{
	struct head *head = calloc(1, sizeof(*head) + size);

	return head + 1;
}

static bool fails(void)
{
	if (allocations_left == ~0U)
		return false;
	if (!allocations_left)
		return true;
	allocations_left--;
	return false;
}

struct kmem_cache *unit_cache_create(size_t size)
{
	node_size = size;
	return (struct kmem_cache *)&node_size;
}

void kmem_cache_destroy(struct kmem_cache *cache)
{
	(void)cache;
}

void *kmem_cache_alloc(struct kmem_cache *cache, int gfp)
{
	(void)cache;
	(void)gfp;
	if (fails())
		return NULL;
	nr_nodes++;
	return allocate(node_size);
}

void kmem_cache_free(struct kmem_cache *cache, void *memory)
{
	(void)cache;
	nr_nodes--;
	free((struct head *)memory - 1);
}

void *kmalloc(size_t size, int gfp)
{
	(void)gfp;
	return fails() ? NULL : malloc(size);
}

struct sfu_section *make_section(void)
{
	struct sfu_section *section = allocate(sizeof(*section));
	static u64 last_id;

	refcount_set(&section->refs, 1);
	section->id = ++last_id;
	section->payer = 1;
	nr_sections++;
	return section;
}

void sfu_section_put(struct sfu_section *section)
{
	if (!refcount_dec_and_test(&section->refs))
		return;
	nr_sections--;
	free((struct head *)section - 1);
}

/* One payer, numbered 1, with no limit. */
int sfu_payer_charge_number(u32 number, u64 bytes, bool force)
{
	(void)force;
	if (number)
		charged += bytes;
	return 0;
}

void sfu_payer_uncharge_number(u32 number, u64 bytes)
{
	if (number)
		charged -= bytes;
}

u32 met(const void *memory)
{
	const struct head *head = (const struct head *)memory - 1;

	return head->round == round_of_met ? head->met : 0;
}

u32 meet(const void *memory)
{
	struct head *head = (struct head *)memory - 1;

	head->met = met(memory) + 1;
	head->round = round_of_met;
	nr_met += head->met == 1;
	return head->met;
}

void forget_met(void)
{
	round_of_met++;
	nr_met = 0;
}
