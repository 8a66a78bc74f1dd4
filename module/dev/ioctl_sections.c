// SPDX-License-Identifier: GPL-2.0
/*
 * Ioctl: register, unregister and list sections.
 */
#include <linux/limits.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "decode/functions.h"
#include "ioctl_ops.h"
#include "mm/section.h"
#include "mm/space.h"
#include "trace/trace.h"
#include "walk/remove.h"
#include "walk/request.h"

/*
 * Remove @other, which overlaps @section, if it is not a registered section, or
 * if it is stale: its code was unmapped, for instance by dlclose(), and no walk
 * has noticed yet. Returns whether @other is gone; another thread may have
 * removed it.
 */
static bool gives_way(struct sfu_space *space, struct sfu_section *section,
		      struct sfu_section *other)
{
	struct sfu_section *now;

	if (other->source == SFU_REGISTERED)
		sfu_remove_if_stale(space, other,
				    max(section->text.start,
					other->text.start));
	else
		sfu_space_drop(space, other, SFU_REMOVED_REPLACED);
	now = sfu_space_find(space, other->text.start);
	if (now)
		sfu_section_put(now);
	return now != other;
}

/*
 * Limits how many overlapping sections are removed one after the other: walks
 * may add more for the same code meanwhile.
 */
#define MAX_OVERLAPS	64

static int add_section(struct sfu_space *space, struct sfu_section *section,
		       struct sfu_message *message)
{
	struct sfu_section *other;
	bool again, made_room = false;
	int err, tries;

	for (tries = 0; tries < MAX_OVERLAPS; tries++) {
		err = sfu_space_add(space, section, &other, message);
		/* Tables that were unmapped and not unregistered make room. */
		if (err == -ENOSPC && section->is_table && !made_room) {
			sfu_remove_useless_tables(space);
			made_room = true;
			continue;
		}
		if (err != -EEXIST)
			return err;
		again = gives_way(space, section, other);
		sfu_section_put(other);
		if (!again)
			return err;
	}
	return err;
}

/* Check the mappings of @spec, see sfu_section_locate(). */
static int locate_section(struct sfu_section_spec *spec,
			  struct sfu_message *message)
{
	struct sfu_mappings mappings;
	int err;

	if (sfu_mappings_lock(&mappings))
		return sfu_message_fail(message, -EINTR, "killed");
	err = sfu_section_locate(spec, &mappings, message);
	sfu_mappings_unlock(&mappings);
	return err;
}

/*
 * Add @section to @space. Takes over the caller's reference, also on failure.
 */
static int add_and_put_section(struct sfu_space *space,
			       struct sfu_section *section, u64 *id,
			       struct sfu_message *message)
{
	int err = add_section(space, section, message);

	if (!err)
		*id = section->id;
	sfu_section_put(section);
	return err;
}

/* Register one section. Creates the space if there is none. */
static int register_one(struct sfu_section_spec *spec, u64 *id,
			struct sfu_message *message)
{
	struct sfu_section *section;
	struct sfu_space *space;
	int err;

	err = locate_section(spec, message);
	if (err)
		return err;
	if (!sfu_section_alloc(&section, 1))
		return sfu_message_fail(message, -ENOMEM, "no memory");
	err = sfu_section_make(section, spec, message);
	if (err) {
		sfu_section_free(section);
		return err;
	}
	space = sfu_space_get_or_create(message);
	if (IS_ERR(space)) {
		sfu_section_put(section);
		return PTR_ERR(space);
	}
	err = add_and_put_section(space, section, id, message);
	sfu_space_put(space);
	return err;
}

int sfu_ioctl_register(struct sfu_client *client, union sfu_arg *arg,
		       struct sfu_message *message)
{
	struct sframe_unwind_register *reg = &arg->reg;
	struct sfu_section_spec spec = {
		.sframe_start = reg->sframe_start,
		.sframe_size = reg->sframe_size,
		.text_start = reg->text_start,
		.text_size = reg->text_size,
		.validate = reg->flags & SFRAME_UNWIND_REGISTER_VALIDATE,
	};
	int err;

	reg->id = 0;
	reg->defect_offset = 0;
	err = sfu_check_flags(reg->flags, SFRAME_UNWIND_REGISTER_VALIDATE,
			      message) ?:
	      sfu_check_reserved(reg->reserved, message);
	if (err)
		return err;
	err = register_one(&spec, &reg->id, message);
	reg->defect_offset = spec.defect_offset;
	return err;
}

static int check_register_table(const struct sframe_unwind_register_table *reg,
				struct sfu_message *message)
{
	int err = sfu_check_flags(reg->flags, 0, message) ?:
		  sfu_check_reserved(reg->reserved, message);

