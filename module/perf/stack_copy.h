/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Stack copy: registers and stack of a frame that there is no rule for yet, so that user
 * space can complete the stack later.
 */
#ifndef SFU_STACK_COPY_H
#define SFU_STACK_COPY_H

#include <linux/sframe_unwind.h>
#include <linux/types.h>

struct sfu_cut;

/* Returns the bytes that @copy takes in a record, a multiple of 8. */
static inline u32 sfu_stack_copy_bytes(const struct sframe_unwind_stack_copy *copy)
{
	return sizeof(*copy) + copy->size;
}

/*
 * Copy up to @max bytes, a multiple of 8, of the current thread's stack, from the stack
 * pointer of @cut upwards, as far as they can be read without a page fault. Process
 * context; does not wait for user memory. Returns the copy, to be freed by kvfree(); or
 * NULL if nothing can be read or there is no memory.
 */
struct sframe_unwind_stack_copy *sfu_stack_copy_make(const struct sfu_cut *cut, u32 max);

#endif /* SFU_STACK_COPY_H */
