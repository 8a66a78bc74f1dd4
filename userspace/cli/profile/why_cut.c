// SPDX-License-Identifier: GPL-2.0
#include "cli/profile/why_cut.h"
#include "include/sframe_unwind_profile.h"
#include "sframe_unwind.h"

/* Without commas and semicolons, which separate reasons, and the functions of a stack. */
const char *why_cut(uint32_t stop)
{
	switch (stop) {
	case SFRAME_UNWIND_PROFILE_STOP_REFUSED:
		return "refused: thread exiting or sampled again too soon or too many pending";
	case SFRAME_UNWIND_PROFILE_STOP_LATE:
		return "thread not back in user mode in time";
	default:
		return sframe_unwind_stop_name(stop);
	}
}
