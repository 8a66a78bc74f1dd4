// SPDX-License-Identifier: GPL-2.0
/*
 * Discover: sections for code that nobody has registered any for.
 */
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/uaccess.h>

#include "counters.h"
#include "decode/sframe_format.h"
#include "discover.h"
#include "file/attach_file.h"
#include "file/attach_table.h"
#include "file/elf.h"
#include "file/file_read.h"
#include "file/image.h"
#include "file/pin.h"
#include "limits.h"
#include "message.h"
#include "mm/mapping.h"
#include "mm/section.h"
#include "mm/space.h"

/**
 * struct discovery - what is being found out
 *
 * @reader: of the file.
 * @budget: mappings that may be looked at yet.
 * @code: mapping that the address is in.
 * @space: that it is for.
 * @elf: the file's headers.
 * @bias: how far the code is from where they say.
 * @found: what comes of it. Its image, if any, has its bytes.
 */
struct discovery {
	struct sfu_elf_reader reader;
	u32 *budget;
	struct sfu_code code;
	const struct sfu_space *space;
	struct sfu_elf elf;
	u64 bias;
	struct sfu_found found;
};

static int read_code_file(const struct sfu_elf_reader *reader, u64 offset,
			  void *to, u32 size)
{
	const struct sfu_code *code =
		&container_of(reader, struct discovery, reader)->code;

	if (code->file)
		return sfu_file_read(code->file, offset, to, size);
	if (offset > code->end - code->image ||
	    size > code->end - code->image - offset)
		return -EFAULT;
	/* It is there; if it is not, then for want of memory. */
	return copy_from_user(to, u64_to_user_ptr(code->image + offset), size) ?
		       -ENOMEM : 0;
}

/* Make [*start, *end) what it has in common with [start2, end2). */
static void intersect_range(struct sfu_range *range, u64 start, u64 end)
{
	range->start = max(range->start, start);
	range->end = min(range->end, end);
}

/*
 * Where the segment that @pc is in has been mapped. Returns whether that makes
 * sense, with discovery->bias, and the text cut down to the segment.
 */
static bool place_segment(struct discovery *discovery, u64 pc)
{
	const struct sfu_code *code = &discovery->code;
	const u64 offset = code->offset + (pc - code->start);
	const struct sfu_elf_segment *segment =
		sfu_elf_find_segment(&discovery->elf, offset);
	struct sfu_range text = discovery->found.section.text;
	u64 bias;

	if (!segment)
		return false;
	bias = pc - (segment->vaddr + (offset - segment->offset));
	intersect_range(&text, bias + round_down(segment->vaddr, PAGE_SIZE),
			bias + round_up(segment->vaddr + segment->memsz,
					PAGE_SIZE));
	if (pc < text.start || pc >= text.end)
		return false;
	discovery->bias = bias;
	discovery->found.section.text = text;
	return true;
}

/*
 * Are @size bytes of the file from @offset on mapped readable at @address?
 * Returns 0, -ENOENT, -EINTR, or -ETIME if the budget does not suffice.
 */
static int check_mapped(const struct discovery *discovery, u64 address,
			u64 size, u64 offset, struct sfu_origin *origin)
{
	const struct file *file = discovery->code.file;
	struct sfu_mappings mappings;
	u64 same_end, at;
	u32 most;
	int err;

	if (address + size <= address || address + size > TASK_SIZE_MAX)
		return -ENOENT;
	if (sfu_mappings_lock(&mappings))
		return -EINTR;
	most = min(mappings.left, *discovery->budget);
	mappings.left = most;
	err = sfu_mappings_find(&mappings, SFU_MAPPED_BYTES, address,
				address + size, origin, &same_end, &at);
	sfu_mappings_unlock(&mappings);
	*discovery->budget -= most - mappings.left;
	if (err && !*discovery->budget)
		return -ETIME;
	return !err && same_end >= address + size &&
	       origin->hash == sfu_mapping_origin(file, offset).hash ?
		       0 : -ENOENT;
}

/* The file's own section where the process has it in memory. */
static int open_mapped(struct discovery *discovery, struct sfu_defect *defect)
{
	struct sfu_section *section = &discovery->found.section;
	const struct sfu_elf *elf = &discovery->elf;
	const struct sfu_bytes bytes = {
		.address = discovery->bias + elf->sframe_vaddr,
		.size = min_t(u64, elf->sframe_size, SFU_MAX_SFRAME_SIZE),
	};
	struct sfu_table table;
	int err;

	err = check_mapped(discovery, bytes.address,
			   min_t(u64, bytes.size, SFRAME_HDR_SIZE),
			   elf->sframe_offset, &section->bytes_origin);
	if (err)
		return err;
	err = sfu_table_open(&table, &bytes, defect);
	if (err)
		return err == -EFAULT ? -ENOENT : err;
	err = check_mapped(discovery, bytes.address, table.bytes.size,
			   elf->sframe_offset, &section->bytes_origin);
	if (err)
		return err;
	sfu_section_set_table(section, &table);
	return 0;
}

