// SPDX-License-Identifier: GPL-2.0
#include <linux/sframe_unwind.h>
#include <stdlib.h>
#include <string.h>

#include "cli/profile/tree.h"

/* Returns the number of a child of @parent. */
static uint32_t add_node(struct tree *tree, uint32_t parent,
			 enum node_kind kind, uint32_t number, uint32_t pid,
			 bool is_unsure)
{
	const uint64_t what = (uint64_t)number << 32 | pid;
	const uint64_t where = (uint64_t)parent << 8 | kind << 1 | is_unsure;
	uint32_t node;

	/* Most samples are in the same callers as the one before. */
	if (parent < tree->nr) {
		const struct node *recent =
			&tree->nodes[tree->nodes[parent].recent];

		if (recent->parent == parent && recent->number == number &&
		    recent->kind == kind && recent->pid == pid &&
		    recent->is_unsure == is_unsure)
			return tree->nodes[parent].recent;
	}
	node = pairs_add(&tree->keys, where, what);
	if (tree->nr)
		tree->nodes[parent].recent = node;
	if (node < tree->nr)
		return node;
	tree->nodes = table_grow(tree->nodes, &tree->room, node,
				 sizeof(*tree->nodes));
	tree->nodes[node].parent = parent;
	tree->nodes[node].kind = kind;
	tree->nodes[node].number = number;
	tree->nodes[node].pid = pid;
	tree->nodes[node].is_unsure = is_unsure;
	tree->nr = node + 1;
	return node;
}

static bool is_unsure(const struct sframe_unwind_profile_sample *sample,
		      uint32_t frame)
{
	uint8_t how;

	if (!sample->how || frame < sample->nr_kernel)
		return false;
	how = sample->how[frame - sample->nr_kernel];
	return how == SFRAME_UNWIND_FRAME_FP ||
	       how & SFRAME_UNWIND_FRAME_UNSURE;
}

/* Bytes that are counted for a node. */
#define NODE_SIZE	(2 * (sizeof(struct node) + sizeof(struct pair)) + 16)

/* Add the functions of a place, the outermost first. */
static uint32_t add_functions(struct tree *tree, struct load *load,
			      uint32_t node, uint32_t number, bool unsure)
{
	const struct place *place = names_place(load->names, number);

	for (uint32_t i = place->nr; i--;)
		node = add_node(tree, node, NODE_FRAME,
				names_number(load->names, place, i), 0, unsure);
	return node;
}

static void add_sample(struct tree *tree, struct load *load,
		       const struct tree_options *options,
		       const struct sframe_unwind_profile_record *record)
{
	const struct sframe_unwind_profile_sample *sample = &record->sample;
	const char *comm = history_comm(load->history, record->pid, record->tid,
					record->time);
	const char *cut = load_cut(sample);
	const uint32_t old = tree->nr;
	const uint32_t *places;
	uint32_t node, nr;

	node = add_node(tree, 0, NODE_SOURCE, record->source, 0, false);
	node = add_node(tree, node, NODE_COMM, strings_add(&tree->comms, comm),
			options->by_pid ? record->pid : 0, false);
	if (cut && !options->by_place)
		node = add_node(tree, node, NODE_FRAME,
				names_mark(load->names, cut), 0, false);
	places = names_of_sample(load->names, record, &nr);
	for (uint32_t i = nr; i--;) {
		if (options->by_place)
			node = add_node(tree, node, NODE_FRAME, places[i], 0,
					false);
		else
			node = add_functions(tree, load, node, places[i],
					     is_unsure(sample, i));
	}
	tree->nodes[node].self += sample->period;
	tree->nodes[node].samples++;
	history_charge(load->history, (tree->nr - old) * NODE_SIZE);
}

static void add_up(struct tree *tree)
{
	for (uint32_t i = 0; i < tree->nr; i++) {
		tree->nodes[i].total = tree->nodes[i].self;
		tree->nodes[i].all_samples = tree->nodes[i].samples;
	}
	for (uint32_t i = tree->nr; i-- > 1;) {
		struct node *parent = &tree->nodes[tree->nodes[i].parent];

		parent->total += tree->nodes[i].total;
		parent->all_samples += tree->nodes[i].all_samples;
	}
}

void tree_read(struct tree *tree, struct load *load,
	       const struct tree_options *options)
{
	const struct sframe_unwind_profile_record *record;

	*tree = (struct tree){ 0 };
	add_node(tree, 0, NODE_ROOT, 0, 0, false);
	while ((record = load_next(load)))
		if (options->source == SFRAME_UNWIND_PROFILE_NONE ||
		    options->source == record->source)
			add_sample(tree, load, options, record);
	add_up(tree);
}

void tree_free(struct tree *tree)
{
	free(tree->nodes);
	pairs_free(&tree->keys);
	strings_free(&tree->comms);
	*tree = (struct tree){ 0 };
}

void tree_get_path(const struct tree *tree, uint32_t node,
		   struct tree_path *path)
{
	path->nr = 0;
	for (; tree->nodes[node].kind >= NODE_COMM;
	     node = tree->nodes[node].parent) {
		path->nodes = table_grow(path->nodes, &path->room, path->nr,
					 sizeof(*path->nodes));
		path->nodes[path->nr++] = node;
	}
	for (uint32_t i = 0; i < path->nr / 2; i++) {
		const uint32_t other = path->nodes[path->nr - 1 - i];

		path->nodes[path->nr - 1 - i] = path->nodes[i];
		path->nodes[i] = other;
	}
}
