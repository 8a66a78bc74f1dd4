/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * sframe_unwind: samples of stacks at perf events. <linux/sframe_unwind.h>, which
 * has the conventions of the ABI, includes this header.
 *
 * A client can take samples at perf events: when an event occurs, a record with
 * the kernel stack and, as far as it is known at that time, the user stack of
 * the current thread is written to a ring. Each CPU has a ring of its own,
 * which the reader maps.
 *
 *	open the device, SAMPLER, mmap() the rings of the CPUs
 *	perf_event_open(), SAMPLE, close() the perf event
 *	SAMPLE_CONTROL with START, poll(), read the rings
 *
 * If the user stack is not known at the time of the event, the sample has a
 * cookie instead of its frames. The stack is unwound when the thread returns to
 * user space, and follows in a SFRAME_UNWIND_RECORD_USER_STACK record with the
 * same cookie, perhaps in the ring of another CPU. Samples taken before the
 * thread returns share one cookie and one such record; a sample taken while the
 * stack is being unwound can cause another record with the same contents.
 *
 * Records of samples are in the rings only, and read(2) does not return them.
 */
#ifndef _UAPI_LINUX_SFRAME_UNWIND_SAMPLE_H
#define _UAPI_LINUX_SFRAME_UNWIND_SAMPLE_H

#include <linux/ioctl.h>
#include <linux/types.h>

#include <linux/sframe_unwind.h>

/*
 * Flags of struct sframe_unwind_sampler.
 *
 * FP_FALLBACK	as SFRAME_UNWIND_REQUEST_FP_FALLBACK.
 * STACK_MAP	put stacks into a stack map, see struct sframe_unwind_stack_map.
 *		Needs map_pages.
 * BUILD_IDS	user frames are places in files, see struct sframe_unwind_file. Needs
 *		max_files.
 * OVERWRITE	new records overwrite the oldest ones in a ring that is full, see struct
 *		sframe_unwind_ring. Without watermark.
 */
#define SFRAME_UNWIND_SAMPLER_FP_FALLBACK	0x01U
#define SFRAME_UNWIND_SAMPLER_STACK_MAP		0x02U
#define SFRAME_UNWIND_SAMPLER_BUILD_IDS		0x04U
#define SFRAME_UNWIND_SAMPLER_OVERWRITE		0x08U

/**
 * struct sframe_unwind_sampler - how to take samples
 *
 * @size: in: sizeof(struct sframe_unwind_sampler).
 * @flags: in: SFRAME_UNWIND_SAMPLER_* bits.
 * @ring_pages: in: pages of records in the ring of each CPU: a power of two, at
 *	most 16384.
 * @watermark: in: bytes of unread records in one ring at which poll(2) reports
 *	it, at most half of the ring's; 0 means half. It also reports a ring in which
 *	the unread records have left no room for another one. With OVERWRITE it must be
 *	0, and poll(2) does not report rings.
 * @clockid: in: the clock of times in records: CLOCK_MONOTONIC,
 *	CLOCK_MONOTONIC_RAW, CLOCK_BOOTTIME, CLOCK_REALTIME or CLOCK_TAI.
 * @max_depth: in: maximum number of user frames of a sample, at most the
 *	module's max_depth; 0 means 128.
 * @max_kernel_depth: in: maximum number of kernel frames of a sample, at most
 *	127; 0 means 127.
 * @nr_cpus: out: one more than the highest number of a CPU.
 * @message: in: address of a buffer for an error message, or 0.
 * @message_size: in: size of that buffer in bytes, or 0.
 * @copy_size: in: bytes to copy of user stacks that are cut, see struct
 *	sframe_unwind_stack_copy: a multiple of 8, at most 65536; 0 for none. Not with
 *	FP_FALLBACK or OVERWRITE. Modules that make no copies refuse others than 0.
 * @map_pages: in: with STACK_MAP, pages of each half of the stack map: a power of
 *	two, at most 16384; else 0.
 * @max_files: in: with BUILD_IDS, number of files that the table has room for, at
 *	most 65536; else 0.
 * @memory: out: bytes of kernel memory that the stack map and the table of files
 *	use, all of which is allocated and charged by this call.
 */
