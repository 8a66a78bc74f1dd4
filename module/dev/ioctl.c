// SPDX-License-Identifier: GPL-2.0
/*
 * Ioctl: the only reader of the structures in the uapi header.
 */
#include <linux/build_bug.h>
#include <linux/compat.h>
#include <linux/nospec.h>
#include <linux/sframe_unwind.h>
#include <linux/stddef.h>
#include <linux/uaccess.h>

#include "bpf/kfunc.h"
#include "client.h"
#include "decode/functions.h"
#include "decode/sframe_format.h"
#include "file/elf.h"
#include "ioctl.h"
#include "ioctl_ops.h"
#include "limits.h"
#include "message.h"
#include "mm/section.h"
#include "mm/space.h"
#include "user.h"
#include "walk/request.h"

/* These enums and constants must have the same values as those of the ABI. */
static_assert((int)SFU_REGISTERED == (int)SFRAME_UNWIND_SECTION_REGISTERED);
static_assert((int)SFU_FOUND == (int)SFRAME_UNWIND_SECTION_FOUND);
static_assert((int)SFU_ATTACHED == (int)SFRAME_UNWIND_SECTION_ATTACHED);
static_assert(SFU_ELF_MAX_BUILD_ID == SFRAME_UNWIND_BUILD_ID_SIZE);
static_assert(SFU_MAX_TABLES == SFRAME_UNWIND_MAX_TABLES);
static_assert(SFU_FUNCTIONS_MAX_BITS == SFRAME_UNWIND_TABLE_GRANULE_BITS);

