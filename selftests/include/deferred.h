/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The work of an open file of the test module: stacks as other kernel modules get them.
 */
#ifndef SELFTESTS_DEFERRED_H
#define SELFTESTS_DEFERRED_H

#include <errno.h>
#include <sys/ioctl.h>

#include "../../module/test/test.h"

/* Returns 0 or the errno; *@spec is what the ioctl has returned in any case. */
static inline int use_deferred(int fd, __u32 what, struct sfu_test_deferred *spec)
{
	spec->size = sizeof(*spec);
	spec->what = what;
	return ioctl(fd, SFU_TEST_IOC_DEFERRED, spec) ? errno : 0;
}

/* For what needs no argument but @nr. */
static inline int set_deferred(int fd, __u32 what, __u32 nr)
{
	struct sfu_test_deferred spec = { .nr = nr };

	return use_deferred(fd, what, &spec);
}

static inline struct sfu_test_deferred read_deferred(int fd)
{
	struct sfu_test_deferred spec = {};

	use_deferred(fd, SFU_TEST_DEFERRED_READ, &spec);
	return spec;
}

/* Request @nr times in @context, by one system call. *@spec has the counts before its end. */
static inline int request_deferred(int fd, __u32 context, __u32 nr,
				   struct sfu_test_deferred *spec)
{
	*spec = (struct sfu_test_deferred) { .context = context, .nr = nr };
	return use_deferred(fd, SFU_TEST_DEFERRED_REQUEST, spec);
}

#endif /* SELFTESTS_DEFERRED_H */
