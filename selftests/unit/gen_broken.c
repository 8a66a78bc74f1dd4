// SPDX-License-Identifier: GPL-2.0
/*
 * gen_broken DIRECTORY: write the sections of broken.h to files NAME.sframe,
 * and a file "index" with a line for each, of fields separated by tabs:
 *
 *	NAME STAGE ERRNO OFFSET PC ADDRESS DEFECT WHAT
 *
 * STAGE is who refuses it: open; find or rule, in a lookup of PC and when
 * validating; validate alone; or legal, nobody. OFFSET is that of the defect
 * in the file, and DEFECT its text, or "-". PC counts from where the section
 * is mapped. ADDRESS is "any", or the one address where the section has to
 * be mapped for the defect to be one.
 */
#include <stdio.h>
#include <stdlib.h>

#include "broken.h"

static const char * const stages[] = {
	[BROKEN_OPEN] = "open",
	[BROKEN_FIND] = "find",
	[BROKEN_RULE] = "rule",
	[BROKEN_VALIDATE] = "validate",
	[LEGAL] = "legal",
};

static FILE *create(const char *dir, const char *name, const char *ending)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s%s", dir, name, ending);
	file = fopen(path, "w");
	if (!file) {
		perror(path);
		exit(1);
	}
	return file;
}

static void done(FILE *file)
{
	if (ferror(file) | fclose(file)) {
		perror("gen_broken");
		exit(1);
	}
}

static void write_line(FILE *index, const struct broken *b)
{
	fprintf(index, "%s\t%s\t%s\t", b->name, stages[b->stage],
		broken_errno(b->err));
	if (b->stage == LEGAL)
		fprintf(index, "-\t");
	else
		fprintf(index, "%#x\t", b->offset);
	if (b->stage == BROKEN_FIND || b->stage == BROKEN_RULE)
		fprintf(index, "%#llx\t", (unsigned long long)b->pc);
	else
		fprintf(index, "-\t");
	fprintf(index, "%s\t%s\t%s\n", b->at_zero ? "0" : "any",
		b->stage == LEGAL ? "-" : sfu_defect_text(b->kind), b->what);
}

int main(int argc, char **argv)
{
	u8 section[sizeof(struct base)];
	FILE *index, *file;
	unsigned int i;

	if (argc != 2) {
		fprintf(stderr, "usage: gen_broken DIRECTORY\n");
		return 2;
	}
	index = create(argv[1], "index", "");
	for (i = 0; i < NR_BROKEN; i++) {
		file = create(argv[1], broken[i].name, ".sframe");
		fwrite(section, 1, broken_build(&broken[i], section), file);
		done(file);
		write_line(index, &broken[i]);
	}
	done(index);
	return 0;
}
