// SPDX-License-Identifier: GPL-2.0
/*
 * Section find: find rules in the bytes of a section.
 */
#include <linux/atomic.h>
#include <linux/errno.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "decode/directory.h"
#include "decode/functions.h"
#include "decode/sframe_find.h"
#include "file/image.h"
#include "limits.h"
#include "payer.h"
#include "section.h"

/* Set @table from @section, with the bytes in user memory. */
static __always_inline void get_section_table(const struct sfu_section *section,
					      struct sfu_table *table)
{
	table->bytes.address = section->address;
	table->bytes.size = section->size;
	table->bytes.copy = NULL;
	table->num_fdes = section->num_fdes;
	table->index = section->index;
	table->fres = section->fres;
	table->pcrel = section->pcrel;
	table->extended = false;
}

/* Returns the function table that @section is. */
static struct sfu_functions get_functions(const struct sfu_section *section)
{
	return (struct sfu_functions) {
		.bytes.address = section->address,
		.bytes.size = section->size,
		.text = section->text.start,
		.text_size = section->text.end - section->text.start,
		.max = section->num_fdes,
		.map = section->index,
		.granule_bits = section->granule_bits,
	};
}

static noinline bool find_in_functions(const struct sfu_section *section, u64 pc,
				       u32 *budget, struct sfu_match *match)
{
	const struct sfu_functions functions = get_functions(section);

	return sfu_functions_find_quickly(&functions, pc, budget, match);
}

/*
 * Returns whether the function in @match is inside the text that was
 * registered.
 */
static bool is_inside(const struct sfu_section *section,
		      const struct sfu_match *match)
{
	/* A section of a file may describe code beside this mapping. */
	return section->source != SFU_REGISTERED ||
	       (match->start >= section->text.start &&
		match->end <= section->text.end);
}

static noinline int find_section_rule(const struct sfu_section *section,
				      const u8 *copy, bool extended, u64 pc,
				      u32 *budget,
				      struct sfu_match *match,
				      struct sfu_defect *defect)
{
	struct sfu_table table;
	struct sfu_fde fde;
	int err;

	if (section->is_table) {
		const struct sfu_functions functions = get_functions(section);

		return sfu_functions_find_rule(&functions, pc, budget, match);
	}
	get_section_table(section, &table);
	table.bytes.copy = copy;
	table.extended = extended;
	err = sfu_table_find(&table, pc, &fde, defect);
	if (err)
		return err;
	match->num_rows = fde.num_rows;
	match->start = fde.start;
	match->end = fde.start + fde.size;
	if (!is_inside(section, match))
		return sfu_malformed(defect, SFU_DEFECT_FDE_TEXT, fde.entry);
	return sfu_fde_find_rule(&table, &fde, pc, budget, &match->rule, defect);
}

/* Returns whether it found what find_section_rule() would find. */
static __always_inline bool find_usual_rule(const struct sfu_section *section,
					    const u8 *copy, u64 pc, u32 *budget,
					    struct sfu_match *match)
{
	struct sfu_fde_range range = { .high = section->num_fdes };
	const struct sfu_directory *directory;
	struct sfu_table table;

	/* Pairs with cmpxchg() in make_directory(): see its contents. */
	directory = smp_load_acquire(&section->directory);
	get_section_table(section, &table);
	table.bytes.copy = copy;
	if (directory)
		range = sfu_directory_find(directory, pc);
	return sfu_table_find_rule(&table, copy, range, pc, budget, match) &&
	       is_inside(section, match);
}

/*
 * Try to create the directory of @section. That costs as much time as it saves
 * in num_fdes / 32 lookups.
 */
static noinline void make_directory(struct sfu_section *section)
{
	struct sfu_directory plan, *directory;
	struct sfu_table table;

	get_section_table(section, &table);
	sfu_directory_plan(&plan, table.num_fdes, section->text.start,
			   section->text.end - section->text.start);
	if (sfu_payer_charge_number(section->payer, sfu_directory_size(&plan),
				    false))
		return;
	directory = kvmalloc(sfu_directory_size(&plan), SFU_GFP_OPTIONAL);
	if (!directory) {
		sfu_payer_uncharge_number(section->payer,
					  sfu_directory_size(&plan));
		return;
	}
	*directory = plan;
	if (sfu_directory_fill(directory, &table) ||
	    cmpxchg(&section->directory, NULL, directory))
		sfu_section_free_directory(section, directory);
}

