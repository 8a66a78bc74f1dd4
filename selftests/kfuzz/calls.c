// SPDX-License-Identifier: GPL-2.0
/* Calls: the table of their types. */
#include <errno.h>
#include <linux/sframe_unwind.h>
#include <string.h>

#include "calls.h"

#define ARG(name, kind)	{ #name, KIND_##kind, 0, 0 }
#define MEMBER(type, member, kind)				\
	{ #member, KIND_##kind, offsetof(struct type, member),	\
	  sizeof(((struct type *)0)->member) }
#define ERRNOS(...)	(const int []) { __VA_ARGS__, 0 }
#define IOCTL(number, type)					\
	.run = run_ioctl, .cmd = SFRAME_UNWIND_IOC_##number,	\
	.size = sizeof(struct type)
#define MESSAGE(type)						\
	MEMBER(type, message, MESSAGE),				\
	MEMBER(type, message_size, MESSAGE_SIZE)

#define ATTACH_ERRNOS						\
	ERRNOS(EINVAL, E2BIG, EFAULT, EBADF, EPERM, EEXIST, ESTALE,	\
	       ENOENT, EOPNOTSUPP, ENOSPC, ENOMEM, EIO, EINTR)

const struct call_type call_types[] = {
	{ "open", 30, true, run_open,
	  .arg = { ARG(fd, NEW_FD), ARG(flags, OPEN_FLAGS) } },
	{ "close", 20, true, run_close, .arg = { ARG(fd, ANY_FD) } },
	{ "dup", 8, true, run_dup, .arg = { ARG(fd, FD), ARG(new, NEW_FD) } },
	{ "query", 6, false, IOCTL(QUERY, sframe_unwind_query),
	  .errnos = ERRNOS(EINVAL, E2BIG, EFAULT),
	  .arg = { ARG(fd, FD), ARG(at, AT),
		   MEMBER(sframe_unwind_query, size, SIZE) } },
	{ "register", 90, false, IOCTL(REGISTER, sframe_unwind_register),
	  .id = offsetof(struct sframe_unwind_register, id),
	  .errnos = ERRNOS(EINVAL, E2BIG, EFAULT, EACCES, EOPNOTSUPP, EEXIST,
			   ENOSPC, ENOMEM, EINTR),
	  .arg = { ARG(fd, FD), ARG(at, AT), ARG(keep, NEW_ID),
		   MEMBER(sframe_unwind_register, size, SIZE),
		   MEMBER(sframe_unwind_register, flags, FLAG),
		   MEMBER(sframe_unwind_register, sframe_start, SECTION),
		   MEMBER(sframe_unwind_register, sframe_size, SECTION_SIZE),
		   MEMBER(sframe_unwind_register, text_start, TEXT),
		   MEMBER(sframe_unwind_register, text_size, TEXT_SIZE),
		   MESSAGE(sframe_unwind_register),
		   MEMBER(sframe_unwind_register, reserved, ZERO) } },
	{ "unregister", 30, false, IOCTL(UNREGISTER, sframe_unwind_unregister),
	  .errnos = ERRNOS(EINVAL, E2BIG, EFAULT, ENOENT, ENOMEM, EOPNOTSUPP),
	  .arg = { ARG(fd, FD), ARG(at, AT),
		   MEMBER(sframe_unwind_unregister, size, SIZE),
		   MEMBER(sframe_unwind_unregister, flags, ZERO),
		   MEMBER(sframe_unwind_unregister, id, ID),
		   MEMBER(sframe_unwind_unregister, sframe_start, ZERO),
		   MESSAGE(sframe_unwind_unregister) } },
	{ "unregister_at", 12, false, IOCTL(UNREGISTER, sframe_unwind_unregister),
	  .errnos = ERRNOS(EINVAL, E2BIG, EFAULT, ENOENT, ENOMEM, EOPNOTSUPP),
	  .arg = { ARG(fd, FD), ARG(at, AT),
		   MEMBER(sframe_unwind_unregister, size, SIZE),
		   MEMBER(sframe_unwind_unregister, flags, ZERO),
		   MEMBER(sframe_unwind_unregister, id, ZERO),
		   MEMBER(sframe_unwind_unregister, sframe_start, SECTION),
		   MESSAGE(sframe_unwind_unregister) } },
	{ "request", 160, false, IOCTL(REQUEST, sframe_unwind_request),
	  .errnos = ERRNOS(EINVAL, E2BIG, EFAULT, ESRCH, EAGAIN, ENOMEM,
			   EOPNOTSUPP),
	  .arg = { ARG(fd, FD), ARG(at, AT), ARG(ip, IP), ARG(sp, SP),
		   ARG(fp, FP), ARG(other, SP),
		   MEMBER(sframe_unwind_request, size, SIZE),
		   MEMBER(sframe_unwind_request, flags, FLAGS),
		   MEMBER(sframe_unwind_request, tid, TID),
		   MEMBER(sframe_unwind_request, max_depth, DEPTH),
		   MEMBER(sframe_unwind_request, user_data, ANYTHING),
		   MESSAGE(sframe_unwind_request),
		   MEMBER(sframe_unwind_request, reserved, ZERO) } },
	{ "stack", 80, false, IOCTL(STACK, sframe_unwind_own_stack),
	  .errnos = ERRNOS(EINVAL, E2BIG, EFAULT, ENOMEM, EOPNOTSUPP),
	  .arg = { ARG(fd, FD), ARG(at, AT), ARG(ip, IP), ARG(sp, SP),
		   ARG(fp, FP), ARG(other, SP),
		   MEMBER(sframe_unwind_own_stack, size, SIZE),
		   MEMBER(sframe_unwind_own_stack, flags, FLAG),
		   MEMBER(sframe_unwind_own_stack, ips, ARRAY),
		   MEMBER(sframe_unwind_own_stack, how, ARRAY),
		   MEMBER(sframe_unwind_own_stack, max_depth, DEPTH),
		   MESSAGE(sframe_unwind_own_stack) } },
	{ "stats", 12, false, IOCTL(STATS, sframe_unwind_stats),
	  .errnos = ERRNOS(EINVAL, E2BIG, EFAULT),
	  .arg = { ARG(fd, FD), ARG(at, AT),
		   MEMBER(sframe_unwind_stats, size, SIZE) } },
	{ "list", 24, false, IOCTL(LIST, sframe_unwind_list),
	  .errnos = ERRNOS(EINVAL, E2BIG, EFAULT, ESRCH, ENOMEM, EINTR,
			   EOPNOTSUPP),
	  .arg = { ARG(fd, FD), ARG(at, AT),
		   MEMBER(sframe_unwind_list, size, SIZE),
		   MEMBER(sframe_unwind_list, flags, ZERO),
		   MEMBER(sframe_unwind_list, from, TEXT),
		   MEMBER(sframe_unwind_list, sections, ARRAY),
		   MEMBER(sframe_unwind_list, nr, NR),
		   MEMBER(sframe_unwind_list, name, MESSAGE),
		   MEMBER(sframe_unwind_list, name_size, MESSAGE_SIZE),
		   MEMBER(sframe_unwind_list, pid, TID),
		   MEMBER(sframe_unwind_list, reserved, ZERO),
		   MESSAGE(sframe_unwind_list) } },
	{ "events", 16, false, IOCTL(EVENTS, sframe_unwind_events),
	  .errnos = ERRNOS(EINVAL, E2BIG, EFAULT, ENOMEM, EOPNOTSUPP),
	  .arg = { ARG(fd, FD), ARG(at, AT),
		   MEMBER(sframe_unwind_events, size, SIZE),
		   MEMBER(sframe_unwind_events, flags, FLAG),
		   MESSAGE(sframe_unwind_events),
		   MEMBER(sframe_unwind_events, reserved, ZERO) } },
	{ "attach", 50, false, IOCTL(ATTACH, sframe_unwind_attach),
	  .id = offsetof(struct sframe_unwind_attach, id),
	  .errnos = ATTACH_ERRNOS,
	  .arg = { ARG(fd, FD), ARG(at, AT), ARG(keep, NEW_ID),
		   MEMBER(sframe_unwind_attach, size, SIZE),
		   MEMBER(sframe_unwind_attach, flags, ATTACH_FLAGS),
		   MEMBER(sframe_unwind_attach, elf_fd, ELF),
		   MEMBER(sframe_unwind_attach, sframe_fd, SFRAME),
		   MEMBER(sframe_unwind_attach, sframe_offset, FILE_OFFSET),
		   MEMBER(sframe_unwind_attach, sframe_size, FILE_SIZE),
		   MEMBER(sframe_unwind_attach, build_id, BUILD_ID),
		   MEMBER(sframe_unwind_attach, build_id_size, BUILD_ID_SIZE),
		   MESSAGE(sframe_unwind_attach),
		   MEMBER(sframe_unwind_attach, reserved2, ZERO),
		   MEMBER(sframe_unwind_attach, segments, SEGMENTS),
		   MEMBER(sframe_unwind_attach, nr_segments, NR_SEGMENTS),
		   MEMBER(sframe_unwind_attach, reserved3, ZERO),
		   MEMBER(sframe_unwind_attach, share_id, ZERO) } },
	{ "share", 20, false, IOCTL(ATTACH, sframe_unwind_attach),
	  .id = offsetof(struct sframe_unwind_attach, id),
	  .errnos = ATTACH_ERRNOS,
	  .arg = { ARG(fd, FD), ARG(at, AT), ARG(keep, NEW_ID),
		   MEMBER(sframe_unwind_attach, size, SIZE),
		   MEMBER(sframe_unwind_attach, flags, SHARE_FLAGS),
		   MEMBER(sframe_unwind_attach, elf_fd, ELF),
		   MEMBER(sframe_unwind_attach, sframe_fd, NONE),
		   MEMBER(sframe_unwind_attach, sframe_offset, ZERO),
		   MEMBER(sframe_unwind_attach, sframe_size, ZERO),
		   MEMBER(sframe_unwind_attach, build_id, BUILD_ID),
		   MEMBER(sframe_unwind_attach, build_id_size, BUILD_ID_SIZE),
		   MESSAGE(sframe_unwind_attach),
		   MEMBER(sframe_unwind_attach, reserved2, ZERO),
		   MEMBER(sframe_unwind_attach, segments, SEGMENTS),
		   MEMBER(sframe_unwind_attach, nr_segments, NR_SEGMENTS),
		   MEMBER(sframe_unwind_attach, reserved3, ZERO),
		   MEMBER(sframe_unwind_attach, share_id, ID) } },
	{ "attach_process", 40, false, IOCTL(ATTACH, sframe_unwind_attach),
	  .id = offsetof(struct sframe_unwind_attach, id),
	  .errnos = ERRNOS(EINVAL, E2BIG, EFAULT, EACCES, EBADF, EPERM, EEXIST,
			   ESRCH, EOPNOTSUPP, ENOSPC, ENOMEM, EIO, EINTR),
	  .arg = { ARG(fd, FD), ARG(at, AT), ARG(keep, NEW_ID),
		   MEMBER(sframe_unwind_attach, size, SIZE),
		   MEMBER(sframe_unwind_attach, flags, PROCESS_FLAGS),
		   MEMBER(sframe_unwind_attach, elf_fd, NONE),
		   MEMBER(sframe_unwind_attach, sframe_fd, SFRAME),
		   MEMBER(sframe_unwind_attach, sframe_offset, FILE_OFFSET),
		   MEMBER(sframe_unwind_attach, sframe_size, FILE_SIZE),
		   MESSAGE(sframe_unwind_attach),
		   MEMBER(sframe_unwind_attach, share_id, ZERO),
		   MEMBER(sframe_unwind_attach, pid, TID),
		   MEMBER(sframe_unwind_attach, reserved4, ZERO),
		   MEMBER(sframe_unwind_attach, text_start, TEXT),
		   MEMBER(sframe_unwind_attach, text_size, TEXT_SIZE) } },
	{ "detach", 16, false, IOCTL(DETACH, sframe_unwind_detach),
	  .errnos = ERRNOS(EINVAL, E2BIG, EFAULT, ENOENT, EOPNOTSUPP),
	  .arg = { ARG(fd, FD), ARG(at, AT),
		   MEMBER(sframe_unwind_detach, size, SIZE),
		   MEMBER(sframe_unwind_detach, flags, ZERO),
		   MEMBER(sframe_unwind_detach, id, ID),
		   MESSAGE(sframe_unwind_detach),
		   MEMBER(sframe_unwind_detach, reserved, ZERO) } },
	{ "list_attached", 10, false, IOCTL(LIST_ATTACHED, sframe_unwind_list_attached),
	  .errnos = ERRNOS(EINVAL, E2BIG, EFAULT, EOPNOTSUPP),
	  .arg = { ARG(fd, FD), ARG(at, AT),
		   MEMBER(sframe_unwind_list_attached, size, SIZE),
		   MEMBER(sframe_unwind_list_attached, flags, ZERO),
		   MEMBER(sframe_unwind_list_attached, from, ID),
		   MEMBER(sframe_unwind_list_attached, attached, ARRAY),
		   MEMBER(sframe_unwind_list_attached, nr, NR),
		   MESSAGE(sframe_unwind_list_attached),
		   MEMBER(sframe_unwind_list_attached, reserved, ZERO) } },
	{ "register_batch", 20, false, IOCTL(REGISTER_BATCH, sframe_unwind_batch),
	  .errnos = ERRNOS(EINVAL, E2BIG, EFAULT, ENOMEM, EINTR, EOPNOTSUPP),
	  .arg = { ARG(fd, FD), ARG(at, AT),
		   MEMBER(sframe_unwind_batch, size, SIZE),
		   MEMBER(sframe_unwind_batch, flags, FLAG),
		   MEMBER(sframe_unwind_batch, entries, ARRAY),
		   MEMBER(sframe_unwind_batch, nr, NR),
		   MESSAGE(sframe_unwind_batch),
		   MEMBER(sframe_unwind_batch, reserved, ZERO) } },
	{ "unregister_batch", 14, false, IOCTL(UNREGISTER_BATCH, sframe_unwind_batch),
	  .errnos = ERRNOS(EINVAL, E2BIG, EFAULT, ENOMEM, EINTR, EOPNOTSUPP),
	  .arg = { ARG(fd, FD), ARG(at, AT),
		   MEMBER(sframe_unwind_batch, size, SIZE),
		   MEMBER(sframe_unwind_batch, flags, ZERO),
		   MEMBER(sframe_unwind_batch, entries, ARRAY),
		   MEMBER(sframe_unwind_batch, nr, NR),
		   MESSAGE(sframe_unwind_batch),
		   MEMBER(sframe_unwind_batch, reserved, ZERO) } },
	{ "register_table", 40, false,
	  IOCTL(REGISTER_TABLE, sframe_unwind_register_table),
	  .id = offsetof(struct sframe_unwind_register_table, id),
	  .errnos = ERRNOS(EINVAL, E2BIG, EFAULT, EACCES, EOPNOTSUPP, EEXIST,
			   ENOSPC, ENOMEM, EINTR),
	  .arg = { ARG(fd, FD), ARG(at, AT), ARG(keep, NEW_ID),
		   MEMBER(sframe_unwind_register_table, size, SIZE),
		   MEMBER(sframe_unwind_register_table, flags, ZERO),
		   MEMBER(sframe_unwind_register_table, table_start, SECTION),
		   MEMBER(sframe_unwind_register_table, table_size, SECTION_SIZE),
		   MEMBER(sframe_unwind_register_table, text_start, TEXT),
		   MEMBER(sframe_unwind_register_table, text_size, TEXT_SIZE),
		   MEMBER(sframe_unwind_register_table, max_functions, FUNCTIONS),
		   MEMBER(sframe_unwind_register_table, granule_bits, GRANULE),
		   MESSAGE(sframe_unwind_register_table),
		   MEMBER(sframe_unwind_register_table, reserved, ZERO) } },
	{ "sampler", 20, true, IOCTL(SAMPLER, sframe_unwind_sampler),
	  .errnos = ERRNOS(EINVAL, E2BIG, EFAULT, EEXIST, ENOMEM, EOPNOTSUPP),
	  .arg = { ARG(fd, FD), ARG(at, AT),
		   MEMBER(sframe_unwind_sampler, size, SIZE),
		   MEMBER(sframe_unwind_sampler, flags, SAMPLER_FLAGS),
		   MEMBER(sframe_unwind_sampler, ring_pages, RING_PAGES),
		   MEMBER(sframe_unwind_sampler, watermark, WATERMARK),
		   MEMBER(sframe_unwind_sampler, clockid, CLOCK),
		   MEMBER(sframe_unwind_sampler, max_depth, DEPTH),
		   MEMBER(sframe_unwind_sampler, max_kernel_depth, ZERO),
		   MESSAGE(sframe_unwind_sampler),
		   MEMBER(sframe_unwind_sampler, reserved, ZERO),
		   MEMBER(sframe_unwind_sampler, map_pages, ZERO),
		   MEMBER(sframe_unwind_sampler, max_files, ZERO) } },
	{ "sampler_map", 40, true, IOCTL(SAMPLER, sframe_unwind_sampler),
	  .errnos = ERRNOS(EINVAL, E2BIG, EFAULT, EEXIST, ENOMEM, EOPNOTSUPP),
	  .arg = { ARG(fd, FD), ARG(at, AT),
		   MEMBER(sframe_unwind_sampler, size, SIZE),
		   MEMBER(sframe_unwind_sampler, flags, MAP_SAMPLER_FLAGS),
		   MEMBER(sframe_unwind_sampler, ring_pages, RING_PAGES),
		   MEMBER(sframe_unwind_sampler, watermark, WATERMARK),
		   MEMBER(sframe_unwind_sampler, clockid, CLOCK),
		   MEMBER(sframe_unwind_sampler, max_depth, DEPTH),
		   MEMBER(sframe_unwind_sampler, max_kernel_depth, ZERO),
		   MESSAGE(sframe_unwind_sampler),
		   MEMBER(sframe_unwind_sampler, reserved, ZERO),
		   MEMBER(sframe_unwind_sampler, map_pages, MAP_PAGES),
		   MEMBER(sframe_unwind_sampler, max_files, MAX_FILES) } },
	{ "perf_open", 40, true, run_perf_open,
	  .arg = { ARG(fd, NEW_SFRAME), ARG(event, EVENT),
		   ARG(period, EVENT_PERIOD), ARG(flags, ANYTHING) } },
	{ "sample", 40, false, IOCTL(SAMPLE, sframe_unwind_sample_event),
	  .errnos = ERRNOS(EINVAL, E2BIG, EFAULT, EACCES, EPERM, ESRCH, EAGAIN,
			   ENODEV, ENOENT, ENOSPC, ENOMEM, EOPNOTSUPP),
	  .arg = { ARG(fd, FD), ARG(at, AT),
		   MEMBER(sframe_unwind_sample_event, size, SIZE),
		   MEMBER(sframe_unwind_sample_event, flags, EVENT_FLAGS),
		   MEMBER(sframe_unwind_sample_event, perf_fd, SFRAME),
		   MEMBER(sframe_unwind_sample_event, fields, FIELDS),
		   MESSAGE(sframe_unwind_sample_event) } },
	{ "sample_control", 20, false,
	  IOCTL(SAMPLE_CONTROL, sframe_unwind_sample_control),
	  .errnos = ERRNOS(EINVAL, E2BIG, EFAULT, ENOENT, EOPNOTSUPP),
	  .arg = { ARG(fd, FD), ARG(at, AT),
		   MEMBER(sframe_unwind_sample_control, size, SIZE),
		   MEMBER(sframe_unwind_sample_control, flags, CONTROL),
		   MEMBER(sframe_unwind_sample_control, id, EVENT_ID),
		   MESSAGE(sframe_unwind_sample_control) } },
	{ "sample_stats", 8, false,
	  IOCTL(SAMPLE_STATS, sframe_unwind_sample_stats),
	  .errnos = ERRNOS(EINVAL, E2BIG, EFAULT, ENOENT),
	  .arg = { ARG(fd, FD), ARG(at, AT),
		   MEMBER(sframe_unwind_sample_stats, size, SIZE) } },
	{ "clear_stack_map", 10, false,
	  IOCTL(CLEAR_STACK_MAP, sframe_unwind_clear_stack_map),
	  .errnos = ERRNOS(EINVAL, E2BIG, EFAULT, ENOENT, EINTR, EOPNOTSUPP),
	  .arg = { ARG(fd, FD), ARG(at, AT),
		   MEMBER(sframe_unwind_clear_stack_map, size, SIZE),
		   MEMBER(sframe_unwind_clear_stack_map, flags, ZERO),
		   MEMBER(sframe_unwind_clear_stack_map, reserved, ZERO),
		   MESSAGE(sframe_unwind_clear_stack_map) } },
	{ "map_ring", 30, false, run_map_ring,
	  .arg = { ARG(fd, FD), ARG(offset, RING_OFFSET), ARG(size, RING_SIZE),
		   ARG(prot, RING_PROT), ARG(random, ANYTHING) } },
	{ "ioctl", 8, false, run_raw_ioctl,
	  .arg = { ARG(fd, ANY_FD), ARG(cmd, CMD), ARG(at, AT) } },
	{ "read", 50, false, run_read,
	  .arg = { ARG(fd, FD), ARG(to, AT), ARG(size, LENGTH) } },
	{ "poll", 8, false, run_poll, .arg = { ARG(fd, FD) } },
	{ "timer", 8, true, run_timer,
	  .arg = { ARG(period, PERIOD), ARG(depth, DEPTH) } },
	{ "make", 40, true, run_make,
	  .arg = { ARG(slot, SLOT), ARG(file, MAPPED), ARG(content, CONTENT),
		   ARG(seed, SEED) } },
	{ "fill", 24, false, run_fill,
	  .arg = { ARG(to, PLACE), ARG(content, CONTENT), ARG(seed, SEED) } },
	{ "make_table", 16, true, run_make,
	  .arg = { ARG(slot, SLOT), ARG(file, MAPPED), ARG(content, TABLE_CONTENT),
		   ARG(seed, SEED) } },
	{ "publish", 30, false, run_fill,
	  .arg = { ARG(to, SECTION), ARG(content, TABLE_CONTENT), ARG(seed, SEED) } },
	{ "entries", 16, true, run_entries,
	  .arg = { ARG(to, ARRAY), ARG(slot, SLOT), ARG(seed, SEED) } },
	{ "elf", 24, true, run_file,
	  .arg = { ARG(fd, NEW_ELF), ARG(content, ELF_CONTENT),
		   ARG(seed, SEED) } },
	{ "sframe", 20, true, run_file,
	  .arg = { ARG(fd, NEW_SFRAME), ARG(content, SFRAME_CONTENT),
		   ARG(seed, SEED) } },
	{ "truncate", 6, false, run_truncate,
	  .arg = { ARG(fd, SFRAME), ARG(size, LENGTH) } },
	{ "map_elf", 20, true, run_map_elf,
	  .arg = { ARG(slot, SLOT), ARG(file, ELF) } },
	{ "mmap", 14, false, run_mmap,
	  .arg = { ARG(at, PLACE), ARG(length, LENGTH), ARG(prot, PROT),
		   ARG(flags, MAP_FLAGS), ARG(fd, ANY_FD),
		   ARG(offset, LENGTH) } },
	{ "munmap", 16, false, run_munmap,
	  .arg = { ARG(at, PLACE), ARG(length, LENGTH) } },
	{ "mremap", 10, false, run_mremap,
	  .arg = { ARG(at, PLACE), ARG(length, LENGTH),
		   ARG(new_length, LENGTH), ARG(to, PLACE) } },
	{ "mprotect", 12, false, run_mprotect,
	  .arg = { ARG(at, PLACE), ARG(length, LENGTH), ARG(prot, PROT) } },
	{ "madvise", 16, false, run_madvise,
	  .arg = { ARG(at, PLACE), ARG(length, LENGTH),
		   ARG(advice, ADVICE) } },
	{ .name = "marker", .weight = 10, .once = true, .run = run_marker },
	{ "uffd", 2, true, run_uffd,
	  .arg = { ARG(fd, NEW_SFRAME), ARG(at, PLACE), ARG(length, LENGTH) } },
	{ "fork", 10, true, run_fork, .arg = { ARG(keep, NEW_TID) } },
	{ .name = "vfork", .weight = 6, .once = true, .run = run_vfork },
	{ .name = "exec", .weight = 4, .once = true, .run = run_exec },
	{ .name = "exit", .weight = 4, .once = true, .run = run_exit },
	{ "kill", 14, false, run_kill, .arg = { ARG(tid, TARGET), ARG(signal, SIGNAL) } },
	{ "unshare", 3, true, run_unshare, .arg = { ARG(flags, UNSHARE) } },
	{ "setns", 2, true, run_setns, .arg = { ARG(tid, TARGET) } },
	{ .name = "setuid", .weight = 4, .once = true, .run = run_setuid },
	{ "prlimit", 4, true, run_prlimit,
	  .arg = { ARG(limit, LIMIT), ARG(value, LIMIT_VALUE) } },
	{ .name = "mlockall", .weight = 2, .once = true, .run = run_mlockall },
	{ .name = "yield", .weight = 6, .run = run_yield },
};

