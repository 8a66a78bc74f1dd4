// SPDX-License-Identifier: GPL-2.0
/*
 * Ioctl: the only reader of the structures in the uapi header.
 */
#include <linux/build_bug.h>
#include <linux/capability.h>
#include <linux/compat.h>
#include <linux/file.h>
#include <linux/limits.h>
#include <linux/sched/signal.h>
#include <linux/sframe_unwind.h>
#include <linux/slab.h>
#include <linux/stddef.h>
#include <linux/uaccess.h>

#include "attach.h"
#include "client.h"
#include "elf.h"
#include "ioctl.h"
#include "limits.h"
#include "lookup.h"
#include "message.h"
#include "request.h"
#include "section.h"
#include "sframe_format.h"
#include "space.h"
#include "test_timer.h"

/* The structures are ABI: a change of layout must not compile. */
/* What is one thing has one number. */
static_assert((int)SFU_REGISTERED == (int)SFRAME_UNWIND_SECTION_REGISTERED);
static_assert((int)SFU_FOUND == (int)SFRAME_UNWIND_SECTION_FOUND);
static_assert((int)SFU_ATTACHED == (int)SFRAME_UNWIND_SECTION_ATTACHED);
static_assert(SFU_ELF_MAX_BUILD_ID == SFRAME_UNWIND_BUILD_ID_SIZE);

static_assert(sizeof(struct sframe_unwind_query) == 64);
static_assert(sizeof(struct sframe_unwind_register) == 72);
static_assert(sizeof(struct sframe_unwind_unregister) == 40);
static_assert(sizeof(struct sframe_unwind_request) == 48);
static_assert(sizeof(struct sframe_unwind_stats) == 64);
static_assert(sizeof(struct sframe_unwind_section) == 64);
static_assert(sizeof(struct sframe_unwind_list) == 56);
static_assert(sizeof(struct sframe_unwind_events) == 24);
static_assert(sizeof(struct sframe_unwind_attach) == 112);
static_assert(sizeof(struct sframe_unwind_detach) == 32);
static_assert(sizeof(struct sframe_unwind_attached) == 80);
static_assert(sizeof(struct sframe_unwind_list_attached) == 56);
static_assert(sizeof(struct sframe_unwind_record) == 8);
static_assert(sizeof(struct sframe_unwind_stack) == 48);
static_assert(sizeof(struct sframe_unwind_removed) == 272);
static_assert(offsetof(struct sframe_unwind_register, id) == 40);
static_assert(offsetof(struct sframe_unwind_register, message) == 56);
static_assert(offsetof(struct sframe_unwind_unregister, message) == 32);
static_assert(offsetof(struct sframe_unwind_request, cookie) == 24);
static_assert(offsetof(struct sframe_unwind_attach, id) == 72);
static_assert(offsetof(struct sframe_unwind_attach, message) == 96);
static_assert(offsetof(struct sframe_unwind_stack, nr_frames) == 40);

union arg {
	u32 size;
	struct sframe_unwind_query query;
	struct sframe_unwind_register reg;
	struct sframe_unwind_unregister unreg;
	struct sframe_unwind_request request;
	struct sframe_unwind_stats stats;
	struct sframe_unwind_list list;
	struct sframe_unwind_events events;
	struct sframe_unwind_attach attach;
	struct sframe_unwind_detach detach;
	struct sframe_unwind_list_attached list_attached;
#ifdef SFU_TEST
	struct sfu_test_timer_spec test_timer;
#endif
};

static int check_flags(u32 flags, u32 known, struct sfu_message *message)
{
	if (flags & ~known)
		return sfu_message_fail(message, -EINVAL, "unknown flags 0x%x",
					flags & ~known);
	return 0;
}

static int check_reserved(u32 reserved, struct sfu_message *message)
{
	if (reserved)
		return sfu_message_fail(message, -EINVAL,
					"reserved is 0x%x, not 0", reserved);
	return 0;
}

