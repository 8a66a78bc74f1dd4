/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The work of an open file of the test module: stacks as other kernel modules get them.
 */
#ifndef SELFTESTS_DEFERRED_H
#define SELFTESTS_DEFERRED_H

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common.h"
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

/*
 * Open a work, by a client that has the sections of the caller. Returns its descriptor, or -1
 * with errno; ENOENT: the test module is not loaded.
 */
static inline int open_deferred(void)
{
	int fd = open_test_client(0), err;

	if (fd < 0)
		return -1;
	err = register_own(fd) ? errno : set_deferred(fd, SFU_TEST_DEFERRED_INIT, 0);
	if (!err)
		return fd;
	close(fd);
	errno = err;
	return -1;
}

/* What is true when no request is being made or pending. */
static inline bool sums_are_exact(const struct sfu_test_deferred *d)
{
	const bool exact = d->requested == d->accepted && d->called == d->delivered &&
			   d->accepted == d->called + d->lost && !d->pending && !d->bad;

	if (!exact)
		printf("# requested %llu, accepted %llu, called %llu, delivered %llu, lost %llu, pending %llu, bad %llu\n",
		       d->requested, d->accepted, d->called, d->delivered, d->lost,
		       d->pending, d->bad);
	return exact;
}

#endif /* SELFTESTS_DEFERRED_H */
