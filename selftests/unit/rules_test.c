// SPDX-License-Identifier: GPL-2.0
/*
 * module/mm/rules.h: rules are never used for another owner, in particular
 * after the owners' numbers are used up, once in a million times.
 */
#include <linux/hash.h>

#include "decode/cache.h"
#include "counters.h"
#include "mm/rules.h"
#include "mm/section.h"
#include "tap.h"

/* Of the first table: places for owners, and owner numbers for each place. */
#define SET_BITS	6
#define NR_PLACES	(1U << SET_BITS)
#define NR_NUMBERS	(1U << (32 - SET_BITS))

#define CODE		0x7f0000000000ULL
#define CODE_SIZE	0x1000

atomic_long_t sfu_counters[SFU_NR_COUNTERS];
u64 mm_sequence = 2;

/* Sum of the counters of removals. */
static u64 removals;

void sfu_section_put(struct sfu_section *section)
{
	refcount_dec_and_test(&section->refs);
}

/* All sections of the tests; each has addresses of its own. */
static struct sfu_section sections[4 * NR_PLACES];
static u32 nr_sections;

/* A section whose owner is at @place, with all of its code checked. */
static struct sfu_checked make(u32 place)
{
	struct sfu_section *section = &sections[nr_sections];
	static u64 last_id;

	do {
		last_id++;
	} while (hash_64(last_id, SET_BITS) != place);
	*section = (struct sfu_section) {
		.id = last_id,
		.text.start = CODE + 2 * CODE_SIZE * nr_sections,
	};
	section->text.end = section->text.start + CODE_SIZE;
	refcount_set(&section->refs, 1);
	nr_sections++;
	return (struct sfu_checked) {
		.section = section,
		.start = section->text.start,
		.end = section->text.end,
	};
}

static u64 key_of(const struct sfu_checked *checked)
{
	return (checked->start + 0x10) | SFU_CACHE_EXACT;
}

/* A rule that is different for each section. */
static struct sfu_rule rule_of(const struct sfu_checked *checked)
{
	return (struct sfu_rule) {
		.cfa = 7,
		.cfa_offset = 16 * checked->section->id,
		.ra = SFU_BASE_CFA | SFU_DEREF,
		.ra_offset = -8,
		.fp = SFU_SAME,
	};
}

static void remember(struct sfu_rules *rules, const struct sfu_checked *checked)
{
	const struct sfu_rule rule = rule_of(checked);

	sfu_rules_insert(rules, rules->epochs, key_of(checked), &rule,
			 checked->section);
}

/* Record its rule, as a walk does that reaches the section for the first time. */
static void meet(struct sfu_rules *rules, struct sfu_checked *checked)
{
	const u64 pc = checked->start + 0x10;

	if (!sfu_rules_is_checked(rules, rules->epochs.of_sections, pc, checked))
		sfu_rules_set_checked(rules, rules->epochs.of_sections, pc,
				      checked);
	remember(rules, checked);
}

/*
 * Whether a rule found for the section's code is its own. Sets *@found if there
 * is one.
 */
static bool is_own(struct sfu_rules *rules, const struct sfu_checked *checked,
		   bool *found)
{
	const struct sfu_rule own = rule_of(checked);
	struct sfu_section *section = NULL;
	enum sfu_rules_result result;
	struct sfu_rule rule;

	result = sfu_rules_find(rules, rules->epochs, key_of(checked), &rule,
				&section);
	*found = result == SFU_RULES_HIT;
	if (result == SFU_RULES_UNCHECKED) {
		if (section)
			sfu_section_put(section);
		return section == checked->section;
	}
	return result == SFU_RULES_MISS || rule.cfa_offset == own.cfa_offset;
}

#define EXPECT_OWN(rules, checked, is_found)				\
	do {								\
		bool found_;						\
		EXPECT(is_own(rules, checked, &found_));		\
		EXPECT_EQ(found_, is_found);				\
	} while (0)

/* Begin a walk. */
static struct sfu_epochs begin(struct sfu_rules *rules)
{
	return sfu_rules_begin(rules, NULL, 1, &removals);
}

static struct sfu_rules make_rules(void)
{
	struct sfu_rules rules = {};

	sfu_rules_init(&rules);
	begin(&rules);
	return rules;
}