static int do_query(struct sfu_client *client, union arg *arg,
		    struct sfu_message *message)
{
	arg->query = (struct sframe_unwind_query) {
		.size = arg->size,
		.abi_version = SFRAME_UNWIND_ABI_VERSION,
		.features = SFRAME_UNWIND_FEATURE_FLEX |
			    SFRAME_UNWIND_FEATURE_FP_FALLBACK |
			    SFRAME_UNWIND_FEATURE_OTHER_THREAD |
			    SFRAME_UNWIND_FEATURE_SIGNAL_FRAME |
			    SFRAME_UNWIND_FEATURE_VALIDATE |
			    SFRAME_UNWIND_FEATURE_LIST |
			    SFRAME_UNWIND_FEATURE_EVENTS |
			    SFRAME_UNWIND_FEATURE_DISCOVERY |
			    SFRAME_UNWIND_FEATURE_ATTACH |
			    SFRAME_UNWIND_FEATURE_OTHER_PROCESS,
		.sframe_version = SFRAME_VERSION_3,
		.max_depth = SFU_MAX_DEPTH,
		.max_sections = SFU_MAX_SECTIONS,
		.max_pending = SFU_MAX_PENDING,
		.max_sframe_size = SFU_MAX_SFRAME_SIZE,
		.ring_size = SFU_RING_SIZE,
		.max_record_size = sizeof(struct sframe_unwind_stack) +
				   SFU_MAX_DEPTH * (sizeof(u64) + sizeof(u8)),
		.max_attached = SFU_MAX_ATTACHED,
		.max_attached_memory = SFU_MAX_ATTACHED_MEMORY,
	};
	return 0;
}

/*
 * Add @section to @space. One in its way gives way if nobody registered it, or
 * if its code has been unmapped, as by dlclose(), and no walk has met it since.
 */
static int add_section(struct sfu_space *space, struct sfu_section *section,
		       struct sfu_message *message)
{
	struct sfu_section *other;
	bool again;
	u64 pc;
	int err;

	do {
		err = sfu_space_add(space, section, &other, message);
		if (err != -EEXIST)
			return err;
		pc = max(section->text.start, other->text.start);
		again = other->source == SFU_REGISTERED ?
				sfu_lookup_remove_stale(space, other, pc) :
				sfu_space_drop(space, other);
		sfu_section_put(other);
	} while (again);
	return err;
}

static int do_register(struct sfu_client *client, union arg *arg,
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
	struct sfu_section *section;
	struct sfu_space *space;
	int err;

	reg->id = 0;
	reg->defect_offset = 0;
	err = check_flags(reg->flags, SFRAME_UNWIND_REGISTER_VALIDATE, message);
	if (err)
		return err;
	err = check_reserved(reg->reserved, message);
	if (err)
		return err;

	section = sfu_section_create(&spec, message);
	reg->defect_offset = spec.defect_offset;
	if (IS_ERR(section))
		return PTR_ERR(section);
	space = sfu_space_get_or_create(message);
	if (IS_ERR(space)) {
		err = PTR_ERR(space);
		goto err_section;
	}
	err = add_section(space, section, message);
	if (!err)
		reg->id = section->id;
	sfu_space_put(space);
err_section:
	sfu_section_put(section);
	return err;
}

static int do_unregister(struct sfu_client *client, union arg *arg,
			 struct sfu_message *message)
{
	struct sframe_unwind_unregister *unreg = &arg->unreg;
	struct sfu_space *space;
	int ret;

	unreg->removed = 0;
	ret = check_flags(unreg->flags, 0, message);
	if (ret)
		return ret;
	if (!unreg->id == !unreg->sframe_start)
		return sfu_message_fail(message, -EINVAL,
					"one of id and sframe_start must be given, the other be 0");

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
		return sfu_message_fail(message, ret, "no memory");
	unreg->removed = ret;
	return 0;
}

static int do_request(struct sfu_client *client, union arg *arg,
		      struct sfu_message *message)
{
	struct sframe_unwind_request *request = &arg->request;
	const struct sfu_request_spec spec = {
		.user_data = request->user_data,
		.max_depth = request->max_depth ?: SFU_DEFAULT_DEPTH,
		.fallback = request->flags & SFRAME_UNWIND_REQUEST_FP_FALLBACK,
		.interrupt = request->flags & SFRAME_UNWIND_REQUEST_INTERRUPT,
	};
	int err;

	request->cookie = 0;
	err = check_flags(request->flags, SFRAME_UNWIND_REQUEST_FP_FALLBACK |
			  SFRAME_UNWIND_REQUEST_INTERRUPT, message);
	if (err)
		return err;
	err = check_reserved(request->reserved, message);
	if (err)
		return err;
	if (request->max_depth > SFU_MAX_DEPTH)
		return sfu_message_fail(message, -EINVAL,
					"max_depth %u exceeds %u",
					request->max_depth, SFU_MAX_DEPTH);
	if (request->tid < 0)
		return sfu_message_fail(message, -EINVAL, "tid %d is negative",
					request->tid);

