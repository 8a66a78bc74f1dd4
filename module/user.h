/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * User: accesses to user memory with unsafe_get_user() and unsafe_put_user():
 * stack words, numbers in sections, and structures of ioctls. No other file of
 * the module may use these functions.
 *
 * The accessors here clamp each address where it is dereferenced, whatever it
 * was computed from, and without a branch. So only user memory is accessed,
 * even speculatively.
 *
 * Programs can map memory below SFU_USER_LIMIT. Addresses that are too high are
 * clamped to the page that starts there. It is never mapped, so that an access
 * faults.
 */
#ifndef SFU_USER_H
#define SFU_USER_H

#include "arch/arch.h"
#include "env.h"

#ifdef __KERNEL__

#include <linux/build_bug.h>
#include <linux/sizes.h>

#ifdef SFU_WATCH
#include "counters.h"
#endif

/*
 * Maximum distance of a window's base below the limit. Chosen so that a place
 * in the window, plus 16 bytes, is always less than a page above the limit.
 */
#define SFU_WINDOW_SPAN	(SZ_4G - SZ_2K)

#else

/*
 * Tests may define a hook to see each stack address, as requested and as
 * clamped.
 */
#ifndef sfu_words_watch
#define sfu_words_watch(asked, used)	do { } while (0)
#endif

#endif

/*
 * Read several stack words in one user-access window, without sleeping.
 *
 * sfu_words_begin()	open the window; returns false if words at @address
 *			cannot be read
 * sfu_words_get()	read @word at any address @at, a variable that is set to
 *			the clamped address; on failure go to @label, with @word
 *			undefined
 * sfu_words_end()	close the window
 *
 * No function may be called while the window is open, unless it is inlined.
 *
 * sfu_words_count()	call it afterwards: with SFU_WATCH=1, adds to a counter
 *			the addresses that had to be clamped. Well-formed rules
 *			and stacks cause none.
 */
struct sfu_words {
	u64 limit;
#ifndef __KERNEL__
	const struct sfu_stack *stack;
#elif defined(SFU_WATCH)
	u32 bent;
#endif
};

#ifdef __KERNEL__

/*
 * pagefault_disable(). An interrupt may do the same between any two instructions of it,
 * and leaves the counter as it was, which KCSAN does not know.
 */
#define sfu_faults_disable()	((void)data_race(({ pagefault_disable(); 0; })))
/* pagefault_enable(), likewise. */
#define sfu_faults_enable()	((void)data_race(({ pagefault_enable(); 0; })))

static __always_inline bool sfu_words_begin(struct sfu_words *words,
					    const struct sfu_stack *stack,
					    u64 address)
{
	words->limit = SFU_USER_LIMIT;
#ifdef SFU_WATCH
	words->bent = 0;
#endif
	sfu_faults_disable();
	if (user_access_begin(u64_to_user_ptr(address), sizeof(u64)))
		return true;
	sfu_faults_enable();
	return false;
}

#define sfu_words_end(words)						\
	do {								\
		user_access_end();					\
		sfu_faults_enable();					\
	} while (0)

#ifdef SFU_WATCH
#define sfu_words_watch_(words, asked)	\
	((words)->bent += (asked) > (words)->limit)
#define sfu_words_count(words)						\
	atomic_long_add((words)->bent, &sfu_counters[SFU_TOTAL_BENT])
#else
#define sfu_words_watch_(words, asked)	do { } while (0)
#define sfu_words_count(words)	do { } while (0)
#endif

#define sfu_words_get(words, at, word, label)				\
	do {								\
		sfu_words_watch_(words, at);				\
		(at) = sfu_arch_clamp(at, (words)->limit);		\
		unsafe_get_user(word, (u64 __user *)u64_to_user_ptr(at), \
				label);					\
	} while (0)

#else

#define sfu_faults_disable()	do { } while (0)
#define sfu_faults_enable()	do { } while (0)

static inline bool sfu_words_begin(struct sfu_words *words,
				   const struct sfu_stack *stack, u64 address)
{
	(void)address;
	*words = (struct sfu_words) { SFU_USER_LIMIT, stack };
	return true;
}