static void remembered_in_the_epoch(void)
{
	struct sfu_rules rules = make_rules();
	struct sfu_checked checked = make(3);

	meet(&rules, &checked);
	EXPECT_OWN(&rules, &checked, true);
	/*
	 * Mappings have changed: the rule is found again once the section is
	 * checked again.
	 */
	mm_sequence += 2;
	begin(&rules);
	EXPECT_OWN(&rules, &checked, false);
	meet(&rules, &checked);
	EXPECT_OWN(&rules, &checked, true);
	sfu_rules_forget(&rules, checked.section);
	EXPECT_OWN(&rules, &checked, false);
	EXPECT_EQ(refcount_read(&checked.section->refs), 1);
	sfu_rules_exit(&rules);
}

/* Two owners at one place: the later one is found, nothing of the earlier. */
static void one_owner_at_a_place(void)
{
	struct sfu_rules rules = make_rules();
	struct sfu_checked first = make(0), second = make(0);

	meet(&rules, &first);
	meet(&rules, &second);
	EXPECT_OWN(&rules, &first, false);
	EXPECT_OWN(&rules, &second, true);
	sfu_rules_exit(&rules);
	EXPECT_EQ(refcount_read(&first.section->refs), 1);
	EXPECT_EQ(refcount_read(&second.section->refs), 1);
}

/*
 * The section at @place is the first for which no number is left, while a walk uses
 * one section of each place.
 */
static void start_anew_at(u32 place)
{
	struct sfu_rules rules = make_rules();
	struct sfu_checked checked[NR_PLACES], next = make(place);
	u32 i;

	for (i = 0; i < NR_PLACES; i++) {
		checked[i] = make(i);
		meet(&rules, &checked[i]);
		EXPECT_OWN(&rules, &checked[i], true);
	}
	rules.next_owner = NR_NUMBERS;
	/* There is no table any more, which held the sections; then a new one. */
	meet(&rules, &next);
	EXPECT_OWN(&rules, &next, false);
	for (i = 0; i < NR_PLACES; i++)
		EXPECT_EQ(refcount_read(&checked[i].section->refs), 1);
	EXPECT_EQ(refcount_read(&next.section->refs), 1);
	meet(&rules, &next);
	EXPECT_OWN(&rules, &next, true);
	/* What the walk records afterwards belongs to no other section. */
	for (i = 0; i < NR_PLACES; i++) {
		remember(&rules, &checked[i]);
		EXPECT_OWN(&rules, &checked[i], false);
	}
	/*
	 * The next walk renumbers all sections except the one that was
	 * replaced.
	 */
	for (i = 0; i < NR_PLACES; i++) {
		if (i == place)
			continue;
		meet(&rules, &checked[i]);
		EXPECT_OWN(&rules, &checked[i], true);
	}
	EXPECT_OWN(&rules, &next, true);
	sfu_rules_exit(&rules);
}

static void numbers_start_anew(void)
{
	start_anew_at(0);
}

static void numbers_start_anew_elsewhere(void)
{
	start_anew_at(5);
}

/* A number that is used again does not revive the old owner's rules. */
static void rules_of_old_numbers_are_forgotten(void)
{
	struct sfu_rules rules = make_rules();
	struct sfu_checked old[2] = { make(1), make(2) };
	struct sfu_checked new[2] = { make(1), make(2) };
	u32 i;

	for (i = 0; i < 2; i++)
		meet(&rules, &old[i]);
	rules.next_owner = NR_NUMBERS;
	meet(&rules, &new[0]);
	meet(&rules, &new[0]);
	/* This section is renumbered before it is replaced. */
	meet(&rules, &old[1]);
	meet(&rules, &new[1]);
	for (i = 0; i < 2; i++) {
		EXPECT_OWN(&rules, &old[i], false);
		EXPECT_OWN(&rules, &new[i], true);
	}
	sfu_rules_exit(&rules);
}

/* The last number that fits is valid. */
static void last_number(void)
{
	struct sfu_rules rules = make_rules();
	struct sfu_checked first = make(7), last = make(NR_PLACES - 1);

	meet(&rules, &first);
	rules.next_owner = NR_NUMBERS - 1;
	meet(&rules, &last);
	EXPECT_OWN(&rules, &last, true);
	EXPECT_OWN(&rules, &first, true);
	sfu_rules_exit(&rules);
}

