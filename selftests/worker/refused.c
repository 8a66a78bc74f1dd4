// SPDX-License-Identifier: GPL-2.0
/*
 * A worker that cannot enter its sandbox while RLIMIT_MEMLOCK is 0: see
 * refused_test.c.
 */
#include <errno.h>
#include <stdbool.h>
#include <sys/resource.h>

bool __wrap_filter_prepare(void);
bool __real_filter_prepare(void);

bool __wrap_filter_prepare(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_MEMLOCK, &limit) || !limit.rlim_cur) {
		errno = ENOMEM;
		return false;
	}
	return __real_filter_prepare();
}