const unsigned int nr_call_types = sizeof(call_types) / sizeof(call_types[0]);

int call_find(const struct call *call, enum kind kind)
{
	const struct call_type *type = &call_types[call->type];
	int i;

	for (i = 0; i < MAX_ARGS && type->arg[i].name; i++) {
		if (type->arg[i].kind == kind)
			return i;
	}
	return -1;
}

uint64_t call_value(const struct arg *arg)
{
	switch (arg->base) {
	case 'f':
		return world.fd[arg->index % NR_FDS] + arg->value;
	case 'i':
		return world.id[arg->index % NR_IDS] + arg->value;
	case 't':
		return world.tid[arg->index % NR_TIDS] + arg->value;
	case 'm':
		return SLOTS_BASE + arg->index % NR_SLOTS * SLOT_SIZE +
		       arg->value;
	case 'k':
		return world.marker + arg->value;
	default:
		return arg->value;
	}
}

long call_keep(const struct arg *arg, long value)
{
	if (value < 0)
		return value;
	if (arg->base == 'f')
		world.fd[arg->index % NR_FDS] = value;
	else if (arg->base == 'i')
		world.id[arg->index % NR_IDS] = value;
	else if (arg->base == 't')
		world.tid[arg->index % NR_TIDS] = value;
	return value;
}

long call_result(long ret)
{
	return ret == -1 ? -errno : ret;
}