/* A rule of the first epoch is not valid in the first one after the counter has wrapped. */
static void epochs_start_anew(void)
{
	struct sfu_rules rules = make_rules();
	struct sfu_checked checked = make(3);

	rules.epochs.of_sections = 1;
	meet(&rules, &checked);
	EXPECT_OWN(&rules, &checked, true);
	rules.last_epoch = U32_MAX - 1;
	mm_sequence += 2;
	EXPECT_EQ(begin(&rules).of_sections, 1);
	EXPECT_OWN(&rules, &checked, false);
	EXPECT_EQ(refcount_read(&checked.section->refs), 1);
	sfu_rules_exit(&rules);
}

/* As make(), of a function table. */
static struct sfu_checked make_table(u32 place)
{
	struct sfu_checked checked = make(place);

	checked.section->is_table = true;
	return checked;
}

/* A removal invalidates the rules of tables, those of all tables, and no others. */
static void removal_ends_rules_of_tables(void)
{
	struct sfu_rules rules = make_rules();
	struct sfu_checked section = make(3), table[2] = {
		make_table(4), make_table(5)
	};
	struct sfu_epochs old = begin(&rules), new;
	struct sfu_section *unchecked;
	struct sfu_rule rule;
	u32 i;

	meet(&rules, &section);
	for (i = 0; i < 2; i++)
		meet(&rules, &table[i]);
	new = begin(&rules);
	EXPECT_EQ(new.of_sections, old.of_sections);
	EXPECT_EQ(new.of_tables, old.of_tables);
	removals++;
	/* A walk that began before is not affected. */
	EXPECT_OWN(&rules, &table[0], true);
	new = begin(&rules);
	EXPECT_EQ(new.of_sections, old.of_sections);
	EXPECT(new.of_tables != old.of_tables);
	EXPECT_OWN(&rules, &section, true);
	for (i = 0; i < 2; i++)
		EXPECT_OWN(&rules, &table[i], false);
	/* Neither does its epoch make the rule of another one valid. */
	EXPECT_EQ(sfu_rules_find(&rules, old, key_of(&table[1]), &rule,
				 &unchecked), SFU_RULES_HIT);
	EXPECT_OWN(&rules, &table[1], false);
	for (i = 0; i < 2; i++) {
		meet(&rules, &table[i]);
		EXPECT_OWN(&rules, &table[i], true);
	}
	/* What the earlier walk looks up now is for that walk only. */
	rule = rule_of(&table[0]);
	sfu_rules_insert(&rules, old, key_of(&table[0]), &rule,
			 table[0].section);
	EXPECT_OWN(&rules, &table[0], false);
	sfu_rules_exit(&rules);
}

/* Check the section again, as a walk does in a new epoch. */
static void check_again(struct sfu_rules *rules, struct sfu_checked *checked)
{
	const u32 epoch = rules->epochs.of_sections;

	EXPECT(!sfu_rules_is_checked(rules, epoch, checked->start, checked));
	sfu_rules_set_checked(rules, epoch, checked->start, checked);
}

/*
 * Changed mappings invalidate them as well. Once the table is checked they are valid
 * again, but only if nothing was removed: neither before nor after the change.
 */
static void mappings_end_rules_of_tables(void)
{
	struct sfu_rules rules = make_rules();
	struct sfu_checked table = make_table(3);
	struct sfu_epochs old;
	u32 i;

	meet(&rules, &table);
	for (i = 0; i < 3; i++) {
		mm_sequence += 2;
		old = begin(&rules);
		EXPECT_OWN(&rules, &table, false);
		check_again(&rules, &table);
		EXPECT_OWN(&rules, &table, true);
	}
	for (i = 0; i < 4; i++) {
		mm_sequence += 2 * (i == 1 || i == 3);
		if (i >= 2) {
			begin(&rules);
			mm_sequence += 2 * (i == 2);
		}
		removals++;
		begin(&rules);
		if (i)
			check_again(&rules, &table);
		EXPECT_OWN(&rules, &table, false);
		meet(&rules, &table);
		EXPECT_OWN(&rules, &table, true);
	}
	/* An old walk neither uses what was looked up since, nor makes it valid. */
	rules.epochs.of_tables = old.of_tables;
	EXPECT_OWN(&rules, &table, false);
	sfu_rules_exit(&rules);
}

static bool may_have(struct sfu_rules *rules, u64 key)
{
	return sfu_rules_may_have(rules, rules->epochs, key);
}

