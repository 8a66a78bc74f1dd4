// SPDX-License-Identifier: GPL-2.0
/*
 * Ioctl: attach a section to addresses of a process.
 */
#include <linux/err.h>
#include <linux/pid.h>
#include <linux/rculist.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/uaccess.h>

#include "client.h"
#include "file/attach.h"
#include "file/attach_file.h"
#include "file/attach_table.h"
#include "file/elf.h"
#include "ioctl_ops.h"
#include "limits.h"
#include "mm/mapping.h"
#include "mm/space.h"

/*
 * Get the mm of the process of @task: that thread may have exited, and others not. Returns
 * it with a reference (mmget()), or NULL.
 */
static struct mm_struct *get_mm_of(struct task_struct *task)
{
	struct task_struct *thread;
	struct mm_struct *mm = NULL;

	rcu_read_lock();
	/* for_each_thread() needs tasklist_lock, if lockdep is built in. */
	list_for_each_entry_rcu(thread, &task->signal->thread_head, thread_node) {
		mm = get_task_mm(thread);
		if (mm)
			break;
	}
	rcu_read_unlock();
	return mm;
}

/*
 * Get the mm of process @pid, 0 being the caller's. Returns it with a reference
 * (mmget()), or an ERR_PTR() with @message.
 *
 * Another process's mm needs the privilege to attach for all processes, which is
 * more than ptrace would ask for: ptrace_may_access() is not exported. As it does
 * not depend on the process, it does not matter if that executes a program with
 * other credentials meanwhile. Without it no reference is taken, not even for a
 * moment: who drops the last one frees the memory.
 */
static struct mm_struct *get_mm(pid_t pid, struct sfu_message *message)
{
	struct mm_struct *mm = NULL;
	struct task_struct *task;
	bool is_ours = false;
	int err = -ESRCH;

	rcu_read_lock();
	task = pid ? pid_task(find_vpid(pid), PIDTYPE_PID) : current;
	if (task) {
		get_task_struct(task);
		is_ours = same_thread_group(task, current) ||
			  READ_ONCE(task->mm) == current->mm;
	}
	rcu_read_unlock();
	if (is_ours) {
		mm = current->mm;
		mmget(mm);
	} else if (task && !sfu_may_attach_for_all()) {
		err = -EPERM;
	} else if (task) {
		mm = get_mm_of(task);
	}
	if (task)
		put_task_struct(task);
	if (mm)
		return mm;
	if (err == -EPERM)
		err = sfu_message_fail(message, err,
				       "attaching to another process needs CAP_SYS_ADMIN, or CAP_PERFMON and CAP_SYS_PTRACE");
	else
		err = sfu_message_fail(message, err,
				       "no process %d with an address space", pid);
	return ERR_PTR(err);
}

/*
 * Check that @range is mapped in @mm as @what says, and get its origin.
 * Returns 0 or an errno with @message.
 */
static int locate_range(struct mm_struct *mm, enum sfu_mapped what,
			struct sfu_attach_range *range,
			struct sfu_message *message)
{
	struct sfu_mappings mappings;
	struct sfu_origin origin;
	u64 same_end, at;
	int err;

	if (sfu_mappings_lock_of(&mappings, mm))
		return sfu_message_fail(message, -EINTR, "killed");
	err = sfu_mappings_find(&mappings, what, range->start, range->end,
				&origin, &same_end, &at);
	sfu_mappings_unlock(&mappings);
	if (err == -E2BIG)
		return sfu_message_fail(message, -EINVAL,
					"text is in more than %u mappings, at 0x%llx",
					SFU_MAX_HELD_MAPPINGS, at);
	if (err)
		return sfu_message_fail(message, err,
					"text is not mapped executable%s at 0x%llx",
					what == SFU_MAPPED_FINAL ?
					" and read-only, without a file or userfaultfd," : "",
					at);
	if (same_end < range->end)
		return sfu_message_fail(message, -EINVAL,
					"text from 0x%llx on is mapped from another file or offset",
					same_end);
	range->origin = origin.hash;
	range->is_final = what == SFU_MAPPED_FINAL;
	return 0;
}