struct sframe_unwind_sampler {
	__u32 size;
	__u32 flags;
	__u32 ring_pages;
	__u32 watermark;
	__s32 clockid;
	__u32 max_depth;
	__u32 max_kernel_depth;
	__u32 nr_cpus;
	__u64 message;
	__u32 message_size;
	__u32 copy_size;
	__u32 map_pages;
	__u32 max_files;
	__u64 memory;
};

/*
 * SFRAME_UNWIND_IOC_SAMPLER: let the client take samples. Possible once for each client.
 * Call it before poll(2) or epoll_ctl(2), which report only what exists when they are
 * called.
 *
 * EINVAL	size or flags; ring_pages, watermark, clockid, max_depth,
 *		max_kernel_depth, copy_size, map_pages or max_files.
 * E2BIG	size is larger than known and the tail is not zero.
 * EFAULT	the structure cannot be read or written.
 * EEXIST	the client takes samples already.
 * ENOMEM	no memory.
 * EOPNOTSUPP	a 32-bit or x32 caller.
 */
#define SFRAME_UNWIND_IOC_SAMPLER	_IO(SFRAME_UNWIND_IOC_MAGIC, 0x0c)

/*
 * mmap(2) of a client that takes samples, with MAP_SHARED and one of these
 * offsets. The first call for a CPU allocates its ring; until then, its samples
 * are lost (lost_no_ring). It fails with ENOMEM if the memory would exceed
 * RLIMIT_MEMLOCK, with EINVAL for another length or offset, with EPERM if
 * records would be writable, and with ENODEV before SFRAME_UNWIND_IOC_SAMPLER.
 * The rings of all possible CPUs can be mapped, also while a CPU is offline.
 *
 * SFRAME_UNWIND_RING_CONTROL	one page: struct sframe_unwind_ring; PROT_READ |
 *				PROT_WRITE, or PROT_READ with OVERWRITE (else EPERM)
 * SFRAME_UNWIND_RING_RECORDS	twice @ring_pages pages: the records; PROT_READ.
 *				The second half maps the same memory as the first
 *				one, so that no record wraps around.
 */
#define SFRAME_UNWIND_RING_CONTROL(cpu)	((__u64)(cpu) << 32)
#define SFRAME_UNWIND_RING_RECORDS(cpu)	((__u64)(cpu) << 32 | 1ULL << 31)

/**
 * struct sframe_unwind_ring - control page of the ring of one CPU
 *
 * Positions count bytes since the ring was created. The record at position p is
 * at offset p modulo the size of the records, @ring_pages pages. All records are
 * whole, and multiples of 8 bytes.
 *
 * The reader loads @head with acquire semantics, reads the records from @tail to
 * it, and stores the new @tail with release semantics. The module never reads
 * @head. If @tail is not between @head minus the size and @head, the ring counts
 * as full.
 *
 * With SFRAME_UNWIND_SAMPLER_OVERWRITE, @tail has no meaning, and the reader writes
 * nothing. Before the module writes a record, it moves @oldest on, past all records
 * that this overwrites: from @oldest to @head, there are whole records always. The
 * reader
 *
 *	loads @oldest with acquire semantics, and continues there if its own position
 *	is before @oldest;
 *	loads @head with acquire semantics;
 *	copies the record at its position, whose size must be between that of its
 *	header and the distance to @head;
 *	loads @oldest again, after all loads of the record (a read barrier).
 *
 * If @oldest is beyond the position of the record then, what was copied is invalid,
 * and the reader begins again. So it never stops the module, and misses only what was
 * overwritten before it came. Records that are not complete yet are not overwritten:
 * if an interrupt needs their room, its record is lost (lost_full).
 *
 * @head: position after the last record. Written by the module.
 * @cpu: number of the CPU.
 * @data_size: bytes of records that the ring holds.
 * @oldest: with OVERWRITE, position of the oldest record; else 0.
 * @reserved: 0; the reader may write anything here.
 * @tail: position of the first unread record. Written by the reader.
 */
