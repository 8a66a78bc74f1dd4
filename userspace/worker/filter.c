// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "filter.h"
#include "lib/memory_file.h"

/* Room for instructions; filters have 30 to 120. */
#define MAX_INSTRUCTIONS 512

static struct sock_filter instructions[MAX_INSTRUCTIONS];
static struct sock_fprog program = { .filter = instructions };

/* Get the instructions from libseccomp, which can only export them to a file. */
static int take_program(scmp_filter_ctx filter)
{
	const int fd = memory_file_create("filter");
	ssize_t size = 0;
	int err;

	if (fd < 0)
		return -errno;
	err = seccomp_export_bpf(filter, fd);
	if (!err)
		size = pread(fd, instructions, sizeof(instructions), 0);
	close(fd);
	if (err)
		return err;
	/* If the buffer is full, the filter may have been truncated. */
	if (size <= 0 || size == sizeof(instructions))
		return -EFBIG;
	program.len = size / sizeof(instructions[0]);
	return 0;
}

bool filter_prepare(uint32_t otherwise, int (*add_rules)(scmp_filter_ctx filter))
{
	scmp_filter_ctx filter = seccomp_init(otherwise);
	int err = -ENOMEM;

	if (filter) {
		err = add_rules(filter);
		if (!err)
			err = take_program(filter);
		seccomp_release(filter);
	}
	errno = -err;
	return !err;
}

bool filter_load(void)
{
	return !syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}