/* Function tables are read by the offsets in decode/functions.h. */
#define ASSERT_OFFSET(type, member, offset)				\
	static_assert(offsetof(struct sframe_unwind_table_##type, member) == \
		      (offset))
ASSERT_OFFSET(header, used, SFU_FUNCTIONS_USED);
ASSERT_OFFSET(header, removed, SFU_FUNCTIONS_REMOVED);
ASSERT_OFFSET(entry, start, SFU_FUNCTIONS_START);
ASSERT_OFFSET(entry, size, SFU_FUNCTIONS_SIZE);
ASSERT_OFFSET(entry, rows, SFU_FUNCTIONS_ROWS);
static_assert(sizeof(struct sframe_unwind_table_header) ==
	      SFU_FUNCTIONS_ENTRIES);
static_assert(sizeof(struct sframe_unwind_table_entry) ==
	      SFU_FUNCTIONS_ENTRY_SIZE);

/* The structures are ABI: a change of layout must not compile. */
static_assert(sizeof(struct sframe_unwind_query) == 64);
static_assert(sizeof(struct sframe_unwind_register) == 72);
static_assert(sizeof(struct sframe_unwind_unregister) == 40);
static_assert(sizeof(struct sframe_unwind_request) == 48);
static_assert(sizeof(struct sframe_unwind_own_stack) == 48);
static_assert(sizeof(struct sframe_unwind_stats) == 64);
static_assert(sizeof(struct sframe_unwind_section) == 64);
static_assert(sizeof(struct sframe_unwind_list) == 64);
static_assert(sizeof(struct sframe_unwind_events) == 24);
static_assert(sizeof(struct sframe_unwind_segment) == 32);
static_assert(sizeof(struct sframe_unwind_attach) == 168);
static_assert(sizeof(struct sframe_unwind_detach) == 32);
static_assert(sizeof(struct sframe_unwind_attached) == 80);
static_assert(sizeof(struct sframe_unwind_list_attached) == 56);
static_assert(sizeof(struct sframe_unwind_batch_entry) == 56);
static_assert(sizeof(struct sframe_unwind_batch) == 40);
static_assert(sizeof(struct sframe_unwind_sampler) == 64);
static_assert(sizeof(struct sframe_unwind_sample_event) == 32);
static_assert(sizeof(struct sframe_unwind_sample_control) == 24);
static_assert(sizeof(struct sframe_unwind_sample_stats) == 136);
static_assert(sizeof(struct sframe_unwind_sample_copy_stats) == 152);
static_assert(sizeof(struct sframe_unwind_clear_stack_map) == 24);
static_assert(sizeof(struct sframe_unwind_register_table) == 72);
static_assert(sizeof(struct sframe_unwind_record) == 8);
static_assert(sizeof(struct sframe_unwind_stack) == 48);
static_assert(sizeof(struct sframe_unwind_removed) == 272);
static_assert(sizeof(struct sframe_unwind_sample) == 48);
static_assert(sizeof(struct sframe_unwind_user_stack) == 40);
static_assert(sizeof(struct sframe_unwind_short_sample) == 40);
static_assert(sizeof(struct sframe_unwind_file) == 40);
static_assert(offsetof(struct sframe_unwind_register, id) == 40);
static_assert(offsetof(struct sframe_unwind_register, message) == 56);
static_assert(offsetof(struct sframe_unwind_unregister, message) == 32);
static_assert(offsetof(struct sframe_unwind_request, cookie) == 24);
static_assert(offsetof(struct sframe_unwind_own_stack, message) == 40);
static_assert(offsetof(struct sframe_unwind_attach, id) == 72);
static_assert(offsetof(struct sframe_unwind_attach, message) == 96);
static_assert(offsetof(struct sframe_unwind_attach, segments) == 112);
static_assert(offsetof(struct sframe_unwind_attach, pid) == 136);
static_assert(offsetof(struct sframe_unwind_stack, nr_frames) == 40);

static int do_query(struct sfu_client *client, union sfu_arg *arg,
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
			    SFRAME_UNWIND_FEATURE_OTHER_PROCESS |
			    SFRAME_UNWIND_FEATURE_BATCH |
			    SFRAME_UNWIND_FEATURE_ATTACH_INODE |
			    SFRAME_UNWIND_FEATURE_ATTACH_EXTENDED |
			    SFRAME_UNWIND_FEATURE_SAMPLE |
			    SFRAME_UNWIND_FEATURE_STACK |
			    SFRAME_UNWIND_FEATURE_STACK_MAP |
			    SFRAME_UNWIND_FEATURE_BUILD_IDS |
			    SFRAME_UNWIND_FEATURE_OVERWRITE |
			    SFRAME_UNWIND_FEATURE_LIST_PROCESS |
			    SFRAME_UNWIND_FEATURE_KEEPS_FP |
			    SFRAME_UNWIND_FEATURE_TABLE |
			    SFRAME_UNWIND_FEATURE_ATTACH_PROCESS |
			    SFRAME_UNWIND_FEATURE_ATTACH_UNCHANGED |
			    SFRAME_UNWIND_FEATURE_KEEPS_FP_SWITCH |
			    (sfu_kfunc_is_usable() ? SFRAME_UNWIND_FEATURE_BPF : 0),
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

static int do_request(struct sfu_client *client, union sfu_arg *arg,
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
	err = sfu_check_flags(request->flags, SFRAME_UNWIND_REQUEST_FP_FALLBACK |
			  SFRAME_UNWIND_REQUEST_INTERRUPT, message);
	if (err)
		return err;
	err = sfu_check_reserved(request->reserved, message);
	if (err)
		return err;
	if (request->max_depth > SFU_MAX_DEPTH)
		return sfu_message_fail(message, -EINVAL,
					"max_depth %u exceeds %u",
					request->max_depth, SFU_MAX_DEPTH);
	if (request->tid < 0)
		return sfu_message_fail(message, -EINVAL, "tid %d is negative",
					request->tid);

	err = sfu_client_prepare(client) ?:
	      sfu_request_submit(&client->consumer, request->tid, &spec,
				 &request->cookie);
	switch (err) {
	case -ESRCH:
		return sfu_message_fail(message, err,
					"thread %d does not exist or may not be observed",
					request->tid);
	case -EPERM:
		return sfu_message_fail(message, err,
					"interrupting thread %d of another process needs CAP_SYS_PTRACE",
					request->tid);
	case -EAGAIN:
		return sfu_message_fail(message, err,
					"%u requests are outstanding, or %u for the thread, or %u since the walk began",
					SFU_MAX_PENDING, SFU_MAX_JOINED,
					SFU_MAX_LATE);
	case -EOPNOTSUPP:
		return sfu_message_fail(message, err,
					"thread %d never runs in user space",
					request->tid);
	case -ENOMEM:
		return sfu_message_fail(message, err, "no memory");
	}
	return err;
}

static int do_stats(struct sfu_client *client, union sfu_arg *arg,
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

static int do_events(struct sfu_client *client, union sfu_arg *arg,
		     struct sfu_message *message)
{
	struct sframe_unwind_events *events = &arg->events;
	struct sfu_space *space;
	int err;

	err = sfu_check_flags(events->flags, SFRAME_UNWIND_EVENTS_REMOVED, message);
	if (err)
		return err;
	err = sfu_check_reserved(events->reserved, message);
	if (err)
		return err;
	if (!events->flags) {
		sfu_client_listen(client, NULL);
		return 0;
	}

	if (sfu_client_prepare(client))
		return sfu_message_fail(message, -ENOMEM, "no memory");
	space = sfu_space_get_or_create(message);
	if (IS_ERR(space))
		return PTR_ERR(space);
	err = sfu_client_listen(client, space);
	if (err)
		return sfu_message_fail(message, err,
					"%u clients get the events of this address space already",
					SFU_MAX_LISTENERS);
	return 0;
}

/**
 * struct op - one ioctl
 *
 * @run: implements it, on a copy of the caller's structure, which is copied
 *	back also on failure.
 * @size: size of the structure.
 * @min_size: size of its first published version.
 * @message: offset in it of the address of the message buffer, or 0.
 * @message_size: offset in it of the size of that buffer.
 * @only_64_bit: the caller must be 64-bit.
 * @changes: the ioctl has side effects, so the structure must be writable
 *	before it runs; and the caller must be 64-bit.
 */
struct op {
	int (*run)(struct sfu_client *client, union sfu_arg *arg,
		   struct sfu_message *message);
	u32 size;
	u32 min_size;
	u32 message;
	u32 message_size;
	bool only_64_bit;
	bool changes;
};

#define OP_MESSAGE(type)						\
	.message = offsetof(struct type, message),			\
	.message_size = offsetof(struct type, message_size)

static const struct op ioctl_ops[] = {
	[_IOC_NR(SFRAME_UNWIND_IOC_QUERY)] = {
		.run = do_query,
		.size = sizeof(struct sframe_unwind_query),
		.min_size = 64,
	},
	[_IOC_NR(SFRAME_UNWIND_IOC_REGISTER)] = {
		.run = sfu_ioctl_register,
		.size = sizeof(struct sframe_unwind_register),
		.min_size = 72,
		OP_MESSAGE(sframe_unwind_register),
		.changes = true,
	},
	[_IOC_NR(SFRAME_UNWIND_IOC_UNREGISTER)] = {
		.run = sfu_ioctl_unregister,
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
	[_IOC_NR(SFRAME_UNWIND_IOC_STACK)] = {
		.run = sfu_ioctl_stack,
		.size = sizeof(struct sframe_unwind_own_stack),
		.min_size = 48,
		OP_MESSAGE(sframe_unwind_own_stack),
		.only_64_bit = true,
	},
	[_IOC_NR(SFRAME_UNWIND_IOC_STATS)] = {
		.run = do_stats,
		.size = sizeof(struct sframe_unwind_stats),
		.min_size = 64,
	},
	[_IOC_NR(SFRAME_UNWIND_IOC_LIST)] = {
		.run = sfu_ioctl_list,
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
		.run = sfu_ioctl_attach,
		.size = sizeof(struct sframe_unwind_attach),
		.min_size = 112,
		OP_MESSAGE(sframe_unwind_attach),
		.changes = true,
	},
	[_IOC_NR(SFRAME_UNWIND_IOC_DETACH)] = {
		.run = sfu_ioctl_detach,
		.size = sizeof(struct sframe_unwind_detach),
		.min_size = 32,
		OP_MESSAGE(sframe_unwind_detach),
		.changes = true,
	},
	[_IOC_NR(SFRAME_UNWIND_IOC_LIST_ATTACHED)] = {
		.run = sfu_ioctl_list_attached,
		.size = sizeof(struct sframe_unwind_list_attached),
		.min_size = 56,
		OP_MESSAGE(sframe_unwind_list_attached),
		.changes = true,
	},
	[_IOC_NR(SFRAME_UNWIND_IOC_REGISTER_BATCH)] = {
		.run = sfu_ioctl_register_batch,
		.size = sizeof(struct sframe_unwind_batch),
		.min_size = 40,
		OP_MESSAGE(sframe_unwind_batch),
		.changes = true,
	},
	[_IOC_NR(SFRAME_UNWIND_IOC_UNREGISTER_BATCH)] = {
		.run = sfu_ioctl_unregister_batch,
		.size = sizeof(struct sframe_unwind_batch),
		.min_size = 40,
		OP_MESSAGE(sframe_unwind_batch),
		.changes = true,
	},
	[_IOC_NR(SFRAME_UNWIND_IOC_SAMPLER)] = {
		.run = sfu_ioctl_sampler,
		.size = sizeof(struct sframe_unwind_sampler),
		.min_size = 48,
		OP_MESSAGE(sframe_unwind_sampler),
		.changes = true,
	},
	[_IOC_NR(SFRAME_UNWIND_IOC_SAMPLE)] = {
		.run = sfu_ioctl_sample,
		.size = sizeof(struct sframe_unwind_sample_event),
		.min_size = 32,
		OP_MESSAGE(sframe_unwind_sample_event),
		.changes = true,
	},
	[_IOC_NR(SFRAME_UNWIND_IOC_SAMPLE_CONTROL)] = {
		.run = sfu_ioctl_sample_control,
		.size = sizeof(struct sframe_unwind_sample_control),
		.min_size = 24,
		OP_MESSAGE(sframe_unwind_sample_control),
		.changes = true,
	},
	[_IOC_NR(SFRAME_UNWIND_IOC_SAMPLE_STATS)] = {
		.run = sfu_ioctl_sample_stats,
		.size = sizeof(struct sframe_unwind_sample_copy_stats),
		.min_size = 112,
	},
	[_IOC_NR(SFRAME_UNWIND_IOC_CLEAR_STACK_MAP)] = {
		.run = sfu_ioctl_clear_stack_map,
		.size = sizeof(struct sframe_unwind_clear_stack_map),
		.min_size = 24,
		OP_MESSAGE(sframe_unwind_clear_stack_map),
		.changes = true,
	},
	[_IOC_NR(SFRAME_UNWIND_IOC_REGISTER_TABLE)] = {
		.run = sfu_ioctl_register_table,
		.size = sizeof(struct sframe_unwind_register_table),
		.min_size = 72,
		OP_MESSAGE(sframe_unwind_register_table),
		.changes = true,
	},
};

static const struct op *find_op(unsigned int cmd)
{
	const struct op *op;

	if (cmd != _IO(SFRAME_UNWIND_IOC_MAGIC, _IOC_NR(cmd)) ||
	    _IOC_NR(cmd) >= ARRAY_SIZE(ioctl_ops))
		return NULL;
	op = &ioctl_ops[array_index_nospec(_IOC_NR(cmd), ARRAY_SIZE(ioctl_ops))];
	return op->run ? op : NULL;
}

/*
 * Copy the message to the caller's buffer. Ignores a buffer that cannot be
 * written.
 */
static void copy_message(const struct op *op, const union sfu_arg *arg,
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

static int run_op(const struct op *op, struct sfu_client *client,
		  union sfu_arg *arg, struct sfu_message *message)
{
	if ((op->changes || op->only_64_bit) && in_compat_syscall())
		return sfu_message_fail(message, -EOPNOTSUPP,
					"only 64-bit programs are supported");
	return op->run(client, arg, message);
}

/*
 * Check that @size bytes can be written to @user. The structure is smaller than
 * a page, so it suffices to write its first and its last word, unchanged.
 */
static bool is_writable(void __user *user, const union sfu_arg *arg, u32 size)
{
	const u64 *from = (const u64 *)arg;
	const u32 last = size / sizeof(u64) - 1;

	return sfu_user_copy_out(user, from, sizeof(u64)) &&
	       sfu_user_copy_out((u64 __user *)user + last, from + last,
				 sizeof(u64));
}

/*
 * Copy the caller's structure of @size bytes to @arg. Returns 0, -EFAULT or
 * -E2BIG.
 */
static int fetch_arg(const struct op *op, union sfu_arg *arg,
		     const void __user *user, u32 size)
{
	/* Limits the bytes that copy_struct_from_user() checks for zero. */
	if (size > PAGE_SIZE)
		return -E2BIG;
	if (size == op->size)
		return sfu_user_copy_in((u64 *)arg, user, size) ? 0 : -EFAULT;
	return copy_struct_from_user(arg, op->size, user, size);
}

long sfu_ioctl(struct sfu_client *client, unsigned int cmd, void __user *user)
{
	const struct op *op = find_op(cmd);
	/*
	 * Not initialized, as they are large, and are written before they are
	 * read.
	 */
	struct sfu_message message __uninitialized;
	union sfu_arg arg __uninitialized;
	u32 user_size, size;
	int err;

	if (!op)
		return -ENOTTY;
	if (get_user(user_size, (u32 __user *)user))
		return -EFAULT;
	if (user_size < op->min_size)
		return -EINVAL;
	err = fetch_arg(op, &arg, user, user_size);
	if (err)
		return err;
	/*
	 * size was read a second time with the structure: use the checked
	 * value.
	 */
	arg.size = user_size;

	/* Fail before side effects if the result could not be written back. */
	size = min(user_size, op->size);
	if (op->changes && !is_writable(user, &arg, size))
		return -EFAULT;

	message.text[0] = '\0';
	err = run_op(op, client, &arg, &message);
	if (!sfu_user_copy_out(user, (const u64 *)&arg, size))
		return -EFAULT;
	if (err && op->message)
		copy_message(op, &arg, &message);
	return err;
}
