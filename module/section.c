// SPDX-License-Identifier: GPL-2.0
/*
 * Section: one .sframe byte range and one range of code that it describes.
 */
#include <linux/atomic.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "compat.h"
#include "counters.h"
#include "limits.h"
#include "message.h"
#include "section.h"
#include "sframe_format.h"

static atomic64_t last_id = ATOMIC64_INIT(0);

/* Is [start, start + size) not empty and all in user space? */
static bool is_user_range(u64 start, u64 size)
{
	return size && start + size > start && start + size <= TASK_SIZE_MAX;
}

/*
 * Is [start, end) of the current mm mapped with @flags all through? Returns 0,
 * -EFAULT with a hole, -EACCES without the permission, both with *@at, or
 * -EINTR.
 */
static int check_mapped(u64 start, u64 end, vm_flags_t flags, u64 *at)
{
	struct mm_struct *mm = current->mm;
	struct vm_area_struct *vma;
	int err = 0;

	if (mmap_read_lock_killable(mm))
		return -EINTR;
	for (*at = start; *at < end; *at = vma->vm_end) {
		vma = vma_lookup(mm, *at);
		if (!vma)
			err = -EFAULT;
		else if ((vma->vm_flags & flags) != flags)
			err = -EACCES;
		if (err)
			break;
	}
	mmap_read_unlock(mm);
	return err;
}

static int check_ranges(const struct sfu_section_spec *spec,
			struct sfu_message *message)
{
	u64 at;
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

	err = check_mapped(spec->sframe_start,
			   spec->sframe_start + spec->sframe_size, VM_READ,
			   &at);
	if (err)
		return sfu_message_fail(message, err,
					"section is not mapped readable at 0x%llx",
					at);
	err = check_mapped(spec->text_start,
			   spec->text_start + spec->text_size, VM_EXEC, &at);
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

struct sfu_section *sfu_section_create(struct sfu_section_spec *spec,
				       struct sfu_message *message)
{
	struct sfu_section *section;
	struct sfu_table table;
	int err;

	err = check_ranges(spec, message);
	if (err)
		return ERR_PTR(err);
	err = check_contents(spec, &table, message);
	if (err)
		return ERR_PTR(err);

	section = kmalloc(sizeof(*section), GFP_KERNEL_ACCOUNT);
	if (!section)
		return ERR_PTR(sfu_message_fail(message, -ENOMEM, "no memory"));
	refcount_set(&section->refs, 1);
	section->id = atomic64_inc_return(&last_id);
	section->text_start = spec->text_start;
	section->text_end = spec->text_start + spec->text_size;
	section->table = table;
	sfu_count(SFU_SECTIONS);
	return section;
}

void sfu_section_get(struct sfu_section *section)
{
	refcount_inc(&section->refs);
}

void sfu_section_put(struct sfu_section *section)
{
	if (!refcount_dec_and_test(&section->refs))
		return;
	sfu_uncount(SFU_SECTIONS);
	kfree(section);
}

/*
 * The section's bytes could not be read. Will they ever be? Not if they are
 * not mapped readable any more, or lie behind the end of a file that has been
 * cut. Otherwise memory was short. Returns -EINVAL, -EAGAIN, or -EINTR.
 */
static int why_unreadable(const struct sfu_section *section)
{
	const u64 end = section->table.bytes.address +
			section->table.bytes.size;
	struct mm_struct *mm = current->mm;
	struct vm_area_struct *vma;
	int err = -EAGAIN;
	u64 at;

	if (fatal_signal_pending(current) || mmap_read_lock_killable(mm))
		return -EINTR;
	for (at = section->table.bytes.address; at < end; at = vma->vm_end) {
		vma = vma_lookup(mm, at);
		if (!vma || !(vma->vm_flags & VM_READ)) {
			err = -EINVAL;
			break;
		}
		if (vma->vm_file) {
			u64 last = min_t(u64, end, vma->vm_end) - 1;

			last -= vma->vm_start;
			last += (u64)vma->vm_pgoff << PAGE_SHIFT;
			if (last >= i_size_read(file_inode(vma->vm_file))) {
				err = -EINVAL;
				break;
			}
		}
	}
	mmap_read_unlock(mm);
	return err;
}

int sfu_section_find_rule(const struct sfu_section *section, u64 pc,
			  struct sfu_match *match, struct sfu_defect *defect)
{
	struct sfu_fde fde;
	int err;

	match->rule.flags = 0;
	match->start = 0;
	match->end = 0;
	defect->kind = SFU_DEFECT_NONE;
	defect->offset = 0;

	err = sfu_table_find(&section->table, pc, &fde, defect);
	if (!err && (fde.start < section->text_start ||
		     fde.start + fde.size > section->text_end)) {
		defect->kind = SFU_DEFECT_FDE_TEXT;
		defect->offset = fde.entry;
		err = -EINVAL;
	}
	if (!err) {
		match->start = fde.start;
		match->end = fde.start + fde.size;
		err = sfu_fde_find_rule(&section->table, &fde, pc, &match->rule,
					defect);
	}
	return err == -EFAULT ? why_unreadable(section) : err;
}