	if (err)
		return err;
	if (!reg->max_functions)
		return sfu_message_fail(message, -EINVAL, "max_functions is 0");
	if (reg->granule_bits > SFU_FUNCTIONS_MAX_BITS)
		return sfu_message_fail(message, -EINVAL,
					"granule_bits %u exceeds %u",
					reg->granule_bits,
					SFU_FUNCTIONS_MAX_BITS);
	if (reg->table_start % sizeof(u64))
		return sfu_message_fail(message, -EINVAL,
					"table_start 0x%llx is not a multiple of 8",
					reg->table_start);
	if (reg->text_size > SFU_FUNCTIONS_MAX_TEXT)
		return sfu_message_fail(message, -EINVAL,
					"text_size 0x%llx exceeds 0x%llx",
					reg->text_size, SFU_FUNCTIONS_MAX_TEXT);
	return 0;
}

int sfu_ioctl_register_table(struct sfu_client *client, union sfu_arg *arg,
			     struct sfu_message *message)
{
	struct sframe_unwind_register_table *reg = &arg->register_table;
	struct sfu_section_spec spec = {
		.sframe_start = reg->table_start,
		.sframe_size = reg->table_size,
		.text_start = reg->text_start,
		.text_size = reg->text_size,
		.is_table = true,
		.max_functions = reg->max_functions,
		.granule_bits = reg->granule_bits,
	};
	int err;

	reg->id = 0;
	err = check_register_table(reg, message);
	return err ?: register_one(&spec, &reg->id, message);
}

int sfu_ioctl_unregister(struct sfu_client *client, union sfu_arg *arg,
			 struct sfu_message *message)
{
	struct sframe_unwind_unregister *unreg = &arg->unreg;
	struct sfu_space *space;
	int ret;

	unreg->removed = 0;
	ret = sfu_check_flags(unreg->flags, 0, message);
	if (ret)
		return ret;
	if (!unreg->id == !unreg->sframe_start)
		return sfu_message_fail(message, -EINVAL,
					"exactly one of id and sframe_start must be given");

	space = sfu_space_get();
	ret = sfu_space_remove(space, unreg->id, unreg->sframe_start);
	sfu_space_put(space);
	if (ret == -ENOENT && unreg->id)
		return sfu_message_fail(message, ret, "no section with id %llu",
					unreg->id);
	if (ret == -ENOENT)
		return sfu_message_fail(message, ret, "no section at 0x%llx",
					unreg->sframe_start);
	if (ret < 0)
		return sfu_message_fail(message, ret, "%s",
					ret == -EINTR ? "killed" : "no memory");
	unreg->removed = ret;
	return 0;
}

/* Entries of a batch that are processed at once. */
#define CHUNK	8

/* Processes @nr entries: sets the error and other output members of each. */
typedef void (*entries_fn)(struct sfu_space *space, u32 flags,
			   struct sframe_unwind_batch_entry *entries, u32 nr);

/*
 * Check the mappings of @spec with the mmap lock held. If mappings->left is
 * exhausted, releases and takes the lock again, so that others get it. On
 * return, the lock is held unless it returns -EINTR.
 */
static int locate_locked(struct sfu_section_spec *spec,
			 struct sfu_mappings *mappings)
{
	struct sfu_message message __uninitialized;
	const u32 left = mappings->left;
	int err = sfu_section_locate(spec, mappings, &message);

	if (!err || mappings->left || left == SFU_MAX_HELD_MAPPINGS)
		return err;
	sfu_mappings_unlock(mappings);
	return sfu_mappings_lock(mappings) ?:
	       sfu_section_locate(spec, mappings, &message);
}

/*
 * Check the mappings of @nr specs, taking the mmap lock as few times as
 * possible.
 */
static void locate_all(struct sfu_section_spec *specs,
		       struct sframe_unwind_batch_entry *entries, u32 nr)
{
	struct sfu_mappings mappings;
	int err = sfu_mappings_lock(&mappings);
	u32 i;

	for (i = 0; i < nr; i++) {
		if (err != -EINTR)
			err = locate_locked(&specs[i], &mappings);
		entries[i].error = -err;
	}
	if (err != -EINTR)
		sfu_mappings_unlock(&mappings);
}

/*
 * Register the located @spec, using the last of the *@nr elements of @memory.
 */
static int register_entry(struct sfu_space *space,
			  struct sfu_section_spec *spec, u64 *id,
			  struct sfu_section **memory, u32 *nr)
{
	struct sfu_message message __uninitialized;
	struct sfu_section *section;
	int err;

