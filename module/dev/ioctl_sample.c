// SPDX-License-Identifier: GPL-2.0
/*
 * Ioctl: samples at perf events.
 */
#include <linux/cpumask.h>
#include <linux/errno.h>
#include <linux/log2.h>
#include <linux/mm.h>

#include "client.h"
#include "ioctl_ops.h"
#include "limits.h"
#include "message.h"
#include "perf/files.h"
#include "perf/sample_event.h"
#include "perf/sampler.h"
#include "perf/stack_map.h"

#define KNOWN_SAMPLER_FLAGS	(SFRAME_UNWIND_SAMPLER_FP_FALLBACK |	\
				 SFRAME_UNWIND_SAMPLER_STACK_MAP |	\
				 SFRAME_UNWIND_SAMPLER_BUILD_IDS |	\
				 SFRAME_UNWIND_SAMPLER_OVERWRITE)
#define KNOWN_EVENT_FLAGS	(SFRAME_UNWIND_SAMPLE_EVENT_NO_KERNEL |	\
				 SFRAME_UNWIND_SAMPLE_EVENT_NO_USER |	\
				 SFRAME_UNWIND_SAMPLE_EVENT_ALSO_LATER)
#define KNOWN_FIELDS		(SFRAME_UNWIND_SAMPLE_PERIOD |		\
				 SFRAME_UNWIND_SAMPLE_ADDRESS |		\
				 SFRAME_UNWIND_SAMPLE_REGISTERS |	\
				 SFRAME_UNWIND_SAMPLE_RAW)

/* Check what the caller asks for, and set *@spec. */
static int read_sampler_spec(const struct sframe_unwind_sampler *arg,
			     struct sfu_sampler_spec *spec,
			     struct sfu_message *message)
{
	u32 bytes;

	if (!is_power_of_2(arg->ring_pages) ||
	    arg->ring_pages > SFU_MAX_RING_PAGES)
		return sfu_message_fail(message, -EINVAL,
					"ring_pages %u is not a power of two up to %u",
					arg->ring_pages, SFU_MAX_RING_PAGES);
	bytes = arg->ring_pages * PAGE_SIZE;
	if (arg->watermark > bytes / 2)
		return sfu_message_fail(message, -EINVAL,
					"watermark %u exceeds half of the ring, %u",
					arg->watermark, bytes / 2);
	if (arg->watermark && arg->flags & SFRAME_UNWIND_SAMPLER_OVERWRITE)
		return sfu_message_fail(message, -EINVAL,
					"watermark %u with OVERWRITE",
					arg->watermark);
	if (!sfu_sampler_has_clock(arg->clockid))
		return sfu_message_fail(message, -EINVAL,
					"clock %d cannot be used", arg->clockid);
	if (arg->max_depth > SFU_MAX_DEPTH)
		return sfu_message_fail(message, -EINVAL,
					"max_depth %u exceeds %u",
					arg->max_depth, SFU_MAX_DEPTH);
	if (arg->max_kernel_depth > SFU_MAX_KERNEL_DEPTH)
		return sfu_message_fail(message, -EINVAL,
					"max_kernel_depth %u exceeds %u",
					arg->max_kernel_depth,
					SFU_MAX_KERNEL_DEPTH);
	if (!(arg->flags & SFRAME_UNWIND_SAMPLER_STACK_MAP) != !arg->map_pages)
		return sfu_message_fail(message, -EINVAL,
					"map_pages is %u, and STACK_MAP %s", arg->map_pages,
					arg->map_pages ? "not set" : "set");
	if (arg->map_pages && (!is_power_of_2(arg->map_pages) ||
			       arg->map_pages > SFU_MAX_MAP_PAGES))
		return sfu_message_fail(message, -EINVAL,
					"map_pages %u is not a power of two up to %u",
					arg->map_pages, SFU_MAX_MAP_PAGES);
	if (!(arg->flags & SFRAME_UNWIND_SAMPLER_BUILD_IDS) != !arg->max_files)
		return sfu_message_fail(message, -EINVAL,
					"max_files is %u, and BUILD_IDS %s", arg->max_files,
					arg->max_files ? "not set" : "set");
	if (arg->max_files > SFU_MAX_FILES)
		return sfu_message_fail(message, -EINVAL,
					"max_files %u exceeds %u",
					arg->max_files, SFU_MAX_FILES);
	if (arg->copy_size % sizeof(u64) || arg->copy_size > SFU_MAX_COPY)
		return sfu_message_fail(message, -EINVAL,
					"copy_size %u is not a multiple of 8 up to %u",
					arg->copy_size, SFU_MAX_COPY);
	if (arg->copy_size && arg->flags & (SFRAME_UNWIND_SAMPLER_FP_FALLBACK |
					    SFRAME_UNWIND_SAMPLER_OVERWRITE))
		return sfu_message_fail(message, -EINVAL,
					"copy_size %u with FP_FALLBACK or OVERWRITE",
					arg->copy_size);
	*spec = (struct sfu_sampler_spec) {
		.ring_pages = arg->ring_pages,
		.watermark = arg->watermark ?: bytes / 2,
		.clock = arg->clockid,
		.max_depth = arg->max_depth ?: SFU_DEFAULT_DEPTH,
		.max_kernel_depth = arg->max_kernel_depth ?:
				    SFU_MAX_KERNEL_DEPTH,
		.map_pages = arg->map_pages,
		.max_files = arg->max_files,
		.copy_size = arg->copy_size,
		.fallback = arg->flags & SFRAME_UNWIND_SAMPLER_FP_FALLBACK,
		.overwrite = arg->flags & SFRAME_UNWIND_SAMPLER_OVERWRITE,
	};
	return 0;
}

