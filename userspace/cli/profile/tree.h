/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The samples of a profile as a tree: events, threads' names, and then frames,
 * the outermost first.
 */
#ifndef CLI_PROFILE_TREE_H
#define CLI_PROFILE_TREE_H

#include "cli/profile/load.h"

/* What a node is. */
enum node_kind {
	NODE_ROOT,
	NODE_SOURCE,	/* number: of the source */
	NODE_COMM,	/* number: of the name; pid, if asked for */
	NODE_FRAME,	/* number: of the function, or place */
};

/**
 * struct node - a node
 *
 * @parent: number of its parent, which is smaller.
 * @number: what it is, by its kind.
 * @pid: the process, or 0.
 * @recent: the child that was last looked for, or 0.
 * @kind: its kind.
 * @is_unsure: whether the frame may be wrong.
 * @self: events of samples that end here.
 * @samples: number of those.
 * @total: events of all samples through here.
 * @all_samples: number of those.
 */
struct node {
	uint32_t parent;
	uint32_t number;
	uint32_t pid;
	uint32_t recent;
	uint8_t kind;
	bool is_unsure;
	uint64_t self;
	uint64_t samples;
	uint64_t total;
	uint64_t all_samples;
};

/**
 * struct tree_options - how to make it
 *
 * @by_place: frames are places, not functions.
 * @by_pid: distinguish processes.
 * @source: only this one; SFRAME_UNWIND_PROFILE_NONE for all.
 */
struct tree_options {
	bool by_place;
	bool by_pid;
	uint32_t source;
};

/**
 * struct tree - a tree
 *
 * @nodes: the nodes; the first one is the root.
 * @nr: number of those.
 * @room: room for those.
 * @slots: numbers of nodes by a hash of their parent and what they are, or 0.
 * @mask: number of @slots less 1.
 * @comms: names of threads.
 */
struct tree {
	struct node *nodes;
	uint32_t nr;
	uint32_t room;
	uint32_t *slots;
	uint32_t mask;
	struct strings comms;
};

/* Read all samples. */
void tree_read(struct tree *tree, struct load *load,
	       const struct tree_options *options);

void tree_free(struct tree *tree);

/*
 * Instead of tree_read(), for more samples again and again: begin with none, and
 * add those that load_next() returns.
 */
void tree_begin(struct tree *tree);
void tree_add(struct tree *tree, struct load *load,
	      const struct tree_options *options);

/* Let what was added before count for an eighth less. */
void tree_decay(struct tree *tree);

/**
 * struct tree_path - a node and its ancestors; all 0 before the first use
 *
 * @nodes: numbers of the nodes, the outermost first; that of a thread's name is
 *	the first one.
 * @nr: number of those.
 * @room: room for those.
 */
struct tree_path {
	uint32_t *nodes;
	uint32_t nr;
	uint32_t room;
};

/* Set @path to that of a frame, or of a thread's name. */
void tree_get_path(const struct tree *tree, uint32_t node,
		   struct tree_path *path);

#endif /* CLI_PROFILE_TREE_H */