struct sframe_unwind_ring {
	__u64 head;
	__u32 cpu;
	__u32 data_size;
	__u64 oldest;
	__u64 reserved[5];
	__u64 tail;
};

/*
 * Flags of struct sframe_unwind_sample_event.
 *
 * NO_KERNEL	without kernel stacks. Implied by exclude_kernel and
 *		exclude_callchain_kernel of the perf event.
 * NO_USER	without user stacks. Implied by exclude_callchain_user.
 * ALSO_LATER	user stacks that are in the sample also follow later, so that the
 *		two can be compared. They are equal unless the thread's registers
 *		or stack have changed before it returned to user space, as for a
 *		signal.
 */
#define SFRAME_UNWIND_SAMPLE_EVENT_NO_KERNEL	0x01U
#define SFRAME_UNWIND_SAMPLE_EVENT_NO_USER	0x02U
#define SFRAME_UNWIND_SAMPLE_EVENT_ALSO_LATER	0x04U

/*
 * Optional members of struct sframe_unwind_sample: bits of its fields, and of
 * those of struct sframe_unwind_sample_event. Members of 8 bytes are in the
 * order of these bits.
 *
 * PERIOD	u64: events since the last sample, see perf_event_open(2).
 * ADDRESS	u64: address of the event, of a page fault for example. Only if it
 *		has one.
 * REGISTERS	3 u64: instruction pointer, stack pointer and frame pointer of the
 *		thread in user mode. Only if it has them.
 * COOKIE	u64: see enum sframe_unwind_user; 0 if no user stack follows,
 *		because it was refused. Cannot be asked for.
 * HOW		a byte of enum sframe_unwind_frame for each user frame. If it is
 *		absent, the first frame is SFRAME_UNWIND_FRAME_REGS, and the
 *		others are SFRAME_UNWIND_FRAME_SFRAME. Cannot be asked for.
 * RAW		raw data of a tracepoint. Only if the perf event has
 *		PERF_SAMPLE_RAW.
 * MAPPED	u64: in the stack map, the id of the user stack in the lower half, and
 *		that of the kernel stack in the upper one; 0 if it is not there. Cannot
 *		be asked for.
 * PLACES	the user frames are places, see SFRAME_UNWIND_PLACE_FILE. Cannot be
 *		asked for.
 * COPY		only in struct sframe_unwind_user_stack: behind the frames, there is a
 *		struct sframe_unwind_stack_copy. Cannot be asked for here, but by
 *		copy_size of struct sframe_unwind_sampler.
 */
#define SFRAME_UNWIND_SAMPLE_PERIOD	0x01U
#define SFRAME_UNWIND_SAMPLE_ADDRESS	0x02U
#define SFRAME_UNWIND_SAMPLE_REGISTERS	0x04U
#define SFRAME_UNWIND_SAMPLE_COOKIE	0x08U
#define SFRAME_UNWIND_SAMPLE_HOW	0x10U
#define SFRAME_UNWIND_SAMPLE_RAW	0x20U
#define SFRAME_UNWIND_SAMPLE_MAPPED	0x40U
#define SFRAME_UNWIND_SAMPLE_PLACES	0x80U
#define SFRAME_UNWIND_SAMPLE_COPY	0x100U

/**
 * struct sframe_unwind_sample_event - an event to sample at
 *
 * @size: in: sizeof(struct sframe_unwind_sample_event).
 * @flags: in: SFRAME_UNWIND_SAMPLE_EVENT_* bits.
 * @perf_fd: in: a file of perf_event_open(2).
 * @fields: in: SFRAME_UNWIND_SAMPLE_* bits of the optional members wanted.
 * @id: out: identifies the event in samples and in
 *	SFRAME_UNWIND_IOC_SAMPLE_CONTROL; unique in the client, never 0.
 * @message_size: in: size of @message in bytes, or 0.
 * @message: in: address of a buffer for an error message, or 0.
 */
