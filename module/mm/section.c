// SPDX-License-Identifier: GPL-2.0
/*
 * Section: one .sframe byte range and one range of code that it describes.
 */
#include <linux/atomic.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "counters.h"
#include "decode/directory.h"
#include "decode/functions.h"
#include "decode/sframe_find.h"
#include "file/image.h"
#include "limits.h"
#include "message.h"
#include "payer.h"
#include "section.h"

static atomic64_t last_section_id = ATOMIC64_INIT(0);
static struct kmem_cache *section_cache;

int sfu_section_init(void)
{
	section_cache = KMEM_CACHE(sfu_section, 0);
	return section_cache ? 0 : -ENOMEM;
}

void sfu_section_exit(void)
{
	kmem_cache_destroy(section_cache);
}

void sfu_section_set_table(struct sfu_section *section,
			   const struct sfu_table *table)
{
	section->address = table->bytes.address;
	/*
	 * Sections have at most SFU_MAX_SFRAME_SIZE bytes, so 32 bits suffice.
	 */
	section->size = table->bytes.size;
	section->num_fdes = table->num_fdes;
	section->index = table->index;
	section->fres = table->fres;
	section->pcrel = table->pcrel;
}

/* Returns whether [start, start + size) is not empty and in user space. */
static bool is_user_range(u64 start, u64 size)
{
	return size && start + size > start && start + size <= TASK_SIZE_MAX;
}

static int fail_locate(int err, const char *what, const char *how, u64 at,
		       struct sfu_message *message)
{
	if (err == -E2BIG)
		return sfu_message_fail(message, -EINVAL,
					"section and text are in more than %u mappings, at 0x%llx",
					SFU_MAX_HELD_MAPPINGS, at);
	return sfu_message_fail(message, err, "%s is not mapped %s at 0x%llx",
				what, how, at);
}

int sfu_section_locate(struct sfu_section_spec *spec,
		       struct sfu_mappings *mappings,
		       struct sfu_message *message)
{
	u64 at = 0, text_end = 0;
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

	err = sfu_mappings_find(mappings, SFU_MAPPED_BYTES, spec->sframe_start,
				spec->sframe_start + spec->sframe_size,
				&spec->bytes_origin, &spec->bytes_end, &at);
	if (err)
		return fail_locate(err, "section", "readable", at, message);
	err = sfu_mappings_find(mappings,
				spec->is_table ? SFU_MAPPED_RANGE :
						 SFU_MAPPED_TEXT,
				spec->text_start,
				spec->text_start + spec->text_size,
				&spec->text_origin, &text_end, &at);
	if (err)
		return fail_locate(err, "text",
				   spec->is_table ? "as a whole" : "executable",
				   at, message);
	if (text_end < spec->text_start + spec->text_size)
		return sfu_message_fail(message, -EINVAL,
					"text from 0x%llx on is mapped from another file or offset",
					text_end);
	return 0;
}

static int fail_section_contents(struct sfu_section_spec *spec, int err,
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

/* Check the bytes. They are user memory, so no lock may be held. */
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
		return fail_section_contents(spec, err, &defect, message);
	if (table->bytes.size > spec->bytes_end - spec->sframe_start)
		return sfu_message_fail(message, -EINVAL,
					"section from 0x%llx on is mapped from another file or offset",
					spec->bytes_end);
	if (!table->pcrel) {
		spec->defect_offset = SFRAME_HDR_FLAGS;
		return sfu_message_fail(message, -EINVAL,
					"section at 0x%llx: function starts are not relative to their field",
					spec->sframe_start);
	}
	if (spec->validate) {
		err = sfu_table_check(table, &defect);
		if (err == -EINTR)
			return sfu_message_fail(message, err, "killed");
		if (err)
			return fail_section_contents(spec, err, &defect,
						     message);
	}
	return 0;
}

/* Initialize the members that do not depend on the section's source. */
static void init_section(struct sfu_section *section)
{
	refcount_set(&section->refs, 1);
	section->id = atomic64_inc_return(&last_section_id);
	atomic64_set(&section->hits, 0);
	section->directory = NULL;
	sfu_count(SFU_SECTIONS);
}

static u32 alloc_sections(struct sfu_section **memory, u32 nr)
{
	if (nr > 1 && kmem_cache_alloc_bulk(section_cache, GFP_KERNEL_ACCOUNT,
					    nr, (void **)memory))
		return nr;
	memory[0] = nr ? kmem_cache_alloc(section_cache, GFP_KERNEL_ACCOUNT) :
			 NULL;
	return !!memory[0];
}

static u32 alloc_charged_sections(struct sfu_section **memory, u32 nr,
				  struct sfu_payer *payer)
{
	const size_t size = sizeof(**memory);
	u32 i, got;

	/* Near the limit, one section may still be allowed. */
	if (sfu_payer_charge(payer, nr * size, false)) {
		nr = 1;
		if (sfu_payer_charge(payer, size, false))
			return 0;
	}
	got = alloc_sections(memory, nr);
	if (got < nr)
		sfu_payer_uncharge(payer, (nr - got) * size);
	for (i = 0; i < got; i++)
		memory[i]->payer = sfu_payer_number(payer);
	return got;
}

u32 sfu_section_alloc(struct sfu_section **memory, u32 nr)
{
	struct sfu_payer *payer = sfu_payer_get_current();

	if (!payer)
		return 0;
	nr = alloc_charged_sections(memory, nr, payer);
	sfu_payer_put(payer);
	return nr;
}