#define sfu_words_end(words)	((void)(words))
#define sfu_words_count(words)	((void)(words))

#define sfu_words_get(words, at, word, label)				\
	do {								\
		const struct sfu_stack *const stack_ = (words)->stack;	\
		const u64 asked_ = (at);				\
		u64 offset_;						\
									\
		(at) = sfu_arch_clamp(asked_, (words)->limit);		\
		sfu_words_watch(asked_, at);				\
		offset_ = (at) - stack_->address;			\
		if (offset_ >= stack_->size ||				\
		    stack_->size - offset_ < sizeof(word))		\
			goto label;					\
		memcpy(&(word), stack_->copy + offset_, sizeof(word));	\
	} while (0)

#endif

/**
 * struct sfu_place - a place in a window
 *
 * @at: less than 2^32, because only sfu_window_at() and sfu_place_behind()
 *	create places.
 */
struct sfu_place {
	u64 at;
};

/**
 * struct sfu_window - bytes of a section that sfu_window_get() can read
 *
 * The byte at offset n has the place (@first + n) modulo 2^32, and the address
 * @base + place. In user memory, @base is so low that all places are in user
 * memory or in the page after it, so they need no check. Places in a copy are
 * checked at each access.
 *
 * @base: address of place 0.
 * @first: place of the first byte; 0 for a copy.
 * @size: number of bytes.
 */
struct sfu_window {
	u64 base;
	u32 first;
	u32 size;
#if defined(__KERNEL__) && defined(SFU_WATCH)
	u32 bent;
#endif
};

/*
 * Read several numbers of @bytes in one user-access window.
 *
 * sfu_window_begin()	open a window of @size bytes, at least 16, from @offset
 *			on; returns false if it cannot be opened
 * sfu_window_at()	the place of the byte at @offset
 * sfu_place_behind()	the place @distance bytes after another one
 * sfu_window_get()	read @value at @behind bytes after @place, or go to @label
 *			if it cannot be read; @behind plus the size of @value is
 *			a constant, at most 16
 * sfu_window_end()	close the window
 *
 * No function may be called while the window is open, unless it is inlined.
 * @copied is whether @bytes has a copy. If compilers know its value, they omit
 * the code for the other case. May sleep in the kernel, to fault pages in.
 */
static __always_inline struct sfu_place
sfu_place_behind(struct sfu_place place, u64 distance)
{
	place.at = sfu_arch_add32(place.at, distance);
	return place;
}

static __always_inline struct sfu_place
sfu_window_at(const struct sfu_window *window, u64 offset)
{
	const struct sfu_place first = { window->first };

	return sfu_place_behind(first, offset);
}

#ifdef __KERNEL__

static __always_inline bool sfu_window_begin(struct sfu_window *window,
					     const struct sfu_bytes *bytes,
					     u64 offset, u64 size, bool copied)
{
	const u64 address = bytes->address + offset;

	if (size > U32_MAX || !sfu_bytes_has(bytes, offset, size))
		return false;
	window->size = size;
#ifdef SFU_WATCH
	window->bent = 0;
#endif
	if (copied) {
		window->base = (unsigned long)bytes->copy +
			       sfu_bytes_nospec(bytes, offset, size);
		window->first = 0;
		return true;
	}
	window->base = sfu_arch_clamp(address,
				      SFU_USER_LIMIT - SFU_WINDOW_SPAN);
	window->first = address - window->base;
	/* The base is below the limit, so no address needs a check here. */
	return user_access_begin(u64_to_user_ptr(window->base), sizeof(u64));
}

#ifdef SFU_WATCH
#define sfu_window_watch_(window, at, size_)				\
	((window)->bent += (u32)((at) - (window)->first) >		\
			   (window)->size - (size_))
#define sfu_window_count_(window)					\
	atomic_long_add((window)->bent, &sfu_counters[SFU_TOTAL_BENT])
#else
#define sfu_window_watch_(window, at, size_)	do { } while (0)
#define sfu_window_count_(window)	do { } while (0)
#endif