struct sframe_unwind_sample_event {
	__u32 size;
	__u32 flags;
	__s32 perf_fd;
	__u32 fields;
	__u32 id;
	__u32 message_size;
	__u64 message;
};

/*
 * SFRAME_UNWIND_IOC_SAMPLE: take samples at a perf event: any kind of event; of
 * a thread, with those that it creates later if the perf event has inherit set;
 * or of a CPU. A client can have several events.
 *
 * The module makes a perf event of its own with the attributes, the thread and
 * the CPU of the given one, whose file may be closed then. So what perf allows
 * the caller to open is what the caller may sample, and what ends a perf event
 * ends this one: exit, and exec of a program that changes the user ID. It is
 * enabled by enable_on_exec, or else at once, and not by PERF_EVENT_IOC_ENABLE.
 * It counts as another event for the hardware. Attributes that control perf's
 * own records have no effect.
 *
 * EINVAL	size or flags, unknown fields; or the perf event has a filter, a
 *		BPF program or a cgroup, is in a group, or has aux data or
 *		sigtrap, which the module's event would not have.
 * E2BIG	size is larger than known and the tail is not zero.
 * EFAULT	the structure cannot be read or written.
 * EBADF	perf_fd is not an open file, or not a perf event.
 * EACCES	RAW without PERF_SAMPLE_RAW of the perf event; or the caller may not
 *		open a probe or a tracepoint; or the process that opened perf_fd had
 *		another user or more capabilities than the caller, who has no
 *		CAP_PERFMON.
 * ESRCH	the thread has ended, or executed a program that ended the perf
 *		event.
 * EAGAIN	the perf event counts for a child of its thread at this moment.
 *		Open another one, and try again.
 * ENODEV	the CPU is offline.
 * ENOENT	SFRAME_UNWIND_IOC_SAMPLER was not called.
 * ENOSPC	the client has 4096 events.
 * ENOMEM	no memory.
 * EOPNOTSUPP	a 32-bit or x32 caller; or the kernel does not tell which files
 *		are perf events, because it is built without CONFIG_KALLSYMS_ALL.
 * and other errors of perf_event_open(2).
 */
#define SFRAME_UNWIND_IOC_SAMPLE	_IO(SFRAME_UNWIND_IOC_MAGIC, 0x0d)

/*
 * Flags of struct sframe_unwind_sample_control: exactly one of them.
 *
 * START	take samples. Initially, none are taken.
 * STOP		take no samples any more. When the call returns, none is being
 *		taken; user stacks may be pending.
 * REMOVE	remove one event; id must not be 0.
 */
#define SFRAME_UNWIND_SAMPLE_START	0x01U
#define SFRAME_UNWIND_SAMPLE_STOP	0x02U
#define SFRAME_UNWIND_SAMPLE_REMOVE	0x04U

/**
 * struct sframe_unwind_sample_control - start, stop or remove events
 *
 * @size: in: sizeof(struct sframe_unwind_sample_control).
 * @flags: in: SFRAME_UNWIND_SAMPLE_* as above.
 * @id: in: the event. 0 starts or stops all present and future ones; an event
 *	takes samples if both it and all are started. An event is started when it
 *	is added.
 * @message_size: in: size of @message in bytes, or 0.
 * @message: in: address of a buffer for an error message, or 0.
 */
struct sframe_unwind_sample_control {
	__u32 size;
	__u32 flags;
	__u32 id;
	__u32 message_size;
	__u64 message;
};

/*
 * SFRAME_UNWIND_IOC_SAMPLE_CONTROL: also for events inherited by other threads.
 *
 * EINVAL	size or flags; REMOVE with id 0.
 * E2BIG	size is larger than known and the tail is not zero.
 * EFAULT	the structure cannot be read or written.
 * ENOENT	the client has no event id, or takes no samples.
 * EOPNOTSUPP	a 32-bit or x32 caller.
 */