void sfu_section_free(struct sfu_section *memory)
{
	sfu_payer_uncharge_number(memory->payer, sizeof(*memory));
	kmem_cache_free(section_cache, memory);
}

/* Initialize a registered section, but for what depends on the kind of its table. */
static void init_registered(struct sfu_section *section,
			    const struct sfu_section_spec *spec)
{
	section->source = SFU_REGISTERED;
	section->is_table = spec->is_table;
	section->is_final = false;
	section->text.start = spec->text_start;
	section->text.end = spec->text_start + spec->text_size;
	section->text.origin = spec->text_origin;
	section->bytes_origin = spec->bytes_origin;
	init_section(section);
}

/* Check the layout of the function table. Its contents are checked when used. */
static int check_functions(const struct sfu_section_spec *spec,
			   struct sfu_message *message)
{
	const u64 end = sfu_functions_map_end(spec->max_functions,
					      spec->text_size,
					      spec->granule_bits);
	u64 header[SFU_FUNCTIONS_ENTRIES / sizeof(u64)];

	if (spec->sframe_size < end)
		return sfu_message_fail(message, -EINVAL,
					"the table has 0x%llx bytes, its map ends at 0x%llx",
					spec->sframe_size, end);
	if (spec->sframe_size > spec->bytes_end - spec->sframe_start)
		return sfu_message_fail(message, -EINVAL,
					"the table from 0x%llx on is mapped from another file or offset",
					spec->bytes_end);
	if (copy_from_user(header, u64_to_user_ptr(spec->sframe_start),
			   sizeof(header)))
		return sfu_message_fail(message, -EFAULT,
					"the table at 0x%llx cannot be read",
					spec->sframe_start);
	return 0;
}

static int make_functions(struct sfu_section *section,
			  const struct sfu_section_spec *spec,
			  struct sfu_message *message)
{
	int err = check_functions(spec, message);

	if (err)
		return err;
	section->address = spec->sframe_start;
	section->size = spec->sframe_size;
	section->num_fdes = spec->max_functions;
	section->index = sfu_functions_map(spec->max_functions);
	section->granule_bits = spec->granule_bits;
	section->pcrel = false;
	init_registered(section, spec);
	return 0;
}

int sfu_section_make(struct sfu_section *section, struct sfu_section_spec *spec,
		     struct sfu_message *message)
{
	/* Set by check_contents(); clearing it takes as long as most of that. */
	struct sfu_table table __uninitialized;
	int err;

	if (spec->is_table)
		return make_functions(section, spec, message);
	err = check_contents(spec, &table, message);
	if (err)
		return err;
	sfu_section_set_table(section, &table);
	init_registered(section, spec);
	return 0;
}

/* Charge the new @found to the current user. Returns whether that succeeded. */
static bool charge_found(struct sfu_found *found)
{
	struct sfu_payer *payer = sfu_payer_get_current();
	bool could;

	if (!payer)
		return false;
	could = !sfu_payer_charge(payer, sizeof(*found), false);
	if (could)
		found->section.payer = sfu_payer_number(payer);
	sfu_payer_put(payer);
	return could;
}

struct sfu_found *sfu_section_create_found(const struct sfu_found *spec,
					   bool charged)
{
	struct sfu_found *found = kmemdup(spec, sizeof(*spec),
					  SFU_GFP_OPTIONAL);

	if (found && charged && !charge_found(found)) {
		kfree(found);
		found = NULL;
	}
	if (found)
		init_section(&found->section);
	return found;
}

void sfu_section_free_directory(const struct sfu_section *section,
				struct sfu_directory *directory)
{
	if (!directory)
		return;
	sfu_payer_uncharge_number(section->payer,
				  sfu_directory_size(directory));
	kvfree(directory);
}

void sfu_section_put(struct sfu_section *section)
{
	struct sfu_found *found = sfu_found_of(section);

	if (!refcount_dec_and_test(&section->refs))
		return;
	sfu_uncount(SFU_SECTIONS);
	sfu_section_free_directory(section, section->directory);
	if (!found) {
		sfu_section_free(section);
		return;
	}
	sfu_image_put(found->image);
	sfu_payer_uncharge_number(section->payer, sizeof(*found));
	kfree(found);
}

bool sfu_section_hold_image(struct sfu_found *found)
{
	return sfu_image_get_bytes(found->image);
}

void sfu_section_release(struct sfu_section *section)
{
	struct sfu_image *image = sfu_section_image(section);

	if (image)
		sfu_image_put_bytes(image);
}

u64 sfu_section_address(struct sfu_section *section)
{
	return sfu_section_image(section) ? 0 : section->address;
}

struct sfu_range sfu_section_bytes(struct sfu_section *section)
{
	const u64 address = sfu_section_address(section);

	return (struct sfu_range) {
		.start = address,
		.end = address ? address + section->size : 0,
		.origin = section->bytes_origin,
	};
}

int sfu_section_check(struct sfu_section *section, u64 pc, u32 *budget,
		      u64 *start, u64 *end)
{
	const struct sfu_range bytes = sfu_section_bytes(section);

	return sfu_mapping_check(&section->text, section->is_final, pc,
				 &bytes, budget, start, end);
}

const char *sfu_section_file_name(const struct sfu_section *section,
				  char *buffer)
{
	return sfu_mapping_file_name(&section->text, buffer);
}
