/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Samples of kernel and user stacks at perf events, read from the rings of all
 * CPUs in the order of time. Needs no handle: a client that takes samples is
 * opened here. <sframe_unwind.h>, which has the conventions, includes this header.
 */
#ifndef SFRAME_UNWIND_SAMPLER_H
#define SFRAME_UNWIND_SAMPLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/sframe_unwind.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A client that takes samples, with its rings. */
struct sframe_unwind_samples;

/**
 * sframe_unwind_sampler_open() - open a client that takes samples
 * @samples: set to the client, or to NULL on failure.
 * @how: see <linux/sframe_unwind_sample.h>. The library sets @size, @message and
 *	@message_size; @nr_cpus and @memory are filled.
 *
 * Opens SFRAME_UNWIND_DEVICE, and maps the rings of all CPUs that the machine can
 * have, for which the kernel allocates @ring_pages and one page each; and the stack
 * map, with SFRAME_UNWIND_SAMPLER_STACK_MAP. Any thread.
 *
 * Return: 0, or the error of open(2), of SFRAME_UNWIND_IOC_SAMPLER or of mmap(2);
 * -EOPNOTSUPP if the module takes no samples. sframe_unwind_error(NULL) has details.
 */
int sframe_unwind_sampler_open(struct sframe_unwind_samples **samples,
			       struct sframe_unwind_sampler *how);

/**
 * sframe_unwind_sampler_close() - end all samples and free a client
 * @samples: the client, or NULL.
 *
 * No thread may be using it.
 */
void sframe_unwind_sampler_close(struct sframe_unwind_samples *samples);

/**
 * sframe_unwind_sampler_fd() - the file of a client, to poll(2) for records
 * @samples: the client.
 *
 * It is readable while a ring has unread records up to the watermark, or has had no
 * room for another one. Any thread; async-signal-safe.
 */
int sframe_unwind_sampler_fd(const struct sframe_unwind_samples *samples);

/**
 * sframe_unwind_sampler_add() - take samples at a perf event
 * @samples: the client.
 * @perf_fd: a file of perf_event_open(2), which can be closed afterwards.
 * @flags: SFRAME_UNWIND_SAMPLE_EVENT_* bits.
 * @fields: SFRAME_UNWIND_SAMPLE_* bits of the optional members wanted.
 * @id: set to the id of the event in records; NULL if not wanted.
 *
 * Any thread.
 *
 * Return: 0 or the error of SFRAME_UNWIND_IOC_SAMPLE; sframe_unwind_error(NULL) has
 * details.
 */
int sframe_unwind_sampler_add(struct sframe_unwind_samples *samples, int perf_fd,
			      unsigned int flags, unsigned int fields,
			      uint32_t *id);

/**
 * sframe_unwind_sampler_control() - start, stop or remove events
 * @samples: the client.
 * @flags: one of SFRAME_UNWIND_SAMPLE_START, _STOP and _REMOVE.
 * @id: the event, or 0 for all; see struct sframe_unwind_sample_control.
 *
 * Any thread.
 *
 * Return: 0 or the error of SFRAME_UNWIND_IOC_SAMPLE_CONTROL.
 */
int sframe_unwind_sampler_control(struct sframe_unwind_samples *samples,
				  unsigned int flags, uint32_t id);

/**
 * sframe_unwind_sampler_stats() - accounting of the samples of a client
 * @samples: the client.
 * @stats: filled.
 *
 * Any thread.
 *
 * Return: 0 or the error of SFRAME_UNWIND_IOC_SAMPLE_STATS.
 */
int sframe_unwind_sampler_stats(struct sframe_unwind_samples *samples,
				struct sframe_unwind_sample_stats *stats);

/**
 * sframe_unwind_sampler_copy_stats() - the same, and that of copies of cut stacks
 * @samples: the client.
 * @stats: filled; that of copies is 0 if the module makes none.
 *
 * Any thread.
 *
 * Return: 0 or the error of SFRAME_UNWIND_IOC_SAMPLE_STATS.
 */