#define SFRAME_UNWIND_IOC_SAMPLE_CONTROL	_IO(SFRAME_UNWIND_IOC_MAGIC, 0x0e)

/**
 * struct sframe_unwind_sample_stats - accounting of a client's samples
 *
 * When nothing is being sampled, in particular after STOP:
 *
 *	seen = samples + lost_full + lost_no_ring + lost_recursion
 *	stacks_asked = stacks + stacks_pending + stacks_lost
 *	samples = those with SFRAME_UNWIND_USER_NONE + at_once + later + refused
 *
 * @size: in: sizeof(struct sframe_unwind_sample_stats).
 * @nr_events: out: events that the client has.
 * @seen: out: times that an event occurred while it was started.
 * @samples: out: samples put into rings.
 * @lost_full: out: samples lost because the ring was full.
 * @lost_no_ring: out: samples lost because the ring of the CPU was not mapped.
 * @lost_recursion: out: samples lost because taking another sample caused the
 *	event.
 * @at_once: out: samples with SFRAME_UNWIND_USER_AT_ONCE.
 * @later: out: samples with SFRAME_UNWIND_USER_LATER.
 * @refused: out: samples with SFRAME_UNWIND_USER_REFUSED.
 * @stacks_asked: out: user stacks that are to follow samples.
 * @stacks: out: records of such stacks put into rings.
 * @stacks_pending: out: stacks of threads that have not returned to user space.
 * @stacks_lost: out: such stacks lost because a ring was full or not mapped.
 * @throttled: out: times that perf disabled an event until the next tick,
 *	because it occurred too often.
 * @map_refused: out: stacks that are in records because the stack map was full.
 * @map_uncounted: out: records that are not counted in the stack map.
 * @overwritten: out: records, of samples and of stacks, that were overwritten. The
 *	others are in the rings: samples + stacks - overwritten.
 */
struct sframe_unwind_sample_stats {
	__u32 size;
	__u32 nr_events;
	__u64 seen;
	__u64 samples;
	__u64 lost_full;
	__u64 lost_no_ring;
	__u64 lost_recursion;
	__u64 at_once;
	__u64 later;
	__u64 refused;
	__u64 stacks_asked;
	__u64 stacks;
	__u64 stacks_pending;
	__u64 stacks_lost;
	__u64 throttled;
	__u64 map_refused;
	__u64 map_uncounted;
	__u64 overwritten;
};

/**
 * struct sframe_unwind_sample_copy_stats - the same, and that of copies
 *
 * @stats: see above; but its size is that of this structure.
 * @copied: out: of the stacks, those with SFRAME_UNWIND_SAMPLE_COPY.
 * @not_copied: out: of the stacks, those that would have that as well, but nothing could
 *	be read, there was no memory, the ring would have been more than half full, or
 *	stacks of the process that end in this code have been copied for two minutes.
 */
struct sframe_unwind_sample_copy_stats {
	struct sframe_unwind_sample_stats stats;
	__u64 copied;
	__u64 not_copied;
};

/*
 * SFRAME_UNWIND_IOC_SAMPLE_STATS: counters of the client's samples. Works for
 * 32-bit callers too.
 *
 * EINVAL	size is too small.
 * E2BIG	size is larger than known and the tail is not zero.
 * EFAULT	the structure cannot be read or written.
 * ENOENT	the client takes no samples.
 */
#define SFRAME_UNWIND_IOC_SAMPLE_STATS	_IO(SFRAME_UNWIND_IOC_MAGIC, 0x0f)

/*
 * Types of records in rings. Readers must skip records of unknown type by their
 * size; in all of them, the time follows the header.
 */
#define SFRAME_UNWIND_RECORD_SAMPLE	3
#define SFRAME_UNWIND_RECORD_USER_STACK	4
#define SFRAME_UNWIND_RECORD_SHORT_SAMPLE 5

