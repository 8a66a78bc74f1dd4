/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Environment: what the decoder and step.c need from the kernel or from libc. The
 * module, the library, the unit tests and the fuzzers compile the same sframe*.c,
 * step.c, cache.c and elf.c. All differences between these environments are in this
 * header, in user.h and in arch/.
 */
#ifndef SFU_ENV_H
#define SFU_ENV_H

#ifdef __KERNEL__

#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/nospec.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/string.h>
#include <linux/types.h>
#include <linux/uaccess.h>

#include <asm/barrier.h>

#else

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef uint8_t u8;
typedef int8_t s8;
typedef uint16_t u16;
typedef int16_t s16;
typedef uint32_t u32;
typedef int32_t s32;
typedef uint64_t u64;
typedef int64_t s64;

#define U32_MAX		UINT32_MAX

/* For scalars. Atomic, so ThreadSanitizer accepts the races on them. */
#define READ_ONCE(x)	__atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, value)	__atomic_store_n(&(x), (value), __ATOMIC_RELAXED)
/* As READ_ONCE(), as it is for ThreadSanitizer. */
#define data_race(x)	READ_ONCE(x)
#define smp_load_acquire(from)	__atomic_load_n(from, __ATOMIC_ACQUIRE)

/* User space reads its own memory only: speculation discloses nothing. */
#define array_index_nospec(index, size)	((void)(size), (index))
#define array_index_mask_nospec(index, size)	((void)(index), (void)(size), ~0UL)

#ifndef noinline
#define noinline	__attribute__((noinline))
#endif
#ifndef __always_inline
#define __always_inline	inline __attribute__((always_inline))
#endif

#endif

/**
 * struct sfu_bytes - a bounded range of bytes to decode
 *
 * @address: where byte 0 is mapped, or would be mapped; function starts are
 *	computed from it.
 * @size: number of bytes.
 * @copy: the bytes in the decoder's own memory, or NULL to read them from the
 *	current process at @address.
 */
struct sfu_bytes {
	u64 address;
	u64 size;
	const u8 *copy;
};

/* Returns whether [offset, offset + length) is inside @bytes. */
static inline bool sfu_bytes_has(const struct sfu_bytes *bytes, u64 offset,
				 u64 length)
{
	return offset <= bytes->size && length <= bytes->size - offset;
}

/*
 * Returns @offset. If the processor speculates past a failed sfu_bytes_has() of
 * @offset and @length, the speculated value is 0.
 */
static __always_inline u64 sfu_bytes_nospec(const struct sfu_bytes *bytes,
					    u64 offset, u64 length)
{
	const u64 size = bytes->size;

	offset &= array_index_mask_nospec(length, size + 1);
	return array_index_nospec(offset, size - length + 1);
}

/*
 * Copy bytes of @bytes' copy to @to. Returns 0, or -EFAULT if they are not all in
 * it, or if @bytes has no copy.
 */
static inline int sfu_bytes_read_copy(const struct sfu_bytes *bytes, u64 offset,
				      void *to, u32 length)
{
	if (!bytes->copy || !sfu_bytes_has(bytes, offset, length))
		return -EFAULT;
	memcpy(to, bytes->copy + sfu_bytes_nospec(bytes, offset, length), length);
	return 0;
}

/*
 * Copy bytes to @to once; callers decode the copy. May sleep in the kernel.
 * Returns 0, or -EFAULT if they are not all in @bytes or cannot be read.
 */
static inline int sfu_bytes_read(const struct sfu_bytes *bytes, u64 offset,
				 void *to, u32 length)
{
	if (bytes->copy)
		return sfu_bytes_read_copy(bytes, offset, to, length);
	if (!sfu_bytes_has(bytes, offset, length))
		return -EFAULT;
#ifdef __KERNEL__
	if (copy_from_user(to, u64_to_user_ptr(bytes->address + offset),
			   length))
		return -EFAULT;
#else
	memcpy(to, (const u8 *)(uintptr_t)bytes->address + offset, length);
#endif
	return 0;
}

/**
 * struct sfu_stack - the memory that a walk reads stack words from
 *
 * @address: user address that the first byte of @copy was read from.
 * @size: bytes in @copy.
 * @copy: a recorded stack, or NULL to read the memory of the current process.
 */
struct sfu_stack {
	u64 address;
	u64 size;
	const u8 *copy;
};

/*
 * Read the stack word at @address, which need not be aligned. May sleep in the
 * kernel. Returns 0, or -EFAULT if it cannot be read.
 */
static inline int sfu_stack_read(const struct sfu_stack *stack, u64 address,
				 u64 *word)
{
	if (stack->copy) {
		u64 offset = address - stack->address;

		if (offset >= stack->size ||
		    stack->size - offset < sizeof(*word))
			return -EFAULT;
		memcpy(word, stack->copy + offset, sizeof(*word));
		return 0;
	}
#ifdef __KERNEL__
	return get_user(*word, (u64 __user *)u64_to_user_ptr(address));
#else
	memcpy(word, (const void *)(uintptr_t)address, sizeof(*word));
	return 0;
#endif
}

/*
 * Reschedule in loops whose length a user controls. Returns 0, or -EINTR if the
 * thread is being killed and the loop must end.
 */
static inline int sfu_env_relax(void)
{
#ifdef __KERNEL__
	cond_resched();
	return fatal_signal_pending(current) ? -EINTR : 0;
#else
	return 0;
#endif
}

#endif /* SFU_ENV_H */
