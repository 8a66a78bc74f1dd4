// SPDX-License-Identifier: GPL-2.0
#include <linux/sframe_unwind.h>
#include <stdlib.h>
#include <string.h>

#include "cli/profile/tree.h"

static bool is_same(const struct node *a, const struct node *b)
{
	return a->parent == b->parent && a->number == b->number &&
	       a->kind == b->kind && a->pid == b->pid &&
	       a->is_unsure == b->is_unsure;
}

static uint32_t *find_slot(const struct tree *tree, const struct node *node)
{
	const uint64_t hash = table_hash((uint64_t)node->parent << 32 |
					 node->number,
					 (uint64_t)node->pid << 3 |
					 node->kind * 2 | node->is_unsure);
	uint32_t slot;

	for (slot = hash & tree->mask; tree->slots[slot];
	     slot = (slot + 1) & tree->mask)
		if (is_same(&tree->nodes[tree->slots[slot]], node))
			break;
	return &tree->slots[slot];
}

/* Nodes are 3/4 of the slots at most. */
static void grow_slots(struct tree *tree)
{
	const uint64_t nr = tree->slots ? (tree->mask + 1ULL) * 2 : 1024;

	free(tree->slots);
	tree->slots = table_allocate(nr * sizeof(*tree->slots));
	tree->mask = nr - 1;
	for (uint32_t i = 1; i < tree->nr; i++)
		*find_slot(tree, &tree->nodes[i]) = i;
}

/* Returns the number of a child of @new->parent, whose other members are 0. */
static uint32_t add_child(struct tree *tree, const struct node *new)
{
	const uint32_t recent = tree->nodes[new->parent].recent;
	uint32_t *slot;

	/* Most samples are in the same callers as the one before. */
	if (is_same(&tree->nodes[recent], new))
		return recent;
	if (tree->nr >= tree->mask / 4 * 3)
		grow_slots(tree);
	slot = find_slot(tree, new);
	tree->nodes[new->parent].recent = *slot ? *slot : tree->nr;
	if (*slot)
		return *slot;
	tree->nodes = table_grow(tree->nodes, &tree->room, tree->nr,
				 sizeof(*tree->nodes));
	tree->nodes[tree->nr] = *new;
	*slot = tree->nr;
	return tree->nr++;
}