/**
 * enum sframe_unwind_entry - what the thread did when it was sampled
 *
 * @SFRAME_UNWIND_ENTRY_NONE: it is a kernel thread or idle, or the event is not
 *	one of the current thread.
 * @SFRAME_UNWIND_ENTRY_USER: it ran in user mode.
 * @SFRAME_UNWIND_ENTRY_SYSTEM_CALL: a system call, see entry_nr. Also an
 *	interrupt during it.
 * @SFRAME_UNWIND_ENTRY_PAGE_FAULT: a page fault.
 * @SFRAME_UNWIND_ENTRY_EXCEPTION: another exception.
 * @SFRAME_UNWIND_ENTRY_INTERRUPT: an interrupt that arrived in user mode.
 * @SFRAME_UNWIND_ENTRY_NEW_THREAD: it has been created, and has not been in user
 *	mode yet.
 * @SFRAME_UNWIND_ENTRY_UNKNOWN: an exception or interrupt, and the kernel stack
 *	that would tell which was not unwound, or not completely.
 */
enum sframe_unwind_entry {
	SFRAME_UNWIND_ENTRY_NONE	= 0,
	SFRAME_UNWIND_ENTRY_USER	= 1,
	SFRAME_UNWIND_ENTRY_SYSTEM_CALL	= 2,
	SFRAME_UNWIND_ENTRY_PAGE_FAULT	= 3,
	SFRAME_UNWIND_ENTRY_EXCEPTION	= 4,
	SFRAME_UNWIND_ENTRY_INTERRUPT	= 5,
	SFRAME_UNWIND_ENTRY_NEW_THREAD	= 6,
	SFRAME_UNWIND_ENTRY_UNKNOWN	= 7,
};

/**
 * enum sframe_unwind_user - where the user stack of a sample is
 *
 * @SFRAME_UNWIND_USER_NONE: there is none: see SFRAME_UNWIND_ENTRY_NONE and
 *	SFRAME_UNWIND_SAMPLE_EVENT_NO_USER.
 * @SFRAME_UNWIND_USER_AT_ONCE: in the sample. It has a cookie only with
 *	SFRAME_UNWIND_SAMPLE_EVENT_ALSO_LATER.
 * @SFRAME_UNWIND_USER_LATER: in the SFRAME_UNWIND_RECORD_USER_STACK record with
 *	the sample's cookie, unless that is lost (stacks_lost).
 * @SFRAME_UNWIND_USER_REFUSED: nowhere. The thread is exiting; too many stacks
 *	are pending; or the event occurred where none can be requested, as at trace
 *	events of this module.
 */
enum sframe_unwind_user {
	SFRAME_UNWIND_USER_NONE		= 0,
	SFRAME_UNWIND_USER_AT_ONCE	= 1,
	SFRAME_UNWIND_USER_LATER	= 2,
	SFRAME_UNWIND_USER_REFUSED	= 3,
};

/**
 * struct sframe_unwind_sample - record of one sample
 *
 * @record: header; type SFRAME_UNWIND_RECORD_SAMPLE.
 * @time: time of the event by the sampler's clock, in nanoseconds.
 * @pid: process id of the current thread in the PID namespace of the client's
 *	opener; 0 if it is not visible there.
 * @tid: its thread id in that namespace, or 0.
 * @event: id of the event, see struct sframe_unwind_sample_event.
 * @fields: SFRAME_UNWIND_SAMPLE_* bits of the optional members that follow.
 * @entry_nr: number of the system call; 0 if @entry is not
 *	SFRAME_UNWIND_ENTRY_SYSTEM_CALL.
 * @nr_kernel: number of kernel frames.
 * @nr_user: number of user frames; 0 if @user is not
 *	SFRAME_UNWIND_USER_AT_ONCE.
 * @entry: enum sframe_unwind_entry.
 * @user: enum sframe_unwind_user.
 * @stop: why the user stack ends, enum sframe_unwind_stop; 0 if @user is not
 *	SFRAME_UNWIND_USER_AT_ONCE.
 * @kernel_cut: 1 if the kernel stack has more frames than max_kernel_depth, or
 *	was not unwound to its end; else 0.
 * @raw_size: bytes of raw data, without padding.
 * @words: first the optional members of 8 bytes; then @nr_kernel addresses of
 *	kernel frames and @nr_user addresses of user frames, innermost first; then
 *	with SFRAME_UNWIND_SAMPLE_HOW a byte for each user frame, and zero bytes up
 *	to a multiple of 8; then the raw data, and zero bytes up to a multiple of
 *	8. The first kernel frame is exact, see enum sframe_unwind_frame; the
 *	others are return addresses.
 */
