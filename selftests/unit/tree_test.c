// SPDX-License-Identifier: GPL-2.0
/*
 * module/mm/tree.c, node.c and sections.c with nodes of five entries: random
 * operations on spaces that share nodes, with failing allocations.
 *
 * usage: tree_test [ROUNDS [FIRST]]
 *   ROUNDS  default 150, some ten seconds
 *   FIRST   number of the first round, to repeat one that failed
 */
#include <linux/errno.h>
#include <stdlib.h>

#include "limits.h"
#include "mm/node.h"
#include "mm/section.h"
#include "tap.h"
#include "tree_check.h"
#include "tree_memory.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

#define NR_SPACES	4
#define NR_STEPS	400

/* Addresses are multiples of this, and sections no longer. */
#define STEP		16

/* Possible positions of sections, most of which stay empty. */
#define NR_PLACES	(2 * MAX_MODEL)

static struct sfu_sections spaces[NR_SPACES];
static struct model models[NR_SPACES];
static u64 state;
static const char *wrong;
static u32 nr_rounds = 150, first_round = 1;

static u32 below(u32 nr)
{
	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (state >> 33) % nr;
}

/* Record the first condition that does not hold. */
#define WANT(condition) do {						\
	if (!(condition) && !wrong)					\
		wrong = #condition;					\
} while (0)

static void may_fail(void)
{
	allocations_left = below(8) ? ~0U : below(6);
}

/* Add a section at @place, which may overlap another one. */
static void add(u32 space, u32 place)
{
	struct model *model = &models[space];
	struct sfu_section *section, *other = NULL;
	u32 at;
	int err;

	if (model->nr == MAX_MODEL)
		return;
	section = make_section();
	section->text.start = (u64)place * STEP;
	section->text.end = section->text.start + below(STEP + 1);
	section->source = below(8) ? SFU_REGISTERED : below(2) ? SFU_NOTHING :
								 SFU_FOUND;
	section->address = below(4) ? 1 + below(8) : 1000 + place;
	at = model_find(model, section->text.start);
	may_fail();
	err = sfu_sections_add(&spaces[space], section, &other);
	if (section->text.end == section->text.start) {
		WANT(err == -EINVAL);
	} else if (at < model->nr &&
		   model->section[at]->text.start == section->text.start) {
		WANT(err == -EEXIST && other == model->section[at]);
	} else {
		WANT(!err || (err == -ENOMEM && !allocations_left));
		if (!err)
			model_add(model, section);
	}
	allocations_left = ~0U;
	sfu_section_put(section);
}

static void take_away(u32 space, u32 at)
{
	struct sfu_section *section = models[space].section[at];
	int err;

	may_fail();
	err = sfu_sections_remove(&spaces[space], section);
	WANT(!err || (err == -ENOMEM && !allocations_left));
	if (!err)
		model_remove(&models[space], at);
	allocations_left = ~0U;
}

/* Remove all sections with these bytes, which are found one by one. */
static void take_bytes_away(u32 space, u64 address)
{
	struct model *model = &models[space];
	struct sfu_section *section;
	u32 i;

	while ((section = sfu_sections_find_bytes(&spaces[space], address))) {
		WANT(section->address == address);
		i = model_find(model, section->text.start);
		WANT(i < model->nr && model->section[i] == section);
		if (wrong || sfu_sections_remove(&spaces[space], section))
			return;
		model_remove(model, i);
	}
	for (i = 0; i < model->nr; i++)
		WANT(model->section[i]->address != address ||
		     model->section[i]->source != SFU_REGISTERED);
}

/* Add or remove many in a row, upwards or downwards. */
static void do_run(u32 space)
{
	const u32 what = below(4), nr = below(100);
	u32 i, place = below(NR_PLACES);

	for (i = 0; i < nr && !wrong; i++) {
		const u32 at = model_find(&models[space], (u64)place * STEP);

		if (what & 1)
			add(space, place);
		else if (at < models[space].nr)
			take_away(space, at);
		place = (what & 2 ? place + 1 : place + NR_PLACES - 1) %
			NR_PLACES;
	}
}

/* Add one behind all others, the most common case. */
static void append(u32 space)
{
	const struct model *model = &models[space];
	const struct sfu_section *last;
	u32 i, nr = below(60);

	for (i = 0; i < nr && !wrong; i++) {
		last = model->nr ? model->section[model->nr - 1] : NULL;
		add(space, last ? last->text.start / STEP + 1 : 0);
	}
}

static void clear(u32 space)
{
	may_fail();
	if (below(2))
		sfu_sections_discard(&spaces[space]);
	else
		sfu_sections_clear(&spaces[space]);
	allocations_left = ~0U;
	models[space].nr = 0;
}

/* Make another space share the trees of this one. */
static void fork_space(u32 space)
{
	const u32 to = below(NR_SPACES);

	if (to == space)
		return;
	clear(to);
	sfu_sections_share(&spaces[to], &spaces[space]);
	models[to] = models[space];
}