/* Whether a search is in vain: it is not, where checking the section makes a rule valid. */
static void what_may_be_found_is_known(void)
{
	struct sfu_rules rules = make_rules();
	struct sfu_checked gone = make(3), stays = make(4), table = make_table(5);
	const u64 key = key_of(&gone);

	EXPECT(!may_have(&rules, key_of(&gone)));
	meet(&rules, &gone);
	meet(&rules, &stays);
	meet(&rules, &table);
	EXPECT(may_have(&rules, key_of(&gone)));
	EXPECT(may_have(&rules, key_of(&table)));
	EXPECT(!may_have(&rules, key_of(&gone) + 1));
	mm_sequence += 2;
	begin(&rules);
	EXPECT(may_have(&rules, key_of(&gone)));
	sfu_rules_forget(&rules, gone.section);
	EXPECT(!may_have(&rules, key_of(&gone)));
	EXPECT(may_have(&rules, key_of(&stays)));
	/* Another one at its place has another number. */
	gone = make(3);
	meet(&rules, &gone);
	EXPECT(!may_have(&rules, key));
	EXPECT(may_have(&rules, key_of(&gone)));
	sfu_rules_shrink(&rules);
	EXPECT(!may_have(&rules, key_of(&stays)));
	sfu_rules_exit(&rules);
}

/* A walk that could not read the counters neither uses such rules nor caches them. */
static void removals_unknown(void)
{
	struct sfu_rules rules = make_rules();
	struct sfu_checked table = make_table(3), other = make_table(4);
	const struct sfu_epochs known = begin(&rules);
	struct sfu_section *unchecked;
	const struct sfu_rule rule = rule_of(&other);
	struct sfu_epochs epochs;
	struct sfu_rule found;

	meet(&rules, &table);
	epochs = sfu_rules_begin(&rules, NULL, 1, NULL);
	EXPECT_EQ(epochs.of_tables, epochs.of_sections);
	EXPECT_EQ(sfu_rules_find(&rules, epochs, key_of(&table), &found,
				 &unchecked), SFU_RULES_MISS);
	sfu_rules_set_checked(&rules, epochs.of_sections, other.start, &other);
	sfu_rules_insert(&rules, epochs, key_of(&other), &rule, other.section);
	EXPECT_OWN(&rules, &other, false);
	/* It leaves those of other walks alone. */
	EXPECT_EQ(begin(&rules).of_tables, known.of_tables);
	EXPECT_OWN(&rules, &table, true);
	sfu_rules_exit(&rules);
}

/* The epoch of tables takes the last number: then both start anew. */
static void epochs_of_tables_start_anew(void)
{
	struct sfu_rules rules = make_rules();
	struct sfu_checked section = make(3), table = make_table(4);
	struct sfu_epochs epochs;

	meet(&rules, &section);
	meet(&rules, &table);
	rules.last_epoch = U32_MAX - 1;
	removals++;
	epochs = begin(&rules);
	EXPECT_EQ(epochs.of_tables, U32_MAX);
	EXPECT_OWN(&rules, &section, true);
	EXPECT_OWN(&rules, &table, false);
	meet(&rules, &table);
	removals++;
	epochs = begin(&rules);
	EXPECT_EQ(epochs.of_sections, 1);
	EXPECT_EQ(epochs.of_tables, 2);
	EXPECT_OWN(&rules, &section, false);
	EXPECT_OWN(&rules, &table, false);
	sfu_rules_exit(&rules);
}

int main(void)
{
	static const struct tap_test tests[] = {
		TAP_TEST(remembered_in_the_epoch),
		TAP_TEST(what_may_be_found_is_known),
		TAP_TEST(one_owner_at_a_place),
		TAP_TEST(numbers_start_anew),
		TAP_TEST(numbers_start_anew_elsewhere),
		TAP_TEST(rules_of_old_numbers_are_forgotten),
		TAP_TEST(last_number),
		TAP_TEST(epochs_start_anew),
		TAP_TEST(removal_ends_rules_of_tables),
		TAP_TEST(mappings_end_rules_of_tables),
		TAP_TEST(removals_unknown),
		TAP_TEST(epochs_of_tables_start_anew),
	};

	tap_run(tests, sizeof(tests) / sizeof(tests[0]));
	return tap_done();
}
