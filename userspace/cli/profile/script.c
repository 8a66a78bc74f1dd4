// SPDX-License-Identifier: GPL-2.0
/*
 * sframe-unwind script: the samples of a profile, in formats of other tools.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sframe_unwind.h>

#include "cli/cli.h"
#include "cli/escape.h"
#include "cli/profile/common.h"
#include "cli/profile/order.h"
#include "cli/profile/outputs.h"

const char script_help[] =
"usage: sframe-unwind script [OPTION]...\n\n"
"Print the samples of a profile.\n\n"
"  sframe-unwind script                        as perf script does\n"
"  sframe-unwind script --folded               one line for each stack\n"
"  sframe-unwind script --format pprof -o p.pb.gz; go tool pprof p.pb.gz\n\n"
"      --folded       the same as --format folded\n"
"      --format=FORMAT  perf: the text of perf script (the default);\n"
"                     folded: command, functions from the outermost, and number\n"
"                     of samples, as flamegraph.pl reads it; of time off the\n"
"                     CPU, microseconds;\n"
"                     pprof: compressed protocol buffer;\n"
"                     json: for speedscope\n"
"      --how          with perf's text: behind each of the user's frames, how it\n"
"                     was found, if the profile tells\n"
"  -o, --output=FILE  write to FILE instead of standard output\n"
COMMON_HELP;

enum {
	OPTION_FOLDED = COMMON_OTHERS,
	OPTION_FORMAT,
	OPTION_HOW,
};

static const struct option longs[] = {
	{ "folded", no_argument, NULL, OPTION_FOLDED },
	{ "format", required_argument, NULL, OPTION_FORMAT },
	{ "how", no_argument, NULL, OPTION_HOW },
	{ "output", required_argument, NULL, 'o' },
	COMMON_LONG
};

enum format { PERF, FOLDED, PPROF, JSON, FORMATS };

static const char * const format_names[FORMATS] = {
	"perf", "folded", "pprof", "json",
};

struct script {
	struct common common;
	enum format format;
	bool how;
	const char *output;
};

static int parse_format(struct script *script, const char *name)
{
	for (unsigned int i = 0; i < FORMATS; i++) {
		if (strcmp(name, format_names[i]))
			continue;
		script->format = i;
		return CLI_OK;
	}
	return usage_error("script", "--format: perf, folded, pprof or json");
}

static int parse_option(struct script *script, int option)
{
	if (common_option(&script->common, option))
		return CLI_OK;
	switch (option) {
	case OPTION_FOLDED:
		script->format = FOLDED;
		return CLI_OK;
	case OPTION_FORMAT:
		return parse_format(script, optarg);
	case OPTION_HOW:
		script->how = true;
		return CLI_OK;
	case 'o':
		script->output = optarg;
		return CLI_OK;
	default:
		return usage_error("script", NULL);
	}
}

/* Without a name, object and offset are both in @function->name. */
static void put_name(FILE *to, const struct function *function,
		     const struct place *place)
{
	if (!strcmp(function->object, NAMES_NOT_MAPPED)) {
		fputs("[unknown]", to);
		return;
	}
	print_escaped(to, function->name);
	if (!function->is_inlined)
		fprintf(to, "+0x%" PRIx64, place->address - place->start);
}

/* What is behind the address: function, offset and object, for each function. */
static char *make_lines(struct load *load, uint32_t number)
{
	const struct place *place = names_place(load->names, number);
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	if (!to)
		return table_copy(" [no memory]\n");
	for (uint32_t i = 0; i < place->nr; i++) {
		const struct function *function = names_function(load->names,
			names_number(load->names, place, i));

		if (i)
			putc('\v', to);
		putc(' ', to);
		put_name(to, function, place);
		fputs(" (", to);
		if (function->is_inlined)
			fputs("inlined", to);
		else if (!strcmp(function->object, NAMES_NOT_MAPPED))
			fputs("[unknown]", to);
		else
			print_escaped(to, function->object);
		fputs(")\n", to);
	}
	fclose(to);
	return text ? text : table_copy(" [no memory]\n");
}

