/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Ioctl: declarations shared by the files that implement ioctls.
 */
#ifndef SFU_IOCTL_OPS_H
#define SFU_IOCTL_OPS_H

#include <linux/sframe_unwind.h>

#include "message.h"

struct file;
struct sfu_client;

/* A copy of the caller's structure, which is copied back also on failure. */
union sfu_arg {
	u32 size;
	struct sframe_unwind_query query;
	struct sframe_unwind_register reg;
	struct sframe_unwind_unregister unreg;
	struct sframe_unwind_request request;
	struct sframe_unwind_own_stack own_stack;
	struct sframe_unwind_stats stats;
	struct sframe_unwind_list list;
	struct sframe_unwind_events events;
	struct sframe_unwind_attach attach;
	struct sframe_unwind_detach detach;
	struct sframe_unwind_list_attached list_attached;
	struct sframe_unwind_batch batch;
	struct sframe_unwind_sampler sampler;
	struct sframe_unwind_sample_event sample_event;
	struct sframe_unwind_sample_control sample_control;
	struct sframe_unwind_sample_copy_stats sample_stats;
	struct sframe_unwind_clear_stack_map clear_stack_map;
	struct sframe_unwind_register_table register_table;
};

static inline int sfu_check_flags(u32 flags, u32 known,
				  struct sfu_message *message)
{
	if (flags & ~known)
		return sfu_message_fail(message, -EINVAL, "unknown flags 0x%x",
					flags & ~known);
	return 0;
}

static inline int sfu_check_reserved(u32 reserved, struct sfu_message *message)
{
	if (reserved)
		return sfu_message_fail(message, -EINVAL,
					"reserved is 0x%x, not 0", reserved);
	return 0;
}

/* Each implements one ioctl, see the uapi header. Returns 0 or an errno. */
#define SFU_DECLARE_IOCTL(name)						\
	int sfu_ioctl_##name(struct sfu_client *client,			\
			     union sfu_arg *arg, struct sfu_message *message)

SFU_DECLARE_IOCTL(register);
SFU_DECLARE_IOCTL(unregister);
SFU_DECLARE_IOCTL(register_batch);
SFU_DECLARE_IOCTL(unregister_batch);
SFU_DECLARE_IOCTL(stack);
SFU_DECLARE_IOCTL(list);
SFU_DECLARE_IOCTL(attach);
SFU_DECLARE_IOCTL(detach);
SFU_DECLARE_IOCTL(list_attached);
SFU_DECLARE_IOCTL(sampler);
SFU_DECLARE_IOCTL(sample);
SFU_DECLARE_IOCTL(sample_control);
SFU_DECLARE_IOCTL(sample_stats);
SFU_DECLARE_IOCTL(clear_stack_map);
SFU_DECLARE_IOCTL(register_table);

/* Returns whether the caller may attach sections for all processes. */
bool sfu_may_attach_for_all(void);

/*
 * SFRAME_UNWIND_IOC_ATTACH with SFRAME_UNWIND_ATTACH_PROCESS. @sframe: the file of
 * attach->sframe_fd, or NULL.
 */
int sfu_ioctl_attach_process(struct sfu_client *client,
			     struct sframe_unwind_attach *attach,
			     struct file *sframe, struct sfu_message *message);

#endif /* SFU_IOCTL_OPS_H */