#define sfu_window_end(window, copied)					\
	do {								\
		if (!(copied))						\
			user_access_end();				\
		sfu_window_count_(window);				\
	} while (0)

#define sfu_window_get(copied, window, place, behind, value, label)	\
	do {								\
		const u32 size_ = (behind) + sizeof(value);		\
		const u32 end_ = (window)->size - size_ + 1;		\
		const u64 at_ = (place).at;				\
		const u64 base_ = (window)->base + (behind);		\
									\
		BUILD_BUG_ON(size_ > 16);				\
		sfu_window_watch_(window, at_, size_);			\
		if (!(copied))						\
			unsafe_get_user(value, (typeof(value) __user *)	\
					u64_to_user_ptr(base_ + at_),	\
					label);				\
		else if (at_ >= end_)					\
			goto label;					\
		else							\
			memcpy(&(value), (const void *)(base_ +		\
			       array_index_nospec(at_, end_)),		\
			       sizeof(value));				\
	} while (0)

/*
 * Copy the words in @size bytes, at most a quarter of a page, from or to the
 * caller of an ioctl, in one user-access window. For so few bytes, faster than
 * copy_from_user(). May sleep. Returns whether it succeeded.
 *
 * Four words are copied in one iteration, because counting and comparing takes as
 * many instructions as copying a word.
 *
 * If the processor speculatively executes more iterations than the loop has,
 * these access at most the page at the limit, which is never mapped.
 */
static inline bool sfu_user_copy_in(u64 *to, const void __user *user, u32 size)
{
	const u64 address = sfu_arch_clamp((unsigned long)user, SFU_USER_LIMIT);
	const u64 __user *from = u64_to_user_ptr(address);
	u32 left = size / sizeof(*to);

	if (!user_access_begin(user, size))
		return false;
	for (; left >= 4; left -= 4, to += 4, from += 4) {
		unsafe_get_user(to[0], from, fault);
		unsafe_get_user(to[1], from + 1, fault);
		unsafe_get_user(to[2], from + 2, fault);
		unsafe_get_user(to[3], from + 3, fault);
	}
	for (; left; left--, to++, from++)
		unsafe_get_user(*to, from, fault);
	user_access_end();
	return true;
fault:
	user_access_end();
	return false;
}

static inline bool sfu_user_copy_out(void __user *user, const u64 *from,
				     u32 size)
{
	const u64 address = sfu_arch_clamp((unsigned long)user, SFU_USER_LIMIT);
	u64 __user *to = u64_to_user_ptr(address);
	u32 left = size / sizeof(*from);

	if (!user_access_begin(user, size))
		return false;
	for (; left >= 4; left -= 4, from += 4, to += 4) {
		unsafe_put_user(from[0], to, fault);
		unsafe_put_user(from[1], to + 1, fault);
		unsafe_put_user(from[2], to + 2, fault);
		unsafe_put_user(from[3], to + 3, fault);
	}
	for (; left; left--, from++, to++)
		unsafe_put_user(*from, to, fault);
	user_access_end();
	return true;
fault:
	user_access_end();
	return false;
}

#else

static inline bool sfu_window_begin(struct sfu_window *window,
				    const struct sfu_bytes *bytes, u64 offset,
				    u64 size, bool copied)
{
	const u64 base = copied ? (uintptr_t)bytes->copy : bytes->address;

	if (!base || size > U32_MAX || !sfu_bytes_has(bytes, offset, size))
		return false;
	*window = (struct sfu_window) { .base = base + offset, .size = size };
	return true;
}

#define sfu_window_end(window, copied)	((void)(window), (void)(copied))

/* The label must be used: go there for address 0. */
#define sfu_window_get(copied, window, place, behind, value, label)	\
	do {								\
		const u64 at_ = (window)->base + (place).at + (behind);	\
									\
		(void)(copied);						\
		if (!at_)						\
			goto label;					\
		memcpy(&(value), (const void *)(uintptr_t)at_,		\
		       sizeof(value));					\
	} while (0)

#endif

#endif /* SFU_USER_H */