	if (!*nr)
		return -ENOMEM;
	section = memory[*nr - 1];
	err = sfu_section_make(section, spec, &message);
	if (err)
		return err;
	--*nr;
	return add_and_put_section(space, section, id, &message);
}

static void register_entries(struct sfu_space *space, u32 flags,
			     struct sframe_unwind_batch_entry *entries, u32 nr)
{
	struct sfu_section_spec specs[CHUNK] __uninitialized;
	struct sfu_section *memory[CHUNK] __uninitialized;
	u32 i, nr_memory = 0;

	for (i = 0; i < nr; i++) {
		specs[i] = (struct sfu_section_spec) {
			.sframe_start = entries[i].sframe_start,
			.sframe_size = entries[i].sframe_size,
			.text_start = entries[i].text_start,
			.text_size = entries[i].text_size,
			.validate = flags & SFRAME_UNWIND_REGISTER_VALIDATE,
		};
		entries[i].id = 0;
		entries[i].removed = 0;
	}
	locate_all(specs, entries, nr);
	for (i = 0; i < nr; i++) {
		if (!entries[i].error && !nr_memory)
			nr_memory = sfu_section_alloc(memory, nr - i);
		if (!entries[i].error)
			entries[i].error = -register_entry(space, &specs[i],
							   &entries[i].id,
							   memory, &nr_memory);
		entries[i].defect_offset = specs[i].defect_offset;
	}
	while (nr_memory)
		sfu_section_free(memory[--nr_memory]);
}

static void unregister_entries(struct sfu_space *space, u32 flags,
			       struct sframe_unwind_batch_entry *entries,
			       u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++) {
		struct sframe_unwind_batch_entry *entry = &entries[i];
		int ret = -EINVAL;

		if (!entry->id != !entry->sframe_start)
			ret = sfu_space_remove(space, entry->id,
					       entry->sframe_start);
		entry->removed = max(ret, 0);
		entry->error = -min(ret, 0);
	}
}

static int run_entries(struct sframe_unwind_batch *batch,
		       struct sfu_space *space, entries_fn run, u32 nr)
{
	struct sframe_unwind_batch_entry entries[CHUNK] __uninitialized;
	struct sframe_unwind_batch_entry __user *at =
		(void __user *)u64_to_user_ptr(batch->entries) +
		(u64)batch->nr * sizeof(entries[0]);
	u32 i, failed = 0;

	if (copy_from_user(entries, at, nr * sizeof(entries[0])))
		return -EFAULT;
	run(space, batch->flags, entries, nr);
	for (i = 0; i < nr; i++)
		failed += !!entries[i].error;
	if (copy_to_user(at, entries, nr * sizeof(entries[0])))
		return -EFAULT;
	batch->nr += nr;
	batch->nr_failed += failed;
	return 0;
}

static int run_batch(struct sframe_unwind_batch *batch, struct sfu_space *space,
		     entries_fn run, struct sfu_message *message)
{
	const u32 nr = batch->nr;
	int err = 0;

	batch->nr = 0;
	batch->nr_failed = 0;
	while (!err && batch->nr < nr) {
		err = run_entries(batch, space, run,
				  min_t(u32, nr - batch->nr, CHUNK));
		if (!err && fatal_signal_pending(current))
			err = -EINTR;
		cond_resched();
	}
	if (err)
		sfu_message_fail(message, err,
				 "entries from %u on cannot be accessed",
				 batch->nr);
	return err;
}

static int check_batch(const struct sframe_unwind_batch *batch, u32 flags,
		       struct sfu_message *message)
{
	return sfu_check_flags(batch->flags, flags, message) ?:
	       sfu_check_reserved(batch->reserved, message);
}

int sfu_ioctl_register_batch(struct sfu_client *client, union sfu_arg *arg,
			     struct sfu_message *message)
{
	struct sfu_space *space;
	int err;

	err = check_batch(&arg->batch, SFRAME_UNWIND_REGISTER_VALIDATE, message);
	if (err)
		return err;
	space = sfu_space_get_or_create(message);
	if (IS_ERR(space))
		return PTR_ERR(space);
	err = run_batch(&arg->batch, space, register_entries, message);
	sfu_space_put(space);
	return err;
}

int sfu_ioctl_unregister_batch(struct sfu_client *client, union sfu_arg *arg,
			       struct sfu_message *message)
{
	struct sfu_space *space;
	int err;

	err = check_batch(&arg->batch, 0, message);
	if (err)
		return err;
	space = sfu_space_get();
	err = run_batch(&arg->batch, space, unregister_entries, message);
	sfu_space_put(space);
	return err;
}