int sframe_unwind_sampler_copy_stats(struct sframe_unwind_samples *samples,
				     struct sframe_unwind_sample_copy_stats *stats);

/**
 * sframe_unwind_sampler_find() - look up a stack in the stack map
 * @samples: the client.
 * @id: its id.
 * @stack: set to the stack, which is valid until sframe_unwind_sampler_clear() is
 *	called twice; or to NULL.
 *
 * sframe_unwind_sampler_read() does that for the ids in records. Any thread.
 *
 * Return: 0; or -ENOENT if there is no such stack, or not any more.
 */
int sframe_unwind_sampler_find(const struct sframe_unwind_samples *samples,
			       uint32_t id,
			       const struct sframe_unwind_map_entry **stack);

/**
 * sframe_unwind_sampler_file() - the file of a place
 * @samples: the client.
 * @place: a frame of a record with SFRAME_UNWIND_SAMPLE_PLACES.
 *
 * Any thread.
 *
 * Return: the file, which is valid until the client is closed; or NULL if the place is
 * not in a file, see enum sframe_unwind_unplaced.
 */
const struct sframe_unwind_file *
sframe_unwind_sampler_file(const struct sframe_unwind_samples *samples,
			   uint64_t place);

/**
 * sframe_unwind_sampler_counts() - how many records had the same stacks
 * @samples: the client.
 * @previous: of the generation that the last sframe_unwind_sampler_clear() has
 *	ended, whose counts are final; else of the present one.
 * @each: called for each count, until it does not return 0.
 * @data: passed to @each.
 *
 * Any thread; the counts of the present generation grow meanwhile.
 *
 * Return: 0; what @each has returned; or -ENOENT if there is no stack map.
 */
int sframe_unwind_sampler_counts(const struct sframe_unwind_samples *samples,
				 bool previous,
				 int (*each)(const struct sframe_unwind_map_count *count,
					     void *data),
				 void *data);

/**
 * sframe_unwind_sampler_clear() - begin a new generation of the stack map
 * @samples: the client.
 *
 * Stacks of the present one can be looked up until the next call. Read all records
 * before that: those which are in rings refer to it. Any thread.
 *
 * Return: 0 or the error of SFRAME_UNWIND_IOC_CLEAR_STACK_MAP;
 * sframe_unwind_error(NULL) has details.
 */
int sframe_unwind_sampler_clear(struct sframe_unwind_samples *samples);

/**
 * struct sframe_unwind_sample_record - a sample or a user stack, taken apart
 *
 * Members are 0 if the record does not have them. Pointers refer to the ring, and
 * are valid until the next call for the client.
 *
 * @type: SFRAME_UNWIND_RECORD_SAMPLE, also of a short one, or
 *	SFRAME_UNWIND_RECORD_USER_STACK.
 * @cpu: whose ring it was in.
 * @time, @pid, @tid, @event, @entry, @entry_nr, @user, @stop, @kernel_cut: see
 *	struct sframe_unwind_sample; of a user stack, struct
 *	sframe_unwind_user_stack.
 * @fields: SFRAME_UNWIND_SAMPLE_* bits of the members that it has.
 * @period, @address, @cookie: see SFRAME_UNWIND_SAMPLE_PERIOD etc.
 * @ip, @sp, @fp: see SFRAME_UNWIND_SAMPLE_REGISTERS.
 * @kernel: @nr_kernel addresses of kernel frames, innermost first.
 * @frames: @nr_frames addresses of user frames, innermost first; places, with
 *	SFRAME_UNWIND_SAMPLE_PLACES in @fields.
 * @how: how each of these was found, enum sframe_unwind_frame; NULL if they are as
 *	SFRAME_UNWIND_SAMPLE_HOW says. sframe_unwind_sample_how() covers both.
 * @raw: @raw_size bytes of raw data.
 * @user_id, @kernel_id: ids of the stacks in the stack map, or 0. If the map still
 *	has them, @frames, @how, @stop, @kernel and @kernel_cut are what it has, and
 *	valid until sframe_unwind_sampler_clear() is called twice.
 *
 * With SFRAME_UNWIND_SAMPLE_COPY in @fields, sframe_unwind_sampler_copy() has more.
 */
