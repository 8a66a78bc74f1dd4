// SPDX-License-Identifier: GPL-2.0
/*
 * sframe-unwind report: which functions the samples were in.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/profile/browser.h"
#include "cli/profile/callers.h"
#include "cli/profile/common.h"
#include "cli/profile/rows.h"

#define COLUMNS_DEFAULT	(ROW_COMM | ROW_OBJECT | ROW_SYMBOL)
#define TEXT_COLUMNS	4

const char report_help[] =
"usage: sframe-unwind report [OPTION]...\n\n"
"Print which functions the samples of a profile were in.\n\n"
"  sframe-unwind report                       of perf.data\n"
"  sframe-unwind report --no-children -s sym  only functions, without callers\n"
"  sframe-unwind report -g                    with callers\n\n"
"  -s, --sort=COLUMN[,...]  add up by: comm, pid, dso (the object), sym;\n"
"                     default: comm,dso,sym\n"
"      --children     count samples also for all callers of a function; the\n"
"                     default if the profile has call chains\n"
"      --no-children  do not\n"
"  -g, --call-graph[=LIMIT]  print callers under each row, those of at least\n"
"                     LIMIT percent of all samples; default: 0.5\n"
"      --percent-limit=LIMIT  leave out rows of less than that; default: 0\n"
"  -n, --show-nr-samples  print also the number of samples\n"
"      --stdio        print text, also on a terminal; else there is a screen whose\n"
"                     lines can be opened: see its help, ?\n"
COMMON_HELP;

enum {
	OPTION_CHILDREN = COMMON_OTHERS,
	OPTION_NO_CHILDREN,
	OPTION_PERCENT_LIMIT,
	OPTION_STDIO,
};

static const struct option longs[] = {
	{ "sort", required_argument, NULL, 's' },
	{ "children", no_argument, NULL, OPTION_CHILDREN },
	{ "no-children", no_argument, NULL, OPTION_NO_CHILDREN },
	{ "call-graph", optional_argument, NULL, 'g' },
	{ "percent-limit", required_argument, NULL, OPTION_PERCENT_LIMIT },
	{ "show-nr-samples", no_argument, NULL, 'n' },
	{ "stdio", no_argument, NULL, OPTION_STDIO },
	COMMON_LONG
};

/**
 * struct report - what to print
 *
 * @common: options of all commands.
 * @columns: ROW_* bits.
 * @children: 1 or 0 if --children or --no-children was given, else -1.
 * @has_callers: whether to print callers.
 * @callers_limit: which, in percent.
 * @limit: which rows, in percent.
 * @has_samples: whether to print numbers of samples.
 * @stdio: whether to print text, also on a terminal.
 * @width: characters of a line, 0 if there is no limit.
 */
struct report {
	struct common common;
	uint32_t columns;
	int children;
	bool has_callers;
	double callers_limit;
	double limit;
	bool has_samples;
	bool stdio;
	int width;
};

/* Returns whether @text is a percentage. */
static bool parse_percent(const char *text, double *value)
{
	char *end;

	*value = strtod(text, &end);
	return end != text && !*end && *value >= 0 && *value <= 100;
}

static int parse_option(struct report *report, int option)
{
	if (common_option(&report->common, option))
		return CLI_OK;
	switch (option) {
	case 's':
		report->columns = rows_parse_columns(optarg);
		return report->columns ? CLI_OK :
		       usage_error("report", "--sort: unknown column");
	case OPTION_CHILDREN:
	case OPTION_NO_CHILDREN:
		report->children = option == OPTION_CHILDREN;
		return CLI_OK;
	case 'g':
		report->has_callers = true;
		if (optarg && !parse_percent(optarg, &report->callers_limit))
			return usage_error("report", "--call-graph: no percentage");
		return CLI_OK;
	case OPTION_PERCENT_LIMIT:
		return parse_percent(optarg, &report->limit) ? CLI_OK :
		       usage_error("report", "--percent-limit: no percentage");
	case 'n':
		report->has_samples = true;
		return CLI_OK;
	case OPTION_STDIO:
		report->stdio = true;
		return CLI_OK;
	default:
		return usage_error("report", NULL);
	}
}

/**
 * struct table - rows as text
 *
 * @report: what to print.
 * @rows: the rows.
 * @tree: the tree.
 * @children: whether to print the column of children.
 * @order: numbers of rows, the largest first.
 * @nr: number of those.
 * @texts: escaped texts by column, for each row in @order.
 * @widths: of these columns.
 */
struct table {
	const struct report *report;
	const struct rows *rows;
	const struct tree *tree;
	bool children;
	uint32_t *order;
	uint32_t nr;
	char *(*texts)[TEXT_COLUMNS];
	int widths[TEXT_COLUMNS];
};

static const char * const titles[TEXT_COLUMNS] = {
	"Command", "Pid", "Object", "Symbol",
};

