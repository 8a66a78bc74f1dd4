/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * sframe_unwind: the stack map, of clients that take samples.
 * <linux/sframe_unwind_sample.h> includes this header.
 *
 * With SFRAME_UNWIND_SAMPLER_STACK_MAP, each user stack and each kernel stack is
 * stored once, and records have its id instead of its frames. The map also counts
 * the records with the same stacks, pid and event.
 *
 * The map is memory that the reader maps, with MAP_SHARED, PROT_READ and the offset
 * SFRAME_UNWIND_STACK_MAP: one page, struct sframe_unwind_stack_map, and then two
 * halves of @map_pages pages. mmap(2) fails as for rings. A half begins with
 * SFRAME_UNWIND_MAP_UNIT unused bytes. Entries follow, one behind the other, up to
 * used bytes; each is a multiple of SFRAME_UNWIND_MAP_UNIT bytes. The first 8 bytes
 * of an entry are 0 until it is complete; the reader loads them with acquire
 * semantics. Until an entry is complete, those behind it can be found only by their
 * ids.
 *
 * Entries do not change, except for counts, and are never removed one by one.
 * SFRAME_UNWIND_IOC_CLEAR_STACK_MAP begins a new generation, which uses the other
 * half. Then the previous generation, which nothing is added to any more, can still
 * be read, until the next call clears it. Generation g is in half g modulo 2.
 *
 * The id of a stack is g << id_shift, plus the offset of its entry in its half in
 * units of SFRAME_UNWIND_MAP_UNIT bytes, modulo 2^32; it is never 0. An id whose
 * generation, modulo 2^(32 - id_shift), is neither @generation nor @oldest cannot be
 * looked up any more. A reader that runs while another one may clear the map copies
 * an entry, and then loads @oldest again, after all loads of the entry (a read
 * barrier).
 *
 * If the map is full, stacks that are not in it are in the record, with all
 * their frames, as if there was no map: map_refused of struct
 * sframe_unwind_sample_stats counts them. Records that are not counted in the map,
 * because a stack or the count was refused, are counted by map_uncounted there. So
 * the counts of all generations, added up, are samples + stacks - map_uncounted.
 */
#ifndef _UAPI_LINUX_SFRAME_UNWIND_STACK_MAP_H
#define _UAPI_LINUX_SFRAME_UNWIND_STACK_MAP_H

#include <linux/ioctl.h>
#include <linux/types.h>

#include <linux/sframe_unwind.h>

#define SFRAME_UNWIND_STACK_MAP		0x4000000000000000ULL
#define SFRAME_UNWIND_MAP_UNIT		16U

/**
 * struct sframe_unwind_stack_map - first page of the stack map
 *
 * @generation: stacks are added to this one.
 * @oldest: the oldest generation that can be looked up: @generation, or the one
 *	before it.
 * @half_size: bytes of a half, a power of two.
 * @id_shift: see above.
 * @reserved: 0.
 * @used: bytes of each half that are used by entries, complete or not.
 */
struct sframe_unwind_stack_map {
	__u64 generation;
	__u64 oldest;
	__u32 half_size;
	__u32 id_shift;
	__u64 reserved[5];
	__u64 used[2];
};

/**
 * enum sframe_unwind_map_type - what an entry of the stack map is
 *
 * Readers must skip entries of unknown type.
 *
 * @SFRAME_UNWIND_MAP_UNUSED: nothing: two CPUs have found the same stack at the
 *	same time.
 * @SFRAME_UNWIND_MAP_USER_STACK: a user stack, struct sframe_unwind_map_entry.
 * @SFRAME_UNWIND_MAP_KERNEL_STACK: a kernel stack, likewise.
 * @SFRAME_UNWIND_MAP_COUNT: struct sframe_unwind_map_count.
 */
enum sframe_unwind_map_type {
	SFRAME_UNWIND_MAP_UNUSED	= 0,
	SFRAME_UNWIND_MAP_USER_STACK	= 1,
	SFRAME_UNWIND_MAP_KERNEL_STACK	= 2,
	SFRAME_UNWIND_MAP_COUNT		= 3,
};

/**
 * struct sframe_unwind_map_entry - an entry of the stack map
 *
 * @units: its size, in units of SFRAME_UNWIND_MAP_UNIT bytes; 0 if it is not
 *	complete.
 * @nr: number of frames.
 * @type: enum sframe_unwind_map_type.
 * @stop: of a user stack, enum sframe_unwind_stop; of a kernel stack, see
 *	kernel_cut of struct sframe_unwind_sample.
 * @fields: of SFRAME_UNWIND_SAMPLE_HOW and SFRAME_UNWIND_SAMPLE_PLACES.
 * @reserved: 0.
 * @words: @nr addresses or places, innermost first; then with
 *	SFRAME_UNWIND_SAMPLE_HOW a byte for each.
 */
struct sframe_unwind_map_entry {
	__u16 units;
	__u16 nr;
	__u8 type;
	__u8 stop;
	__u8 fields;
	__u8 reserved;
	__u64 words[];
};

/**
 * struct sframe_unwind_map_count - how many records had the same stacks
 *
 * @units: as in struct sframe_unwind_map_entry.
 * @reserved: 0.
 * @type: SFRAME_UNWIND_MAP_COUNT.
 * @reserved2: 0.
 * @user_id: id of the user stack; 0 if the record had none.
 * @kernel_id: id of the kernel stack, or 0.
 * @pid: as in struct sframe_unwind_sample.
 * @event: id of the event; 0 for SFRAME_UNWIND_RECORD_USER_STACK records. One of
 *	these can be for several samples, which are counted with user_id 0.
 * @count: number of records. May grow as long as it is of the current generation.
 */
struct sframe_unwind_map_count {
	__u16 units;
	__u16 reserved;
	__u8 type;
	__u8 reserved2[3];
	__u32 user_id;
	__u32 kernel_id;
	__u32 pid;
	__u32 event;
	__u64 count;
};

/**
 * struct sframe_unwind_clear_stack_map - clear the stack map
 *
 * @size: in: sizeof(struct sframe_unwind_clear_stack_map).
 * @flags: must be 0.
 * @reserved: must be 0.
 * @message_size: in: size of @message in bytes, or 0.
 * @message: in: address of a buffer for an error message, or 0.
 */
struct sframe_unwind_clear_stack_map {
	__u32 size;
	__u32 flags;
	__u32 reserved;
	__u32 message_size;
	__u64 message;
};

/*
 * SFRAME_UNWIND_IOC_CLEAR_STACK_MAP: begin a new generation of the stack map. The
 * generation that the previous call ended can not be looked up any more. That which
 * this call ends can be: its counts are final when this call returns, and records that
 * are still in a ring may refer to it.
 *
 * EINVAL	size, flags or reserved.
 * E2BIG	size is larger than known and the tail is not zero.
 * EFAULT	the structure cannot be read or written.
 * ENOENT	the client has no stack map.
 * EINTR	the thread is being killed.
 * EOPNOTSUPP	a 32-bit or x32 caller.
 */
#define SFRAME_UNWIND_IOC_CLEAR_STACK_MAP _IO(SFRAME_UNWIND_IOC_MAGIC, 0x11)

#endif /* _UAPI_LINUX_SFRAME_UNWIND_STACK_MAP_H */
