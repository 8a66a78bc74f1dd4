// SPDX-License-Identifier: GPL-2.0
/*
 * Discover: find a section for code without a registered one.
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
#include "discover_current.h"
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
 * struct discovery - state of a discovery
 *
 * @reader: reads the file.
 * @budget: number of mappings that may still be visited.
 * @code: the mapped code that contains the address.
 * @space: the space that needs a section.
 * @elf: headers of the file.
 * @bias: load bias: mapped address minus address in the file's headers.
 * @found: the result. The bytes of its image, if any, are held.
 */
struct discovery {
	struct sfu_elf_reader reader;
	u32 *budget;
	struct sfu_code code;
	struct sfu_space *space;
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
	/* The vDSO is mapped, so only a lack of memory can make this fail. */
	return copy_from_user(to, u64_to_user_ptr(code->image + offset), size) ?
		       -ENOMEM : 0;
}

/* Reduce @range to its intersection with [start, end). */
static void intersect_range(struct sfu_range *range, u64 start, u64 end)
{
	range->start = max(range->start, start);
	range->end = min(range->end, end);
}

/*
 * Compute the load bias from the segment that contains @pc, and reduce the text
 * to that segment. Returns false if the headers do not match the mapping.
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
 * Check that @size bytes of the file from @offset on are mapped readable at
 * @address. Returns 0 with *@origin; -ENOENT if not; -EINTR; or -ETIME if the
 * budget is exhausted.
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

/*
 * Open the section of the file where the process has it mapped. -ENOENT if it
 * has not.
 */
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

/*
 * Use @image for the section. Takes over the reference, and a hold of the
 * bytes.
 */
static void use_image(struct discovery *discovery, struct sfu_image *image,
		      enum sfu_source source)
{
	struct sfu_section *section = &discovery->found.section;

	discovery->found.image = image;
	sfu_section_set_table(section, &image->table);
	section->address += discovery->bias;
	section->source = source;
}

/* Read the section of the file, because the process has not mapped it. */
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
 * Use the section of the file itself. Returns 0; an error for which
 * is_final_error() is true if there is none, or it is malformed; or a temporary
 * error.
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

/*
 * Returns the origin of @address, which is in a mapping that is contiguous with
 * @code.
 */
static struct sfu_origin origin_of_code(const struct sfu_code *code,
					u64 address)
{
	/* Code that is neither of a file nor in the vDSO is anonymous memory. */
	if (!code->file && !code->image)
		return (struct sfu_origin) {};
	return sfu_mapping_origin(code->file,
				  code->offset + (address - code->start));
}

/*
 * Use the image attached to a range of the process that covers @pc. Returns
 * whether there is one. Reduces the text to the range, or else to the addresses
 * around @pc that no range covers. Ends an attachment if memory of another origin is
 * mapped there.
 */
static bool use_range(struct discovery *discovery, u64 pc)
{
	const struct sfu_attach_view *view = &discovery->space->attached;
	struct sfu_found *found = &discovery->found;
	struct sfu_attach_range range;
	struct sfu_image *image;
	bool is_other;
	u64 id = 0;

	image = sfu_attach_view_find_range(view, pc, &range, &id);
	intersect_range(&found->section.text, range.start, range.end);
	if (!image)
		return false;
	is_other = origin_of_code(&discovery->code, range.start).hash !=
		   range.origin;
	if (is_other || (range.is_final && !discovery->code.is_final)) {
		/* A process may only be about to make the code writable for a moment. */
		if (is_other)
			sfu_attach_view_end_range(view, pc, id);
		sfu_image_empty(image);
		sfu_image_put(image);
		return false;
	}
	discovery->bias = range.start;
	use_image(discovery, image, SFU_ATTACHED);
	found->range = id;
	found->section.is_final = range.is_final;
	return true;
}

/* Use the image attached to the file. Returns whether there is one. */
static bool use_attached(struct discovery *discovery, bool preferred)
{
	struct sfu_image *image = sfu_latest_attached(discovery->space,
						      &discovery->found,
						      preferred);

	if (!image)
		return false;
	use_image(discovery, image, SFU_ATTACHED);
	return true;
}

/*
 * Returns whether @err is due to the file's contents. Other errors are
 * temporary, and must not be cached.
 */
static bool is_final_error(int err)
{
	return err == -EINVAL || err == -EOPNOTSUPP || err == -ENOSPC;
}

/* Returns what sfu_discover() has to return for a temporary error. */
static int pass_on_error(int err)
{
	return err == -EINTR || err == -EINPROGRESS || err == -ETIME ?
		       err : -ENOENT;
}

/*
 * Find a section in the file or attached to it. @own: consider that of the file
 * itself. Returns 0 with discovery->found filled; or -EINTR, -EINPROGRESS,
 * -ETIME or -ENOENT, if the result must not be cached.
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
	/*
	 * Order: preferred attachments, the section of the file, other
	 * attachments.
	 */
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
 * Add @section to @space. Returns 0; -EEXIST if another thread has added one;
 * or -ENOENT if it failed otherwise.
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
 * Create a section from @spec, and add it to @space if @is_gap, that is, if no
 * section covered the address. Takes over what @spec refers to. Returns what
 * sfu_discover() returns.
 */