int sfu_ioctl_sampler(struct sfu_client *client, union sfu_arg *arg,
		      struct sfu_message *message)
{
	struct sframe_unwind_sampler *sampler = &arg->sampler;
	struct sfu_sampler_spec spec;
	int err;

	sampler->nr_cpus = 0;
	sampler->memory = 0;
	err = sfu_check_flags(sampler->flags, KNOWN_SAMPLER_FLAGS, message) ?:
	      read_sampler_spec(sampler, &spec, message);
	if (err)
		return err;
	err = sfu_client_make_sampler(client, &spec);
	if (err == -EEXIST)
		return sfu_message_fail(message, err,
					"the client takes samples already");
	if (err)
		return sfu_message_fail(message, err, "no memory");
	sampler->nr_cpus = nr_cpu_ids;
	if (spec.map_pages)
		sampler->memory += sfu_stack_map_bytes(spec.map_pages);
	if (spec.max_files)
		sampler->memory += sfu_files_bytes(spec.max_files);
	return 0;
}

static int fail_no_sampler(struct sfu_message *message)
{
	return sfu_message_fail(message, -ENOENT,
				"SAMPLER was not called for the client");
}

int sfu_ioctl_sample(struct sfu_client *client, union sfu_arg *arg,
		     struct sfu_message *message)
{
	struct sframe_unwind_sample_event *event = &arg->sample_event;
	const struct sfu_sample_event_spec spec = {
		.fd = event->perf_fd,
		.fields = event->fields,
		.kernel = !(event->flags & SFRAME_UNWIND_SAMPLE_EVENT_NO_KERNEL),
		.user = !(event->flags & SFRAME_UNWIND_SAMPLE_EVENT_NO_USER),
		.also_later = event->flags &
			      SFRAME_UNWIND_SAMPLE_EVENT_ALSO_LATER,
	};
	struct sfu_sampler *sampler = sfu_client_sampler(client);
	int err;

	event->id = 0;
	err = sfu_check_flags(event->flags, KNOWN_EVENT_FLAGS, message);
	if (err)
		return err;
	if (event->fields & ~KNOWN_FIELDS)
		return sfu_message_fail(message, -EINVAL, "unknown fields 0x%x",
					event->fields & ~KNOWN_FIELDS);
	if (!sampler)
		return fail_no_sampler(message);
	return sfu_sample_event_add(sampler, &spec, &event->id, message);
}

int sfu_ioctl_sample_control(struct sfu_client *client, union sfu_arg *arg,
			     struct sfu_message *message)
{
	const struct sframe_unwind_sample_control *control =
		&arg->sample_control;
	struct sfu_sampler *sampler = sfu_client_sampler(client);
	int err;

	switch (control->flags) {
	case SFRAME_UNWIND_SAMPLE_START:
	case SFRAME_UNWIND_SAMPLE_STOP:
		break;
	case SFRAME_UNWIND_SAMPLE_REMOVE:
		if (control->id)
			break;
		return sfu_message_fail(message, -EINVAL, "REMOVE needs an id");
	default:
		return sfu_message_fail(message, -EINVAL,
					"flags 0x%x are not one of START, STOP and REMOVE",
					control->flags);
	}
	if (!sampler)
		return fail_no_sampler(message);
	if (control->flags == SFRAME_UNWIND_SAMPLE_REMOVE)
		err = sfu_sample_event_remove(sampler, control->id);
	else
		err = sfu_sample_event_start(sampler, control->id,
					     control->flags ==
					     SFRAME_UNWIND_SAMPLE_START);
	if (err)
		return sfu_message_fail(message, err, "the client has no event %u",
					control->id);
	return 0;
}

int sfu_ioctl_sample_stats(struct sfu_client *client, union sfu_arg *arg,
			   struct sfu_message *message)
{
	struct sfu_sampler *sampler = sfu_client_sampler(client);
	const u32 size = arg->size;

	if (!sampler)
		return -ENOENT;
	arg->sample_stats = (struct sframe_unwind_sample_copy_stats) { .stats.size = size };
	sfu_sampler_stats(sampler, &arg->sample_stats);
	return 0;
}

int sfu_ioctl_clear_stack_map(struct sfu_client *client, union sfu_arg *arg,
			      struct sfu_message *message)
{
	struct sframe_unwind_clear_stack_map *clear = &arg->clear_stack_map;
	struct sfu_sampler *sampler = sfu_client_sampler(client);
	int err;

	err = sfu_check_flags(clear->flags, 0, message) ?:
	      sfu_check_reserved(clear->reserved, message);
	if (err)
		return err;
	if (!sampler)
		return fail_no_sampler(message);
	if (!sampler->map)
		return sfu_message_fail(message, -ENOENT,
					"SAMPLER was called without STACK_MAP");
	return sfu_stack_map_clear(sampler->map);
}
