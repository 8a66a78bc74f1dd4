// SPDX-License-Identifier: GPL-2.0
/*
 * golden_test DIRECTORY: compare the sections that assembler and linker wrote
 * into the objects of selftests/fixtures with the rules of golden.txt there. A
 * case is a symbol.
 */
#include <stdlib.h>

#include "elf_section.h"
#include "lookup.h"
#include "tap.h"

#define MAX_RULES	200

struct golden {
	char object[64], symbol[64];
	u64 offset;
	char rule[100], other[100];	/* other: "" if there is only one rule */
};

static struct golden golden[MAX_RULES];
static unsigned int nr_golden;

/* Remove the comment, and white space at the end. */
static void trim(char *line)
{
	size_t length = strcspn(line, "#\n");

	while (length && strchr(" \t", line[length - 1]))
		length--;
	line[length] = '\0';
}

static bool parse_line(char *line, char *object)
{
	struct golden *g = &golden[nr_golden];
	char *plus;
	int at = 0;

	trim(line);
	if (!*line)
		return true;
	if (sscanf(line, "object %63s", object) == 1)
		return true;
	if (nr_golden && sscanf(line, "or %99[^\n]", g[-1].other) == 1)
		return true;
	if (nr_golden == MAX_RULES || !*object)
		return false;
	if (sscanf(line, "%63s %n", g->symbol, &at) != 1 || !line[at])
		return false;
	plus = strrchr(g->symbol, '+');
	if (!plus || strlen(line + at) >= sizeof(g->rule))
		return false;
	*plus = '\0';
	g->offset = strtoull(plus + 1, NULL, 0);
	strcpy(g->rule, line + at);
	strcpy(g->object, object);
	nr_golden++;
	return true;
}

/* Returns false if the file cannot be opened. */
static bool parse(const char *path)
{
	char line[256], object[64] = "";
	unsigned int number = 0;
	FILE *file;

	file = fopen(path, "r");
	if (!file)
		return false;
	while (fgets(line, sizeof(line), file)) {
		number++;
		if (!parse_line(line, object))
			tap_fail("%s:%u: not understood", path, number);
	}
	fclose(file);
	if (!nr_golden)
		tap_fail("%s: no rules", path);
	tap_case("golden.txt is understood");
	return true;
}

/*
 * Check all addresses from @from up to @to. Counts those with the other rule in
 * @deviant.
 */
static bool check_range(const struct sfu_table *table, const struct golden *g,
			u64 from, u64 to, unsigned int *deviant)
{
	struct sfu_defect defect;
	struct sfu_rule rule;
	char text[100];
	u64 pc;

	for (pc = from; pc < to; pc++) {
		rule_text(text, lookup(table, pc, &rule, &defect), &rule);
		if (!strcmp(text, g->rule))
			continue;
		if (strcmp(text, g->other))
			return tap_fail("+%#llx: \"%s\", not \"%s\"",
					(unsigned long long)(g->offset + pc - from),
					text, g->rule);
		*deviant += 1;
	}
	return true;
}

static bool same_symbol(const struct golden *a, const struct golden *b)
{
	return !strcmp(a->object, b->object) && !strcmp(a->symbol, b->symbol);
}

/*
 * Check the lines of golden[@i]'s symbol. Returns the index of the next
 * symbol's.
 */
static unsigned int check_symbol(const struct elf_section *section,
				 const struct sfu_table *table, unsigned int i)
{
	const struct golden *first = &golden[i];
	unsigned int deviant = 0;
	u64 start, size, end;
	bool known;

	known = elf_section_symbol(section, first->symbol, &start, &size);
	if (!known)
		tap_fail("no such symbol");
	for (; i < nr_golden && same_symbol(&golden[i], first); i++) {
		end = size;
		if (i + 1 < nr_golden && same_symbol(&golden[i + 1], first) &&
		    golden[i + 1].offset < size)
			end = golden[i + 1].offset;
		if (golden[i].offset >= size)
			end = golden[i].offset + 1;
		if (known)
			check_range(table, &golden[i], start + golden[i].offset,
				    start + end, &deviant);
	}
	tap_case("golden %s %s%s", first->object, first->symbol,
		 deviant ? " (as known toolchains have it, not as the CFI)" :
			   "");
	return i;
}

static bool open_object(const char *dir, const char *object,
			struct elf_section *section, struct sfu_table *table)
{
	struct sfu_defect defect = UNTOUCHED;
	struct sfu_bytes bytes;
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", dir, object);
	if (!elf_section_open(section, path))
		return tap_fail("%s: no .sframe section", path);
	bytes = bytes_at(section->bytes, section->size, section->address);
	if (sfu_table_open(table, &bytes, &defect) ||
	    sfu_table_validate(table, keep_first, &defect) ||
	    !is_untouched(&defect)) {
		elf_section_close(section);
		return tap_fail("%s at %#llx", sfu_defect_text(defect.kind),
				(unsigned long long)defect.offset);
	}
	return true;
}

/*
 * Check the lines of golden[@i]'s object. Returns the index of the next
 * object's.
 */
static unsigned int check_object(const char *dir, unsigned int i)
{
	const char *object = golden[i].object;
	struct elf_section section;
	struct sfu_table table;
	bool opened;

	opened = open_object(dir, object, &section, &table);
	tap_case("golden %s is valid", object);
	while (i < nr_golden && !strcmp(golden[i].object, object))
		i = opened ? check_symbol(&section, &table, i) : i + 1;
	if (opened)
		elf_section_close(&section);
	return i;
}

int main(int argc, char **argv)
{
	char path[4096];
	unsigned int i;

	if (argc != 2) {
		fprintf(stderr, "usage: golden_test DIRECTORY\n");
		return 2;
	}
	snprintf(path, sizeof(path), "%s/golden.txt", argv[1]);
	if (!parse(path))
		tap_skip("golden", "no fixtures, see selftests/fixtures/Makefile");
	for (i = 0; i < nr_golden;)
		i = check_object(argv[1], i);
	return tap_done();
}
