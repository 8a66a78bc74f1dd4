// SPDX-License-Identifier: GPL-2.0
/*
 * gen_broken DIRECTORY: write the sections of broken.h to files NAME.sframe,
 * and EXPECT with a line for each; see corpus.h. The same for broken_extended.h, in
 * the directory extended.
 */
#include "broken_extended.h"
#include "expect.h"
#include "output.h"

static FILE *create(const char *dir, const char *name, const char *ending)
{
	char path[8192];

	snprintf(path, sizeof(path), "%s/%s%s", dir, name, ending);
	return output_create(path);
}

static void write_extended(const char *dir)
{
	u8 section[EXTENDED_END];
	FILE *expect, *file;
	char path[4096];

	snprintf(path, sizeof(path), "%s/extended", dir);
	expect = create(path, "EXPECT", "");
	expect_write_extended(expect);
	output_done(expect);
	for (unsigned int i = 0; i < NR_BROKEN_EXTENDED; i++) {
		extended_break(section, &broken_extended[i]);
		file = create(path, broken_extended[i].name, ".sframe");
		fwrite(section, 1, sizeof(section), file);
		output_done(file);
	}
}

int main(int argc, char **argv)
{
	u8 section[sizeof(struct base)];
	FILE *expect, *file;
	unsigned int i;
	u32 size;

	if (argc != 2) {
		fprintf(stderr, "usage: gen_broken DIRECTORY\n");
		return 2;
	}
	expect = create(argv[1], "EXPECT", "");
	expect_write_head(expect);
	for (i = 0; i < NR_BROKEN; i++) {
		size = broken_build(&broken[i], section);
		file = create(argv[1], broken[i].name, ".sframe");
		fwrite(section, 1, size, file);
		output_done(file);
		expect_write(expect, &broken[i], section, size);
	}
	output_done(expect);
	write_extended(argv[1]);
	return 0;
}
