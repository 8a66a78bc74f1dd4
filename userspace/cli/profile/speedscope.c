// SPDX-License-Identifier: GPL-2.0
/*
 * speedscope's own format: https://www.speedscope.app/file-format-schema.json.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "cli/profile/common.h"
#include "cli/profile/outputs.h"

/* Functions by number, then names of threads. */
static void put_frames(FILE *to, const struct tree *tree, struct load *load,
		       uint32_t nr_functions)
{
	fputs("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
	      "\"exporter\":\"sframe-unwind\",\n\"shared\":{\"frames\":[\n", to);
	for (uint32_t i = 0; i < nr_functions; i++) {
		const struct function *function = names_function(load->names, i);

		fputs("{\"name\":", to);
		common_json(to, function->name);
		if (function->object[0]) {
			fputs(",\"file\":", to);
			common_json(to, function->object);
		}
		fputs("},\n", to);
	}
	for (uint32_t i = 0; i < tree->comms.pairs.nr; i++) {
		fputs("{\"name\":", to);
		common_json(to, tree->comms.texts[i]);
		fputs(i + 1 < tree->comms.pairs.nr ? "},\n" : "}\n", to);
	}
	fputs("]},\n\"profiles\":[", to);
}

/* The frames of a stack, the outermost first. */
static void put_stack(FILE *to, const struct tree *tree,
		      const struct tree_path *path, uint32_t nr_functions)
{
	fprintf(to, "[%" PRIu32, nr_functions +
		tree->nodes[path->nodes[0]].number);
	for (uint32_t i = 1; i < path->nr; i++)
		fprintf(to, ",%" PRIu32, tree->nodes[path->nodes[i]].number);
	putc(']', to);
}

static void put_profile(FILE *to, const struct tree *tree, struct load *load,
			uint32_t source, const uint32_t *sources,
			uint32_t nr_functions)
{
	struct tree_path path = { 0 };
	const char *separator = "";

	fputs("{\"type\":\"sampled\",\"unit\":\"none\",\"name\":", to);
	common_json(to, load_source_name(load, tree->nodes[source].number));
	fprintf(to, ",\"startValue\":0,\"endValue\":%" PRIu64 ",\n\"samples\":[",
		tree->nodes[source].total);
	for (uint32_t i = source; i < tree->nr; i++) {
		if (!tree->nodes[i].samples || sources[i] != source)
			continue;
		fputs(separator, to);
		tree_get_path(tree, i, &path);
		put_stack(to, tree, &path, nr_functions);
		separator = ",\n";
	}
	fputs("],\n\"weights\":[", to);
	separator = "";
	for (uint32_t i = source; i < tree->nr; i++) {
		if (!tree->nodes[i].samples || sources[i] != source)
			continue;
		fprintf(to, "%s%" PRIu64, separator, tree->nodes[i].self);
		separator = ",";
	}
	fputs("]}", to);
	free(path.nodes);
}

void output_speedscope(FILE *to, struct load *load)
{
	const struct tree_options options = {
		.source = SFRAME_UNWIND_PROFILE_NONE,
	};
	uint32_t nr_functions = 0, *sources;
	const char *separator = "\n";
	struct tree tree;

	tree_read(&tree, load, &options);
	sources = table_allocate(tree.nr * sizeof(*sources));
	for (uint32_t i = 1; i < tree.nr; i++) {
		const struct node *node = &tree.nodes[i];

		sources[i] = node->kind == NODE_SOURCE ? i :
			     sources[node->parent];
		if (node->kind == NODE_FRAME && node->number >= nr_functions)
			nr_functions = node->number + 1;
	}
	put_frames(to, &tree, load, nr_functions);
	for (uint32_t i = 1; i < tree.nr; i++) {
		if (tree.nodes[i].kind != NODE_SOURCE)
			continue;
		fputs(separator, to);
		put_profile(to, &tree, load, i, sources, nr_functions);
		separator = ",\n";
	}
	fputs("]}\n", to);
	free(sources);
	tree_free(&tree);
}
