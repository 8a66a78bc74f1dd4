/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What decode and step need from around them. sframe.c and step.c are one
 * source for the module, the library, the unit tests and the fuzzers; this
 * header is the only place where those environments differ.
 */
#ifndef SFU_ENV_H
#define SFU_ENV_H

#ifdef __KERNEL__

#include <linux/bits.h>
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/string.h>
#include <linux/types.h>
#include <linux/uaccess.h>

#else

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

#define READ_ONCE(x)	(*(const volatile __typeof__(x) *)&(x))
#define WRITE_ONCE(x, value)	(*(volatile __typeof__(x) *)&(x) = (value))

#endif

/**
 * struct sfu_bytes - a bounded run of bytes to decode
 *
 * @address: where byte 0 is mapped, or would be; PC-relative function starts
 *	count from here.
 * @size: number of bytes.
 * @copy: the bytes in our own memory, or NULL for the memory of the current
 *	process at @address.
 */
struct sfu_bytes {
	u64 address;
	u64 size;
	const u8 *copy;
};

/* Is [offset, offset + length) inside @bytes? */
static inline bool sfu_bytes_has(const struct sfu_bytes *bytes, u64 offset,
				 u64 length)
{
	return offset <= bytes->size && length <= bytes->size - offset;
}

/*
 * Fetch bytes once; what is decoded afterwards is the copy. The caller has
 * checked the bounds with sfu_bytes_has(). May sleep in the kernel. Returns 0,
 * or -EFAULT if the memory cannot be read.
 */
static inline int sfu_bytes_read(const struct sfu_bytes *bytes, u64 offset,
				 void *to, u32 length)
{
	const u8 *from = bytes->copy;

	if (from) {
		memcpy(to, from + offset, length);
		return 0;
	}
#ifdef __KERNEL__
	if (copy_from_user(to, u64_to_user_ptr(bytes->address + offset),
			   length))
		return -EFAULT;
#else
	memcpy(to, (const u8 *)(uintptr_t)bytes->address + offset, length);
#endif
	return 0;
}

/*
 * Reads of many numbers of @bytes in a row, which have been checked to be inside.
 * Between
 *
 * sfu_window_begin()	which returns whether there may be reads at all
 * sfu_window_end()
 *
 * nothing may be called that is not inlined, and there is only
 *
 * sfu_window_get()	fetch @value, of 1 to 8 bytes, from @at, or go to @label
 *			if it cannot be read; what is at offset n of @bytes is at
 *			sfu_window_base() + n
 *
 * @copied is whether there is a copy: where compilers know it, nothing is left
 * of the other way. May sleep in the kernel, for pages that have to be read in.
 */
static inline u64 sfu_window_base(const struct sfu_bytes *bytes, bool copied)
{
	return copied ? (unsigned long)bytes->copy : bytes->address;
}

#ifdef __KERNEL__

static __always_inline bool sfu_window_begin(const struct sfu_bytes *bytes,
					     bool copied)
{
	return copied || user_access_begin(u64_to_user_ptr(bytes->address),
					   bytes->size);
}

static __always_inline void sfu_window_end(bool copied)
{
	if (!copied)
		user_access_end();
}

#define sfu_window_get(copied, at, value, label)			\
	do {								\
		const u64 at_ = (at);					\
									\
		if (copied)						\
			memcpy(&(value), (const void *)at_,		\
			       sizeof(value));				\
		else							\
			unsafe_get_user(value, (typeof(value) __user *)	\
					u64_to_user_ptr(at_), label);	\
	} while (0)

#else

static inline bool sfu_window_begin(const struct sfu_bytes *bytes, bool copied)
{
	return sfu_window_base(bytes, copied);
}

static inline void sfu_window_end(bool copied)
{
	(void)copied;
}

/* Every window has a label for what cannot be read, though here all can be. */
#define sfu_window_get(copied, at, value, label)			\
	do {								\
		const u64 at_ = (at);					\
									\
		(void)(copied);						\
		if (!at_)						\
			goto label;					\
		memcpy(&(value), (const void *)(uintptr_t)at_,		\
		       sizeof(value));					\
	} while (0)

#ifndef noinline
#define noinline	__attribute__((noinline))
#endif
#ifndef __always_inline
#define __always_inline	inline __attribute__((always_inline))
#endif

#endif

/**
 * struct sfu_stack - the memory that a walk reads stack words from
 *
 * @address: of the first byte of @copy.
 * @size: bytes in @copy.
 * @copy: a recorded stack, or NULL for the memory of the current process.
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
 * Reads of many stack words in a row, without sleeping. Between
 *
 * sfu_fast_begin()	which returns whether words from @address on may be read
 * sfu_fast_end()
 *
 * nothing may be called, and there is only
 *
 * sfu_fast_read()	read a word at an address that is not above
 *			sfu_fast_limit() - 8, or go to @label with @word as it
 *			was, or any value
 *
 * What is at the limit itself, and for 4 KiB above it, can never be read.
 */
#ifdef __KERNEL__

/* The last page below the end of user addresses is never mapped. */
#define sfu_fast_limit(stack)	((void)(stack), (u64)TASK_SIZE_MAX + 8)

static inline bool sfu_fast_begin(const struct sfu_stack *stack, u64 address)
{
	pagefault_disable();
	if (user_access_begin((void __user *)address, 8))
		return true;
	pagefault_enable();
	return false;
}

#define sfu_fast_end()							\
	do {								\
		user_access_end();					\
		pagefault_enable();					\
	} while (0)

#define sfu_fast_read(stack, address, word, label)			\
	unsafe_get_user(word, (u64 __user *)(address), label)

#else

#define sfu_fast_limit(stack)	(~0ULL)
#define sfu_fast_begin(stack, address)	true
#define sfu_fast_end()	do { } while (0)

#define sfu_fast_read(stack, at, word, label)				\
	do {								\
		const u64 offset_ = (at) - (stack)->address;		\
									\
		if (offset_ > (stack)->size - 8)			\
			goto label;					\
		memcpy(&(word), (stack)->copy + offset_, 8);		\
	} while (0)

#endif

/*
 * For loops whose length a user chooses: give way to others. Returns 0, or
 * -EINTR if the loop has to end because the thread is being killed.
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