/* Make all queries at a random address. */
static void ask(u32 space)
{
	const struct sfu_sections *sections = &spaces[space];
	const struct model *model = &models[space];
	const u64 pc = below(NR_PLACES * STEP);
	const u32 at = model_find(model, pc);
	struct sfu_section *covering = NULL;
	u64 start, end;
	bool is_gap;

	if (at < model->nr && sfu_section_covers(model->section[at], pc))
		covering = model->section[at];
	else if (at && sfu_section_covers(model->section[at - 1], pc))
		covering = model->section[at - 1];
	WANT(sfu_sections_find(sections, pc) == covering);
	WANT(sfu_sections_find_from(sections, pc) ==
	     (at < model->nr ? model->section[at] : NULL));
	is_gap = sfu_sections_find_gap(sections, pc, &start, &end);
	WANT(is_gap == !covering);
	WANT(!is_gap || start == (at ? model->section[at - 1]->text.end : 0));
	WANT(!is_gap ||
	     end == (at < model->nr ? model->section[at]->text.start : ~0ULL));
	if (covering)
		WANT(sfu_sections_find_id(sections, covering->id) == covering);
}

static void do_step(void)
{
	const u32 space = below(NR_SPACES), what = below(100);

	if (what < 40)
		add(space, below(NR_PLACES));
	else if (what < 60 && models[space].nr)
		take_away(space, below(models[space].nr));
	else if (what < 75)
		do_run(space);
	else if (what < 85)
		append(space);
	else if (what < 88)
		take_bytes_away(space, 1 + below(8));
	else if (what < 99)
		fork_space(space);
	else
		clear(space);
	ask(space);
}

/* Returns whether all checks passed. */
static bool do_round(u32 number)
{
	u32 i;

	state = number;
	wrong = NULL;
	for (i = 0; i < NR_SPACES; i++) {
		sfu_sections_init(&spaces[i]);
		models[i].nr = 0;
	}
	for (i = 0; i < NR_STEPS && !wrong; i++) {
		do_step();
		if (!wrong)
			wrong = check_spaces(spaces, models, NR_SPACES);
	}
	if (wrong)
		return tap_fail("round %u, step %u: %s", number, i, wrong);
	for (i = 0; i < NR_SPACES; i++)
		sfu_sections_clear(&spaces[i]);
	return true;
}

static void anything_done_to_spaces_that_share(void)
{
	u32 i;

	for (i = 0; i < nr_rounds; i++) {
		if (!do_round(first_round + i))
			return;
	}
	EXPECT_EQ(nr_nodes, 0);
	EXPECT_EQ(charged, 0);
	EXPECT_EQ(nr_sections, 0);
}

/* A tree of @levels full of @section: each level is a single shared node. */
static struct sfu_tree make_full(u32 levels, struct sfu_section *section)
{
	struct sfu_tree tree = { .order = SFU_BY_TEXT };
	struct sfu_node *child = NULL;
	u32 i, height;

	for (height = 0; height < levels; height++) {
		tree.root = sfu_node_create(height, 0, false);
		for (i = 0; i < sfu_node_room(tree.root); i++) {
			if (height)
				sfu_node_insert_child(tree.root, i,
						      section->text.start, child);
			else
				sfu_node_insert_section(tree.root, i, section);
		}
		if (child)
			refcount_set(&child->refs, SFU_INNER_SIZE);
		child = tree.root;
	}
	return tree;
}

/*
 * More sections than memory could hold, because nodes are shared with
 * themselves.
 */
static void a_tree_that_would_be_too_high(void)
{
	struct sfu_section *low = make_section(), *high = make_section();
	const u32 before = nr_nodes;
	u32 levels = 0;
	int err;

	high->text.start = 1;
	do {
		struct sfu_tree tree = make_full(++levels, low);

		err = sfu_tree_add(&tree, high);
		EXPECT(!err || tree.root->height == levels - 1);
		EXPECT(!err == (sfu_tree_last_upto(&tree, 1) == high));
		sfu_tree_clear(&tree);
		EXPECT_EQ(nr_nodes, before);
	} while (!err && levels < 64);
	EXPECT_EQ(err, -ENOSPC);
	/* A tree of minimally filled nodes has at most this many levels. */
	EXPECT(levels < 64 && 1ULL << levels > SFU_MAX_SECTIONS / 4);
	sfu_section_put(low);
	sfu_section_put(high);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP_TEST(anything_done_to_spaces_that_share),
		TAP_TEST(a_tree_that_would_be_too_high),
	};

	if (argc > 1)
		nr_rounds = atoi(argv[1]);
	if (argc > 2)
		first_round = atoi(argv[2]);
	if (sfu_node_init())
		return 1;
	tap_run(tests, ARRAY_SIZE(tests));
	return tap_done();
}