static uint32_t add_node(struct tree *tree, uint32_t parent,
			 enum node_kind kind, uint32_t number, uint32_t pid,
			 bool is_unsure)
{
	const struct node node = {
		.parent = parent,
		.number = number,
		.pid = pid,
		.kind = kind,
		.is_unsure = is_unsure,
	};

	return add_child(tree, &node);
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
#define NODE_SIZE	(2 * sizeof(struct node) + 16)

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

/* Stacks that are remembered, one of each of so many threads, and their frames. */
#define PATHS		64u
#define PATH_MAX	256u

/**
 * struct path - the last stack of a thread, and its nodes
 *
 * @base: what the frames are below; 0 if this is not valid.
 * @last: the node of the innermost frame.
 * @version: see names_version().
 * @nr_kernel: number of the kernel's frames.
 * @nr_user: number of the user's.
 * @frames: addresses, the outermost first, of the first PATH_MAX frames.
 * @nodes: their nodes.
 */
struct path {
	uint32_t base;
	uint32_t last;
	uint64_t version;
	uint32_t nr_kernel;
	uint32_t nr_user;
	uint64_t frames[PATH_MAX];
	uint32_t nodes[PATH_MAX];
};

/**
 * struct reading - a tree that is being made
 *
 * @tree: the tree.
 * @load: the profile.
 * @options: how.
 * @paths: the last stack, by number of the thread.
 */
struct reading {
	struct tree *tree;
	struct load *load;
	const struct tree_options *options;
	struct path paths[PATHS];
};

static uint32_t smaller(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/*
 * Returns how many of the outermost frames are the same. Exact addresses, the
 * first ones of kernel and user, have other places than return addresses.
 */
static uint32_t path_match(const struct path *path, const struct stack *stack)
{
	const uint32_t nr = stack->nr_kernel + stack->nr_user;
	const uint32_t nr_path = path->nr_kernel + path->nr_user;
	uint32_t most, same = 0;

	if (!nr || !nr_path)
		return 0;
	if (path->nr_user != stack->nr_user)
		most = smaller(path->nr_user, stack->nr_user);
	else
		most = smaller(nr, nr_path) + (nr == nr_path);
	if (most)
		most = smaller(most - 1, PATH_MAX);
	while (same < most && path->frames[same] == stack->frames[nr - 1 - same])
		same++;
	return same;
}

static void path_set(struct path *path, const struct stack *stack,
		     uint32_t known)
{
	const uint32_t nr = stack->nr_kernel + stack->nr_user;

	path->nr_kernel = stack->nr_kernel;
	path->nr_user = stack->nr_user;
	for (uint32_t i = known; i < nr && i < PATH_MAX; i++)
		path->frames[i] = stack->frames[nr - 1 - i];
}

/* Returns the node of a stack's thread or, if the stack is cut, of the mark. */
static uint32_t add_base(struct reading *reading,
			 const struct sframe_unwind_profile_record *record)
{
	const char *comm = history_comm(reading->load->history, record->pid,
					record->tid, record->time);
	const char *cut = load_cut(&record->sample);
	struct tree *tree = reading->tree;
	uint32_t node;

	node = add_node(tree, 0, NODE_SOURCE, record->source, 0, false);
	node = add_node(tree, node, NODE_COMM, strings_add(&tree->comms, comm),
			reading->options->by_pid ? record->pid : 0, false);
	if (cut && !reading->options->by_place)
		node = add_node(tree, node, NODE_FRAME,
				names_mark(reading->load->names, cut), 0, false);
	return node;
}

/* Whether all frames were found as usual. */
static bool is_sure(const struct sframe_unwind_profile_sample *sample)
{
	uint8_t all = 0;

	if (!sample->how)
		return true;
	for (uint32_t i = 0; i < sample->nr_user; i++)
		all |= sample->how[i] | -(sample->how[i] == SFRAME_UNWIND_FRAME_FP);
	return !(all & SFRAME_UNWIND_FRAME_UNSURE);
}

/* Add the frames of a stack to the path, but for the @known outermost ones. */
static void add_frames(struct reading *reading, struct path *path,
		       const struct stack *stack,
		       const struct sframe_unwind_profile_record *record,
		       uint32_t known)
{
	const uint32_t nr = stack->nr_kernel + stack->nr_user;
	const uint32_t *places = names_of_stack(reading->load->names, stack,
						record, known);
	uint32_t node = known ? path->nodes[known - 1] : path->base;

	for (uint32_t i = known; i < nr; i++) {
		const uint32_t frame = nr - 1 - i;

		if (reading->options->by_place)
			node = add_node(reading->tree, node, NODE_FRAME,
					places[frame], 0, false);
		else
			node = add_functions(reading->tree, reading->load, node,
					     places[frame],
					     is_unsure(&record->sample, frame));
		if (i < PATH_MAX)
			path->nodes[i] = node;
	}
	path->last = node;
}

static void add_sample(struct reading *reading,
		       const struct sframe_unwind_profile_record *record)
{
	struct path *path = &reading->paths[record->tid % PATHS];
	const uint64_t version = names_version(reading->load->names, record);
	const uint32_t base = add_base(reading, record);
	struct tree *tree = reading->tree;
	const uint32_t old = tree->nr;
	struct stack stack;
	uint32_t known = 0;

	names_get_stack(&stack, &record->sample);
	if (path->base == base && path->version == version &&
	    is_sure(&record->sample))
		known = path_match(path, &stack);
	path->base = base;
	add_frames(reading, path, &stack, record, known);
	/* Without unsure frames, the same addresses are the same nodes. */
	path->base = is_sure(&record->sample) ? base : 0;
	path->version = version;
	path_set(path, &stack, known);
	tree->nodes[path->last].self += record->sample.period;
	tree->nodes[path->last].samples++;
	history_charge(reading->load->history, (tree->nr - old) * NODE_SIZE);
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

void tree_begin(struct tree *tree)
{
	*tree = (struct tree){ 0 };
	tree->nodes = table_grow(NULL, &tree->room, 0, sizeof(*tree->nodes));
	tree->nr = 1;
}

void tree_add(struct tree *tree, struct load *load,
	      const struct tree_options *options)
{
	struct reading *reading = table_allocate(sizeof(*reading));
	const struct sframe_unwind_profile_record *record;

	reading->tree = tree;
	reading->load = load;
	reading->options = options;
	while ((record = load_next(load)))
		if (options->source == SFRAME_UNWIND_PROFILE_NONE ||
		    options->source == record->source)
			add_sample(reading, record);
	free(reading);
	add_up(tree);
}

void tree_read(struct tree *tree, struct load *load,
	       const struct tree_options *options)
{
	tree_begin(tree);
	tree_add(tree, load, options);
	free(tree->slots);
	tree->slots = NULL;
	tree->mask = 0;
}

void tree_decay(struct tree *tree)
{
	for (uint32_t i = 0; i < tree->nr; i++) {
		tree->nodes[i].self -= (tree->nodes[i].self + 7) / 8;
		tree->nodes[i].samples -= (tree->nodes[i].samples + 7) / 8;
	}
}

void tree_free(struct tree *tree)
{
	free(tree->nodes);
	free(tree->slots);
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
