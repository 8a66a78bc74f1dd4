// SPDX-License-Identifier: GPL-2.0
/*
 * Section: one .sframe byte range and one range of code that it describes.
 */
#include <linux/atomic.h>
#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "counters.h"
#include "image.h"
#include "limits.h"
#include "message.h"
#include "section.h"
#include "sframe_format.h"

static atomic64_t last_id = ATOMIC64_INIT(0);
static struct kmem_cache *cache;

int sfu_section_init(void)
{
	cache = KMEM_CACHE(sfu_section, 0);
	return cache ? 0 : -ENOMEM;
}

void sfu_section_exit(void)
{
	kmem_cache_destroy(cache);
}

void sfu_section_set_table(struct sfu_section *section,
			   const struct sfu_table *table)
{
	section->address = table->bytes.address;
	/* No table is as large as 4 GiB: its parts are counted by 32 bits. */
	section->size = table->bytes.size;
	section->num_fdes = table->num_fdes;
	section->index = table->index;
	section->fres = table->fres;
	section->pcrel = table->pcrel;
}

static struct sfu_table table_of(const struct sfu_section *section)
{
	return (struct sfu_table) {
		.bytes.address = section->address,
		.bytes.size = section->size,
		.num_fdes = section->num_fdes,
		.index = section->index,
		.fres = section->fres,
		.pcrel = section->pcrel,
	};
}

/* Is [start, start + size) not empty and all in user space? */
static bool is_user_range(u64 start, u64 size)
{
	return size && start + size > start && start + size <= TASK_SIZE_MAX;
}

static int check_ranges(const struct sfu_section_spec *spec,
			struct sfu_origin *bytes, struct sfu_origin *text,
			struct sfu_message *message)
{
	u64 at = 0;
	int err;

	if (spec->sframe_size > SFU_MAX_SFRAME_SIZE)
		return sfu_message_fail(message, -EINVAL,
					"sframe_size 0x%llx exceeds 0x%x",
					spec->sframe_size, SFU_MAX_SFRAME_SIZE);
	if (!is_user_range(spec->sframe_start, spec->sframe_size))
		return sfu_message_fail(message, -EINVAL,
					"section at 0x%llx, 0x%llx bytes, is not a range of user addresses",
					spec->sframe_start, spec->sframe_size);
	if (!is_user_range(spec->text_start, spec->text_size))
		return sfu_message_fail(message, -EINVAL,
					"text at 0x%llx, 0x%llx bytes, is not a range of user addresses",
					spec->text_start, spec->text_size);

	err = sfu_mapping_find(spec->sframe_start,
			       spec->sframe_start + spec->sframe_size, VM_READ,
			       bytes, &at);
	if (err)
		return sfu_message_fail(message, err,
					"section is not mapped readable at 0x%llx",
					at);
	err = sfu_mapping_find(spec->text_start,
			       spec->text_start + spec->text_size, VM_EXEC,
			       text, &at);
	if (err)
		return sfu_message_fail(message, err,
					"text is not mapped executable at 0x%llx",
					at);
	return 0;
}

static int fail_contents(struct sfu_section_spec *spec, int err,
			 const struct sfu_defect *defect,
			 struct sfu_message *message)
{
	u8 version;

	if (err == -EFAULT)
		return sfu_message_fail(message, err,
					"section at 0x%llx cannot be read",
					spec->sframe_start);
	spec->defect_offset = defect->offset;
	if (defect->kind == SFU_DEFECT_HDR_VERSION &&
	    !get_user(version, (u8 __user *)u64_to_user_ptr(spec->sframe_start +
							    defect->offset)))
		return sfu_message_fail(message, err,
					"section at 0x%llx: version is %u, not %u",
					spec->sframe_start, version,
					SFRAME_VERSION_3);
	return sfu_message_fail(message, err, "section at 0x%llx: %s (offset 0x%llx)",
				spec->sframe_start,
				sfu_defect_text(defect->kind), defect->offset);
}

static int stop_at_first(void *data, const struct sfu_defect *defect)
{
	*(struct sfu_defect *)data = *defect;
	return -EINVAL;
}

static int check_contents(struct sfu_section_spec *spec,
			  struct sfu_table *table, struct sfu_message *message)
{
	const struct sfu_bytes bytes = {
		.address = spec->sframe_start,
		.size = spec->sframe_size,
	};
	struct sfu_defect defect;
	int err;

	err = sfu_table_open(table, &bytes, &defect);
	if (err)
		return fail_contents(spec, err, &defect, message);
	if (!table->pcrel) {
		spec->defect_offset = SFRAME_HDR_FLAGS;
		return sfu_message_fail(message, -EINVAL,
					"section at 0x%llx: function starts are not relative to their field",
					spec->sframe_start);
	}
	if (spec->validate) {
		err = sfu_table_validate(table, stop_at_first, &defect);
		if (err == -EINTR)
			return sfu_message_fail(message, err, "killed");
		if (err)
			return fail_contents(spec, err, &defect, message);
	}
	return 0;
}