/*
 * Get the space of @mm, with a reference, or an ERR_PTR() with @message. The own
 * mm gets a marker, so that what walks find in it is charged. Another process
 * must not notice, so its space is an observed one, unless it has a marker.
 */
static struct sfu_space *get_space(struct mm_struct *mm,
				   struct sfu_message *message)
{
	struct sfu_space *space;

	if (mm == current->mm)
		return sfu_space_get_or_create(message);
	space = sfu_space_get_of(mm) ?: sfu_space_observe_of(mm);
	return space ?: ERR_PTR(sfu_message_fail(message, -ENOMEM,
						 "no memory"));
}

/*
 * Attach a section as @spec says to addresses of @space. The caller's reference
 * to @space keeps it until the attachment does.
 */
static int attach_to_space(struct sfu_client *client,
			   struct sfu_attach_spec *spec,
			   struct sfu_space *space, struct sfu_message *message)
{
	const u64 size = spec->range.end - spec->range.start;
	/* Functions must be in the range, as in a file's executable segment. */
	const struct sfu_elf headers = {
		.segments[0] = { .filesz = size, .memsz = size },
		.nr_segments = 1,
	};
	struct sfu_attach_table *table;

	table = sfu_attach_table_get(&space->attached);
	if (!table)
		return sfu_message_fail(message, -ENOMEM, "no memory");
	return sfu_attach_add(&client->attachments, spec, &headers, table,
			      message);
}

/*
 * Find the process of @attach, and check the addresses. Returns its space, with a
 * reference, and sets spec->range and spec->max_memory; or an ERR_PTR() with @message.
 *
 * The mm is not held any longer: reading the section may take long, and the memory of a
 * process that exits meanwhile must be freed. Its space then has ended.
 */
static struct sfu_space *locate(const struct sframe_unwind_attach *attach,
				struct sfu_attach_spec *spec,
				struct sfu_message *message)
{
	struct sfu_space *space;
	struct mm_struct *mm;
	int err;

	mm = get_mm(attach->pid, message);
	if (IS_ERR(mm))
		return ERR_CAST(mm);
	spec->range.start = attach->text_start;
	spec->range.end = attach->text_start + attach->text_size;
	spec->max_memory = mm == current->mm ? SFU_MAX_OWN_ATTACHED_MEMORY :
					       SFU_MAX_ATTACHED_MEMORY;
	err = locate_range(mm, spec->flags & SFRAME_UNWIND_ATTACH_UNCHANGED ?
			       SFU_MAPPED_FINAL : SFU_MAPPED_TEXT,
			   &spec->range, message);
	space = err ? ERR_PTR(err) : get_space(mm, message);
	mmput(mm);
	return space;
}

int sfu_ioctl_attach_process(struct sfu_client *client,
			     struct sframe_unwind_attach *attach,
			     struct file *sframe, struct sfu_message *message)
{
	const u64 start = attach->text_start, size = attach->text_size;
	struct sfu_attach_spec spec = {
		.sframe = sframe,
		.sframe_offset = attach->sframe_offset,
		.sframe_size = attach->sframe_size,
		.flags = attach->flags,
		.code = attach->code,
	};
	struct sfu_space *space;
	int err;

	if (!sframe)
		return sfu_message_fail(message, -EBADF,
					"sframe_fd %d is not open",
					attach->sframe_fd);
	if (!size || start + size <= start || start + size > TASK_SIZE_MAX)
		return sfu_message_fail(message, -EINVAL,
					"text at 0x%llx, 0x%llx bytes, is not a range of user addresses",
					start, size);
	space = locate(attach, &spec, message);
	if (IS_ERR(space))
		return PTR_ERR(space);
	err = attach_to_space(client, &spec, space, message);
	sfu_space_put(space);
	attach->defect_offset = spec.defect_offset;
	if (!err) {
		attach->id = spec.id;
		attach->memory = spec.memory;
	}
	return err;
}
