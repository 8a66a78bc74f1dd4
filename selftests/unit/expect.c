// SPDX-License-Identifier: GPL-2.0
/*
 * The stage and reason of a refusal come from broken.h. The results of lookups
 * are those of the current decode and step; the tests check that they stay the
 * same.
 */
#include "broken_extended.h"
#include "expect.h"
#include "scene.h"

/* Different answers of one section that the base section does not give. */
#define MAX_ANSWERS	6

static const char * const stages[] = {
	[BROKEN_OPEN] = "open",
	[BROKEN_FIND] = "find",
	[BROKEN_RULE] = "rule",
	[BROKEN_VALIDATE] = "validate",
	[LEGAL] = "legal",
};

void expect_write_head(FILE *file)
{
	fprintf(file,
		"# Made by \"make -C selftests/unit corpus CORPUS=../corpus\"; fixtures/corpus.h has the format.\n"
		"# NAME\tSTAGE\tERRNO\tOFFSET\tDEFECT\tREGISTER\tADDRESS\tWALKS\tWHAT\n");
}

void expect_write_extended(FILE *file)
{
	fprintf(file,
		"# Made by \"make -C selftests/unit corpus CORPUS=../corpus\"; fixtures/corpus.h has the format.\n"
		"# NAME\tOFFSET\tDEFECT\tWHAT\n");
	for (unsigned int i = 0; i < NR_BROKEN_EXTENDED; i++) {
		const struct broken_extended *broken = &broken_extended[i];

		fprintf(file, "%s\t%#x\t%s\t%s\n", broken->name,
			broken->offset, sfu_defect_text(broken->kind),
			broken->what);
	}
}

static bool is_same(const struct corpus_walk *a, const struct corpus_walk *b)
{
	return !strcmp(a->rule, b->rule) && a->stop == b->stop &&
	       a->nr_frames == b->nr_frames &&
	       !memcmp(a->ips, b->ips, sizeof(a->ips));
}

static bool has_pc(const struct corpus_line *line, u64 pc)
{
	u32 i;

	for (i = 0; i < line->nr_walks && line->walks[i].pc != pc; i++)
		;
	return i < line->nr_walks;
}

static bool has_answer(const struct corpus_line *line,
		       const struct corpus_walk *walk)
{
	u32 i;

	for (i = 0; i < line->nr_walks && !is_same(&line->walks[i], walk); i++)
		;
	return i < line->nr_walks;
}

static void add(struct corpus_line *line, const struct corpus_walk *walk)
{
	if (line->nr_walks == CORPUS_MAX_WALKS)
		abort();
	line->walks[line->nr_walks++] = *walk;
}

/* The address after @pc to look up. Skips most of the largest function. */
static u64 next_pc(u64 pc)
{
	return pc == HUGE_PC + 0x100 ? HUGE_PC + HUGE_SIZE - 0x100 : pc + 1;
}

#define END_PC	(HUGE_PC + HUGE_SIZE + 2)

/* Add every address at which the base section's answer changes. */
static void choose_all(const struct scene *scene, struct corpus_line *line)
{
	struct corpus_walk walk;
	u64 pc;

	for (pc = SCENE_TEXT; pc < END_PC; pc = next_pc(pc)) {
		scene_walk(scene, pc, &walk);
		if (!line->nr_walks ||
		    !is_same(&line->walks[line->nr_walks - 1], &walk))
			add(line, &walk);
	}
}

/* Add the first address of each answer that differs from the base section's. */
static void choose_different(const struct scene *scene,
			     const struct scene *plain,
			     struct corpus_line *line)
{
	struct corpus_walk walk, was, same = {};
	u64 pc;

	for (pc = SCENE_TEXT; pc < END_PC; pc = next_pc(pc)) {
		scene_walk(scene, pc, &walk);
		scene_walk(plain, pc, &was);
		if (is_same(&walk, &was)) {
			if (!same.pc && walk.nr_frames > 1)
				same = walk;
		} else if (line->nr_walks < MAX_ANSWERS &&
			   !has_answer(line, &walk)) {
			add(line, &walk);
		}
	}
	/* Also add one address that the fault does not affect. */
	if (same.pc)
		add(line, &same);
}

static void choose(const struct broken *b, const struct scene *scene,
		   struct corpus_line *line)
{
	struct sfu_defect defect;
	struct corpus_walk walk;
	struct scene plain;

	if (!strcmp(b->name, "base")) {
		choose_all(scene, line);
		return;
	}
	scene_begin(&plain, scene->address);
	if (scene_register(&plain, (const u8 *)&base, sizeof(base), &defect))
		abort();
	choose_different(scene, &plain, line);
	scene_end(&plain);
	if (b->pc - SCENE_TEXT < SCENE_TEXT_SIZE && !has_pc(line, b->pc)) {
		scene_walk(scene, b->pc, &walk);
		add(line, &walk);
	}
}

void expect_write(FILE *file, const struct broken *b, const u8 *section,
		  u32 size)
{
	static struct corpus_line line;
	struct sfu_defect defect;
	struct scene scene;
	char text[256];
	int err;
	u32 i;

	line.nr_walks = 0;
	scene_begin(&scene, b->at_zero ? 0 : SCENE_ADDRESS);
	err = scene_register(&scene, section, size, &defect);
	if (!err)
		choose(b, &scene, &line);
	scene_end(&scene);

	fprintf(file, "%s\t%s\t%s\t", b->name, stages[b->stage],
		corpus_errno(b->err));
	if (b->stage == LEGAL)
		fprintf(file, "-\t-\t");
	else
		fprintf(file, "%#x\t%s\t", b->offset, sfu_defect_text(b->kind));
	fprintf(file, "%s\t%#llx\t", corpus_errno(-err),
		(unsigned long long)scene.address);
	for (i = 0; i < line.nr_walks; i++)
		fprintf(file, "%s%s", i ? "; " : "",
			scene_walk_text(text, &line.walks[i]));
	fprintf(file, "%s\t%s\n", line.nr_walks ? "" : "-", b->what);
}
