// SPDX-License-Identifier: GPL-2.0
/*
 * gen_broken DIRECTORY: write the sections of broken.h to files NAME.sframe,
 * and EXPECT with a line for each; see corpus.h.
 */
#include "expect.h"
#include "output.h"

static FILE *create(const char *dir, const char *name, const char *ending)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s%s", dir, name, ending);
	return output_create(path);
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
	return 0;
}
