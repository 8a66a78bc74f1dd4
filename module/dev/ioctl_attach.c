// SPDX-License-Identifier: GPL-2.0
/*
 * Ioctl: attach, detach and list sections.
 */
#include <linux/capability.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>

#include "client.h"
#include "file/attach.h"
#include "file/attach_file.h"
#include "file/attach_table.h"
#include "ioctl_ops.h"
#include "limits.h"
#include "mm/space.h"

/* Copy the caller's segments to @spec. Returns 0, -EINVAL or -EFAULT. */
static int fetch_segments(struct sfu_attach_spec *spec,
			  const struct sframe_unwind_attach *attach,
			  struct sfu_message *message)
{
	const struct sframe_unwind_segment __user *segments =
		u64_to_user_ptr(attach->segments);
	struct sframe_unwind_segment from;
	u32 i;

	if (attach->nr_segments > SFU_ELF_MAX_SEGMENTS)
		return sfu_message_fail(message, -EINVAL,
					"nr_segments %u exceeds %u",
					attach->nr_segments,
					SFU_ELF_MAX_SEGMENTS);
	if (attach->segments && !attach->nr_segments)
		return sfu_message_fail(message, -EINVAL,
					"segments without nr_segments");
	for (i = 0; i < attach->nr_segments; i++) {
		if (copy_from_user(&from, &segments[i], sizeof(from)))
			return sfu_message_fail(message, -EFAULT,
						"segments cannot be read");
		spec->segments[i] = (struct sfu_elf_segment) {
			.offset = from.offset,
			.filesz = from.file_size,
			.vaddr = from.address,
			.memsz = from.size,
		};
	}
	spec->nr_segments = attach->nr_segments;
	return 0;
}

/*
 * Get the table for an attachment with @flags, with a reference: that of all
 * spaces, or that of the current mm's space, which is created if necessary.
 * Returns it or an ERR_PTR().
 */
static struct sfu_attach_table *get_attach_table(u32 flags,
						 struct sfu_message *message)
{
	struct sfu_attach_table *table;
	struct sfu_space *space;

	if (flags & SFRAME_UNWIND_ATTACH_SYSTEM)
		return sfu_attach_table_get(NULL);
	space = sfu_space_get_or_create(message);
	if (IS_ERR(space))
		return ERR_CAST(space);
	table = sfu_attach_table_get(&space->attached);
	sfu_space_put(space);
	return table ?: ERR_PTR(sfu_message_fail(message, -ENOMEM,
						 "no memory"));
}

/* Attach a section to a file. */
static int attach_section(struct sfu_client *client,
			  struct sframe_unwind_attach *attach, struct file *elf,
			  struct file *sframe, struct sfu_message *message)
{
	struct sfu_attach_spec spec = {
		.elf = elf,
		.sframe = sframe,
		.sframe_offset = attach->sframe_offset,
		.sframe_size = attach->sframe_size,
		.share_id = attach->share_id,
		.build_id = attach->build_id,
		.build_id_size = attach->build_id_size,
		.flags = attach->flags,
	};
	struct sfu_attach_table *table;
	struct sfu_elf headers;
	int err;

	spec.max_memory = spec.flags & SFRAME_UNWIND_ATTACH_SYSTEM ?
				  SFU_MAX_ATTACHED_MEMORY :
				  SFU_MAX_OWN_ATTACHED_MEMORY;
	err = fetch_segments(&spec, attach, message);
	if (err)
		return err;
	if (!elf)
		return sfu_message_fail(message, -EBADF, "elf_fd %d is not open",
					attach->elf_fd);
	if (!sframe && !(spec.flags & SFRAME_UNWIND_ATTACH_SHARE))
		return sfu_message_fail(message, -EBADF,
					"sframe_fd %d is not open",
					attach->sframe_fd);
	err = sfu_attach_check_file(&spec, &headers, message);
	if (err)
		return err;
	table = get_attach_table(spec.flags, message);
	if (IS_ERR(table))
		return PTR_ERR(table);
	err = sfu_attach_add(&client->attachments, &spec, &headers, table,
			     message);
	attach->defect_offset = spec.defect_offset;
	if (!err) {
		attach->id = spec.id;
		attach->memory = spec.memory;
	}
	return err;
}