/* Have the section come from @image. */
static void use_image(struct discovery *discovery, struct sfu_image *image,
		      enum sfu_source source)
{
	struct sfu_section *section = &discovery->found.section;

	discovery->found.image = image;
	sfu_section_set_table(section, &image->table);
	section->address += discovery->bias;
	section->source = source;
}

/* The file's own section, as no PT_LOAD of it has been mapped. */
static int open_read(struct discovery *discovery, struct sfu_defect *defect)
{
	const struct sfu_elf *elf = &discovery->elf;
	struct sfu_image *image;

	if (!discovery->code.file)
		return -EINVAL;
	image = sfu_image_create_cached(discovery->code.file,
					elf->sframe_offset, elf->sframe_size,
					elf->sframe_vaddr, SFU_MAX_READ_SIZE,
					defect);
	if (IS_ERR(image))
		return PTR_ERR(image);
	sfu_image_get_bytes(image);
	use_image(discovery, image, SFU_FOUND);
	return 0;
}

/*
 * Use the file's own section. Returns 0; an errno that is_final_error() if
 * there is no good one; or one that another time need not be.
 */
static int use_own(struct discovery *discovery, struct sfu_defect *defect)
{
	int err;

	err = open_mapped(discovery, defect);
	if (!err)
		discovery->found.section.source = SFU_FOUND;
	else if (err == -ENOENT)
		err = open_read(discovery, defect);
	return err;
}

/* The latest that is attached to the file, as sfu_attach_view_find() returns it. */
static struct sfu_image *latest_attached(const struct sfu_space *space,
					 const struct sfu_found *found,
					 bool preferred)
{
	const struct sfu_attach_keys keys = {
		.inode = sfu_attach_inode_key(found->key,
					      sfu_pin_find(found->inode)),
		.file = found->key,
	};

	return sfu_attach_view_find(&space->attached, keys, preferred);
}

/* What has been attached to the file. Returns whether there is something. */
static bool use_attached(struct discovery *discovery, bool preferred)
{
	struct sfu_image *image = latest_attached(discovery->space,
						  &discovery->found, preferred);

	if (!image)
		return false;
	use_image(discovery, image, SFU_ATTACHED);
	return true;
}

/*
 * Does @err say something of what the file has in it? All else may be different
 * next time, and is not to be remembered.
 */
static bool is_final_error(int err)
{
	return err == -EINVAL || err == -EOPNOTSUPP || err == -ENOSPC;
}

/* What to return for an error that is not. */
static int pass_on_error(int err)
{
	return err == -EINTR || err == -EINPROGRESS || err == -ETIME ?
		       err : -ENOENT;
}

/*
 * Look at the file. Returns 0 with discovery->found filled; or -EINTR,
 * -EINPROGRESS or -ENOENT if there is nothing to be remembered of it.
 */
static int look_at_file(struct discovery *discovery, u64 pc, bool own,
			struct sfu_defect *defect)
{
	struct sfu_found *found = &discovery->found;
	int err;

	sfu_count(SFU_TOTAL_DISCOVERED);
	if (discovery->code.file && !sfu_file_can_read(discovery->code.file))
		return 0;
	err = sfu_elf_read(&discovery->elf, &discovery->reader);
	if (err)
		return is_final_error(err) ? 0 : pass_on_error(err);
	if (!place_segment(discovery, pc))
		return 0;
	found->key = sfu_attach_key(&discovery->elf);
	found->inode = discovery->code.inode;
	found->has_own = own && discovery->elf.sframe_size;
	/* Of what is attached, some comes before a section of the file's own. */
	if (found->has_own && use_attached(discovery, true))
		err = 0;
	else if (found->has_own)
		err = use_own(discovery, defect);
	else
		err = -EINVAL;
	if (err && !is_final_error(err))
		return pass_on_error(err);
	if (err) {
		found->has_own = false;
		use_attached(discovery, false);
	}
	return fatal_signal_pending(current) ? -EINTR : 0;
}

static void release_found(struct sfu_found *found)
{
	if (!found->image)
		return;
	sfu_image_put_bytes(found->image);
	sfu_image_put(found->image);
}