/* The members that are the same for all new sections. */
static void begin(struct sfu_section *section)
{
	refcount_set(&section->refs, 1);
	section->id = atomic64_inc_return(&last_id);
	atomic64_set(&section->hits, 0);
	sfu_count(SFU_SECTIONS);
}

struct sfu_section *sfu_section_create(struct sfu_section_spec *spec,
				       struct sfu_message *message)
{
	struct sfu_origin bytes_origin, text_origin;
	struct sfu_section *section;
	struct sfu_table table;
	int err;

	err = check_ranges(spec, &bytes_origin, &text_origin, message);
	if (err)
		return ERR_PTR(err);
	err = check_contents(spec, &table, message);
	if (err)
		return ERR_PTR(err);

	section = kmem_cache_alloc(cache, GFP_KERNEL_ACCOUNT);
	if (!section)
		return ERR_PTR(sfu_message_fail(message, -ENOMEM, "no memory"));
	section->source = SFU_REGISTERED;
	section->text.start = spec->text_start;
	section->text.end = spec->text_start + spec->text_size;
	section->text.origin = text_origin;
	section->bytes_origin = bytes_origin;
	sfu_section_set_table(section, &table);
	begin(section);
	return section;
}

struct sfu_found *sfu_section_create_found(const struct sfu_found *spec)
{
	struct sfu_found *found = kmemdup(spec, sizeof(*spec),
					  GFP_KERNEL_ACCOUNT);

	if (found)
		begin(&found->section);
	else
		sfu_image_put(spec->image);
	return found;
}

void sfu_section_get(struct sfu_section *section)
{
	refcount_inc(&section->refs);
}

void sfu_section_put(struct sfu_section *section)
{
	struct sfu_found *found = sfu_found_of(section);

	if (!refcount_dec_and_test(&section->refs))
		return;
	sfu_uncount(SFU_SECTIONS);
	if (!found) {
		kmem_cache_free(cache, section);
		return;
	}
	sfu_image_put(found->image);
	kfree(found);
}

u64 sfu_section_address(struct sfu_section *section)
{
	const struct sfu_found *found = sfu_found_of(section);

	return found && found->image ? 0 : section->address;
}

/* The bytes in user memory; an empty range if there are none. */
static struct sfu_range bytes_of(struct sfu_section *section)
{
	const u64 address = sfu_section_address(section);

	return (struct sfu_range) {
		.start = address,
		.end = address ? address + section->size : 0,
		.origin = section->bytes_origin,
	};
}

int sfu_section_check(struct sfu_section *section, u64 pc, u64 *start, u64 *end)
{
	const struct sfu_range bytes = bytes_of(section);

	return sfu_mapping_check(&section->text, pc, &bytes, start, end);
}

static int find_rule(const struct sfu_section *section,
		     const struct sfu_table *table, u64 pc, u32 *budget,
		     struct sfu_match *match, struct sfu_defect *defect)
{
	struct sfu_fde fde;
	int err;

	err = sfu_table_find(table, pc, &fde, defect);
	if (err)
		return err;
	/* A file's own section may describe more than what is mapped here. */
	if (section->source == SFU_REGISTERED &&
	    (fde.start < section->text.start ||
	     fde.start + fde.size > section->text.end)) {
		defect->kind = SFU_DEFECT_FDE_TEXT;
		defect->offset = fde.entry;
		return -EINVAL;
	}
	match->start = fde.start;
	match->end = fde.start + fde.size;
	return sfu_fde_find_rule(table, &fde, pc, budget, &match->rule, defect);
}

/* The bytes are in kernel memory, and can be taken away at any time. */
static int find_rule_in_image(const struct sfu_found *found, u64 pc,
			      u32 *budget, struct sfu_match *match,
			      struct sfu_defect *defect)
{
	struct sfu_table table = table_of(&found->section);
	int err = -ESTALE;

	rcu_read_lock();
	table.bytes.copy = rcu_dereference(found->image->bytes);
	if (table.bytes.copy)
		err = find_rule(&found->section, &table, pc, budget, match,
				defect);
	rcu_read_unlock();
	if (!err)
		atomic64_inc(&found->image->hits);
	return err;
}

int sfu_section_find_rule(struct sfu_section *section, u64 pc, u32 *budget,
			  struct sfu_match *match, struct sfu_defect *defect)
{
	const struct sfu_found *found = sfu_found_of(section);
	const struct sfu_table table = table_of(section);
	const struct sfu_range bytes = bytes_of(section);
	int err;

	*match = (struct sfu_match) {};
	*defect = (struct sfu_defect) {};
	if (section->source == SFU_NOTHING)
		return -ENOENT;
	if (found && found->image)
		err = find_rule_in_image(found, pc, budget, match, defect);
	else
		err = find_rule(section, &table, pc, budget, match,
				defect);
	if (!err)
		atomic64_inc(&section->hits);
	if (err == -EFAULT)
		err = sfu_mapping_why_unreadable(bytes.start, bytes.end);
	return err;
}

const char *sfu_section_file_name(const struct sfu_section *section,
				  char *buffer)
{
	return sfu_mapping_file_name(&section->text, buffer);
}
