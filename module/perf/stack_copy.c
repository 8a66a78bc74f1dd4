// SPDX-License-Identifier: GPL-2.0
/*
 * Stack copy: registers and stack of a frame that there is no rule for yet.
 *
 * Pages that are not there are not waited for, as perf does not: what is above the frame
 * need not be a stack, and reading it may wait for another process, or have effects.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "limits.h"
#include "stack_copy.h"
#include "user.h"
#include "walk/cut.h"

static_assert(ARRAY_SIZE(((struct sframe_unwind_stack_copy *)0)->reg) == SFU_NR_REGS);

/*
 * Returns the number of bytes that were copied, a multiple of 8. Those behind them are
 * undefined.
 */
static u32 copy_stack(void *to, u64 sp, u32 max)
{
	unsigned long left;

	if (sp >= SFU_USER_LIMIT)
		return 0;
	max = min_t(u64, max, SFU_USER_LIMIT - sp);
	sfu_faults_disable();
	left = copy_from_user(to, u64_to_user_ptr(sp), max);
	sfu_faults_enable();
	return round_down(max - left, sizeof(u64));
}

struct sframe_unwind_stack_copy *sfu_stack_copy_make(const struct sfu_cut *cut, u32 max)
{
	struct sframe_unwind_stack_copy *copy;

	copy = kvmalloc(sizeof(*copy) + max, SFU_GFP_OPTIONAL);
	if (!copy)
		return NULL;
	*copy = (struct sframe_unwind_stack_copy) {
		.ip = cut->ip,
		.known = cut->known,
		.exact = cut->exact,
	};
	memcpy(copy->reg, cut->reg, sizeof(copy->reg));
	copy->size = copy_stack(copy->stack, cut->reg[SFU_REG_SP], max);
	if (copy->size)
		return copy;
	kvfree(copy);
	return NULL;
}