static noinline_for_stack int make_found_section(struct sfu_space *space,
						 struct sfu_found *spec,
						 bool is_gap,
						 struct sfu_section **section)
{
	struct sfu_found *found;
	int err = -EEXIST;

	/*
	 * The shrinker does not free it from a registered space: charge it
	 * there.
	 */
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

/* Returns whether @range was part of the same mapping of a file as @code. */
static bool is_from_same(const struct sfu_code *code,
			 const struct sfu_range *range)
{
	return range->end && origin_of_code(code, range->start).hash ==
				     range->origin.hash;
}

/*
 * Find the code at @pc, and set the text to all of it. Returns 0; an error of
 * sfu_mapping_find_code(); or -ENOENT, with discovery->code set, if it is in
 * anonymous memory.
 */
static int begin_discovery(struct discovery *discovery, u64 pc)
{
	struct sfu_found *found = &discovery->found;
	int err;

	err = sfu_mapping_find_code(pc, discovery->budget, &discovery->code);
	found->section.text = (struct sfu_range) {
		.start = discovery->code.start,
		.end = discovery->code.end,
	};
	/* Before anything is looked for, so that later changes are noticed. */
	found->last_range =
		sfu_attach_view_last_range(&discovery->space->attached);
	atomic64_set(&found->generation,
		     sfu_space_attach_generation(discovery->space));
	return err;
}

/*
 * Add what was found to the space, or use it for the walk alone, and end the
 * discovery. Returns what sfu_discover() returns.
 */
static int end_discovery(struct discovery *discovery, int err, bool is_gap,
			 struct sfu_section **section)
{
	struct sfu_found *found = &discovery->found;
	struct sfu_range *text = &found->section.text;

	if (!err) {
		text->origin = origin_of_code(&discovery->code, text->start);
		err = make_found_section(discovery->space, found, is_gap,
					 section);
	} else {
		release_found(found);
	}
	if (discovery->code.file)
		fput(discovery->code.file);
	return err;
}

int sfu_discover(struct sfu_space *space, u64 pc, const struct sfu_range *bad,
		 u64 above, u32 *budget, u64 *code_start, u64 *code_end,
		 struct sfu_section **section, struct sfu_defect *defect)
{
	struct discovery discovery = {
		.reader.read = read_code_file,
		.budget = budget,
		.space = space,
	};
	struct sfu_found *found = &discovery.found;
	struct sfu_range *text = &found->section.text;
	bool is_gap, is_anonymous;
	u64 start, end;
	int err;

	*section = NULL;
	defect->kind = SFU_DEFECT_NONE;
	err = begin_discovery(&discovery, pc);
	*code_start = text->start;
	*code_end = text->end;
	is_anonymous = err == -ENOENT && text->end;
	if (err && !(is_anonymous &&
		     sfu_attach_view_has_ranges(&space->attached)))
		return err;
	/* Another thread may have added a section for @pc meanwhile. */
	is_gap = sfu_space_find_gap(space, pc, &start, &end);
	if (!is_gap) {
		found->above = above;
		start = pc;
		end = pc + 1;
	}
	intersect_range(text, start, end);
	if (!err)
		err = look_at_file(&discovery, pc,
				   !is_from_same(&discovery.code, bad), defect);
	if ((!err || is_anonymous) && found->section.source == SFU_NOTHING &&
	    use_range(&discovery, pc))
		err = 0;
	/* That there is none does not concern ranges beside @pc. */
	if (is_anonymous) {
		*code_start = text->start;
		*code_end = text->end;
	}
	err = end_discovery(&discovery, err, is_gap, section);
	/* The other thread reports the defect. */
	if (err == -EEXIST)
		defect->kind = SFU_DEFECT_NONE;
	return err;
}

int sfu_discover_range(struct sfu_space *space, u64 pc,
		       const struct sfu_section *above, u32 *budget,
		       struct sfu_section **section)
{
	struct discovery discovery = { .budget = budget, .space = space };
	struct sfu_found *found = &discovery.found;
	int err;

	*section = NULL;
	if (!sfu_attach_view_find_overlap(&space->attached, pc, pc + 1))
		return -ENOENT;
	err = begin_discovery(&discovery, pc);
	if (err)
		return err;
	found->above = above->id;
	found->is_below_registered = above->source == SFU_REGISTERED;
	intersect_range(&found->section.text, pc, pc + 1);
	if (!use_range(&discovery, pc))
		err = -ENOENT;
	err = end_discovery(&discovery, err, false, section);
	/* There is a range, but no memory. */
	return err == -ENOENT && found->range ? -ENOMEM : err;
}
