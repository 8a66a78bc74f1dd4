// SPDX-License-Identifier: GPL-2.0
/*
 * A worker that cannot enter its sandbox while RLIMIT_MEMLOCK is 0, and has no namespaces
 * while it is 1: see refused_test.c.
 */
#include <errno.h>
#include <poll.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>

bool __wrap_filter_prepare(uint32_t otherwise, int (*add_rules)(scmp_filter_ctx filter));
bool __real_filter_prepare(uint32_t otherwise, int (*add_rules)(scmp_filter_ctx filter));
int __wrap_unshare(int flags);
int __real_unshare(int flags);
int __wrap_poll(struct pollfd *files, nfds_t nr, int ms);
int __real_poll(struct pollfd *files, nfds_t nr, int ms);

static bool is_limit(rlim_t wanted)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_MEMLOCK, &limit) || limit.rlim_cur == wanted;
}

bool __wrap_filter_prepare(uint32_t otherwise, int (*add_rules)(scmp_filter_ctx filter))
{
	if (is_limit(0)) {
		errno = ENOMEM;
		return false;
	}
	return __real_filter_prepare(otherwise, add_rules);
}

int __wrap_unshare(int flags)
{
	if (is_limit(1)) {
		errno = ENOSPC;
		return -1;
	}
	return __real_unshare(flags);
}

/* Ten seconds are one here. */
int __wrap_poll(struct pollfd *files, nfds_t nr, int ms)
{
	return __real_poll(files, nr, ms == 10000 ? 1000 : ms);
}