static char *row_text(const struct table *table, const struct row *row,
		      unsigned int column)
{
	char *text = NULL, *escaped;
	int ret = 0;

	switch (1U << column) {
	case ROW_COMM:
		return common_escape(table->tree->comms.texts[row->comm]);
	case ROW_PID:
		ret = asprintf(&text, "%u", row->pid);
		break;
	case ROW_OBJECT:
		return common_escape(table->rows->texts.texts[row->object]);
	default:
		escaped = common_escape(table->rows->texts.texts[row->symbol]);
		ret = asprintf(&text, "%s%s", rows_code_mark(row->code), escaped);
		free(escaped);
		break;
	}
	return ret < 0 ? table_copy("") : text;
}

static uint64_t value(const struct table *table, const struct row *row)
{
	return table->children ? row->children : row->self;
}

static int compare(const void *a, const void *b, void *data)
{
	const struct table *table = data;
	const struct row *left = &table->rows->list[*(const uint32_t *)a];
	const struct row *right = &table->rows->list[*(const uint32_t *)b];

	if (value(table, left) != value(table, right))
		return value(table, left) > value(table, right) ? -1 : 1;
	if (left->self != right->self)
		return left->self > right->self ? -1 : 1;
	return (*(const uint32_t *)a > *(const uint32_t *)b) -
	       (*(const uint32_t *)a < *(const uint32_t *)b);
}

static double percent(const struct table *table, uint64_t events)
{
	return table->rows->total ? 100.0 * events / table->rows->total : 0;
}

static void make_order(struct table *table)
{
	const uint32_t nr = table->rows->keys.nr;

	table->order = table_allocate(nr * sizeof(uint32_t));
	for (uint32_t i = 0; i < nr; i++) {
		const struct row *row = &table->rows->list[i];

		if (value(table, row) &&
		    percent(table, value(table, row)) >= table->report->limit)
			table->order[table->nr++] = i;
	}
	qsort_r(table->order, table->nr, sizeof(uint32_t), compare, table);
}

static void make_texts(struct table *table)
{
	table->texts = table_allocate(table->nr * sizeof(*table->texts));
	for (unsigned int column = 0; column < TEXT_COLUMNS; column++) {
		int *width = &table->widths[column];

		if (!(table->report->columns & 1U << column))
			continue;
		*width = strlen(titles[column]);
		for (uint32_t i = 0; i < table->nr; i++) {
			const struct row *row =
				&table->rows->list[table->order[i]];
			char *text = row_text(table, row, column);
			const int wide = common_width(text);

			table->texts[i][column] = text;
			if (wide > *width)
				*width = wide;
		}
		/* Leave room for the function on a terminal. */
		if (table->report->width && column == 2 &&
		    *width > table->report->width / 4)
			*width = table->report->width / 4;
	}
}

static bool is_last(const struct table *table, unsigned int column)
{
	return !(table->report->columns >> (column + 1));
}

/* Print a text of @column; @at is where the line is. Returns where it is then. */
static int print_text(const struct table *table, unsigned int column,
		      const char *text, int at)
{
	const int limit = table->report->width;
	int width = table->widths[column];
	size_t length;

	if (is_last(table, column)) {
		width = common_width(text);
		if (limit && at + 2 + width > limit)
			width = limit - at - 2 > 8 ? limit - at - 2 : 8;
	}
	length = common_cut(text, width);
	printf("  %.*s", (int)length, text);
	if (!is_last(table, column))
		printf("%*s", width - common_width(text) > 0 ?
		       width - common_width(text) : 0, "");
	return at + 2 + width;
}

static void print_titles(const struct table *table)
{
	printf(table->children ? "# Children      Self" : "# Overhead");
	if (table->report->has_samples)
		printf("     Samples");
	for (unsigned int i = 0; i < TEXT_COLUMNS; i++)
		if (table->report->columns & 1U << i)
			print_text(table, i, titles[i], 0);
	printf("\n# ........");
	if (table->children)
		printf("  ........");
	if (table->report->has_samples)
		printf("  ..........");
	for (unsigned int i = 0; i < TEXT_COLUMNS; i++) {
		if (!(table->report->columns & 1U << i))
			continue;
		printf("  ");
		for (int j = 0; j < table->widths[i] &&
		     (!table->report->width || j < 40); j++)
			putchar('.');
	}
	printf("\n#\n");
}

static void print_row(const struct table *table, uint32_t i,
		      struct load *load)
{
	const struct row *row = &table->rows->list[table->order[i]];
	int at = 10;

	printf("%9.2f%%", percent(table, value(table, row)));
	if (table->children) {
		printf("%9.2f%%", percent(table, row->self));
		at += 10;
	}
	if (table->report->has_samples) {
		printf("  %10llu", (unsigned long long)row->samples);
		at += 12;
	}
	for (unsigned int column = 0; column < TEXT_COLUMNS; column++)
		if (table->report->columns & 1U << column)
			at = print_text(table, column, table->texts[i][column],
					at);
	putchar('\n');
	if (table->report->has_callers)
		callers_print(table->rows, table->tree, load, table->order[i],
			      table->children, table->report->callers_limit);
}