	err = sfu_request_submit(client, request->tid, &spec, &request->cookie);
	switch (err) {
	case -ESRCH:
		return sfu_message_fail(message, err,
					"no thread %d that may be watched",
					request->tid);
	case -EAGAIN:
		return sfu_message_fail(message, err,
					"%u requests are outstanding, or %u since the walk began",
					SFU_MAX_PENDING, SFU_MAX_LATE);
	case -EOPNOTSUPP:
		return sfu_message_fail(message, err,
					"thread %d never runs in user space",
					request->tid);
	case -ENOMEM:
		return sfu_message_fail(message, err, "no memory");
	}
	return err;
}

static int do_stats(struct sfu_client *client, union arg *arg,
		    struct sfu_message *message)
{
	struct sfu_space *space = sfu_space_get();

	arg->stats = (struct sframe_unwind_stats) {
		.size = arg->size,
		.sections = sfu_space_nr_registered(space),
		.corrupt = space ? atomic64_read(&space->corrupt) : 0,
		.stale = space ? atomic64_read(&space->stale) : 0,
	};
	sfu_space_put(space);
	sfu_client_stats(client, &arg->stats);
	return 0;
}

static int check_list(const struct sframe_unwind_list *list,
		      struct sfu_message *message)
{
	int err = check_flags(list->flags, 0, message);

	if (!err && list->name && list->nr != 1)
		err = sfu_message_fail(message, -EINVAL,
				       "name is given with nr %u, not 1",
				       list->nr);
	return err;
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

/* Write entry number @nr of the caller's array. */
static int list_section(const struct sframe_unwind_list *list, u32 nr,
			struct sfu_section *section)
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
		.source = section->source,
	};
	struct sframe_unwind_section __user *to =
		u64_to_user_ptr(list->sections);
	u64 start, end;
	int err;

	err = sfu_section_check(section, section->text.start, &start, &end);
	if (err == -ESTALE)
		entry.state = SFRAME_UNWIND_SECTION_STALE;
	else if (err)
		return err;
	return copy_to_user(to + nr, &entry, sizeof(entry)) ? -EFAULT : 0;
}

static int do_list(struct sfu_client *client, union arg *arg,
		   struct sfu_message *message)
{
	struct sframe_unwind_list *list = &arg->list;
	struct sfu_space *space;
	struct sfu_section *section;
	u64 from = list->from;
	u32 nr = 0;
	int err;

