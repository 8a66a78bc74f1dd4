// SPDX-License-Identifier: GPL-2.0
/*
 * corpus_test DIRECTORY: decode and step give the results of EXPECT for each
 * file of the directory, and the files equal those that gen_broken makes.
 */
#include <dirent.h>

#include "broken_extended.h"
#include "expect.h"
#include "scene.h"
#include "tap.h"

static const char *dir;

static void expect_defect(const struct corpus_line *line, int ret,
			  const struct sfu_defect *defect)
{
	EXPECT_EQ(ret, -line->err);
	if (defect->offset != line->offset ||
	    strcmp(sfu_defect_text(defect->kind), line->defect))
		tap_fail("\"%s\" at %#llx, not \"%s\" at %#llx",
			 sfu_defect_text(defect->kind),
			 (unsigned long long)defect->offset, line->defect,
			 (unsigned long long)line->offset);
}

/* For a sound section the reference decoder must give the same rule. */
static void expect_reference(const struct scene *scene, const u8 *section,
			     u32 size, const struct corpus_walk *walk)
{
	struct ref_section ref = {
		.bytes = section,
		.size = size,
		.address = scene->address,
	};
	const u64 pc = scene->address + walk->pc;
	struct sfu_defect defect;
	struct sfu_rule rule;
	struct ref_rule want;
	int ret;

	/*
	 * The reference decoder does not know the range that a section is
	 * registered for.
	 */
	if (!ref_is_sound(&ref) || !strcmp(walk->rule, "EINVAL"))
		return;
	want = ref_lookup(&ref, pc);
	ret = lookup(&scene->table, pc, &rule, &defect);
	if (!rule_is(&want, ret, &rule))
		tap_fail("%#llx: the reference does not say %s",
			 (unsigned long long)walk->pc, walk->rule);
}

static void expect_walk(const struct scene *scene,
			const struct corpus_walk *want)
{
	char is[256], was[256];
	struct corpus_walk got;

	scene_walk(scene, want->pc, &got);
	if (strcmp(scene_walk_text(is, &got), scene_walk_text(was, want)))
		tap_fail("\"%s\", not \"%s\"", is, was);
}

static void expect_line(const struct corpus_line *line, struct scene *scene,
			const u8 *section, u32 size)
{
	struct sfu_defect defect = UNTOUCHED;
	u32 i;
	int ret;

	ret = scene_register(scene, section, size, &defect);
	EXPECT_EQ(ret, -line->register_err);
	if (ret) {
		if (!strcmp(line->stage, "open"))
			expect_defect(line, ret, &defect);
		EXPECT_EQ(line->nr_walks, 0);
		return;
	}
	EXPECT(is_untouched(&defect));
	EXPECT_EQ(sfu_table_validate(&scene->table, keep_first, &defect), 0);
	if (line->err)
		expect_defect(line, -EINVAL, &defect);
	else
		EXPECT(is_untouched(&defect));

	EXPECT(line->nr_walks > 0);
	for (i = 0; i < line->nr_walks; i++) {
		expect_walk(scene, &line->walks[i]);
		expect_reference(scene, section, size, &line->walks[i]);
	}
}

static void run(const struct corpus_line *line)
{
	u8 room[sizeof(struct base) + 1];
	const long size = corpus_read(dir, line, room, sizeof(room));
	struct scene scene;
	u8 *section;

	if (size < 0) {
		tap_fail("no such file");
		return;
	}
	/* Allocated to the byte, so that ASan catches reads beyond the end. */
	section = malloc(size);
	memcpy(section, room, size);
	scene_begin(&scene, line->address);
	expect_line(line, &scene, section, size);
	scene_end(&scene);
	free(section);
}

/* Compare @expect and the files with what gen_broken would write. */
static void compare_files(FILE *expect)
{
	u8 section[sizeof(struct base)], file[sizeof(section) + 1];
	char *made, *is = malloc(1 << 20);
	struct corpus_line line;
	size_t made_size, size;
	FILE *memory = open_memstream(&made, &made_size);
	unsigned int i;

	expect_write_head(memory);
	for (i = 0; i < NR_BROKEN; i++) {
		size = broken_build(&broken[i], section);
		expect_write(memory, &broken[i], section, size);
		snprintf(line.name, sizeof(line.name), "%s", broken[i].name);
		if (corpus_read(dir, &line, file, sizeof(file)) != (long)size ||
		    memcmp(section, file, size))
			tap_fail("%s.sframe is not what broken.h says",
				 line.name);
	}
	fclose(memory);
	rewind(expect);
	size = fread(is, 1, 1 << 20, expect);
	if (size != made_size || memcmp(is, made, size))
		tap_fail("EXPECT is not what gen_broken writes");
	free(made);
	free(is);
}

/* The same for the files in the directory extended. */
static void compare_extended(void)
{
	u8 section[EXTENDED_END], file[EXTENDED_END + 1];
	char path[2048], is[16384], *made;
	struct corpus_line line;
	size_t made_size, size = 0;
	FILE *memory = open_memstream(&made, &made_size), *expect;

	snprintf(path, sizeof(path), "%s/extended", dir);
	for (unsigned int i = 0; i < NR_BROKEN_EXTENDED; i++) {
		extended_break(section, &broken_extended[i]);
		snprintf(line.name, sizeof(line.name), "%s",
			 broken_extended[i].name);
		if (corpus_read(path, &line, file, sizeof(file)) !=
			    sizeof(section) ||
		    memcmp(section, file, sizeof(section)))
			tap_fail("%s.sframe is not what broken_extended.h says",
				 line.name);
	}
	expect_write_extended(memory);
	fclose(memory);
	snprintf(path, sizeof(path), "%s/extended/EXPECT", dir);
	expect = fopen(path, "r");
	if (expect) {
		size = fread(is, 1, sizeof(is), expect);
		fclose(expect);
	}
	if (size != made_size || memcmp(is, made, size))
		tap_fail("%s is not what gen_broken writes", path);
	free(made);
}

static int is_section(const struct dirent *entry)
{
	return strstr(entry->d_name, ".sframe") != NULL;
}

static void count_files(void)
{
	struct dirent **entries;
	const int nr = scandir(dir, &entries, is_section, alphasort);
	int i;

	for (i = 0; i < nr; i++)
		free(entries[i]);
	free(entries);
	EXPECT_EQ(nr, NR_BROKEN);
}

int main(int argc, char **argv)
{
	static struct corpus_line line;
	unsigned int nr = 0;
	FILE *expect;
	int ret;

	if (argc != 2) {
		fprintf(stderr, "usage: corpus_test DIRECTORY\n");
		return 2;
	}
	dir = argv[1];
	expect = corpus_open(dir);
	if (!expect) {
		perror(dir);
		return 1;
	}
	while ((ret = corpus_next(expect, &line)) > 0) {
		run(&line);
		tap_case("corpus %s: %s", line.name, line.what);
		nr++;
	}
	if (ret < 0 || nr != NR_BROKEN)
		tap_fail("line %u of EXPECT: behind \"%s\"", nr + 1, line.name);
	tap_case("corpus EXPECT is complete");
	compare_files(expect);
	compare_extended();
	tap_case("corpus is what gen_broken makes");
	count_files();
	tap_case("corpus has no other files");
	fclose(expect);
	return tap_done();
}