/*
 * The rules of a section attached for all processes determine which words of
 * their memory are read and reported as addresses. So it needs more privilege
 * than observing them.
 */
bool sfu_may_attach_for_all(void)
{
	return capable(CAP_SYS_ADMIN) ||
	       (capable(CAP_PERFMON) && capable(CAP_SYS_PTRACE));
}

/* Check that other members are consistent with SFRAME_UNWIND_ATTACH_SHARE. */
static int check_share(const struct sframe_unwind_attach *spec,
		       struct sfu_message *message)
{
	if (!(spec->flags & SFRAME_UNWIND_ATTACH_SHARE)) {
		if (spec->share_id)
			return sfu_message_fail(message, -EINVAL,
						"share_id without SHARE");
		return 0;
	}
	if (!(spec->flags & SFRAME_UNWIND_ATTACH_INODE))
		return sfu_message_fail(message, -EINVAL,
					"SHARE without INODE");
	if (spec->sframe_fd != -1 || spec->sframe_offset || spec->sframe_size)
		return sfu_message_fail(message, -EINVAL,
					"SHARE with a section");
	if (spec->flags & SFRAME_UNWIND_ATTACH_EXTENDED)
		return sfu_message_fail(message, -EINVAL,
					"SHARE with EXTENDED");
	return 0;
}

/* Check that other members are consistent with SFRAME_UNWIND_ATTACH_PROCESS. */
static int check_process(const struct sframe_unwind_attach *spec,
			 struct sfu_message *message)
{
	const u32 others = SFRAME_UNWIND_ATTACH_SYSTEM |
			   SFRAME_UNWIND_ATTACH_PREFER |
			   SFRAME_UNWIND_ATTACH_INODE |
			   SFRAME_UNWIND_ATTACH_SHARE;

	if (!(spec->flags & SFRAME_UNWIND_ATTACH_PROCESS)) {
		if (spec->pid || spec->text_start || spec->text_size)
			return sfu_message_fail(message, -EINVAL,
						"pid, text_start or text_size without PROCESS");
		if (spec->flags & SFRAME_UNWIND_ATTACH_UNCHANGED || spec->code)
			return sfu_message_fail(message, -EINVAL,
						"UNCHANGED or code without PROCESS");
		return 0;
	}
	if (spec->flags & others)
		return sfu_message_fail(message, -EINVAL,
					"PROCESS with flags 0x%x",
					spec->flags & others);
	if (spec->elf_fd != -1 || spec->build_id_size || spec->segments ||
	    spec->nr_segments)
		return sfu_message_fail(message, -EINVAL,
					"PROCESS with an ELF file");
	if (spec->pid < 0)
		return sfu_message_fail(message, -EINVAL, "pid %d is negative",
					spec->pid);
	if (spec->code && !(spec->flags & SFRAME_UNWIND_ATTACH_UNCHANGED))
		return sfu_message_fail(message, -EINVAL,
					"code without UNCHANGED");
	return 0;
}

int sfu_ioctl_attach(struct sfu_client *client, union sfu_arg *arg,
		     struct sfu_message *message)
{
	struct sframe_unwind_attach *spec = &arg->attach;
	const bool is_of_process = spec->flags & SFRAME_UNWIND_ATTACH_PROCESS;
	struct file *elf, *sframe;
	int err;