static void print_source(const struct report *report, const struct tree *tree,
			 struct load *load, uint32_t source)
{
	struct table table = { .report = report, .tree = tree };
	char *name = common_escape(load_source_name(load,
					tree->nodes[source].number));
	struct rows rows;

	rows_make(&rows, tree, load, source, report->columns);
	table.rows = &rows;
	table.children = report->children;
	make_order(&table);
	make_texts(&table);
	printf("# Samples: ");
	common_number(stdout, rows.samples);
	printf(" of event '%s'\n# %s: ", name,
	       common_is_time(name) ? "Time" : "Event count (approx.)");
	common_events(stdout, name, rows.total);
	printf("\n#\n");
	print_titles(&table);
	for (uint32_t i = 0; i < table.nr; i++)
		print_row(&table, i, load);
	putchar('\n');
	for (uint32_t i = 0; i < table.nr; i++)
		for (unsigned int j = 0; j < TEXT_COLUMNS; j++)
			free(table.texts[i][j]);
	free(table.texts);
	free(table.order);
	rows_free(&rows);
	free(name);
}

/* Whether any stack has more than one function. */
static bool has_chains(const struct tree *tree)
{
	for (uint32_t i = 1; i < tree->nr; i++)
		if (tree->nodes[i].kind == NODE_FRAME &&
		    tree->nodes[tree->nodes[i].parent].kind == NODE_FRAME)
			return true;
	return false;
}

static int terminal_width(void)
{
	struct winsize size;

	if (!isatty(STDOUT_FILENO))
		return 0;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || size.ws_col < 40)
		return 80;
	return size.ws_col;
}

static void print_sources(struct report *report, const struct tree *tree,
			  struct load *load)
{
	report->width = terminal_width();
	if (tree->nr == 1)
		printf("# no samples\n");
	if (load->lost) {
		printf("# Lost samples or records: ");
		common_number(stdout, load->lost);
		putchar('\n');
	}
	for (uint32_t i = 1; i < tree->nr; i++)
		if (tree->nodes[i].kind == NODE_SOURCE)
			print_source(report, tree, load, i);
}

/* The first line of the screen. */
static void make_head(const struct tree *tree, struct load *load,
		      uint32_t source, char *text, size_t size)
{
	if (!source)
		snprintf(text, size, "%s: no samples", load->path);
	else
		snprintf(text, size, "%s: %llu samples of %s%s", load->path,
			 (unsigned long long)tree->nodes[source].all_samples,
			 load_source_name(load, tree->nodes[source].number),
			 load->lost ? ", some were lost" : "");
}

/* The next source behind @source, or the first one; 0 if there is none. */
static uint32_t next_source(const struct tree *tree, uint32_t source)
{
	for (uint32_t i = 1; i <= tree->nr; i++) {
		const uint32_t at = (source + i) % tree->nr;

		if (tree->nodes[at].kind == NODE_SOURCE)
			return at;
	}
	return 0;
}

static void browse(const struct report *report, const struct tree *tree,
		   struct load *load)
{
	const struct items_options options = {
		.columns = report->columns,
		.children = report->children,
	};
	struct browser *browser = browser_open(&options, "");
	enum browser_wish wish = BROWSER_MAKE;
	uint32_t source = next_source(tree, 0);
	char head[512];

	for (; browser && wish != BROWSER_QUIT;
	     wish = browser_key(browser, true)) {
		if (wish == BROWSER_NEXT)
			source = next_source(tree, source);
		if (wish == BROWSER_NEXT || wish == BROWSER_MAKE)
			browser_set(browser, tree, load, source);
		make_head(tree, load, source, head, sizeof(head));
		browser_draw(browser, head);
	}
	browser_close(browser);
}

static int print_report(struct report *report)
{
	const struct tree_options options = {
		.by_pid = report->columns & ROW_PID,
		.source = SFRAME_UNWIND_PROFILE_NONE,
	};
	struct load load;
	struct tree tree;
	int status;

	status = load_open(&load, report->common.input, &report->common.names);
	if (status)
		return status;
	tree_read(&tree, &load, &options);
	if (report->children < 0)
		report->children = has_chains(&tree);
	if (!report->stdio && !report->has_callers && browser_is_possible())
		browse(report, &tree, &load);
	else
		print_sources(report, &tree, &load);
	fflush(stdout);
	load_complain(&load);
	status = load_status(&load);
	tree_free(&tree);
	load_close(&load);
	return status;
}

int report_main(int argc, char **argv)
{
	static const struct options options = {
		.command = "report",
		.help = report_help,
		.shorts = COMMON_SHORT "s:g::n",
		.longs = longs,
	};
	struct report report = {
		.common.input = LOAD_DEFAULT,
		.common.names.no_inlined = true,
		.columns = COLUMNS_DEFAULT,
		.children = -1,
		.callers_limit = 0.5,
	};
	int option, status;

	while ((option = options_next(&options, argc, argv)) != -1) {
		status = parse_option(&report, option);
		if (status)
			return status;
	}
	if (optind < argc)
		return usage_error("report", "takes no argument but options");
	return print_report(&report);
}
