/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Flame graphs: a tree of functions, in which each is as wide as it has events;
 * or two of them, one above the other, to compare them.
 */
#ifndef CLI_PROFILE_FLAME_H
#define CLI_PROFILE_FLAME_H

#include <stdio.h>

#include "cli/profile/tree.h"

/**
 * struct flame_frame - one rectangle
 *
 * @parent: number of the frame below, which is smaller.
 * @level: 0 for the root.
 * @name: number of the name in the graph's texts.
 * @object: number of the object's name.
 * @code: kind of code.
 * @is_unsure: whether the frame may be wrong.
 * @is_inlined: whether the function is part of the one below.
 * @self: events that end here.
 * @total: events of all samples through here.
 * @before: the same in the other profile, in the units of this one.
 * @x: where it begins, as a part of the width.
 */
struct flame_frame {
	uint32_t parent;
	uint32_t level;
	uint32_t name;
	uint32_t object;
	enum code code;
	bool is_unsure;
	bool is_inlined;
	uint64_t self;
	uint64_t total;
	double before;
	double x;
};

/**
 * struct flame - a flame graph
 *
 * @frames: the frames; the first one is the root.
 * @keys: numbers of frames.
 * @room: room for frames.
 * @texts: names.
 * @title: escaped title.
 * @unit: name of the events, escaped.
 * @samples: number of samples.
 * @cut: events of samples whose stacks end too early.
 * @least: frames with less than this part of all events are left out.
 * @is_diff: whether @before of the frames is to be shown.
 */
struct flame {
	struct flame_frame *frames;
	struct pairs keys;
	uint32_t room;
	struct strings texts;
	char *title;
	char *unit;
	uint64_t samples;
	uint64_t cut;
	double least;
	bool is_diff;
};

/*
 * Make a graph of what a tree has below node @source, and if @before is not NULL
 * of what that one has below node @source_before.
 */
void flame_make(struct flame *flame, const struct tree *tree, struct load *load,
		uint32_t source, const struct tree *before,
		struct load *load_before, uint32_t source_before);

void flame_free(struct flame *flame);

/* Write it as SVG, or inside of HTML, @width pixels wide. */
void flame_write(const struct flame *flame, FILE *to, unsigned int width,
		 bool is_html);

/*
 * Write a graph to the file @path, as HTML if its name ends with ".html" or
 * ".htm". Returns an exit status, after a message if it is not CLI_OK.
 */
int flame_save(const struct flame *flame, const char *path, unsigned int width);

/*
 * Returns the node of the event called @name, or of the first one if it is
 * NULL; 0 if there is none.
 */
uint32_t flame_find_source(const struct tree *tree, struct load *load,
			   const char *name);

#endif /* CLI_PROFILE_FLAME_H */