struct sframe_unwind_sample_record {
	uint32_t type;
	uint32_t cpu;
	uint64_t time;
	uint32_t pid;
	uint32_t tid;
	uint32_t event;
	int32_t entry_nr;
	uint8_t entry;
	uint8_t user;
	uint8_t stop;
	bool kernel_cut;
	uint32_t fields;
	uint64_t period;
	uint64_t address;
	uint64_t ip;
	uint64_t sp;
	uint64_t fp;
	uint64_t cookie;
	const uint64_t *kernel;
	const uint64_t *frames;
	const uint8_t *how;
	const void *raw;
	uint32_t nr_kernel;
	uint32_t nr_frames;
	uint32_t raw_size;
	uint32_t user_id;
	uint32_t kernel_id;
};

/**
 * sframe_unwind_sampler_read() - the next record of all rings
 * @samples: the client.
 * @record: filled.
 *
 * Returns what is in the rings, in ascending order of time. Does not wait. A record
 * that was written after the previous call found no more can be a little older
 * than the last one returned; so can one that interrupted the writing of another
 * one, on the same CPU. The record's room in the ring is free when the next call
 * begins. One thread at a time.
 *
 * With SFRAME_UNWIND_SAMPLER_OVERWRITE, records are copied, and those that are
 * overwritten before that are skipped.
 *
 * Return: 1; 0 if there is no record; or -EBADMSG if a ring contains no valid
 * record, because another process has modified its control page: its records are
 * dropped.
 */
int sframe_unwind_sampler_read(struct sframe_unwind_samples *samples,
			       struct sframe_unwind_sample_record *record);

/**
 * sframe_unwind_sample_parse() - take a record apart
 * @from: the record.
 * @size: bytes that can be read at @from.
 * @record: filled, but for @cpu, which is set to 0.
 *
 * Any thread; async-signal-safe. The bytes may change meanwhile, even so nothing
 * outside of them is accessed.
 *
 * Return: 0, or -EBADMSG if it is neither a sample nor a user stack, or malformed.
 */
int sframe_unwind_sample_parse(const void *from, size_t size,
			       struct sframe_unwind_sample_record *record);

/**
 * sframe_unwind_sampler_copy() - the copy of a cut stack
 * @samples: the client.
 * @size: set to the bytes of the stack that were copied. Do not use the size in the copy:
 *	who has the control page of the ring can make it change.
 *
 * Return: registers and stack of the last frame of the record that
 * sframe_unwind_sampler_read() has returned last, which are valid as long as that; or NULL
 * if the record has none. As sframe_unwind_sampler_read().
 */
const struct sframe_unwind_stack_copy *
sframe_unwind_sampler_copy(const struct sframe_unwind_samples *samples, uint32_t *size);

/**
 * sframe_unwind_sample_copy() - find the copy of a cut stack in a record
 * @from: the record.
 * @size: bytes that can be read at @from.
 * @copy_size: as above.
 *
 * Any thread; async-signal-safe. The bytes may change meanwhile, as they may for
 * sframe_unwind_sample_parse().
 *
 * Return: the copy; or NULL if the record has none, or is malformed.
 */
const struct sframe_unwind_stack_copy *
sframe_unwind_sample_copy(const void *from, size_t size, uint32_t *copy_size);

/* How user frame @i was found, enum sframe_unwind_frame; 0 if there is none. */
static inline unsigned int
sframe_unwind_sample_how(const struct sframe_unwind_sample_record *record,
			 unsigned int i)
{
	if (i >= record->nr_frames)
		return 0;
	if (record->how)
		return record->how[i];
	return i ? SFRAME_UNWIND_FRAME_SFRAME : SFRAME_UNWIND_FRAME_REGS;
}

#ifdef __cplusplus
}
#endif

#endif /* SFRAME_UNWIND_SAMPLER_H */