/*
 * Add @section to @space. Returns 0; -EEXIST if another thread was quicker; or
 * -ENOENT if it cannot be remembered.
 */
static int add_found_section(struct sfu_space *space,
			     struct sfu_section *section)
{
	struct sfu_section *other;
	struct sfu_message message;
	int err;

	err = sfu_space_add(space, section, &other, &message);
	if (err == -ENOSPC) {
		sfu_space_forget_found(space);
		err = sfu_space_add(space, section, &other, &message);
	}
	if (err == -EEXIST)
		sfu_section_put(other);
	return err && err != -EEXIST ? -ENOENT : err;
}

/*
 * Make a section of what was found, and add it to @space if it @is_gap. Returns as
 * sfu_discover().
 */
static noinline_for_stack int make_found_section(struct sfu_space *space,
						 struct sfu_found *spec,
						 bool is_gap,
						 struct sfu_section **section)
{
	struct sfu_found *found;
	int err = -EEXIST;

	/* What a process that registers has is not given back by itself. */
	found = sfu_section_create_found(spec, READ_ONCE(space->markers));
	if (!found) {
		release_found(spec);
		return -ENOENT;
	}
	if (is_gap)
		err = add_found_section(space, &found->section);
	if (err == -ENOENT) {
		sfu_section_release(&found->section);
		sfu_section_put(&found->section);
	} else {
		*section = &found->section;
	}
	return err;
}

/* Is @code from the file, and the place in it, that @range has been mapped from? */
static bool is_from_same(const struct sfu_code *code,
			 const struct sfu_range *range)
{
	const u64 offset = code->offset + (range->start - code->start);

	return range->end && sfu_mapping_origin(code->file, offset).hash ==
				     range->origin.hash;
}

int sfu_discover(struct sfu_space *space, u64 pc, const struct sfu_range *bad,
		 u32 *budget, u64 *code_start, u64 *code_end,
		 struct sfu_section **section, struct sfu_defect *defect)
{
	struct discovery discovery = {
		.reader.read = read_code_file,
		.budget = budget,
		.space = space,
	};
	struct sfu_found *found = &discovery.found;
	struct sfu_range *text = &found->section.text;
	u64 start, end;
	bool is_gap;
	int err;

	*section = NULL;
	defect->kind = SFU_DEFECT_NONE;
	err = sfu_mapping_find_code(pc, budget, &discovery.code);
	*code_start = discovery.code.start;
	*code_end = discovery.code.end;
	if (err)
		return err;
	atomic64_set(&found->generation, sfu_space_attach_generation(space));
	/* Another thread may have added something since the caller looked. */
	is_gap = sfu_space_find_gap(space, pc, &start, &end);
	if (!is_gap) {
		start = pc;
		end = pc + 1;
	}
	*text = (struct sfu_range) {
		.start = discovery.code.start,
		.end = discovery.code.end,
	};
	intersect_range(text, start, end);
	err = look_at_file(&discovery, pc, !is_from_same(&discovery.code, bad),
			   defect);
	if (!err) {
		text->origin = sfu_mapping_origin(discovery.code.file,
						  discovery.code.offset +
						  (text->start -
						   discovery.code.start));
		err = make_found_section(space, found, is_gap, section);
		/* The other thread tells of it. */
		if (err == -EEXIST)
			defect->kind = SFU_DEFECT_NONE;
	} else {
		release_found(found);
	}
	if (discovery.code.file)
		fput(discovery.code.file);
	return err;
}

/* What would be attached to @found->section now, as latest_attached() does. */
static struct sfu_image *find_attached(const struct sfu_space *space,
				       const struct sfu_found *found)
{
	struct sfu_image *image = NULL;

	if (found->has_own)
		image = latest_attached(space, found, true);
	/* A section of the file's own gives way to a preferred one only. */
	if (!image && found->section.source != SFU_FOUND)
		image = latest_attached(space, found, false);
	return image;
}

bool sfu_discover_is_current(struct sfu_space *space, struct sfu_found *found)
{
	const u64 generation = sfu_space_attach_generation(space);
	const struct sfu_image *used = found->section.source == SFU_ATTACHED ?
					       found->image : NULL;
	struct sfu_image *image;
	bool is_current;

	if (atomic64_read(&found->generation) == generation)
		return true;
	image = find_attached(space, found);
	is_current = image == used;
	if (image) {
		sfu_image_empty(image);
		sfu_image_put(image);
	}
	if (is_current)
		atomic64_set(&found->generation, generation);
	return is_current;
}
