/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Layout and numbers of what samples use, which never change: programs that were compiled
 * with this uapi header run with later modules. Checked when this is compiled.
 */
#ifndef SELFTESTS_SAMPLE_LAYOUT_H
#define SELFTESTS_SAMPLE_LAYOUT_H

#include <assert.h>
#include <linux/sframe_unwind.h>
#include <stddef.h>

#define SIZE(type, size)						\
	static_assert(sizeof(struct sframe_unwind_##type) == (size))
#define AT(type, member, offset)					\
	static_assert(offsetof(struct sframe_unwind_##type, member) == (offset))
#define NUMBER(name, number)						\
	static_assert(SFRAME_UNWIND_##name == (number))

NUMBER(IOC_SAMPLER, _IO(SFRAME_UNWIND_IOC_MAGIC, 12));
NUMBER(IOC_SAMPLE, _IO(SFRAME_UNWIND_IOC_MAGIC, 13));
NUMBER(IOC_SAMPLE_CONTROL, _IO(SFRAME_UNWIND_IOC_MAGIC, 14));
NUMBER(IOC_SAMPLE_STATS, _IO(SFRAME_UNWIND_IOC_MAGIC, 15));
NUMBER(IOC_CLEAR_STACK_MAP, _IO(SFRAME_UNWIND_IOC_MAGIC, 17));

SIZE(sampler, 64);
AT(sampler, ring_pages, 8);
AT(sampler, watermark, 12);
AT(sampler, clockid, 16);
AT(sampler, max_depth, 20);
AT(sampler, max_kernel_depth, 24);
AT(sampler, nr_cpus, 28);
AT(sampler, message, 32);
AT(sampler, message_size, 40);
AT(sampler, copy_size, 44);
AT(sampler, map_pages, 48);
AT(sampler, max_files, 52);
AT(sampler, memory, 56);
NUMBER(SAMPLER_FP_FALLBACK, 1);
NUMBER(SAMPLER_STACK_MAP, 2);
NUMBER(SAMPLER_BUILD_IDS, 4);
NUMBER(SAMPLER_OVERWRITE, 8);

NUMBER(RING_CONTROL(3), 3ULL << 32);
NUMBER(RING_RECORDS(3), (3ULL << 32) + (1U << 31));
SIZE(ring, 72);
AT(ring, head, 0);
AT(ring, cpu, 8);
AT(ring, data_size, 12);
AT(ring, oldest, 16);
AT(ring, tail, 64);

SIZE(sample_event, 32);
AT(sample_event, perf_fd, 8);
AT(sample_event, fields, 12);
AT(sample_event, id, 16);
AT(sample_event, message_size, 20);
AT(sample_event, message, 24);
NUMBER(SAMPLE_EVENT_NO_KERNEL, 1);
NUMBER(SAMPLE_EVENT_NO_USER, 2);
NUMBER(SAMPLE_EVENT_ALSO_LATER, 4);
NUMBER(SAMPLE_PERIOD, 1);
NUMBER(SAMPLE_ADDRESS, 2);
NUMBER(SAMPLE_REGISTERS, 4);
NUMBER(SAMPLE_COOKIE, 8);
NUMBER(SAMPLE_HOW, 16);
NUMBER(SAMPLE_RAW, 32);
NUMBER(SAMPLE_MAPPED, 64);
NUMBER(SAMPLE_PLACES, 128);
NUMBER(SAMPLE_COPY, 256);

SIZE(sample_control, 24);
AT(sample_control, id, 8);
AT(sample_control, message_size, 12);
AT(sample_control, message, 16);
NUMBER(SAMPLE_START, 1);
NUMBER(SAMPLE_STOP, 2);
NUMBER(SAMPLE_REMOVE, 4);

SIZE(sample_stats, 136);
AT(sample_stats, nr_events, 4);
AT(sample_stats, seen, 8);
AT(sample_stats, lost_full, 24);
AT(sample_stats, lost_recursion, 40);
AT(sample_stats, refused, 64);
AT(sample_stats, stacks_lost, 96);
AT(sample_stats, throttled, 104);
AT(sample_stats, overwritten, 128);
SIZE(sample_copy_stats, 152);
AT(sample_copy_stats, stats, 0);
AT(sample_copy_stats, copied, 136);
AT(sample_copy_stats, not_copied, 144);

NUMBER(RECORD_SAMPLE, 3);
NUMBER(RECORD_USER_STACK, 4);
NUMBER(RECORD_SHORT_SAMPLE, 5);
SIZE(sample, 48);
AT(sample, time, 8);
AT(sample, pid, 16);
AT(sample, tid, 20);
AT(sample, event, 24);
AT(sample, entry_nr, 28);
AT(sample, fields, 32);
AT(sample, nr_kernel, 34);
AT(sample, nr_user, 36);
AT(sample, entry, 38);
AT(sample, user, 39);
AT(sample, stop, 40);
AT(sample, kernel_cut, 41);
AT(sample, raw_size, 44);
AT(sample, words, 48);
SIZE(short_sample, 40);
AT(short_sample, user_id, 24);
AT(short_sample, kernel_id, 28);
AT(short_sample, event, 32);
AT(short_sample, entry_nr, 34);
AT(short_sample, entry, 36);
AT(short_sample, kernel_cut, 39);
SIZE(user_stack, 40);
AT(user_stack, cookie, 24);
AT(user_stack, nr_user, 32);
AT(user_stack, fields, 34);
AT(user_stack, stop, 36);
SIZE(stack_copy, 144);
AT(stack_copy, reg, 8);
AT(stack_copy, size, 136);
AT(stack_copy, known, 140);
AT(stack_copy, exact, 142);
AT(stack_copy, stack, 144);
NUMBER(ENTRY_UNKNOWN, 7);
NUMBER(USER_REFUSED, 3);

NUMBER(STACK_MAP, 1ULL << 62);
SIZE(stack_map, 80);
AT(stack_map, half_size, 16);
AT(stack_map, id_shift, 20);
AT(stack_map, used, 64);
SIZE(map_entry, 8);
AT(map_entry, type, 4);
AT(map_entry, fields, 6);
SIZE(map_count, 32);
AT(map_count, user_id, 8);
AT(map_count, event, 20);
AT(map_count, count, 24);
SIZE(clear_stack_map, 24);
AT(clear_stack_map, message, 16);
NUMBER(MAP_COUNT, 3);

NUMBER(FILES, 3ULL << 61);
NUMBER(PLACE_FILE, 1ULL << 63);
NUMBER(PLACE_FILE_SHIFT, 40);
NUMBER(PLACE_WHY_SHIFT, 56);
NUMBER(PLACE_FULL, 4);
SIZE(file, 40);
AT(file, build_id, 8);

#undef SIZE
#undef AT
#undef NUMBER

#endif /* SELFTESTS_SAMPLE_LAYOUT_H */