struct sframe_unwind_sample {
	struct sframe_unwind_record record;
	__u64 time;
	__u32 pid;
	__u32 tid;
	__u32 event;
	__s32 entry_nr;
	__u16 fields;
	__u16 nr_kernel;
	__u16 nr_user;
	__u8 entry;
	__u8 user;
	__u8 stop;
	__u8 kernel_cut;
	__u16 reserved;
	__u32 raw_size;
	__u64 words[];
};

/**
 * struct sframe_unwind_short_sample - record of one sample with a stack map
 *
 * Used instead of struct sframe_unwind_sample if it can tell all: the stacks are
 * in the map, there are no optional members but the cookie, and @event and
 * @entry_nr have 16 bits.
 *
 * @record: header; type SFRAME_UNWIND_RECORD_SHORT_SAMPLE.
 * @time, @pid, @tid: as in struct sframe_unwind_sample.
 * @user_id: id of the user stack in the stack map; 0 if there is none.
 * @kernel_id: id of the kernel stack, or 0.
 * @event, @entry_nr, @entry, @user, @stop, @kernel_cut: as in struct
 *	sframe_unwind_sample.
 * @words: the cookie, if the record has 48 bytes and not 40.
 */
struct sframe_unwind_short_sample {
	struct sframe_unwind_record record;
	__u64 time;
	__u32 pid;
	__u32 tid;
	__u32 user_id;
	__u32 kernel_id;
	__u16 event;
	__u16 entry_nr;
	__u8 entry;
	__u8 user;
	__u8 stop;
	__u8 kernel_cut;
	__u64 words[];
};

/**
 * struct sframe_unwind_user_stack - record of the user stack of earlier samples
 *
 * Samples with its cookie and tid come before it in time, but after exec the
 * process may have another tid.
 *
 * @record: header; type SFRAME_UNWIND_RECORD_USER_STACK.
 * @time: time when the stack was unwound by the sampler's clock, in
 *	nanoseconds.
 * @pid: as in struct sframe_unwind_sample.
 * @tid: as in struct sframe_unwind_sample.
 * @cookie: that of the samples; unique in the system, never 0.
 * @nr_user: number of frames.
 * @fields: of SFRAME_UNWIND_SAMPLE_HOW, SFRAME_UNWIND_SAMPLE_PLACES,
 *	SFRAME_UNWIND_SAMPLE_MAPPED and SFRAME_UNWIND_SAMPLE_COPY; with MAPPED none of the
 *	first two.
 * @stop: enum sframe_unwind_stop.
 * @reserved: 0.
 * @words: with SFRAME_UNWIND_SAMPLE_MAPPED the id of the stack in the stack map,
 *	and @nr_user is 0. Else @nr_user addresses or places, innermost first; then with
 *	SFRAME_UNWIND_SAMPLE_HOW a byte for each, and zero bytes up to a multiple of
 *	8. With SFRAME_UNWIND_SAMPLE_COPY, a struct sframe_unwind_stack_copy follows.
 */
struct sframe_unwind_user_stack {
	struct sframe_unwind_record record;
	__u64 time;
	__u32 pid;
	__u32 tid;
	__u64 cookie;
	__u16 nr_user;
	__u16 fields;
	__u8 stop;
	__u8 reserved[3];
	__u64 words[];
};

#include <linux/sframe_unwind_copies.h>
#include <linux/sframe_unwind_files.h>
#include <linux/sframe_unwind_stack_map.h>

#endif /* _UAPI_LINUX_SFRAME_UNWIND_SAMPLE_H */