static const char *get_lines(struct output_texts *texts, struct load *load,
			     uint32_t place)
{
	texts->list = table_grow(texts->list, &texts->room, place,
				 sizeof(*texts->list));
	if (!texts->list[place])
		texts->list[place] = make_lines(load, place);
	return texts->list[place];
}

/* Write @value in hexadecimal, right-aligned in 16 characters. */
static void put_address(FILE *to, uint64_t value)
{
	static const char digits[] = "0123456789abcdef";
	char text[16];
	int at = sizeof(text);

	do {
		text[--at] = digits[value & 15];
		value >>= 4;
	} while (value);
	while (at)
		text[--at] = ' ';
	fwrite_unlocked(text, 1, sizeof(text), to);
}

/* Each line ends with a newline. @how: enum sframe_unwind_frame; 0: do not tell. */
static void put_frame(FILE *to, uint64_t address, const char *lines,
		      unsigned int how)
{
	size_t length;

	for (;;) {
		length = strcspn(lines, "\v");
		putc_unlocked('\t', to);
		put_address(to, address);
		fwrite_unlocked(lines, 1, length - 1, to);
		if (how)
			fprintf(to, " [%s]", sframe_unwind_frame_name(how));
		putc_unlocked('\n', to);
		if (!lines[length])
			break;
		lines += length + 1;
	}
}

void output_head(FILE *to, struct load *load,
		 const struct sframe_unwind_profile_record *record,
		 bool has_chain)
{
	const char *comm = history_comm(load->history, record->pid, record->tid,
					record->time);
	char shown[128], name[256];

	escape(shown, sizeof(shown), comm);
	escape(name, sizeof(name), load_source_name(load, record->source));
	fprintf(to, has_chain ? "%s %7d" : "%16s %7d", shown,
		(int)record->tid);
	if (record->cpu != SFRAME_UNWIND_PROFILE_NONE)
		fprintf(to, " [%03u]", record->cpu);
	if (record->time)
		fprintf(to, " %5" PRIu64 ".%06" PRIu64 ":",
			record->time / 1000000000,
			record->time % 1000000000 / 1000);
	fprintf(to, " %10" PRIu64 " %s: ", record->sample.period, name);
}

static void put_sample(FILE *to, struct load *load,
		       const struct sframe_unwind_profile_record *record,
		       const uint64_t *frames, const uint32_t *places,
		       const uint8_t *how, uint32_t nr,
		       struct output_texts *texts)
{
	const uint32_t nr_kernel = record->sample.nr_kernel;
	const bool has_chain = record->sample.flags &
			       SFRAME_UNWIND_PROFILE_CHAIN;
	const char *cut = load_cut(&record->sample);

	output_head(to, load, record, has_chain);
	if (has_chain)
		putc('\n', to);
	for (uint32_t i = 0; i < nr; i++)
		put_frame(to, frames[i], get_lines(texts, load, places[i]),
			  how && i >= nr_kernel ? how[i - nr_kernel] : 0);
	if (cut)
		fprintf(to, "\t                 %s\n", cut);
	if (has_chain)
		putc('\n', to);
}

void output_sample(FILE *to, struct load *load,
		   const struct sframe_unwind_profile_record *record,
		   struct output_texts *texts)
{
	const struct sframe_unwind_profile_sample *sample = &record->sample;
	uint32_t nr;
	const uint32_t *places = names_of_sample(load->names, record, &nr);

	/* A sample without a chain is its own only frame. */
	put_sample(to, load, record, sample->nr_kernel || sample->nr_user ?
		   sample->frames : &sample->ip, places, NULL, nr, texts);
}

void output_free_texts(struct output_texts *texts)
{
	for (uint32_t i = 0; i < texts->room; i++)
		free(texts->list[i]);
	free(texts->list);
	*texts = (struct output_texts){ 0 };
}