	err = check_list(list, message);
	if (err)
		return err;
	space = sfu_space_get();
	list->total = sfu_space_nr_sections(space);
	while (!err && nr < list->nr) {
		section = sfu_space_find_from(space, from);
		if (!section)
			break;
		from = section->text.end;
		if (section->source != SFU_NOTHING) {
			err = list_section(list, nr, section);
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

static int do_events(struct sfu_client *client, union arg *arg,
		     struct sfu_message *message)
{
	struct sframe_unwind_events *events = &arg->events;
	struct sfu_space *space;
	int err;

	err = check_flags(events->flags, SFRAME_UNWIND_EVENTS_REMOVED, message);
	if (err)
		return err;
	err = check_reserved(events->reserved, message);
	if (err)
		return err;
	if (!events->flags) {
		sfu_client_listen(client, 0);
		return 0;
	}

	if (sfu_client_prepare(client))
		return sfu_message_fail(message, -ENOMEM, "no memory");
	space = sfu_space_get_or_create(message);
	if (IS_ERR(space))
		return PTR_ERR(space);
	sfu_client_listen(client, space->id);
	sfu_space_put(space);
	return 0;
}

static int attach(struct sfu_client *client, struct sframe_unwind_attach *attach,
		  struct file *elf, struct file *sframe,
		  struct sfu_message *message)
{
	struct sfu_attach_spec spec = {
		.elf = elf,
		.sframe = sframe,
		.sframe_offset = attach->sframe_offset,
		.sframe_size = attach->sframe_size,
		.build_id = attach->build_id,
		.build_id_size = attach->build_id_size,
		.flags = attach->flags,
	};
	int err;

	if (!elf)
		return sfu_message_fail(message, -EBADF, "elf_fd %d is not open",
					attach->elf_fd);
	if (!sframe)
		return sfu_message_fail(message, -EBADF,
					"sframe_fd %d is not open",
					attach->sframe_fd);
	err = sfu_attach_add(&client->attachments, &spec, message);
	attach->defect_offset = spec.defect_offset;
	if (!err) {
		attach->id = spec.id;
		attach->memory = spec.memory;
	}
	return err;
}

static int do_attach(struct sfu_client *client, union arg *arg,
		     struct sfu_message *message)
{
	struct sframe_unwind_attach *spec = &arg->attach;
	struct file *elf, *sframe;
	int err;

	spec->id = 0;
	spec->memory = 0;
	spec->defect_offset = 0;
	err = check_flags(spec->flags, SFRAME_UNWIND_ATTACH_SYSTEM |
			  SFRAME_UNWIND_ATTACH_PREFER, message);
	if (err)
		return err;
	err = check_reserved(spec->reserved | spec->reserved2, message);
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
	if (spec->flags & SFRAME_UNWIND_ATTACH_SYSTEM && !perfmon_capable())
		return sfu_message_fail(message, -EPERM,
					"attaching for all processes needs CAP_PERFMON");

	elf = fget(spec->elf_fd);
	sframe = fget(spec->sframe_fd);
	err = attach(client, spec, elf, sframe, message);
	if (sframe)
		fput(sframe);
	if (elf)
		fput(elf);
	return err;
}

static int do_detach(struct sfu_client *client, union arg *arg,
		     struct sfu_message *message)
{
	const struct sframe_unwind_detach *detach = &arg->detach;
	int err;

	err = check_flags(detach->flags, 0, message);
	if (err)
		return err;
	err = check_reserved(detach->reserved, message);
	if (err)
		return err;
	err = sfu_attach_remove(&client->attachments, detach->id);
	if (err)
		return sfu_message_fail(message, err,
					"nothing attached has id %llu",
					detach->id);
	return 0;
}

static int do_list_attached(struct sfu_client *client, union arg *arg,
			    struct sfu_message *message)
{
	struct sframe_unwind_list_attached *list = &arg->list_attached;
	struct sframe_unwind_attached entry, __user *to;
	u64 from = list->from;
	u32 nr = 0;
	int err;

	err = check_flags(list->flags, 0, message);
	if (err)
		return err;
	err = check_reserved(list->reserved, message);
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
	}
	list->nr = nr;
	return 0;
}

#ifdef SFU_TEST
static int do_test_timer(struct sfu_client *client, union arg *arg,
			 struct sfu_message *message)
{
	return sfu_test_timer_set(client, &arg->test_timer);
}
#endif

/**
 * struct op - one ioctl
 *
 * @run: does it, on a copy of the caller's structure, which goes back to the
 *	caller also on failure.
 * @size: of the structure.
 * @min_size: of its first published version.
 * @message: offset in it of the message buffer's address, or 0.
 * @message_size: offset of the buffer's size.
 * @changes: has an effect, so that the structure must be known to be writable
 *	before, and concerns the caller's code, which must be 64-bit.
 */
struct op {
	int (*run)(struct sfu_client *client, union arg *arg,
		   struct sfu_message *message);
	u32 size;
	u32 min_size;
	u32 message;
	u32 message_size;
	bool changes;
};

#define OP_MESSAGE(type)						\
	.message = offsetof(struct type, message),			\
	.message_size = offsetof(struct type, message_size)

static const struct op ops[] = {
	[_IOC_NR(SFRAME_UNWIND_IOC_QUERY)] = {
		.run = do_query,
		.size = sizeof(struct sframe_unwind_query),
		.min_size = 64,
	},
	[_IOC_NR(SFRAME_UNWIND_IOC_REGISTER)] = {
		.run = do_register,
		.size = sizeof(struct sframe_unwind_register),
		.min_size = 72,
		OP_MESSAGE(sframe_unwind_register),
		.changes = true,
	},
	[_IOC_NR(SFRAME_UNWIND_IOC_UNREGISTER)] = {
		.run = do_unregister,
		.size = sizeof(struct sframe_unwind_unregister),
		.min_size = 40,
		OP_MESSAGE(sframe_unwind_unregister),
		.changes = true,
	},
	[_IOC_NR(SFRAME_UNWIND_IOC_REQUEST)] = {
		.run = do_request,
		.size = sizeof(struct sframe_unwind_request),
		.min_size = 48,
		OP_MESSAGE(sframe_unwind_request),
		.changes = true,
	},
	[_IOC_NR(SFRAME_UNWIND_IOC_STATS)] = {
		.run = do_stats,
		.size = sizeof(struct sframe_unwind_stats),
		.min_size = 64,
	},
	[_IOC_NR(SFRAME_UNWIND_IOC_LIST)] = {
		.run = do_list,
		.size = sizeof(struct sframe_unwind_list),
		.min_size = 56,
		OP_MESSAGE(sframe_unwind_list),
		.changes = true,
	},
	[_IOC_NR(SFRAME_UNWIND_IOC_EVENTS)] = {
		.run = do_events,
		.size = sizeof(struct sframe_unwind_events),
		.min_size = 24,
		OP_MESSAGE(sframe_unwind_events),
		.changes = true,
	},
	[_IOC_NR(SFRAME_UNWIND_IOC_ATTACH)] = {
		.run = do_attach,
		.size = sizeof(struct sframe_unwind_attach),
		.min_size = 112,
		OP_MESSAGE(sframe_unwind_attach),
		.changes = true,
	},
	[_IOC_NR(SFRAME_UNWIND_IOC_DETACH)] = {
		.run = do_detach,
		.size = sizeof(struct sframe_unwind_detach),
		.min_size = 32,
		OP_MESSAGE(sframe_unwind_detach),
		.changes = true,
	},
	[_IOC_NR(SFRAME_UNWIND_IOC_LIST_ATTACHED)] = {
		.run = do_list_attached,
		.size = sizeof(struct sframe_unwind_list_attached),
		.min_size = 56,
		OP_MESSAGE(sframe_unwind_list_attached),
		.changes = true,
	},
#ifdef SFU_TEST
	[_IOC_NR(SFU_TEST_IOC_TIMER)] = {
		.run = do_test_timer,
		.size = sizeof(struct sfu_test_timer_spec),
		.min_size = sizeof(struct sfu_test_timer_spec),
		.changes = true,
	},
#endif
};

static const struct op *find_op(unsigned int cmd)
{
	const struct op *op;

	if (cmd != _IO(SFRAME_UNWIND_IOC_MAGIC, _IOC_NR(cmd)) ||
	    _IOC_NR(cmd) >= ARRAY_SIZE(ops))
		return NULL;
	op = &ops[_IOC_NR(cmd)];
	return op->run ? op : NULL;
}

/* Tell the caller why; no word about a buffer that cannot be written. */
static void copy_message(const struct op *op, const union arg *arg,
			 const struct sfu_message *message)
{
	u64 address = *(const u64 *)((const u8 *)arg + op->message);
	u32 size = *(const u32 *)((const u8 *)arg + op->message_size);
	u32 length = strnlen(message->text, sizeof(message->text) - 1);
	char __user *to = u64_to_user_ptr(address);

	if (!address || !size)
		return;
	length = min(length, size - 1);
	if (!copy_to_user(to, message->text, length))
		put_user('\0', to + length);
}

static int run(const struct op *op, struct sfu_client *client,
	       union arg *arg, struct sfu_message *message)
{
	if (op->changes && in_compat_syscall())
		return sfu_message_fail(message, -EOPNOTSUPP,
					"only 64-bit programs are supported");
	return op->run(client, arg, message);
}

long sfu_ioctl(struct sfu_client *client, unsigned int cmd, void __user *user)
{
	const struct op *op = find_op(cmd);
	struct sfu_message message = {};
	u32 user_size, size;
	union arg arg;
	int err;

	if (!op)
		return -ENOTTY;
	if (get_user(user_size, (u32 __user *)user))
		return -EFAULT;
	if (user_size < op->min_size)
		return -EINVAL;
	memset(&arg, 0, sizeof(arg));
	err = copy_struct_from_user(&arg, op->size, user, user_size);
	if (err)
		return err;
	/* The size has been read twice; the first one was checked. */
	arg.size = user_size;

	/* What has been done cannot be told with a structure in const memory. */
	size = min(user_size, op->size);
	if (op->changes && copy_to_user(user, &arg, size))
		return -EFAULT;

	err = run(op, client, &arg, &message);
	if (copy_to_user(user, &arg, size))
		return -EFAULT;
	if (err && op->message)
		copy_message(op, &arg, &message);
	return err;
}
