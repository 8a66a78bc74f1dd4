/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Stop: why a stack ends, for results of the layers below.
 */
#ifndef SFU_STOP_H
#define SFU_STOP_H

#include <linux/errno.h>

#include <linux/sframe_unwind.h>

#include "decode/step.h"

/* Returns why the stack ends if a lookup fails with @err. */
static inline enum sframe_unwind_stop sfu_stop_for_errno(int err)
{
	switch (err) {
	case -EINVAL:
		return SFRAME_UNWIND_STOP_SECTION_REMOVED;
	case -EAGAIN:
		return SFRAME_UNWIND_STOP_SECTION_UNREADABLE;
	case -ETIME:
		return SFRAME_UNWIND_STOP_BUDGET;
	case -EINTR:
		return SFRAME_UNWIND_STOP_KILLED;
	case -EINPROGRESS:
		return SFRAME_UNWIND_STOP_PENDING;
	case -EACCES:
		return SFRAME_UNWIND_STOP_BAD_ADDRESS;
	default:
		return SFRAME_UNWIND_STOP_NO_RULE;
	}
}

/* Returns why the stack ends if a step has the result @step. */
static inline enum sframe_unwind_stop sfu_stop_for_step(enum sfu_step step)
{
	switch (step) {
	case SFU_STEP_OUTERMOST:
		return SFRAME_UNWIND_STOP_COMPLETE;
	case SFU_STEP_NO_PROGRESS:
		return SFRAME_UNWIND_STOP_NO_PROGRESS;
	case SFU_STEP_NO_REGISTER:
		return SFRAME_UNWIND_STOP_NO_REGISTER;
	case SFU_STEP_BAD_ADDRESS:
		return SFRAME_UNWIND_STOP_BAD_ADDRESS;
	case SFU_STEP_OK:
	case SFU_STEP_UNREADABLE:
		break;
	}
	return SFRAME_UNWIND_STOP_STACK_UNREADABLE;
}

#endif /* SFU_STOP_H */
