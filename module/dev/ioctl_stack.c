// SPDX-License-Identifier: GPL-2.0
/*
 * Ioctl: the stack of the calling thread, at once.
 */
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/sched/task_stack.h>
#include <linux/sframe_unwind.h>
#include <linux/uaccess.h>

#include "client.h"
#include "ioctl_ops.h"
#include "limits.h"
#include "user.h"
#include "walk/at_once.h"
#include "walk/walk.h"

static int check_stack_arg(const struct sframe_unwind_own_stack *stack,
			   struct sfu_message *message)
{
	int err;

	err = sfu_check_flags(stack->flags, SFRAME_UNWIND_STACK_FP_FALLBACK,
			      message);
	if (err)
		return err;
	if (!stack->max_depth || stack->max_depth > SFU_MAX_DEPTH)
		return sfu_message_fail(message, -EINVAL,
					"max_depth %u is not 1 to %u",
					stack->max_depth, SFU_MAX_DEPTH);
	return 0;
}

/* The most that sfu_user_copy_out() copies. */
#define MAX_COPY	(PAGE_SIZE / 4)

/* Copy @size bytes to @address, which need not be aligned. */
static bool copy_out(u64 address, const void *from, u32 size)
{
	for (; size > MAX_COPY; size -= MAX_COPY) {
		if (!sfu_user_copy_out(u64_to_user_ptr(address), from, MAX_COPY))
			return false;
		address += MAX_COPY;
		from += MAX_COPY;
	}
	if (!sfu_user_copy_out(u64_to_user_ptr(address), from, size))
		return false;
	for (; size % sizeof(u64); size--) {
		if (put_user(((const u8 *)from)[size - 1],
			     (u8 __user *)u64_to_user_ptr(address + size - 1)))
			return false;
	}
	return true;
}

/* Copy the frames of @walk to the arrays of @stack. Returns 0 or -EFAULT. */
static int copy_frames(const struct sframe_unwind_own_stack *stack,
		       const struct sfu_walk *walk,
		       struct sfu_message *message)
{
	if (!copy_out(stack->ips, walk->ip, walk->nr * sizeof(walk->ip[0])))
		return sfu_message_fail(message, -EFAULT,
					"%u addresses cannot be written to ips",
					walk->nr);
	if (stack->how && !copy_out(stack->how, walk->how, walk->nr))
		return sfu_message_fail(message, -EFAULT,
					"%u bytes cannot be written to how",
					walk->nr);
	return 0;
}

int sfu_ioctl_stack(struct sfu_client *client, union sfu_arg *arg,
		    struct sfu_message *message)
{
	struct sframe_unwind_own_stack *stack = &arg->own_stack;
	/* Saved when the thread entered this system call. */
	const struct pt_regs *regs = task_pt_regs(current);
	struct sfu_walk *walk = NULL;
	int err;

	stack->nr_frames = 0;
	stack->stop = 0;
	err = check_stack_arg(stack, message);
	if (err)
		return err;
	if (!sfu_client_prepare(client))
		walk = sfu_consumer_take_walk(&client->consumer);
	if (!walk)
		return sfu_message_fail(message, -ENOMEM, "no memory");
	walk->max_depth = stack->max_depth;
	walk->fallback = stack->flags & SFRAME_UNWIND_STACK_FP_FALLBACK;
	if (!sfu_walk_own_at_once(walk, regs))
		sfu_walk_user(walk, regs);
	err = copy_frames(stack, walk, message);
	if (!err) {
		stack->nr_frames = walk->nr;
		stack->stop = walk->stop;
	}
	/* The open file keeps the client from being closed. */
	sfu_consumer_put_back_walk(&client->consumer, walk);
	return err;
}
