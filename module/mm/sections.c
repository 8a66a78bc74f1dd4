// SPDX-License-Identifier: GPL-2.0
/*
 * Sections: the set of sections of a space.
 */
#include <linux/container_of.h>
#include <linux/cpumask.h>
#include <linux/errno.h>
#include <linux/init.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "limits.h"
#include "section.h"
#include "sections.h"

/* Larger sets are freed by a worker, as the caller may hold the mmap lock. */
#define MAX_FREED_AT_ONCE	256

/**
 * struct discarded - a set of sections that a worker is to free
 *
 * @work: frees the sections and this structure.
 * @sections: the set, which no space has any more.
 */
struct discarded {
	struct work_struct work;
	struct sfu_sections sections;
};

static struct workqueue_struct *workers;

void sfu_sections_init(struct sfu_sections *sections)
{
	u32 i;

	*sections = (struct sfu_sections) {};
	for (i = 0; i < SFU_NR_ORDERS; i++)
		sections->tree[i].order = i;
	/*
	 * One tree with references suffices: all trees have the same sections.
	 */
	sections->tree[SFU_BY_TEXT].holds = true;
}

void sfu_sections_share(struct sfu_sections *to, struct sfu_sections *from)
{
	u32 i;

	*to = *from;
	for (i = 0; i < SFU_NR_ORDERS; i++)
		sfu_tree_share(&to->tree[i], &from->tree[i]);
}

void sfu_sections_clear(struct sfu_sections *sections)
{
	u32 i;

	for (i = 0; i < SFU_NR_ORDERS; i++)
		sfu_tree_clear(&sections->tree[i]);
	sections->nr = 0;
	sections->nr_registered = 0;
	sections->nr_nothing = 0;
}

static void clear_discarded(struct work_struct *work)
{
	struct discarded *discarded = container_of(work, struct discarded, work);

	sfu_sections_clear(&discarded->sections);
	kfree(discarded);
}

void sfu_sections_discard(struct sfu_sections *sections)
{
	struct discarded *discarded = NULL;
	bool is_shared = true;
	u32 i;

	/* Trees that another space shares completely need not be traversed. */
	for (i = 0; i < SFU_NR_ORDERS; i++)
		is_shared &= sfu_tree_clear_shared(&sections->tree[i]);
	if (!is_shared && sections->nr > MAX_FREED_AT_ONCE)
		discarded = kmalloc(sizeof(*discarded),
				    GFP_NOWAIT | __GFP_NOWARN);
	/*
	 * A small set; or no memory for the work item, and the caller has to
	 * wait.
	 */
	if (!discarded) {
		sfu_sections_clear(sections);
		return;
	}
	INIT_WORK(&discarded->work, clear_discarded);
	discarded->sections = *sections;
	sfu_sections_init(sections);
	queue_work(workers, &discarded->work);
}

struct sfu_section *sfu_sections_find(const struct sfu_sections *sections,
				      u64 pc)
{
	struct sfu_section *section =
		sfu_tree_last_upto(&sections->tree[SFU_BY_TEXT], pc);

	return section && sfu_section_covers(section, pc) ? section : NULL;
}

struct sfu_section *sfu_sections_find_from(const struct sfu_sections *sections,
					   u64 address)
{
	return sfu_tree_first_from(&sections->tree[SFU_BY_TEXT], address);
}

bool sfu_sections_find_gap(const struct sfu_sections *sections, u64 pc,
			   u64 *start, u64 *end)
{
	const struct sfu_tree *tree = &sections->tree[SFU_BY_TEXT];
	const struct sfu_section *before = sfu_tree_last_upto(tree, pc);
	const struct sfu_section *behind = sfu_tree_first_from(tree, pc);

	*start = before ? before->text.end : 0;
	*end = behind ? behind->text.start : ~0ULL;
	return pc >= *start;
}

struct sfu_section *sfu_sections_find_id(const struct sfu_sections *sections,
					 u64 id)
{
	struct sfu_section *section =
		sfu_tree_last_upto(&sections->tree[SFU_BY_ID], id);

	return section && section->id == id ? section : NULL;
}

struct sfu_section *
sfu_sections_find_bytes(const struct sfu_sections *sections, u64 address)
{
	struct sfu_section *section =
		sfu_tree_first_from(&sections->tree[SFU_BY_BYTES], address);

	return section && section->source == SFU_REGISTERED &&
	       section->address == address ? section : NULL;
}

/* Add @change, 1 or -1, to the counters that @section belongs to. */
static void count_section(struct sfu_sections *sections,
			  const struct sfu_section *section, int change)
{
	sections->nr += change;
	if (section->source == SFU_REGISTERED)
		sections->nr_registered += change;
	else if (section->source == SFU_NOTHING)
		sections->nr_nothing += change;
}

struct sfu_section *
sfu_sections_find_overlap(const struct sfu_sections *sections,
			  const struct sfu_section *section)
{
	const struct sfu_tree *tree = &sections->tree[SFU_BY_TEXT];
	struct sfu_section *other = sfu_tree_known_last(tree);

	/* Fast path: most sections are added in ascending order. */
	if (other && other->text.end <= section->text.start)
		return NULL;
	other = sfu_tree_last_upto(tree, section->text.end - 1);
	return other && other->text.end > section->text.start ? other : NULL;
}

int sfu_sections_add(struct sfu_sections *sections, struct sfu_section *section,
		     struct sfu_section **other)
{
	u32 i;
	int err;

	/*
	 * An overlap would not be detected, and no lookup would find the
	 * section.
	 */
	if (section->text.start >= section->text.end)
		return -EINVAL;
	*other = sfu_sections_find_overlap(sections, section);
	if (*other)
		return -EEXIST;
	if (sections->nr >= SFU_MAX_SECTIONS)
		return -ENOSPC;
	if (section->source != SFU_REGISTERED &&
	    sections->nr - sections->nr_registered >= SFU_MAX_FOUND)
		return -ENOSPC;
	for (i = 0; i < SFU_NR_ORDERS; i++) {
		err = sfu_tree_add(&sections->tree[i], section);
		if (err)
			goto err_remove;
	}
	count_section(sections, section, 1);
	return 0;

err_remove:
	while (i--)
		sfu_tree_remove(&sections->tree[i], section);
	return err;
}

int sfu_sections_remove(struct sfu_sections *sections,
			struct sfu_section *section)
{
	u32 i;
	int err;

	if (sfu_sections_find(sections, section->text.start) != section)
		return -ENOENT;
	for (i = 0; i < SFU_NR_ORDERS; i++) {
		err = sfu_tree_prepare_removal(&sections->tree[i], section);
		if (err)
			return err;
	}
	count_section(sections, section, -1);
	/* Backwards: the first tree holds the reference to the section. */
	while (i--)
		sfu_tree_remove(&sections->tree[i], section);
	return 0;
}

int __init sfu_sections_start_workers(void)
{
	/*
	 * One worker for each CPU, to free as fast as all CPUs can add
	 * sections.
	 */
	workers = alloc_workqueue("sframe_unwind", WQ_UNBOUND | WQ_MEM_RECLAIM,
				  num_online_cpus());
	return workers ? 0 : -ENOMEM;
}

void sfu_sections_stop_workers(void)
{
	destroy_workqueue(workers);
}