/* Returns whether the directory is made when a rule is found for the @hits th time. */
static __always_inline bool is_directory_due(const struct sfu_section *section,
					     u64 hits)
{
	return hits == section->num_fdes / 32 &&
	       section->num_fdes >= SFU_DIRECTORY_MIN_FDES && !section->is_table;
}

/* Count that a rule was found in @section. */
static __always_inline void count_hit(struct sfu_section *section)
{
	if (is_directory_due(section, atomic64_inc_return(&section->hits)))
		make_directory(section);
}

/*
 * As count_hit(), in any context. Returns false, without counting it, if the directory is
 * due, which a walk has to make.
 */
static bool count_peeked(struct sfu_section *section)
{
	s64 hits = atomic64_read(&section->hits);

	if (is_directory_due(section, hits + 1))
		return false;
	/* If another hit is counted meanwhile, that may be the last one before. */
	(void)atomic64_try_cmpxchg(&section->hits, &hits, hits + 1);
	return true;
}

/* For bytes in kernel memory, which the caller holds. */
static noinline int find_rule_in_image(struct sfu_found *found, u64 pc,
				       u32 *budget, struct sfu_match *match,
				       struct sfu_defect *defect)
{
	struct sfu_section *section = &found->section;
	const u8 *copy = found->image->bytes;
	int err = 0;

	/*
	 * Cannot happen. Lets the compiler omit the accesses to user memory
	 * below.
	 */
	if (WARN_ON_ONCE(!copy))
		return -ENOENT;
	if (!find_usual_rule(section, copy, pc, budget, match))
		err = find_section_rule(section, copy,
					found->image->table.extended, pc,
					budget, match, defect);
	if (!err) {
		atomic64_inc(&found->image->hits);
		atomic64_inc(&section->hits);
	}
	return err;
}

/* Returns whether the bytes are in user memory. */
static bool is_mapped(struct sfu_section *section)
{
	const struct sfu_found *found = sfu_found_of(section);

	return !found || (section->source != SFU_NOTHING && !found->image);
}

bool sfu_section_peek_rule(struct sfu_section *section, u64 pc, u32 *rows,
			   struct sfu_match *match)
{
	struct sfu_image *image = sfu_section_image(section);
	const u8 *bytes;
	bool found;

	if (section->is_table)
		return find_in_functions(section, pc, rows, match);
	if (is_mapped(section))
		return find_usual_rule(section, NULL, pc, rows, match) &&
		       count_peeked(section);
	if (!image)
		return false;
	bytes = sfu_image_peek_begin(image);
	found = bytes && find_usual_rule(section, bytes, pc, rows, match);
	sfu_image_peek_end(image);
	return found;
}

bool sfu_section_find_rule_quickly(struct sfu_section *section, u64 pc,
				   struct sfu_budget *budget,
				   struct sfu_match *match)
{
	if (section->is_table ?
		    !find_in_functions(section, pc, &budget->rows, match) :
		    !is_mapped(section) ||
		    !find_usual_rule(section, NULL, pc, &budget->rows, match))
		return false;
	count_hit(section);
	return true;
}

int sfu_section_find_rule(struct sfu_section *section, u64 pc,
			  struct sfu_budget *budget, struct sfu_match *match,
			  struct sfu_defect *defect)
{
	struct sfu_found *found = sfu_found_of(section);
	struct sfu_range bytes;
	int err;

	if (section->source == SFU_NOTHING)
		return -ENOENT;
	if (found && found->image)
		return find_rule_in_image(found, pc, &budget->rows, match,
					  defect);
	err = find_section_rule(section, NULL, false, pc, &budget->rows, match,
				defect);
	if (!err)
		count_hit(section);
	if (err == -EFAULT) {
		bytes = sfu_section_bytes(section);
		err = sfu_mapping_why_unreadable(bytes.start, bytes.end,
						 &budget->mappings);
	}
	return err;
}

int sfu_section_find_layout(struct sfu_section *section, u64 pc,
			    struct sfu_layout *layout)
{
	const struct sfu_image *image = sfu_section_image(section);
	struct sfu_table table;

	if (!image)
		return -ENOENT;
	table = image->table;
	table.bytes.address = section->address;
	table.bytes.copy = image->bytes;
	return sfu_table_find_layout(&table, pc, layout);
}