	spec->id = 0;
	spec->memory = 0;
	spec->defect_offset = 0;
	err = sfu_check_flags(spec->flags, SFRAME_UNWIND_ATTACH_SYSTEM |
			  SFRAME_UNWIND_ATTACH_PREFER |
			  SFRAME_UNWIND_ATTACH_INODE |
			  SFRAME_UNWIND_ATTACH_REPLACE |
			  SFRAME_UNWIND_ATTACH_SHARE |
			  SFRAME_UNWIND_ATTACH_EXTENDED |
			  SFRAME_UNWIND_ATTACH_PROCESS |
			  SFRAME_UNWIND_ATTACH_UNCHANGED, message);
	if (err)
		return err;
	err = sfu_check_reserved(spec->reserved | spec->reserved2 |
				 spec->reserved3 | spec->reserved4, message);
	if (err)
		return err;
	err = check_process(spec, message) ?: check_share(spec, message);
	if (err)
		return err;
	if (spec->build_id_size > sizeof(spec->build_id))
		return sfu_message_fail(message, -EINVAL,
					"build_id_size %u exceeds %zu",
					spec->build_id_size,
					sizeof(spec->build_id));
	if (spec->sframe_size > SFU_MAX_SFRAME_SIZE)
		return sfu_message_fail(message, -EINVAL,
					"sframe_size 0x%llx exceeds 0x%x",
					spec->sframe_size, SFU_MAX_SFRAME_SIZE);
	if (spec->sframe_offset > S64_MAX - SFU_MAX_SFRAME_SIZE)
		return sfu_message_fail(message, -EINVAL,
					"sframe_offset 0x%llx is beyond all files",
					spec->sframe_offset);
	if (spec->flags & SFRAME_UNWIND_ATTACH_SYSTEM &&
	    !sfu_may_attach_for_all())
		return sfu_message_fail(message, -EPERM,
					"attaching for all processes needs CAP_SYS_ADMIN, or CAP_PERFMON and CAP_SYS_PTRACE");

	elf = is_of_process ? NULL : fget(spec->elf_fd);
	sframe = spec->flags & SFRAME_UNWIND_ATTACH_SHARE ?
			 NULL : fget(spec->sframe_fd);
	if (is_of_process)
		err = sfu_ioctl_attach_process(client, spec, sframe, message);
	else
		err = attach_section(client, spec, elf, sframe, message);
	if (sframe)
		fput(sframe);
	if (elf)
		fput(elf);
	return err;
}

int sfu_ioctl_detach(struct sfu_client *client, union sfu_arg *arg,
		     struct sfu_message *message)
{
	const struct sframe_unwind_detach *detach = &arg->detach;
	int err;

	err = sfu_check_flags(detach->flags, 0, message);
	if (err)
		return err;
	err = sfu_check_reserved(detach->reserved, message);
	if (err)
		return err;
	err = sfu_attach_remove(&client->attachments, detach->id);
	if (err)
		return sfu_message_fail(message, err,
					"no attachment has id %llu",
					detach->id);
	return 0;
}

int sfu_ioctl_list_attached(struct sfu_client *client, union sfu_arg *arg,
			    struct sfu_message *message)
{
	struct sframe_unwind_list_attached *list = &arg->list_attached;
	struct sframe_unwind_attached entry, __user *to;
	u64 from = list->from;
	u32 nr = 0;
	int err;

	err = sfu_check_flags(list->flags, 0, message);
	if (err)
		return err;
	err = sfu_check_reserved(list->reserved, message);
	if (err)
		return err;
	sfu_attach_total(&client->attachments, &list->total, &list->memory);
	to = u64_to_user_ptr(list->attached);
	while (nr < list->nr &&
	       sfu_attach_next(&client->attachments, from, &entry)) {
		if (copy_to_user(to + nr, &entry, sizeof(entry)))
			return sfu_message_fail(message, -EFAULT,
						"entry %u could not be written",
						nr);
		from = entry.id + 1;
		nr++;
		cond_resched();
		if (fatal_signal_pending(current))
			return sfu_message_fail(message, -EINTR, "killed");
	}
	list->nr = nr;
	return 0;
}