void output_text(FILE *to, struct load *load, bool how)
{
	struct output_texts texts = { 0 };
	struct order order = { 0 };
	struct ordered *sample;

	while ((sample = order_next(&order, load))) {
		put_sample(to, load, &sample->record, sample->frames,
			   ordered_places(sample),
			   how ? ordered_how(sample) : NULL, sample->nr, &texts);
		free(sample);
	}
	order_free(&order);
	output_free_texts(&texts);
}

void output_folded_name(FILE *to, const char *name)
{
	char *escaped = common_escape(name);

	for (char *at = escaped; *at; at++)
		if (*at == ';')
			*at = ':';
	fputs(escaped, to);
	free(escaped);
}

static uint32_t source_of(const struct tree *tree, uint32_t node)
{
	while (tree->nodes[node].kind != NODE_SOURCE)
		node = tree->nodes[node].parent;
	return tree->nodes[node].number;
}

void output_folded(FILE *to, struct load *load)
{
	const struct tree_options options = {
		.source = SFRAME_UNWIND_PROFILE_NONE,
	};
	struct tree_path path = { 0 };
	struct tree tree;

	tree_read(&tree, load, &options);
	for (uint32_t i = 1; i < tree.nr; i++) {
		if (!tree.nodes[i].samples)
			continue;
		tree_get_path(&tree, i, &path);
		output_folded_name(to, tree.comms.texts[
				tree.nodes[path.nodes[0]].number]);
		for (uint32_t j = 1; j < path.nr; j++) {
			putc(';', to);
			output_folded_name(to, names_function(load->names,
				tree.nodes[path.nodes[j]].number)->name);
		}
		/* Of time, microseconds: whole numbers are wanted. */
		fprintf(to, " %" PRIu64 "\n",
			common_is_time(load_source_name(load,
							source_of(&tree, i))) ?
			tree.nodes[i].self / 1000 : tree.nodes[i].samples);
	}
	free(path.nodes);
	tree_free(&tree);
}

static int write_output(const struct script *script, struct load *load,
			FILE *to)
{
	int ret = 0;

	switch (script->format) {
	case FOLDED:
		output_folded(to, load);
		break;
	case PPROF:
		ret = output_pprof(to, load);
		break;
	case JSON:
		output_speedscope(to, load);
		break;
	default:
		output_text(to, load, script->how);
		break;
	}
	if (ret)
		return complain("script: cannot compress: %s", strerror(-ret));
	return CLI_OK;
}

static int run(const struct script *script)
{
	FILE *to = stdout;
	struct load load;
	int status;

	if (script->format == PPROF && !script->output &&
	    isatty(STDOUT_FILENO))
		return usage_error("script",
				   "--format pprof is not for a terminal; give -o FILE");
	status = load_open(&load, script->common.input, &script->common.names);
	if (status)
		return status;
	if (script->output) {
		to = fopen(script->output, "we");
		if (!to) {
			complain("%s: %s", script->output, strerror(errno));
			load_close(&load);
			return CLI_TROUBLE;
		}
	}
	setvbuf(to, NULL, _IOFBF, 1 << 18);
	status = write_output(script, &load, to);
	if (script->output && (ferror(to) | fclose(to)))
		status = complain("%s: cannot write", script->output);
	else if (!script->output)
		fflush(stdout);
	load_complain(&load);
	if (!status)
		status = load_status(&load);
	load_close(&load);
	return status;
}

int script_main(int argc, char **argv)
{
	static const struct options options = {
		.command = "script",
		.help = script_help,
		.shorts = COMMON_SHORT "o:",
		.longs = longs,
	};
	struct script script = {
		.common.input = LOAD_DEFAULT,
		.common.names.no_inlined = true,
	};
	int option, status;

	while ((option = options_next(&options, argc, argv)) != -1) {
		status = parse_option(&script, option);
		if (status)
			return status;
	}
	if (optind < argc)
		return usage_error("script", "takes no argument but options");
	if (script.how && script.format != PERF)
		return usage_error("script", "--how is for --format perf");
	return run(&script);
}
