// SPDX-License-Identifier: GPL-2.0
/*
 * For a worker that can make all system calls, to test the other layers of its
 * sandbox.
 */
#include "userspace/worker/filter.h"

bool __wrap_filter_load(void);

bool __wrap_filter_load(void)
{
	return true;
}
