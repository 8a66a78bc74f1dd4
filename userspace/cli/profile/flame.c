// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/profile/common.h"
#include "cli/profile/flame.h"

static uint32_t add_frame(struct flame *flame, uint32_t parent,
			  const struct flame_frame *frame)
{
	const uint32_t old = flame->keys.nr;
	const uint32_t number = pairs_add(&flame->keys,
		(uint64_t)parent << 32 | frame->name,
		(uint64_t)frame->object << 8 | frame->code << 2 |
		(uint64_t)frame->is_unsure << 1 | frame->is_inlined);

	if (number < old)
		return number;
	flame->frames = table_grow(flame->frames, &flame->room, number,
				   sizeof(*frame));
	flame->frames[number] = *frame;
	flame->frames[number].parent = parent;
	flame->frames[number].level = number ?
				      flame->frames[parent].level + 1 : 0;
	return number;
}

static uint32_t add_node(struct flame *flame, uint32_t parent,
			 const struct tree *tree, struct load *load,
			 const struct node *node)
{
	struct flame_frame frame = { .is_unsure = node->is_unsure };
	const struct function *function;

	if (node->kind == NODE_COMM) {
		frame.name = strings_add(&flame->texts,
					 tree->comms.texts[node->number]);
		frame.code = CODE_MARK;
		return add_frame(flame, parent, &frame);
	}
	function = names_function(load->names, node->number);
	frame.name = strings_add(&flame->texts, function->name);
	frame.object = strings_add(&flame->texts, function->object);
	frame.code = function->code;
	frame.is_inlined = function->is_inlined;
	if (function->code == CODE_MARK)
		flame->cut += node->total;
	return add_frame(flame, parent, &frame);
}

static void add_tree(struct flame *flame, const struct tree *tree,
		     struct load *load, uint32_t source, double scale)
{
	uint32_t *frame_of = table_allocate(tree->nr * sizeof(*frame_of));

	for (uint32_t i = source; i < tree->nr; i++) {
		const struct node *node = &tree->nodes[i];
		struct flame_frame *frame;

		/* TABLE_NONE: of another event. */
		if (i == source)
			frame_of[i] = 0;
		else if (node->kind <= NODE_SOURCE || node->parent < source ||
			 frame_of[node->parent] == TABLE_NONE)
			frame_of[i] = TABLE_NONE;
		else
			frame_of[i] = add_node(flame, frame_of[node->parent],
					       tree, load, node);
		if (frame_of[i] == TABLE_NONE)
			continue;
		frame = &flame->frames[frame_of[i]];
		if (scale != 0) {
			frame->before += node->total * scale;
			continue;
		}
		frame->self += node->self;
		frame->total += node->total;
	}
	free(frame_of);
}

static int compare(const void *a, const void *b, void *data)
{
	const struct flame *flame = data;
	const struct flame_frame *left = &flame->frames[*(const uint32_t *)a];
	const struct flame_frame *right = &flame->frames[*(const uint32_t *)b];
	const int order = strcmp(flame->texts.texts[left->name],
				 flame->texts.texts[right->name]);

	if (order)
		return order;
	return (*(const uint32_t *)a > *(const uint32_t *)b) -
	       (*(const uint32_t *)a < *(const uint32_t *)b);
}

/* Frames lie beside each other in the order of their names. */
static void lay_out(struct flame *flame)
{
	const uint32_t nr = flame->keys.nr;
	uint32_t *first = table_allocate((nr + 1) * sizeof(*first));
	uint32_t *list = table_allocate(nr * sizeof(*list));
	uint32_t sum = 0;

	for (uint32_t i = 1; i < nr; i++)
		first[flame->frames[i].parent]++;
	for (uint32_t i = 0; i <= nr; i++) {
		sum += first[i];
		first[i] = sum;
	}
	for (uint32_t i = nr; i-- > 1;)
		list[--first[flame->frames[i].parent]] = i;
	/* A parent has a smaller number than its children. */
	for (uint32_t i = 0; i < nr; i++) {
		const uint32_t nr_children = first[i + 1] - first[i];
		double x = flame->frames[i].x;

		if (!nr_children)
			continue;
		qsort_r(list + first[i], nr_children, sizeof(*list), compare,
			flame);
		for (uint32_t j = first[i]; j < first[i + 1]; j++) {
			flame->frames[list[j]].x = x;
			if (flame->frames[0].total)
				x += (double)flame->frames[list[j]].total /
				     flame->frames[0].total;
		}
	}
	free(first);
	free(list);
}

void flame_make(struct flame *flame, const struct tree *tree, struct load *load,
		uint32_t source, const struct tree *before,
		struct load *load_before, uint32_t source_before)
{
	struct flame_frame root = { .code = CODE_MARK };
	const uint64_t total = tree->nodes[source].total;
	uint64_t total_before;

	*flame = (struct flame){ .samples = tree->nodes[source].all_samples };
	strings_add(&flame->texts, "");
	root.name = strings_add(&flame->texts, "all");
	add_frame(flame, 0, &root);
	add_tree(flame, tree, load, source, 0);
	flame->unit = common_escape(load_source_name(load,
					tree->nodes[source].number));
	if (before) {
		const uint64_t cut = flame->cut;

		flame->is_diff = true;
		total_before = before->nodes[source_before].total;
		add_tree(flame, before, load_before, source_before,
			 total_before ? (double)total / total_before : 1);
		flame->cut = cut;
	}
	lay_out(flame);
}

void flame_free(struct flame *flame)
{
	free(flame->frames);
	pairs_free(&flame->keys);
	strings_free(&flame->texts);
	free(flame->title);
	free(flame->unit);
}

static bool has_end(const char *text, const char *end)
{
	const size_t length = strlen(text);

	return length >= strlen(end) &&
	       !strcmp(text + length - strlen(end), end);
}

int flame_save(const struct flame *flame, const char *path, unsigned int width)
{
	FILE *to = !strcmp(path, "-") ? stdout : fopen(path, "we");

	if (!to)
		return complain("%s: %s", path, strerror(errno));
	flame_write(flame, to, width, has_end(path, ".html") ||
				      has_end(path, ".htm"));
	if (to != stdout && (ferror(to) | fclose(to)))
		return complain("%s: cannot write", path);
	return CLI_OK;
}

uint32_t flame_find_source(const struct tree *tree, struct load *load,
			   const char *name)
{
	for (uint32_t i = 1; i < tree->nr; i++)
		if (tree->nodes[i].kind == NODE_SOURCE &&
		    (!name || !strcmp(name, load_source_name(load,
						tree->nodes[i].number))))
			return i;
	return 0;
}