static int check_list(const struct sframe_unwind_list *list,
		      struct sfu_message *message)
{
	int err = sfu_check_flags(list->flags, 0, message);

	if (!err)
		err = sfu_check_reserved(list->reserved, message);
	if (!err && list->pid < 0)
		err = sfu_message_fail(message, -EINVAL, "pid %d is negative",
				       list->pid);
	if (!err && list->name && list->nr != 1)
		err = sfu_message_fail(message, -EINVAL,
				       "name is given with nr %u, not 1",
				       list->nr);
	return err;
}

/*
 * Get the space of process list->pid. *@is_own: whether it is the caller's.
 * Returns 0 with *@space, which may be NULL, or an error with @message.
 */
static int get_listed_space(const struct sframe_unwind_list *list,
			    struct sfu_space **space, bool *is_own,
			    struct sfu_message *message)
{
	const struct mm_struct *mm = NULL;
	struct task_struct *task;

	rcu_read_lock();
	task = sfu_request_find_thread(list->pid);
	/* Only compared: an exec or exit of the process is no harm. */
	if (task)
		mm = READ_ONCE(task->mm);
	rcu_read_unlock();
	if (!task)
		return sfu_message_fail(message, -ESRCH,
					"no process %d that may be observed",
					list->pid);
	*is_own = mm == current->mm;
	if (list->name && !*is_own)
		return sfu_message_fail(message, -EINVAL,
					"names are of the own process only");
	*space = mm ? sfu_space_get_of(mm) : NULL;
	return 0;
}

/* Write the file name of @section to the caller's buffer. */
static int list_name(const struct sframe_unwind_list *list,
		     const struct sfu_section *section)
{
	char __user *to = u64_to_user_ptr(list->name);
	const char *name;
	char *path;
	int err = 0;
	u32 length;

	if (!list->name || !list->name_size)
		return 0;
	path = kmalloc(PATH_MAX, GFP_KERNEL);
	if (!path)
		return -ENOMEM;
	name = sfu_section_file_name(section, path);
	length = min_t(u32, strlen(name), list->name_size - 1);
	if (copy_to_user(to, name, length) || put_user('\0', to + length))
		err = -EFAULT;
	kfree(path);
	return err;
}

/*
 * Write entry number @nr of the caller's array. @is_own: whether the section is of
 * the current mm.
 */
static int list_section(const struct sframe_unwind_list *list, u32 nr,
			struct sfu_section *section, bool is_own)
{
	struct sframe_unwind_section entry = {
		.id = section->id,
		.sframe_start = sfu_section_address(section),
		.sframe_size = section->size,
		.text_start = section->text.start,
		.text_size = section->text.end - section->text.start,
		.hits = atomic64_read(&section->hits),
		.num_fdes = section->num_fdes,
		.state = SFRAME_UNWIND_SECTION_ACTIVE,
		.source = section->is_table ? SFRAME_UNWIND_SECTION_TABLE :
					      section->source,
	};
	struct sframe_unwind_section __user *to =
		u64_to_user_ptr(list->sections);
	u32 budget = SFU_SECTION_CHECK_BUDGET;
	u64 start, end;
	int err;

	err = is_own ? sfu_section_check(section, section->text.start, &budget,
					 &start, &end) : 0;
	if (err == -ESTALE)
		entry.state = SFRAME_UNWIND_SECTION_STALE;
	else if (err)
		return err;
	return copy_to_user(to + nr, &entry, sizeof(entry)) ? -EFAULT : 0;
}

int sfu_ioctl_list(struct sfu_client *client, union sfu_arg *arg,
		   struct sfu_message *message)
{
	struct sframe_unwind_list *list = &arg->list;
	struct sfu_space *space;
	struct sfu_section *section;
	u64 from = list->from;
	bool is_own;
	u32 nr = 0;
	int err;

	err = check_list(list, message);
	if (!err)
		err = get_listed_space(list, &space, &is_own, message);
	if (err)
		return err;
	list->total = sfu_space_nr_sections(space);
	while (!err && nr < list->nr) {
		section = sfu_space_find_from(space, from);
		if (!section)
			break;
		from = section->text.end;
		if (section->source != SFU_NOTHING) {
			err = list_section(list, nr, section, is_own);
			if (!err)
				err = list_name(list, section);
			nr++;
		}
		if (!err && fatal_signal_pending(current))
			err = -EINTR;
		sfu_section_put(section);
		cond_resched();
	}
	sfu_space_put(space);
	if (err)
		return sfu_message_fail(message, err,
					"entry %u could not be written", nr);
	list->nr = nr;
	return 0;
}

